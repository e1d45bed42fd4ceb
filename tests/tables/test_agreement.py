"""What the agreement of members says of their accuracy, by hand."""

import numpy as np
import pytest

from ilspace.selection.calibration import raised
from ilspace.tables import agreement
from ilspace.tables.held_out import HeldOut

# three members, three rows, two classes; the third says something else of the second row
SAID = np.array(
    [
        [[0.9, 0.1], [0.8, 0.2], [0.9, 0.1]],
        [[0.7, 0.3], [0.6, 0.4], [0.7, 0.3]],
        [[1.0, 0.0], [0.1, 0.9], [0.8, 0.2]],
    ]
)


def measure_agreement(said, adapts, weights=None, **options):
    """With equal weights."""
    if weights is None:
        weights = np.full(len(said), 1 / len(said))
    return agreement.measure_agreement(said, adapts, weights, **options)


def test_confidence_times_agreement_by_hand():
    found = measure_agreement(SAID, np.array([False, True, True]))
    assert found.confidence == pytest.approx((0.7 + 0.6 + 0.7 + 1.0 + 0.9 + 0.8) / 6)
    # pairs: the first two agree on all rows, the others on two; those that adapt on two
    assert found.agreement == pytest.approx(((1 + 2 / 3 + 2 / 3) / 3 + 2 / 3) / 2)
    assert found.expected_accuracy == pytest.approx(4.7 / 6 * 13 / 18)
    # all give two of the rows to the first class, and not all the second
    assert found.of_classes == pytest.approx((2 / 3, 0))
    low, high = found.interval
    assert 0 <= low < found.expected_accuracy < high <= 1


def test_where_none_adapts_all_tell_how_sure_they_are():
    found = measure_agreement(SAID[:2], np.array([False, False]))
    assert found.confidence == pytest.approx((0.9 + 0.8 + 0.9 + 0.7 + 0.6 + 0.7) / 6)
    assert found.agreement == 1


def test_the_inverse_temperature_reaches_the_expected_accuracy():
    rng = np.random.default_rng(0)
    common = rng.dirichlet([0.3, 0.3, 0.3], size=50)
    said = 0.6 * common + 0.4 * rng.dirichlet([0.3, 0.3, 0.3], size=(4, 50))
    found = measure_agreement(said, np.array([True, True, True, False]))
    average = raised(said.mean(axis=0), found.inverse_temperature)
    assert average.max(axis=1).mean() == pytest.approx(found.confidence * found.agreement, abs=1e-9)
    np.testing.assert_array_equal(average.argmax(axis=1), said.mean(axis=0).argmax(axis=1))


@pytest.mark.parametrize(
    ("rows", "is_surer"),
    # members that say the opposite with certainty; and members that agree on a sure row
    [([[[1.0, 0.0]], [[0.0, 1.0]]], False), ([[[0.5, 0.5]], [[0.5, 0.5]]], True)],
)
def test_an_accuracy_out_of_reach_is_approached(rows, is_surer):
    found = measure_agreement(np.array(rows), np.array([True, True]))
    assert np.isfinite(found.inverse_temperature)
    assert found.inverse_temperature > 0
    if not is_surer:
        assert found.expected_accuracy == 0.5  # as by chance
        assert found.interval == pytest.approx((0.359, 0.641), abs=1e-3)


def test_one_member_alone_is_taken_at_its_word():
    found = measure_agreement(SAID[:1], np.array([True]))
    assert found.agreement == 1
    assert found.expected_accuracy == pytest.approx(2.6 / 3)
    assert found.inverse_temperature == pytest.approx(1)


def test_the_order_of_members_and_rows_does_not_matter():
    adapts = np.array([False, True, True])
    found = measure_agreement(SAID, adapts)
    other = measure_agreement(SAID[::-1, ::-1], adapts[::-1])
    assert other.expected_accuracy == pytest.approx(found.expected_accuracy, rel=1e-12)
    assert other.inverse_temperature == pytest.approx(found.inverse_temperature, rel=1e-9)


def held_out(n_right, n):
    """One member, right on some of n rows of one class."""
    said = np.zeros((1, n, 2))
    said[0, :, 1] = 1
    said[0, :n_right] = (1, 0)
    return HeldOut(np.zeros(n, int), np.arange(n) % 3, said, {}, np.full(n, 1 / n))


def test_held_out_labels_correct_the_expected_accuracy():
    adapts = np.array([False, True, True])
    without = measure_agreement(SAID, adapts)
    few, many = (measure_agreement(SAID, adapts, held_out=held_out(n, n)) for n in (4, 400))
    expected = [each.expected_accuracy for each in (without, few, many)]
    assert expected == sorted(expected)
    assert expected[2] == pytest.approx(1, abs=0.005)
    assert few.deviation < without.deviation
    # by hand: each by its precision, the measured one as if a right and a wrong row were added
    measured, variance = 3 / 4, (4 / 6) * (2 / 6) / 4
    found = measure_agreement(SAID, adapts, held_out=held_out(3, 4))
    precisions = np.array([1 / 0.11**2, 1 / variance])
    expected = precisions @ [without.expected_accuracy, measured] / precisions.sum()
    assert found.expected_accuracy == pytest.approx(expected)
    assert found.deviation == pytest.approx(precisions.sum() ** -0.5)


def test_the_average_that_is_calibrated_is_the_weighted_one():
    adapts, weights = np.array([False, True, True]), np.array([0.0, 1.0, 0.0])
    found = measure_agreement(SAID, adapts, weights)
    average = raised(SAID[1], found.inverse_temperature)
    assert average.max(axis=1).mean() == pytest.approx(found.expected_accuracy, abs=1e-9)
