"""Allowed values of the parameters, by name; a class may say otherwise for its own."""

from numbers import Integral, Real

import numpy as np
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from ilspace.baselines._classifiers import CLASSIFIERS
from ilspace.baselines._discrepancies import DISCREPANCIES

COUNT = Interval(Integral, 1, None, closed="left")
POSITIVE = Interval(Real, 0, None, closed="neither")
NONNEGATIVE = Interval(Real, 0, None, closed="left")

CONSTRAINTS = {
    **dict.fromkeys(("max_inner_iter", "max_iter", "n_neighbors", "n_rounds"), [COUNT]),
    **dict.fromkeys(("n_axes", "n_components"), [COUNT, None]),
    **dict.fromkeys(("agreement", "manifold_weight", "neighbour_weight", "tie"), [NONNEGATIVE]),
    **dict.fromkeys(("discrepancy_weight", "discriminant_weight", "smoothness"), [NONNEGATIVE]),
    **dict.fromkeys(("penalty", "regularization", "ridge", "tol", "trace_bound"), [NONNEGATIVE]),
    **dict.fromkeys(("C", "bandwidth_scale", "gamma", "mu"), [POSITIVE]),
    **dict.fromkeys(("reg_e", "source_cost", "target_cost"), [POSITIVE]),
    **dict.fromkeys(("alignment_weight", "variance_weight"), [POSITIVE]),
    **dict.fromkeys(("embedding", "kernel"), [StrOptions({"linear", "rbf"})]),
    **dict.fromkeys(("align", "symmetric", "whiten"), ["boolean"]),
    "n_steps": [Interval(Integral, 0, None, closed="left")],
    "adapter": [HasMethods(["fit", "transform"]), None],
    "balance": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
    "classifier": [StrOptions(set(CLASSIFIERS)), HasMethods(["fit", "predict"])],
    "cluster_weight": [NONNEGATIVE, None],
    "discrepancy": [StrOptions(set(DISCREPANCIES))],
    "label_weight": [Interval(Real, 0, 1, closed="both")],
    "n_samples": [Interval(Integral, 2, None, closed="left")],
    "norm": [StrOptions({"median", "max"}), None],
    "random_state": ["random_state", np.random.Generator],
    "reg_cl": [NONNEGATIVE],
    "share": [Interval(Real, 0, 1, closed="right")],
    "shrinkage": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
    "tail": [Interval(Real, 0, 0.5, closed="left")],
    "transform_weight": [POSITIVE, None],
}
"""What each parameter may be, as in scikit-learn's ``_parameter_constraints``."""
