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

from ilspace.datasets import load_digit_pair
from ilspace.tables.job import adapt_files

N_PICTURES = 600


def main() -> None:
    """Write the pictures, adapt, and count."""
    rng, truth = np.random.default_rng(0), {}
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
        found = adapt_files(Path(folder) / "source", Path(folder) / "target")
    right = found.target["picture"].map(truth).to_numpy()
    for each in ("adapted", "unadapted"):
        share = np.mean(found.labelled[each].to_numpy() == right)
        sys.stdout.write(f"{each}: {share:.1%}\n")


if __name__ == "__main__":
    main()
