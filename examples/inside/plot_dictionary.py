"""
A dictionary shared by two domains
==================================

A dictionary is learned in the latent space. Each row, of either domain, becomes a combination of a
few of its atoms.
"""

# %%
# Digits of scikit-learn, and the same kind of digits seen through a blurred, noisy camera.

import matplotlib.pyplot as plt
import numpy as np
from scipy.ndimage import gaussian_filter
from sklearn.datasets import load_digits

from ilspace import ILSClassifier

digits = load_digits()
rng = np.random.default_rng(0)
order = rng.permutation(len(digits.target))
source, target = order[:200], order[200:800]
X, y, yt = digits.images[source].reshape(200, -1), digits.target[source], digits.target[target]
blurred = gaussian_filter(digits.images[target], (0, 0.7, 0.7))
Xt = (blurred + 3 * rng.standard_normal(blurred.shape)).reshape(600, -1)

# %%
# Two classifiers in the latent space, with and without a dictionary. Linear ones gain; the nearest
# neighbour gains on some data and loses on others, these among them.


def fitted(classifier, n_atoms):
    """A model without self-training."""
    model = ILSClassifier(n_atoms=n_atoms, classifier=classifier, self_training=0, random_state=0)
    return model.fit(X, y, Xt)


for rule in ("nearest", "linear"):
    plain, model = fitted(rule, None), fitted(rule, 60)
    print(f"{rule}: latent rows {100 * plain.score(Xt, yt):.1f} % of the target correct,", end=" ")
    print(f"combinations of atoms {100 * model.score(Xt, yt):.1f} %")
codes = model.sparse_codes(Xt)
print(f"atoms per row: {np.mean(np.sum(codes != 0, axis=1)):.1f} of {codes.shape[1]}")

# %%
# An atom is a direction of the latent space. The target projection shows it as a picture, and the
# rows that use it most look alike, in both domains.

atoms = model.map_.dictionary.atoms
pictures = np.linalg.pinv(model.map_.maps[1]).T @ atoms
used = np.argsort(-np.sum(np.abs(codes), axis=0))[:8]
fig, axes = plt.subplots(3, 8, figsize=(9, 3.6), layout="constrained")
for column, atom in enumerate(used):
    sign = np.sign(np.sum(codes[:, atom]))
    from_source = np.argmax(sign * model.sparse_codes(X, "source")[:, atom])
    from_target = np.argmax(sign * codes[:, atom])
    shown = (sign * pictures[:, atom], X[from_source], Xt[from_target])
    for ax, picture in zip(axes[:, column], shown, strict=True):
        ax.imshow(picture.reshape(8, 8), cmap="gray")
        ax.set(xticks=[], yticks=[])
for ax, name in zip(axes[:, 0], ("atom", "source", "target"), strict=True):
    ax.set_ylabel(name)
plt.show()
