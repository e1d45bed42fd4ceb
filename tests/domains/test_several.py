"""The ways to give several domains: whichever is chosen, the same rows are told apart."""

import numpy as np
import pytest

from ilspace.domains.several import tell_apart

X = np.arange(14.0).reshape(7, 2)
Y = np.array([0, 1, 0, 1, 0, 1, 1])
NUMBERS = np.array([2, 1, -1, 2, 1, -1, 2])
WEIGHTS = np.arange(1.0, 8.0)
FIRST, SECOND, TARGET = ([1, 4], [0, 3, 6], [2, 5])


def apart(X, y, Xt=None, yt=None, *, numbers=None, weights=None, several=True):
    return tell_apart(X, y, Xt, yt, numbers, weights, several=several, caller="Mine")


def test_one_source_is_taken_as_it_is():
    sources, Xt, yt, weights = apart(X, Y, X + 1, Y[::-1])
    assert sources.rows[0] is X
    assert sources.labels[0] is Y
    assert (sources.numbers, sources.called, weights) == (None, ["X"], None)
    np.testing.assert_array_equal(Xt, X + 1)
    np.testing.assert_array_equal(yt, Y[::-1])


def test_lists_and_numbers_give_the_same_domains():
    listed = apart(
        [X[FIRST], X[SECOND]],
        [Y[FIRST], Y[SECOND]],
        X[TARGET],
        Y[TARGET],
        weights=[WEIGHTS[FIRST], WEIGHTS[SECOND], WEIGHTS[TARGET]],
    )
    numbered = apart(X, Y, numbers=NUMBERS, weights=WEIGHTS)
    assert numbered[0].numbers == (1.0, 2.0)
    assert listed[0].called == numbered[0].called == ["X[0]", "X[1]"]
    for one, other in zip(listed[0].rows, numbered[0].rows, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(listed[0].labels, numbered[0].labels, strict=True):
        np.testing.assert_array_equal(one, other)
    for one, other in zip(listed[1:], numbered[1:], strict=True):
        np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(WEIGHTS, np.arange(1.0, 8.0))


def test_numbers_of_sources_that_are_not_kept_apart():
    sources, Xt, _, weights = apart(X, Y, numbers=NUMBERS, weights=WEIGHTS, several=False)
    source = np.flatnonzero(NUMBERS > 0)
    assert (len(sources.rows), sources.numbers) == (1, None)
    np.testing.assert_array_equal(sources.rows[0], X[source])
    np.testing.assert_array_equal(Xt, X[TARGET])
    np.testing.assert_array_equal(weights, WEIGHTS[[*source, *TARGET]])


def test_a_list_is_refused_where_it_says_too_much():
    with pytest.raises(ValueError, match="Mine learns from one source, but X is a list of 2"):
        apart([X, X], [Y, Y], several=False)
    with pytest.raises(ValueError, match="either as a list or by positive numbers"):
        apart([X, X], [Y, Y], numbers=NUMBERS)
