"""
An unseen domain
================

Three labelled collections of digits, and a fourth camera that is bought after the model was
trained. There is no target at `fit`; its rows are met when they are predicted.
"""

# %%
# Each camera blurs and darkens scikit-learn's digits in its own way, and adds a shade of its own to
# every picture. The new one adds more than all others.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits

from ilspace import ILSClassifier
from ilspace.baselines import PooledSources, SourceOnly

digits = load_digits()
rng = np.random.default_rng(0)


def camera(blur, gamma, shade, n=150):
    """Random digits through a camera that adds the same smooth shade to each."""
    chosen = rng.permutation(len(digits.target))[:n]
    images = gaussian_filter(digits.images[chosen], (0, blur, blur)) / 16
    images = images**gamma + shade * gaussian_filter(rng.standard_normal((8, 8)), 1.5)
    noise = 0.1 * rng.standard_normal(images.shape)
    return (images + noise).reshape(n, -1), digits.target[chosen]


sources = [camera(0.0, 1.0, 0.5), camera(0.6, 1.3, 0.5), camera(0.9, 0.8, 0.5)]
Xs, ys = map(list, zip(*sources, strict=True))
X_new, y_new = camera(0.4, 1.1, 1.5, n=400)

# %%
# One fit learns a projection for each source, and their mean for all future domains.

clf = ILSClassifier().fit(Xs, ys, source_names=["hall", "garage", "gate"])
print("as if it were one of the known:", clf.score(X_new, y_new, domain="unseen"))

# %%
# Where many rows of the new camera arrive together, their own mean replaces that of the sources.

clf.set_params(unseen_mean="batch")
print("centred by its own mean:", clf.score(X_new, y_new, domain="unseen"))

# %%
# The larger the batch, the better its mean is estimated.

sizes = [5, 10, 20, 50, 100, 200, 400]


def by_batches(model, size):
    """Mean accuracy over batches of one size."""
    starts = range(0, len(X_new), size)
    return np.mean(
        [model.score(X_new[i : i + size], y_new[i : i + size], domain="unseen") for i in starts]
    )


pooled = PooledSources(SourceOnly("svm")).fit(Xs, ys).score(X_new, y_new, domain="unseen")
batches = [100 * by_batches(clf, size) for size in sizes]
plain = 100 * clf.set_params(unseen_mean=None).score(X_new, y_new, domain="unseen")
fig, ax = plt.subplots(figsize=(6, 3.2), layout="constrained")
ax.semilogx(sizes, batches, "o-", color="#4477aa", label="ILS, mean of the batch")
ax.axhline(plain, color="#4477aa", linestyle="--", label="ILS, mean of the sources")
ax.axhline(100 * pooled, color="#ee6677", linestyle=":", label="pooled SVM")
ax.set(xlabel="rows per batch", ylabel="accuracy in %")
ax.legend()
plt.show()
