"""One thread while it is asked for, and as many as before afterwards."""

import io
import threading

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from threadpoolctl import ThreadpoolController, threadpool_limits

from ilspace import ILSClassifier
from ilspace.backend import linalg, one_thread
from ilspace.domains import Domain
from ilspace.ils.fit import threads_for
from ilspace.ils.seen import SeenDomain


def n_threads():
    """Threads that each linear algebra library may use."""
    found = ThreadpoolController().select(user_api="blas").info()
    if not found:
        pytest.skip("the linear algebra library cannot be told how many threads to use")
    return {each["num_threads"] for each in found}


def n_loops():
    """Threads of each pool of loops, such as scikit-learn's."""
    return {each["num_threads"] for each in ThreadpoolController().select(user_api="openmp").info()}


@pytest.fixture(autouse=True)
def two_threads():
    """Begin with two, whatever the environment says."""
    with threadpool_limits(2, user_api="blas"):
        if n_threads() != {2}:
            pytest.skip("the linear algebra library has one thread only")
        yield


def test_nested_and_after_an_error():
    with pytest.raises(KeyError), one_thread():  # noqa: PT012 - the nesting is the point
        with one_thread():
            assert n_threads() == {1}
        assert n_threads() == {1}
        raise KeyError
    assert n_threads() == {2}


def test_overlapping_in_two_python_threads():
    second_is_in, first_is_out = threading.Event(), threading.Event()

    def second():
        with one_thread():
            second_is_in.set()
            first_is_out.wait(10)

    other = threading.Thread(target=second)
    with one_thread():
        other.start()
        assert second_is_in.wait(10)
        assert n_threads() == {1}
    assert n_threads() == {2}
    first_is_out.set()
    other.join(10)
    assert n_threads() == {2}  # the one that came second has nothing to restore
    with one_thread():
        assert n_threads() == {1}


def test_fit_uses_one_where_matrices_are_small():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 4)), np.arange(30) % 2
    seen = []
    ILSClassifier(2, callback=lambda *_: seen.append(n_threads())).fit(X, y, X + 1)
    assert seen
    assert all(each == {1} for each in seen)
    assert n_threads() == {2}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("n", "expected"), [(60, 1), (600, 2)])
def test_a_fit_to_dask_collections_goes_by_the_rows_there(n, expected):
    da = pytest.importorskip("dask.array")
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(n, 4)), np.arange(n) % 2
    seen = []
    model = ILSClassifier(2, max_iter=1, tol=0, callback=lambda *_: seen.append(n_threads()))
    with pytest.importorskip("dask").config.set(scheduler="synchronous"):
        model.fit(da.from_array(X, chunks=(50, 4)), y, da.from_array(X + 1, chunks=(50, 4)))
    assert seen
    assert all(each == {expected} for each in seen)


@pytest.mark.parametrize(("d", "expected"), [(16, 1), (1700, 2)])
def test_a_piece_goes_by_the_covariance_of_its_columns(d, expected):
    piece = Domain(np.eye(3, d), np.array([0, 1, -1]))
    with threads_for((SeenDomain.of(piece, np.random.default_rng(0)),)):
        assert n_threads() == {expected}


def test_loops_have_one_thread_too():
    import sklearn.neighbors  # noqa: F401 - brings its own pool

    with threadpool_limits(2, user_api="openmp"):
        if 2 not in n_loops():
            pytest.skip("no library here has loops on several threads")
        with one_thread():
            assert n_loops() == {1}
        assert 2 in n_loops()


@pytest.mark.parametrize(
    ("few_rows", "few_threads", "asked", "expected"),
    [(60, 1, "", 1), (59, 1, "", 2), (59, 2, "", 1), (59, 2, "2", 2), (60, 2, "2", 1)],
)
def test_a_job_goes_by_the_rows_of_its_tables_and_by_what_threads_gain(
    monkeypatch, few_rows, few_threads, asked, expected
):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("skrub")
    from ilspace.tables.job import Listener, adapt
    from ilspace.tables.outputs import label_blocks

    monkeypatch.setattr(linalg, "_FEW_ROWS", few_rows)
    monkeypatch.setattr(linalg, "_FEW_THREADS", few_threads)
    for name in linalg._THREADS:
        monkeypatch.delenv(name, raising=False)
    if asked:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
    rng = np.random.default_rng(0)
    y = np.arange(30) % 2
    source, target = (
        pd.DataFrame(rng.normal(size=(30, 3)) + y[:, None], columns=list("abc")) for _ in range(2)
    )
    seen = {}
    listener = Listener(
        on_stage=lambda stage: seen.update({stage: n_threads()}),
        on_count=lambda done, total: seen.update({"held out": n_threads()}),
    )
    found = adapt(
        source.assign(label=y), target, "label", method=LogisticRegression(), listener=listener
    )
    assert seen["fitting"] == seen["labelling"] == seen["held out"] == {expected}
    assert n_threads() == {2}

    # rows of further files go by their block
    monkeypatch.setattr(linalg, "_FEW_ROWS", few_rows - 30)
    asked_for = []
    monkeypatch.setattr(
        type(found.model),
        "predict_proba",
        lambda self, block: asked_for.append(n_threads()) or np.full((len(block), 2), 0.5),
    )
    label_blocks(found.model, [target], output=io.StringIO())
    assert asked_for == [{expected}]
