"""Several sources in Dask collections give what they give in memory."""

import numpy as np
import pytest
from shifted import shifted

from ilspace import ILSClassifier, ObjectiveSettings

da = pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")

DATA = shifted(n=60)
XT = DATA.Xt
ROWS = [DATA.X[:24], DATA.X[24:42] + 1, DATA.X[42:] - 2]
LABELS = [DATA.y[:24], DATA.y[24:42], DATA.y[42:]]
NAMES = ["shop", "studio", "street"]


@pytest.fixture(autouse=True)
def one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def in_blocks(rows):
    return da.from_array(rows, chunks=(7, *rows.shape[1:]))


@pytest.mark.parametrize("weights", [None, "equal", [1.0, 2.0, 5.0]])
@pytest.mark.parametrize("classifier", ["nearest", "linear"])
def test_they_give_what_they_give_in_memory(weights, classifier):
    def fitted(rows, labels, target):
        objective = ObjectiveSettings(source_weights=weights)
        model = ILSClassifier(3, classifier=classifier, self_training=0, objective=objective)
        return model.fit(rows, labels, target, source_names=NAMES)

    expected = fitted(ROWS, LABELS, XT)
    blocks = [in_blocks(each) for each in ROWS]
    labels = [in_blocks(LABELS[0]), LABELS[1], in_blocks(LABELS[2])]
    found = fitted([*blocks[:2], ROWS[2]], labels, in_blocks(XT))  # one of them in memory
    np.testing.assert_allclose(found.source_weights_, expected.source_weights_, rtol=1e-9)
    np.testing.assert_allclose(found.predict_proba(XT), expected.predict_proba(XT), atol=1e-8)
    wanted = expected.transform(ROWS[1], "studio")
    np.testing.assert_allclose(found.transform(blocks[1], "studio").compute(), wanted, atol=1e-8)
    lazy = found.transform(blocks[1], sample_domain=2)
    np.testing.assert_allclose(lazy.compute(), wanted, atol=1e-8)
    assert found.source_names_ == tuple(NAMES)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([in_blocks(ROWS[0]), ROWS[1][:, :4]], LABELS[:2]), {}, "Without a target all sources"),
        (([in_blocks(each) for each in ROWS], LABELS[:2], XT), {}, "as many label arrays"),
        (([in_blocks(ROWS[0]), ROWS[1]], LABELS[1:], XT), {}, "y.0. must have one entry per row"),
        (([in_blocks(ROWS[0]), ROWS[1]], LABELS[:2], XT), {"source_names": "ab"}, "one string per"),
        (([in_blocks(ROWS[0]), ROWS[1][:, :4]], LABELS[:2], XT), {}, "no correspondence"),
        (([in_blocks(ROWS[0]) / 0, ROWS[1]], LABELS[:2], XT), {}, "X.0. must be finite"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_is_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        ILSClassifier(3).fit(*arguments, **options)


@pytest.mark.parametrize("classifier", ["nearest", "linear"])
def test_without_a_target_they_give_what_they_give_in_memory(classifier):
    def fitted(rows):
        objective = ObjectiveSettings(source_weights="equal")
        return ILSClassifier(3, classifier=classifier, objective=objective).fit(rows, LABELS)

    expected, found = fitted(ROWS), fitted([in_blocks(each) for each in ROWS])
    for mean in (None, "batch"):
        for model in (expected, found):
            model.set_params(unseen_mean=mean)
        wanted = expected.predict_proba(XT, "unseen")
        np.testing.assert_allclose(found.predict_proba(XT, "unseen"), wanted, atol=1e-8)
        lazy = found.predict_proba(in_blocks(XT), "unseen")
        np.testing.assert_allclose(lazy.compute(), wanted, atol=1e-8)
    np.testing.assert_allclose(
        found.transform(in_blocks(ROWS[1]), 2).compute(), expected.transform(ROWS[1], 2), atol=1e-8
    )


def test_a_frame_has_no_mean_of_its_own():
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    objective = ObjectiveSettings(source_weights="equal")
    model = ILSClassifier(3, unseen_mean="batch", objective=objective)
    model.fit([in_blocks(each) for each in ROWS], LABELS)
    frame = dd.from_pandas(pd.DataFrame(XT), npartitions=2)
    with pytest.raises(ValueError, match="for which a Dask array is needed"):
        model.predict(frame, "unseen")


def test_of_many_labelled_rows_a_sample_is_compared(monkeypatch):
    monkeypatch.setattr("ilspace.dask.labels.MOST_LABELLED", 50)
    monkeypatch.setattr("ilspace.dask.labels.PAIR_ROWS", 30)
    objective = ObjectiveSettings(source_weights="equal")
    model = ILSClassifier(3, classifier="nearest", objective=objective)
    blocks = [in_blocks(each) for each in ROWS]
    with pytest.warns(UserWarning, match="All pairs of 60 labelled rows would take too long"):
        model.fit(blocks, [in_blocks(LABELS[0]), *LABELS[1:]], in_blocks(XT))
    assert model._n_rows[:3] == (24, 18, 18)
    assert [int(each.sum()) for each in model._class_counts] == [12, 9, 9, 0]
    assert all((each > 0).all() for each in model._class_counts[:3])
    for mean, rows in zip(model.map_.means, [*ROWS, XT], strict=True):
        np.testing.assert_allclose(mean, rows.mean(axis=0))  # of all rows
    assert model.score(XT, DATA.yt) > 0.8
    monkeypatch.setattr("ilspace.dask.labels.MOST_LABELLED", 60)
    exact = ILSClassifier(3, classifier="nearest", objective=objective).fit(blocks, LABELS, XT)
    assert [int(each.sum()) for each in exact._class_counts] == [24, 18, 18, 0]
