"""
The method without an estimator
===============================

Three functions are the whole method: check the domains, say what is minimised, fit. Whoever wants
to change the method works with these; the estimators only call them.
"""

# %%
# :func:`~ilspace.domains.check_domains` checks rows and labels and returns one frozen record,
# :class:`~ilspace.ObjectiveSettings` holds the weights of the terms, and
# :func:`~ilspace.ils.fit_ils` returns an :class:`~ilspace.ils.ILSMap`. `callback` sees every
# iterate, whose point holds the projections and the metric.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.decomposition import PCA

from ilspace import ObjectiveSettings
from ilspace.datasets import load_digit_pair, preprocess
from ilspace.domains import check_domains
from ilspace.ils import fit_ils

digits, mnist = load_digit_pair()
rng = np.random.default_rng(0)
shown = (0, 1, 4, 6)  # four classes, so that the picture can be read
rows = np.concatenate([rng.permutation(np.flatnonzero(mnist.y == each))[:40] for each in shown])
others = np.concatenate([rng.permutation(np.flatnonzero(digits.y == each))[:80] for each in shown])
Xs, ys = preprocess(mnist.X, "l2")[rows], mnist.y[rows]
Xt, yt = preprocess(digits.X, "l2")[others], digits.y[others]

domains = check_domains(Xs, ys, Xt)
print("classes:", domains.classes, "rows:", [each.n_rows for each in domains.all])

conditions = []


def watch(count, iterate):
    """Keep the condition number of the metric; a true answer would stop the fit."""
    *_, metric = iterate.point
    conditions.append(np.linalg.cond(metric))


settings = ObjectiveSettings(metric_weight=5.0)
ils = fit_ils(domains, n_components=10, objective=settings, callback=watch)
print(f"{ils.solution.status.name}: {ils.solution.status.value}")

# %%
# `solution.history` has one record per iterate. With a weaker regularizer than the default the
# metric leaves the identity, as its condition number shows.

fig, axes = plt.subplots(1, 2, figsize=(8, 3.5), layout="constrained")
axes[0].plot([line.value for line in ils.solution.history], marker=".")
axes[0].set(xlabel="iteration", ylabel="objective")
axes[1].plot(conditions, marker=".")
axes[1].set(xlabel="iteration", ylabel="condition number of the metric")
for ax in axes:
    ax.grid(alpha=0.3)
plt.show()

# %%
# `transform` takes the position of a domain: 0 is the source, and -1, the default, the target.
# The figure shows the first two principal components of the latent space; target labels were not
# used in the fit, and only colour the points.

latent = ils.transform(Xs, 0), ils.transform(Xt)
flat = PCA(2).fit(np.concatenate(latent))
fig, ax = plt.subplots(figsize=(6, 4.2), layout="constrained")
for colour, digit in zip(("#4477aa", "#ee6677", "#228833", "#ccbb44"), shown, strict=True):
    ours, theirs = flat.transform(latent[0][ys == digit]), flat.transform(latent[1][yt == digit])
    ax.scatter(*ours.T, s=45, color=colour, edgecolor="black", label=f"{digit}, source")
    ax.scatter(*theirs.T, s=12, color=colour, alpha=0.6, label=f"{digit}, target")
ax.set(xticks=[], yticks=[])
ax.legend(loc="center left", bbox_to_anchor=(1, 0.5), fontsize="small")
plt.show()
