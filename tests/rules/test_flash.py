"""The fused search for nearest rows on a GPU, against differences in double precision."""

import numpy as np
import pytest

from ilspace.rules import neighbors

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs an NVIDIA GPU", allow_module_level=True)
pytest.importorskip("triton")


@pytest.mark.parametrize("offset", [0.0, 30.0])
@pytest.mark.parametrize(
    ("n", "m", "p", "n_classes"),
    [(1, 1, 1, 1), (200, 300, 20, 4), (129, 1000, 30, 7), (1000, 65, 126, 2), (500, 5000, 3, 50)],
)
def test_same_as_differences_in_double_precision(n, m, p, n_classes, offset):
    from ilspace.rules.flash import fused_class_distances

    rng = np.random.default_rng(0)
    codes = rng.integers(0, max(1, n_classes - 1), m)  # the last class has no row
    rows, queries = (offset + rng.normal(size=(size, p)) for size in (m, n))
    queries[0] = rows[0]
    given = [torch.asarray(each, dtype=torch.float32, device="cuda") for each in (queries, rows)]
    found = fused_class_distances(given[0], given[1], codes, n_classes).cpu().double().numpy()
    exact = [each.cpu().double().numpy() for each in given]
    wanted = np.full((n, n_classes), np.inf)
    for code in np.unique(codes):
        offsets = exact[0][:, None, :] - exact[1][None, codes == code, :]
        wanted[:, code] = np.min(np.sum(offsets**2, axis=2), axis=1)
    np.testing.assert_allclose(found, wanted, atol=1e-4 * p)


def test_wide_rows_and_few_distances_are_left_to_the_tiles(monkeypatch):
    from ilspace.rules import flash

    def refuse(*_):
        raise AssertionError

    monkeypatch.setattr(flash, "fused_class_distances", refuse)
    rows = torch.ones((10, 200), device="cuda")
    codes = np.arange(10) % 2
    neighbors.class_distances(rows[:, :3], rows[:, :3], codes, 2)
    monkeypatch.setattr(neighbors, "_WORTH_FUSING", 0)
    neighbors.class_distances(rows, rows, codes, 2)
    with pytest.raises(AssertionError):
        neighbors.class_distances(rows[:, :3], rows[:, :3], codes, 2)
