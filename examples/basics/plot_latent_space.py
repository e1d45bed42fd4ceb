"""
The latent space, before and after
==================================

Where do the rows of both domains lie when the optimization begins, and where when it ends?
"""

# %%
# `max_iter=0` stops at the start: both domains on the principal axes of the target, with the
# metric at the identity. `transform` sends rows of either domain to the latent space, where
# Euclidean distance is the learned one.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from ilspace import ILSTransformer
from ilspace.datasets import load_digit_pair, preprocess

digits, mnist = load_digit_pair()
source, target = preprocess(mnist.X, "l2"), preprocess(digits.X, "l2")
rng = np.random.default_rng(0)
shown = (0, 1, 4, 6)  # four classes, so that the picture can be read
rows = np.concatenate([rng.permutation(np.flatnonzero(mnist.y == each))[:40] for each in shown])
others = np.concatenate([rng.permutation(np.flatnonzero(digits.y == each))[:80] for each in shown])

fits = {
    "at the start": ILSTransformer(10, max_iter=0),
    "at the end": ILSTransformer(10),
}

# %%
# Both plots show the first two principal components of the latent space, of source and target
# together. `fit` did not see the target's classes (colours): their alignment with the source is
# learned.

fig, axes = plt.subplots(1, 2, figsize=(9, 4.2), layout="constrained")
for ax, (title, ils) in zip(axes, fits.items(), strict=True):
    ils.fit(source[rows], mnist.y[rows], target[others])
    latent = ils.transform(source[rows], "source"), ils.transform(target[others])
    flat = PCA(2).fit(np.concatenate(latent))
    for colour, digit in zip(("#4477aa", "#ee6677", "#228833", "#ccbb44"), shown, strict=True):
        ours = flat.transform(latent[0][mnist.y[rows] == digit])
        theirs = flat.transform(latent[1][digits.y[others] == digit])
        ax.scatter(*ours.T, s=45, color=colour, edgecolor="black", label=f"{digit}, source")
        ax.scatter(*theirs.T, s=12, color=colour, alpha=0.6, label=f"{digit}, target")
    ax.set(title=title, xticks=[], yticks=[])
axes[1].legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
plt.show()

# %%
# What was learned: two orthonormal projections and one metric. The metric's eigenvalues say how
# much a direction of the latent space counts; `objective.metric_weight` holds them near 1.

learned = fits["at the end"]
gram = learned.source_projection_.T @ learned.source_projection_
print("orthonormal up to", f"{np.abs(gram - np.eye(10)).max():.0e}")
print("eigenvalues of the metric:", np.round(np.linalg.eigvalsh(learned.metric_)[::-1], 2))
