r"""
The loss, the margin and β
==========================

A similar pair should be closer than 1, a dissimilar one farther apart than 1; the loss says how
much a pair's violation counts.
"""

# %%
# The smooth hinge :math:`\ell_\beta(v) = \tfrac1\beta\log(1 + e^{\beta v})` of the violation
# :math:`v = y(d - 1)`, where d is the squared distance and y is 1 for similar pairs and -1 for
# others. The larger β, the closer it comes to the hinge :math:`\max(0, v)`, and the smaller the
# weight of pairs that already keep the margin.

import matplotlib.pyplot as plt
import numpy as np

from ilspace import ILSTransformer
from ilspace.datasets import load_digit_pair, preprocess
from ilspace.objective import SmoothHinge

distance = np.linspace(0, 2, 201)
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for ax, sign, kind in zip(axes, (1, -1), ("similar", "dissimilar"), strict=True):
    for beta in (1, 2, 5, 50):
        losses, _ = SmoothHinge(beta)(sign * (distance - 1))
        ax.plot(distance, losses, label=f"β = {beta:g}")
    ax.axvline(1, color="black", linewidth=0.8, linestyle=":")
    ax.set(title=f"a {kind} pair", xlabel="squared distance d")
axes[0].set_ylabel("loss")
axes[0].legend()
plt.show()

# %%
# Where the pairs are
# -------------------
#
# The margin is 1, so the scale of the data matters. All rows are multiplied by one factor, such
# that similar pairs start at a mean squared distance of `objective.margin_scale`, 5 by default,
# and β is one over the standard deviation of these distances. Most similar pairs then start
# *outside* the margin and are pulled in. Optimization does not move them all inside: the anchors
# prevent it, by design.

digits, mnist = load_digit_pair()
rng = np.random.default_rng(0)
rows = np.concatenate([rng.permutation(np.flatnonzero(mnist.y == each))[:30] for each in range(10)])
Xs, ys = preprocess(mnist.X, "l2")[rows], mnist.y[rows]
Xt = preprocess(digits.X, "l2")[:800]

first, second = np.triu_indices(len(ys), k=1)
same = ys[first] == ys[second]
fig, axes = plt.subplots(1, 2, figsize=(9, 3.5), sharey=True, layout="constrained")
for ax, iterations, title in ((axes[0], 0, "at the start"), (axes[1], 200, "at the end")):
    ils = ILSTransformer(max_iter=iterations).fit(Xs, ys, Xt)
    latent = ils.transform(Xs, "source")
    squared = np.sum((latent[first] - latent[second]) ** 2, axis=1)
    for kind, name in ((same, "similar"), (~same, "dissimilar")):
        ax.hist(squared[kind], bins=np.linspace(0, 30, 61), density=True, alpha=0.6, label=name)
    ax.axvline(1, color="black", linewidth=0.8, linestyle=":")
    ax.set(
        title=f"{title}, β = {ils.sharpness_:.2f}", xlabel="squared distance in the latent space"
    )
axes[0].legend()
plt.show()
