"""
Several sources, one with wrong labels
======================================

Three labelled sets of digits, each distorted in its own way, and a fourth without labels. Each
source gets its own projection, and a weight that needs no target label.
"""

# %%
# A domain is a draw of scikit-learn's digits, seen through a "camera" of its own: blurred, dark, or
# with a few pixels exchanged. The target's camera is much like the first source's. In the third
# source the labels have been shuffled.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits

from ilspace import ILSClassifier, ObjectiveSettings
from ilspace.baselines import PooledSources

digits = load_digits()
rng = np.random.default_rng(0)


def camera(blur, noise, gamma, n=200):
    """Random digits through a camera, scaled column by column."""
    chosen = rng.permutation(len(digits.target))[:n]
    images = gaussian_filter(digits.images[chosen], (0, blur, blur)) / 16
    rows = (images**gamma + noise * rng.standard_normal(images.shape)).reshape(n, -1)
    return (rows - rows.mean(axis=0)) / rows.std(axis=0).clip(0.05), digits.target[chosen]


Xt, yt = camera(1.0, 0.10, 1.0, n=400)
sources = {
    "alike": camera(0.9, 0.10, 1.2),
    "sharp and dark": camera(0.0, 0.25, 3.0),
    "shuffled": camera(1.0, 0.10, 1.0),
}
Xs, ys = map(list, zip(*sources.values(), strict=True))
ys[2] = rng.permutation(ys[2])

# %%
# `fit` takes lists. The names are optional, and saved with the model.

clf = ILSClassifier().fit(Xs, ys, Xt, source_names=list(sources))
print(dict(zip(clf.source_names_, clf.source_weights_.round(4).tolist(), strict=True)))

# %%
# Equal weights and pooled rows show what the weights are worth; leaving out the bad source shows
# what it still costs.

equal = ILSClassifier(objective=ObjectiveSettings(source_weights="equal")).fit(Xs, ys, Xt)
found = {
    "without the bad source": ILSClassifier().fit(Xs[:2], ys[:2], Xt).score(Xt, yt),
    "weights found": clf.score(Xt, yt),
    "equal weights": equal.score(Xt, yt),
    "pooled": PooledSources().fit(Xs, ys, Xt).score(Xt, yt),
}
fig, (left, right) = plt.subplots(1, 2, figsize=(9, 3), layout="constrained")
left.barh(clf.source_names_, clf.source_weights_, color="#4477aa")
left.set(title="weights of the sources", xlabel="weight")
right.barh(list(found), [100 * each for each in found.values()], color="#4477aa")
right.set(title="target accuracy", xlabel="%", xlim=(50, 100))
for ax in (left, right):
    ax.invert_yaxis()
plt.show()
