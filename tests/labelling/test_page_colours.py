"""Classes on the page are told apart by those who see fewer colours."""

import re
from importlib.resources import files
from itertools import combinations

import numpy as np
import pytest

PAGE = files("ilspace.labelling") / "page"

# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB
SIGHTS = {
    "all colours": np.eye(3),
    "no red": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "no blue": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
}
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
KEYS = 10
TOLD_APART = 10.0
"""Difference in CIELAB (1976); 2.3 is just noticed side by side."""


def schemes():
    """Colours of the classes in the light and in the dark scheme."""
    text = (PAGE / "page.css").read_text(encoding="utf-8")
    found = re.findall(r"--class-(\d): #([0-9a-f]{6});", text)
    assert [int(code) for code, _ in found] == [*range(8), *range(8)]
    values = np.array([[int(each[i : i + 2], 16) for i in (0, 2, 4)] for _, each in found])
    return {"light": values[:8] / 255, "dark": values[8:] / 255}


def shapes():
    """Shape of each class with a key."""
    text = (PAGE / "symbols.js").read_text(encoding="utf-8")
    listed = re.findall(r'^  "(M[^"]+)",$', text, flags=re.MULTILINE)
    assert "SHAPES[(code + Math.floor(code / 24)) % SHAPES.length]" in text
    assert len(set(listed)) == len(listed)
    return [listed[code % len(listed)] for code in range(KEYS)]


def in_lab(colours, sight):
    linear = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    seen = np.clip(linear @ np.asarray(sight).T, 0, 1) @ TO_XYZ.T / TO_XYZ.sum(axis=1)
    roots = np.where(seen > (6 / 29) ** 3, np.cbrt(seen), seen * (29 / 6) ** 2 / 3 + 4 / 29)
    x, y, z = roots.T
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=1)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS)
def test_classes_differ_in_shape_or_clearly_in_colour(scheme, sight):
    lab, shape = in_lab(schemes()[scheme], SIGHTS[sight]), shapes()
    for one, other in combinations(range(KEYS), 2):
        if shape[one] == shape[other]:
            assert np.linalg.norm(lab[one % 8] - lab[other % 8]) > TOLD_APART


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("sight", SIGHTS)
def test_the_first_classes_differ_in_colour_alone(scheme, sight):
    lab = in_lab(schemes()[scheme], SIGHTS[sight])[:4]
    distances = [np.linalg.norm(one - other) for one, other in combinations(lab, 2)]
    assert min(distances) > TOLD_APART
