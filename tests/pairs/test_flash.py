"""The fused engine on a GPU, against the tiles in double precision."""

import numpy as np
import pytest

from ilspace import ILSClassifier
from ilspace.objective import SmoothHinge
from ilspace.pairs import AllPairs, all_pairs

torch = pytest.importorskip("torch")
if not torch.cuda.is_available():
    pytest.skip("needs an NVIDIA GPU", allow_module_level=True)
pytest.importorskip("triton")


def case(n, p, n_classes=10, seed=0):
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    rows = rng.normal(size=(n, p)) + 0.5 * rng.normal(size=(n_classes, p))[codes]
    root = rng.normal(size=(p, p)) / p
    metric = 2 / p * np.eye(p) + 0.2 * root @ root.T
    return codes, torch.asarray(rows, device="cuda"), torch.asarray(metric, device="cuda")


@pytest.mark.parametrize("beta", [0.1, 0.7, 5.0])
@pytest.mark.parametrize(
    ("n", "p"),
    [
        *[(2, 1), (7, 1), (64, 14), (100, 3), (1000, 20), (3001, 30), (2000, 126), (2000, 127)],
        *[(900, 200), (500, 255), (900, 512), (20_000, 20)],
    ],
)
@pytest.mark.parametrize("weighted", [False, True])
def test_same_as_tiles_in_double_precision(n, p, beta, weighted):
    codes, rows, metric = case(n, p, n_classes=min(10, n))
    hinge = SmoothHinge(beta)
    weights = np.random.default_rng(1).choice([0.5, 1, 2, 3.5], size=n) if weighted else None
    wanted = AllPairs(codes, weights, reference=rows, tile=1024).sum(hinge, rows, metric)
    single = rows.float()
    engine = all_pairs(codes, weights, reference=single)
    assert type(engine).__name__ == "FlashPairs"
    found = engine.sum(hinge, single, metric.float())
    for met, truth in zip(found[:3], wanted[:3], strict=True):
        gap = torch.linalg.norm(met.double() - truth)
        assert float(gap) <= 1e-4 * float(torch.linalg.norm(truth)) + 1e-9


def test_very_wide_rows_are_left_to_the_tiles():
    reference = torch.zeros(1, device="cuda")
    for p, engine in ((190, "FlashPairs"), (191, "AllPairs")):
        chosen = all_pairs(np.arange(9) % 3, reference=reference, n_components=p)
        assert type(chosen).__name__ == engine


def test_one_class():
    codes, rows, metric = case(50, 4, n_classes=1)
    wanted = AllPairs(codes, reference=rows).sum(SmoothHinge(1.0), rows, metric)
    engine = all_pairs(codes, reference=rows.float())
    found = engine.sum(SmoothHinge(1.0), rows.float(), metric.float())
    assert float(found.value) == pytest.approx(float(wanted.value), rel=1e-5)


@pytest.mark.parametrize(("dtype", "tolerance"), [("float64", 1e-8), ("float32", 0.02)])
@pytest.mark.parametrize("width", [12, 9])
def test_estimator_stays_on_the_gpu_and_agrees_with_numpy(dtype, tolerance, width):
    rng = np.random.default_rng(0)
    y = np.arange(300) % 5
    X = rng.normal(size=(300, 12)) + 2 * rng.normal(size=(5, 12))[y]
    Xt = (X @ np.diag(rng.uniform(0.5, 1.5, 12)) + 1)[:, :width]
    few = np.where(np.arange(300) < 40, y, -1)
    tensors = [torch.asarray(each, device="cuda") for each in (X, y, Xt, few)]
    tensors[0], tensors[2] = (tensors[i].to(getattr(torch, dtype)) for i in (0, 2))
    expected = ILSClassifier(self_training=0).fit(X, y, Xt, few)
    fitted = ILSClassifier(self_training=0).fit(*tensors)
    assert fitted.metric_.is_cuda
    assert fitted.transform(tensors[2]).is_cuda
    chances = fitted.predict_proba(tensors[2])
    assert chances.is_cuda
    np.testing.assert_allclose(chances.cpu().numpy(), expected.predict_proba(Xt), atol=tolerance)
