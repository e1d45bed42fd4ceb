"""
A first adaptation
==================

Handwritten digits of one origin have labels, those of another have none. We learn from the
first and label the second.
"""

# %%
# Two domains
# -----------
#
# The *source* are digits of MNIST, reduced to 8x8 pixels; the *target* are scikit-learn's
# digits. Both show the same ten classes, but pen, people and scanner differ. Rows are scaled to
# unit norm, so that brightness does not matter.

import matplotlib.pyplot as plt
import numpy as np

from ilspace import ILSClassifier
from ilspace.baselines import SourceOnly
from ilspace.datasets import load_digit_pair, preprocess

digits, mnist = load_digit_pair()
source, target = preprocess(mnist.X, "l2"), preprocess(digits.X, "l2")

fig, axes = plt.subplots(2, 10, figsize=(8, 2), subplot_kw={"xticks": [], "yticks": []})
for line, rows, labels, name in ((0, source, mnist.y, "MNIST"), (1, target, digits.y, "digits")):
    for digit in range(10):
        picture = rows[labels == digit][3].reshape(8, 8)
        axes[line, digit].imshow(picture, cmap="gray_r")
    axes[line, 0].set_ylabel(name)

# %%
# Learn and label
# ---------------
#
# The source has 30 labelled rows per class. Of the target, `fit` sees 800 rows without labels;
# accuracy is measured on 900 others, which it has never seen.

rng = np.random.default_rng(0)
order = rng.permutation(len(mnist.y))
labelled = np.concatenate([order[mnist.y[order] == digit][:30] for digit in range(10)])
order = rng.permutation(len(digits.y))
seen, new = order[:800], order[800:1700]

Xs, ys, Xt = source[labelled], mnist.y[labelled], target[seen]
plain = SourceOnly().fit(Xs, ys, Xt)
ils = ILSClassifier().fit(Xs, ys, Xt)

print(f"nearest source row:      {plain.score(target[new], digits.y[new]):.3f}")
print(f"in the invariant space:  {ils.score(target[new], digits.y[new]):.3f}")
print(f"stopped because:         {ils.solution_.status.value}, {ils.n_iter_} iterations")

# %%
# How confident is it?
# --------------------
#
# `predict_proba` ranks the rows by confidence. If only the most confident predictions are kept,
# fewer of them are wrong. The probabilities are calibrated on the source, so read them as a
# ranking.

probabilities = ils.predict_proba(target[new])
right = ils.classes_[probabilities.argmax(axis=1)] == digits.y[new]
ranked = right[np.argsort(-probabilities.max(axis=1), kind="stable")]
share = np.arange(1, len(ranked) + 1) / len(ranked)

fig, ax = plt.subplots(figsize=(6, 3.5), layout="constrained")
ax.plot(share, np.cumsum(ranked) / np.arange(1, len(ranked) + 1))
ax.set(xlabel="fraction of rows kept, most confident first", ylabel="accuracy")
ax.grid(alpha=0.3)
plt.show()
