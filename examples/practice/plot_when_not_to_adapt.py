"""
When not to adapt
=================

Where there is no shift there is nothing to gain. Where the classes of the target are not as
frequent as those of the source there is much to lose.
"""

# %%
# Every method that matches means and covariances assumes that the two domains have the same class
# frequencies. If the target has mostly one class, its mean is that class's mean, and
# centring puts it where the source has the mean of all classes.
#
# Wines, standardised: half of them are the source. From the other half we draw targets in which
# the third class becomes ever more frequent, once *as they are* and once *moved* by a constant
# offset, as a sensor that drifted would.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from ilspace import ILSClassifier
from ilspace.baselines import SourceOnly

wine, y = load_wine(return_X_y=True)
wine = StandardScaler().fit_transform(wine)
shares = (1 / 3, 0.45, 0.6, 0.75, 0.9)


def accuracies(share, offset, trial):
    """Accuracy without adaptation and with it, and how far the two rules agree."""
    rng = np.random.default_rng(trial)
    source, rest = np.split(rng.permutation(len(y)), 2)
    n_third = round(20 * share)
    n_others = (20 - n_third) // 2
    sizes = (n_others, n_others, n_third)
    target = np.concatenate([rest[y[rest] == each][:n] for each, n in enumerate(sizes)])
    Xt = wine[target] + offset * rng.normal(size=wine.shape[1])
    plain = SourceOnly().fit(wine[source], y[source], Xt)
    ils = ILSClassifier(5).fit(wine[source], y[source], Xt)
    agreement = np.mean(plain.predict(Xt) == ils.predict(Xt))
    return plain.score(Xt, y[target]), ils.score(Xt, y[target]), agreement


fig, axes = plt.subplots(1, 2, figsize=(9, 4), sharey=True, layout="constrained")
for ax, (title, offset) in zip(axes, (("as they are", 0.0), ("moved", 1.5)), strict=True):
    found = [[accuracies(share, offset, trial) for trial in range(8)] for share in shares]
    found = np.mean(found, axis=1)
    names = ("accuracy, no adaptation", "accuracy, ILS", "both rules agree")
    for column, (name, style) in enumerate(zip(names, ("o-", "s-", "k:"), strict=True)):
        ax.plot(shares, found[:, column], style, label=name)
    ax.set(title=title, xlabel="frequency of the third class in the target")
    ax.grid(alpha=0.3)
axes[0].legend()
plt.show()

# %%
# Without a shift (left, first points) adaptation neither helps nor harms. A constant offset is
# what the method is made for: the nearest neighbour suffers, and ILS takes the offset out. But
# as the target fills with one class, ILS gives it the labels of all three, and does worse than
# nothing, moved or not.
#
# Two checks before you trust an adaptation. Without labels: do the predictions with and without it
# agree? Where they do, it does not matter; where they do not, one of them is wrong, and only labels
# say which. And is there a reason to believe that the classes are about as frequent
# in both domains? If not, draw a few target rows, label them, and compare with `SourceOnly` on
# those.
