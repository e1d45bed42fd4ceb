"""Office+Caltech10: the files are the ones the literature used."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.neighbors import KNeighborsClassifier

from ilspace.datasets import DataMissing, Domain, load_office_caltech, preprocess

ROWS = {"A": 958, "C": 1123, "D": 157, "W": 295}

# Accuracy of 1-NN with the whole source, in the table of the JDA paper (Long et al. 2013).
JDA = {
    "CA": 23.70, "CW": 25.76, "CD": 25.48, "AC": 26.00, "AW": 29.83, "AD": 25.48,
    "WC": 19.86, "WA": 22.96, "WD": 59.24, "DC": 26.27, "DA": 28.50, "DW": 63.39,
}  # fmt: skip


def load_or_skip(features):
    try:
        return load_office_caltech(features)
    except DataMissing as missing:
        pytest.skip(str(missing))


@pytest.mark.usefixtures("ilspace_data")
@pytest.mark.parametrize(
    ("features", "letters", "width", "dtype"),
    [
        ("surf", "ACDW", 800, np.float64),
        ("decaf6", "DW", 4096, np.float32),
        ("deep", "ACDW", 4032, np.float32),
        ("effnet", "ACDW", 1280, np.float32),
    ],
)
def test_shapes_and_row_order(features, letters, width, dtype):
    surf = load_or_skip("surf")
    domains = load_or_skip(features)
    assert "".join(domains) == letters
    for letter, domain in domains.items():
        assert isinstance(domain, Domain)
        assert domain.name == letter
        assert domain.X.shape == (ROWS[letter], width)
        assert domain.X.dtype == dtype
        assert domain.y.dtype == np.int64
        assert_array_equal(np.unique(domain.y), np.arange(1, 11))
        assert_array_equal(domain.y, surf[letter].y)


@pytest.mark.usefixtures("ilspace_data")
def test_whole_source_one_nn_equals_the_jda_table():
    domains = load_or_skip("surf")
    X = {letter: preprocess(domain.X, "l1-zscore") for letter, domain in domains.items()}
    found = {}
    for source, target in JDA:
        nearest = KNeighborsClassifier(1, algorithm="brute").fit(X[source], domains[source].y)
        found[source + target] = round(100 * nearest.score(X[target], domains[target].y), 2)
    assert found == JDA


def test_unknown_features():
    with pytest.raises(ValueError, match="one of surf, decaf6, deep, effnet, got 'vgg'"):
        load_office_caltech("vgg")


@pytest.mark.parametrize(
    ("X", "y", "rule"),
    [
        (np.zeros(3), np.zeros(3), "2-d array of floats"),
        (np.zeros((3, 2), dtype=int), np.zeros(3), "2-d array of floats"),
        (np.zeros((3, 2)), np.zeros(2), "one label for each of the 3 rows"),
        (np.zeros((3, 2)), np.zeros((3, 1)), "one label for each of the 3 rows"),
    ],
)
def test_domain_refuses_arrays_that_do_not_fit(X, y, rule):
    with pytest.raises(ValueError, match=rule):
        Domain("odd", X, y, "a test")
