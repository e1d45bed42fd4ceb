"""When a rule without adaptation checks nothing."""

import numpy as np
import pytest

from ilspace.tables.second_opinion import is_blind


@pytest.mark.parametrize(
    ("n_alike", "n", "usual", "expected"),
    [
        (100, 100, 0.5, True),
        (97, 100, 0.5, True),
        (90, 100, 0.5, False),  # it still tells some rows apart
        (97, 100, 0.9, False),  # as it should be: the source has hardly another class
        (97, 100, 0.1, True),
        (20, 20, 0.5, True),
        (19, 19, 0.5, False),  # too few rows to tell
    ],
)
def test_a_rule_that_says_the_same_of_nearly_all_rows_checks_nothing(n_alike, n, usual, expected):
    said = np.where(np.arange(n) < n_alike, 1, 0)
    source_codes = np.where(np.arange(1000) < 1000 * usual, 1, 0)
    assert is_blind(said, source_codes) is expected
