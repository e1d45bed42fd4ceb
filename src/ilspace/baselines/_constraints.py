"""Constraints on the parameters of the baselines."""

from numbers import Integral, Real

from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ilspace.baselines._classifiers import CLASSIFIERS

CLASSIFIER = [StrOptions(set(CLASSIFIERS)), HasMethods(["fit", "predict"])]
COUNT = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NONNEGATIVE = Interval(Real, 0, None, closed="left")
