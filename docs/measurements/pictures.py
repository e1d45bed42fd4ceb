"""Digits of two origins as PNG files, labelled by ``ilspace adapt``: share of right labels.

``python docs/measurements/pictures.py`` prints the numbers of docs/user_guide/pictures.md. The true
digits serve this evaluation only.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ilspace
from ilspace.datasets import load_digit_pair

N_PICTURES = 600


def main() -> None:
    """Write the pictures, adapt, and count."""
    rng, truth = np.random.default_rng(0), {}
    plain = make_pipeline(StandardScaler(), LogisticRegression(max_iter=1000))
    with tempfile.TemporaryDirectory() as folder:
        for domain, name in zip(load_digit_pair(), ("source", "target"), strict=True):
            for row in rng.permutation(len(domain.X))[:N_PICTURES]:
                digit = str(domain.y[row])
                place = Path(folder) / name / (digit if name == "source" else "")
                place.mkdir(parents=True, exist_ok=True)
                pixels = np.uint8(np.round(domain.X[row].reshape(8, 8) * 255 / 16))
                Image.fromarray(pixels).save(place / f"{row}.png")
                if name == "target":
                    truth[f"{row}.png"] = digit
        places = Path(folder) / "source", Path(folder) / "target"
        for name, method in (("ILS", "auto"), ("logistic regression", plain)):
            found = ilspace.adapt(*places, method=method).predictions
            right = found["label"] == found["picture"].map(truth)
            sys.stdout.write(f"{name}: {right.mean():.1%}\n")


if __name__ == "__main__":
    main()
