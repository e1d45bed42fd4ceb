"""What the agreement of members says of their accuracy, by hand."""

import numpy as np
import pytest

from ilspace.selection.calibration import raised
from ilspace.tables.agreement import measure_agreement

# three members, two rows, two classes; the third says something else of the second row
SAID = np.array([[[0.9, 0.1], [0.8, 0.2]], [[0.7, 0.3], [0.6, 0.4]], [[1.0, 0.0], [0.1, 0.9]]])


def test_confidence_times_agreement_by_hand():
    found = measure_agreement(SAID, np.array([False, True, True]))
    assert found.confidence == pytest.approx((0.7 + 0.6 + 1.0 + 0.9) / 4)
    # pairs: the first two agree on both rows, the others on one
    assert found.agreement == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert found.expected_accuracy == pytest.approx(0.8 * 2 / 3)
    low, high = found.interval
    assert 0 <= low < found.expected_accuracy < high <= 1


def test_where_none_adapts_all_tell_how_sure_they_are():
    found = measure_agreement(SAID[:2], np.array([False, False]))
    assert found.confidence == pytest.approx((0.9 + 0.8 + 0.7 + 0.6) / 4)
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
        assert found.interval == pytest.approx((0.38, 0.62))


def test_one_member_alone_is_taken_at_its_word():
    found = measure_agreement(SAID[:1], np.array([True]))
    assert found.agreement == 1
    assert found.expected_accuracy == pytest.approx(0.85)
    assert found.inverse_temperature == pytest.approx(1)


def test_the_order_of_members_and_rows_does_not_matter():
    adapts = np.array([False, True, True])
    found = measure_agreement(SAID, adapts)
    other = measure_agreement(SAID[::-1, ::-1], adapts[::-1])
    assert other.expected_accuracy == pytest.approx(found.expected_accuracy, rel=1e-12)
    assert other.inverse_temperature == pytest.approx(found.inverse_temperature, rel=1e-9)
