"""
A kernel before the latent space
================================

Classes on concentric rings cannot be separated linearly. Features of a kernel, in a
pipeline before the projections, make them linear.
"""

# %%
# Two rings, and the same rings as another instrument sees them: wider along one axis, and noisier.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_circles
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline

from ilspace import ILSClassifier

X, y = make_circles(300, noise=0.06, factor=0.5, random_state=0)
Xt, yt = make_circles(300, noise=0.1, factor=0.5, random_state=1)
Xt = Xt * [1.25, 0.9]

# %%
# A pipeline takes both domains in one array, with ``sample_domain``. The landmarks are drawn from
# both. The classifier in the latent space is linear.

rows, labels = np.vstack([X, Xt]), np.r_[y, np.full(len(Xt), -1)]
domain = np.repeat([1, -1], [len(X), len(Xt)])


def fitted(*before):
    """A linear rule in the latent space, after some features."""
    rule = ILSClassifier(classifier="linear", self_training=0, random_state=0)
    return make_pipeline(*before, rule).fit(rows, labels, ilsclassifier__sample_domain=domain)


models = {"columns": fitted(), "kernel": fitted(Nystroem(gamma=2, n_components=60, random_state=0))}
for name, model in models.items():
    print(f"{name}: {100 * np.mean(model.predict(Xt) == yt):.0f} % of the target correct")

# %%
# Predicted probabilities in the plane, with target rows coloured by their true classes.

grid = np.stack(np.meshgrid(np.linspace(-1.7, 1.7, 120), np.linspace(-1.4, 1.4, 100)), axis=-1)
fig, axes = plt.subplots(1, 2, figsize=(9, 4.4), layout="constrained", sharey=True)
for ax, (name, model) in zip(axes, models.items(), strict=True):
    share = model.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
    ax.contourf(*grid.T, share.T, levels=10, cmap="coolwarm", alpha=0.5)
    ax.scatter(*Xt.T, s=9, c=yt, cmap="coolwarm")
    ax.set(title=f"{name}: {100 * np.mean(model.predict(Xt) == yt):.0f} %", aspect="equal")
plt.show()
