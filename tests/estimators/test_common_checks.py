"""scikit-learn's own checks, and what both estimators share."""

import inspect

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from ilspace import ILSClassifier, ILSTransformer


# Some checks fit noise or set max_iter=1 and ignore that the run does not converge. Warnings of
# convergence are tested in test_convergence.py.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([ILSTransformer(), ILSClassifier()])
def test_common_check(estimator, check):
    check(estimator)


def test_both_classes_have_the_same_defaults():
    transformer, classifier = (
        inspect.signature(each.__init__).parameters for each in (ILSTransformer, ILSClassifier)
    )
    own = {"classifier", "self_training"}
    assert set(classifier) - set(transformer) == own
    for name, parameter in transformer.items():
        assert classifier[name] == parameter


@pytest.mark.parametrize("kind", [ILSTransformer, ILSClassifier])
def test_every_parameter_has_a_constraint_and_keeps_its_value(kind):
    names = set(inspect.signature(kind.__init__).parameters) - {"self"}
    assert set(kind._parameter_constraints) == names
    assert set(kind().get_params()) == names
    for name, value in kind().get_params().items():
        changed = kind().set_params(**{name: value})
        assert getattr(changed, name) is value
