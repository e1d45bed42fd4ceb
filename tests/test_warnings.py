"""Warnings point at the line of the user, through our own calls and scikit-learn's."""

import inspect

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ilspace import ILSClassifier, ILSTransformer
from ilspace._warnings import warn

RNG = np.random.default_rng(0)
ABC, BCD = (pd.DataFrame(RNG.normal(size=(30, 3)), columns=list(each)) for each in ("abc", "bcd"))
Y = np.arange(30) % 2


def here():
    return inspect.stack()[1].lineno


@pytest.mark.parametrize("method", ["fit", "partial_fit"])
def test_columns_that_are_shared_in_part(method):
    with pytest.warns(UserWarning, match="some columns in common") as met:
        getattr(ILSTransformer(2), method)(ABC, Y, BCD, Y)
    assert (met[0].filename, met[0].lineno) == (__file__, here() - 1)


def test_inside_a_pipeline():
    model = make_pipeline(StandardScaler(), ILSClassifier(2, max_iter=1, tol=0, self_training=0))
    with pytest.warns(ConvergenceWarning) as met:
        model.fit(ABC, Y)
    assert {each.filename for each in met} == {__file__}


def test_sources_of_different_columns_are_an_error_alone():
    with pytest.raises(ValueError, match=r"X\[0\] and X\[1\]"):  # warnings are errors here
        ILSTransformer(2).fit([ABC, BCD], [Y, Y])


def test_where_nobody_else_is():
    source = "from ilspace._warnings import warn\nwarn('so')\n"
    space = {"__name__": "ilspace.nowhere"}
    with pytest.warns(UserWarning, match="so"):
        exec(compile(source, "nowhere.py", "exec"), space)
    with pytest.warns(RuntimeWarning, match="so") as met:
        warn("so", RuntimeWarning)
    assert (met[0].filename, met[0].lineno) == (__file__, here() - 1)
