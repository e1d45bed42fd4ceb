"""From two tables to labels: what `ilspace.adapt` takes, and what it says of its answer."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from tables.small_tables import NUMBERS, PREDICTED, quick, small_tables, write_csv

import ilspace
from ilspace import TableClassifier
from ilspace.tables import TableError, answer, estimates, job, learning
from ilspace.tables.answer import Answer, labelled_rows
from ilspace.tables.estimates import SURE
from ilspace.tables.job import Listener
from ilspace.tables.labels import take_source_labels

TABLES = small_tables(missing=0)
MOVED = TABLES.moved()


def adapted(source=TABLES.source, target=TABLES.target, **options):
    """By a quick classifier, unless another method is asked for."""
    return ilspace.adapt(source, target, "class", **{"method": quick()} | options)


@pytest.fixture(scope="module")
def found():
    return adapted()


# -- what it takes ---------------------------------------------------------------------------------


def test_data_frames_are_labelled_as_the_classifier_does(found):
    assert isinstance(found, Answer)
    X, y, Xt = TABLES.features
    alone = TableClassifier(quick()).fit(X, y, Xt)
    np.testing.assert_array_equal(found.votes.mean(axis=0), alone.predict_proba(Xt))
    assert found.predictions["label"].tolist() == alone.predict(Xt).tolist()
    assert found.model.predict(Xt).tolist() == alone.predict(Xt).tolist()


def test_paths_are_as_good_as_data_frames(tmp_path, found):
    source, target = write_csv(tmp_path, TABLES)
    TABLES.target.to_parquet(tmp_path / "target.parquet")
    for other in (target, tmp_path / "target.parquet"):
        again = adapted(source, other)
        pd.testing.assert_frame_equal(again.predictions, found.predictions)
        assert again.notes == found.notes
    assert again.inputs["source"] == source
    assert set(again.inputs["files"]) == {"source", "target"}
    assert all(len(each["sha256"]) == 64 for each in again.inputs["files"].values())
    assert (found.inputs["source"], found.inputs["target"]) == ("source", "target")
    assert found.inputs["files"] == {}


def test_a_file_and_a_data_frame_go_together(tmp_path, found):
    source, _ = write_csv(tmp_path, TABLES)
    again = adapted(source, TABLES.target)
    pd.testing.assert_frame_equal(again.predictions, found.predictions)
    assert set(again.inputs["files"]) == {"source"}


def test_tables_of_polars(found):
    pl = pytest.importorskip("polars")
    tables = [pl.from_pandas(each) for each in (TABLES.source, TABLES.target)]
    pd.testing.assert_frame_equal(adapted(*tables).predictions, found.predictions)


def test_tables_of_arrow(found):
    pa = pytest.importorskip("pyarrow")
    tables = [pa.Table.from_pandas(each) for each in (TABLES.source, TABLES.target)]
    pd.testing.assert_frame_equal(adapted(*tables).predictions, found.predictions)


def test_tables_that_were_given_stay_as_they_were():
    source, target = TABLES.source.set_index("colour", drop=False), TABLES.labelled(5)
    before = source.copy(), target.copy()
    adapted(source, target)
    pd.testing.assert_frame_equal(source, before[0])
    pd.testing.assert_frame_equal(target, before[1])


def test_several_sources_are_pooled(found):
    parts = [TABLES.source[:14], TABLES.source[14:].assign(more=1)]
    again = adapted(parts, TABLES.target)
    np.testing.assert_allclose(again.votes, found.votes)
    assert "Not in all sources, and left out: more." in again.notes
    said = again.summary["sources"]
    assert [(each["name"], each["rows"]) for each in said] == [("source 1", 14), ("source 2", 16)]
    assert [each["weight"] for each in said] == [14 / 30, 16 / 30]
    assert "The rows of all sources are pooled: source 1, source 2." in again.notes


def test_who_listens_is_told(found):
    stages, counts, steps = [], [], []
    listener = Listener(stages.append, steps.append, lambda *count: counts.append(count))
    again = adapted(method="ils", listener=listener)
    assert stages == ["reading", "fitting", "fitting ILSClassifier", "labelling", "estimating"]
    assert counts == [(i, 5) for i in range(1, 6)]
    assert {each.member for each in steps} == {"ILSClassifier"}
    assert again.model.callback is None  # so that the model can be saved, and sent


def test_options_are_those_of_the_classifier():
    options = {"ignored": ("width",), "keep": ("colour",), "ids": ("sample",), "random_state": 3}
    options |= {"class_prior": {"ant": 0.2, "bee": 0.3, "élan": 0.5}, "kind": "table"}
    again = adapted(**options)
    assert {name: getattr(again.model, name) for name in options} == options
    assert "width" not in again.model.plan_.target
    assert list(again.summary["class_frequencies"].values()) == [0.2, 0.3, 0.5]
    for name, each in options.items():
        assert again.inputs[name] == each


@pytest.mark.parametrize("option", ["ids", "ignored", "keep", "text"])
def test_the_column_of_labels_is_no_feature(option):
    with pytest.raises(TableError, match="'class' is given to --.* too"):
        adapted(**{option: ("class",)})


def test_what_is_refused():
    with pytest.raises(TableError, match="column of labels must be named"):
        ilspace.adapt(TABLES.source, TABLES.target)
    with pytest.raises(
        TableError, match="The source must have the column 'klass'|source must have"
    ):
        ilspace.adapt(TABLES.source, TABLES.target, "klass")
    with pytest.raises(TableError, match="The target must have two rows or more"):
        adapted(target=TABLES.target[:1])
    with pytest.raises(TableError, match="must have rows, but has none"):
        adapted(target=TABLES.target[:0])
    with pytest.raises(TableError, match="There must be a source to learn from"):
        adapted(source=[])
    with pytest.raises(TableError, match="target on workers must be in Parquet files"):
        adapted(partitioned=True)


def test_warnings_become_notes():
    class Warner(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            import warnings

            warnings.warn("The labels are odd:\n  look again.", UserWarning, stacklevel=2)
            warnings.warn("Old.", FutureWarning, stacklevel=2)
            self.classes_ = np.unique(y)
            return self

        def predict(self, X):
            return np.full(len(X), self.classes_[0])

    again = adapted(method=Warner())
    assert again.notes.count("The labels are odd: look again.") == 1
    assert not any("Old" in each for each in again.notes)


# -- labels that are none --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("labels", "is_refused"),
    [
        ([f"{i / 7:.3f}" for i in range(30)], True),
        ([f"{i}e-3" for i in range(30)], True),
        ([str(100 + 3 * i) for i in range(60)], True),  # whole, but no count of classes
        ([str(i) for i in range(60)], False),  # numbered from 0
        ([str(i + 1) for i in range(60)], False),
        ([str(100 + 3 * i) for i in range(50)], False),  # may be names
        ([f"{i % 5}.5" for i in range(30)], False),  # grades
        ([f"v{i / 7:.3f}" for i in range(30)], False),
    ],
)
def test_a_quantity_is_no_label(labels, is_refused):
    table = pd.DataFrame({"class": labels, "x": range(len(labels))})
    if is_refused:
        said = rf"holds {len(labels)} different numbers .*, and that looks like a quantity: name"
        with pytest.raises(TableError, match=said):
            ilspace.adapt(table, table[["x"]], "class")
    else:
        assert len(take_source_labels(table, "class", name="it")[1]) == len(labels)


# -- predictions -----------------------------------------------------------------------------------


def test_predictions_are_identifiers_row_label_probability_and_sure(found):
    table = found.predictions
    assert (
        list(table) == ["sample", *PREDICTED] == ["sample", "row", "label", "probability", "sure"]
    )
    assert table["sample"].tolist() == TABLES.target["sample"].tolist()
    assert table["row"].tolist() == list(range(1, 25))
    assert (table["sure"] == (table["probability"] >= SURE)).all()
    assert 0 < table["sure"].mean() < 1
    probabilities = pd.DataFrame(found.votes.mean(axis=0), columns=found.model.classes_)
    for i, row in table.iterrows():
        assert row["probability"] == probabilities.loc[i, row["label"]]
        assert row["probability"] == probabilities.loc[i].max()


def test_given_labels_are_kept_and_told_from_predictions():
    wrong = TABLES.labelled(24)["class"].where(np.arange(24) < 4)
    wrong[0] = next(each for each in ("ant", "bee") if each != wrong[0])
    again = adapted(target=TABLES.target.assign(**{"class": wrong}))
    table = again.predictions
    assert list(table)[-1] == "given"
    assert table["given"].tolist() == [True] * 4 + [False] * 20
    assert table["label"][:4].tolist() == wrong[:4].tolist()
    assert table["probability"][:4].tolist() == [1.0] * 4
    assert len(again.new) == 20
    assert again.sure_share == table["sure"][4:].mean()
    assert again.summary["n_target_labels"] == again.estimate.n_labels == 4


def test_where_all_are_given_all_are_judged():
    again = adapted(target=TABLES.labelled(24))
    assert len(again.new) == 24
    assert again.predictions["label"].tolist() == TABLES.truth.tolist()


def test_labels_of_two_classes_have_half_the_probability_at_least():
    """Never "sick, 0.37"."""
    two = TABLES.source[TABLES.source["class"] != "bee"]
    assert adapted(two).predictions["probability"].min() >= 0.5


def test_the_most_probable_class_of_each_row():
    classes = np.array(["p", "q", "r"])
    votes = np.array([[0.2, 0.7, 0.1], [0.95, 0.05, 0], [0.3, 0.3, 0.4]])
    table = labelled_rows(classes, votes)
    assert table["label"].tolist() == ["q", "p", "r"]
    assert table["probability"].tolist() == [0.7, 0.95, 0.4]
    assert table["sure"].tolist() == [False, True, False]
    table = labelled_rows(classes, votes, np.array([-1, 2, 0]))
    assert table["label"].tolist() == ["q", "r", "p"]
    assert table["probability"].tolist() == [0.7, 1.0, 1.0]
    assert table["given"].tolist() == [False, True, True]


# -- the three numbers -----------------------------------------------------------------------------

KEYS = ["kind", "expected_accuracy", "expected_accuracy_interval", "held_out_source_accuracy"]
KEYS += ["sure_share", "n_target_labels", "drift", "next_step"]


def test_the_summary_has_the_numbers(found):
    summary, known = found.summary, found.estimate
    assert set(KEYS) <= set(summary)
    assert summary["kind"] == found.model.kind_ == "table"
    assert summary["expected_accuracy"] == known.expected
    assert summary["expected_accuracy_interval"] == list(known.interval or ())
    assert summary["held_out_source_accuracy"] == known.held_out_accuracy
    assert summary["sure_share"] == found.predictions["sure"].mean()
    assert summary["n_target_labels"] == 0
    assert [each["column"] for each in summary["drift"]] == [e.name for e in known.drift]
    distances = [each["distance"] for each in summary["drift"]]
    assert distances == sorted(distances, reverse=True)
    assert summary["tables_told_apart"] == known.told_apart
    assert summary["next_step"] == found.next_steps()[0]["text"]
    assert summary["method"] == "Pipeline"
    assert summary["identifiers"] == ["sample"]
    assert summary["source"] == {"rows": 30, "columns": 5}
    assert summary["target"] == {"rows": 24, "columns": 5}
    assert sum(each["source"] for each in summary["balance"]) == pytest.approx(1)
    predicted = {each["class"]: each["predicted"] for each in summary["balance"]}
    counts = found.predictions["label"].value_counts(normalize=True)
    assert predicted == pytest.approx({each: counts.get(each, 0) for each in predicted})
    assert set(summary["versions"]) >= {"ilspace", "scikit-learn", "skrub", "python"}
    # plain data
    assert json.loads(json.dumps(summary, allow_nan=False))["classes"] == ["ant", "bee", "élan"]


@pytest.mark.parametrize(
    ("method", "options", "named"),
    [("auto", {}, "committee"), ("auto", {"kind": "features"}, "ils"), ("CORAL", {}, "CORAL")],
)
def test_the_summary_names_what_gave_the_labels(monkeypatch, method, options, named):
    monkeypatch.setattr(learning, "TREES", 3)
    tables = [each.drop(columns="colour") for each in (TABLES.source, TABLES.target)]
    again = adapted(*tables, method=method, own_scaling=False, **options)
    assert again.summary["method"] == again.inputs["method"] == named


def test_three_cards_say_the_same_numbers(found):
    known = found.estimate
    accuracy, sure, changed = found.rely
    assert known.expected is not None
    assert known.interval is not None
    assert accuracy["value"] == f"{known.expected:.0%}"
    assert accuracy["range"] == known.interval
    low, high = known.interval
    for said in (
        f"On held-out source rows the accuracy is {known.held_out_accuracy:.0%}.",
        f"Between {low:.0%} and {high:.0%} in nine of ten cases. ",
        "far lower if the relation between columns and label changed, which inputs cannot show",
    ):
        assert said in accuracy["text"]
    assert sure["value"] == f"{found.sure_share:.0%}"
    assert "Of 24 rows, these have a probability of 0.90 or more" in sure["text"]
    assert "How many of them are right is not known" in sure["text"]  # of a classifier of one's own
    assert changed["value"] == f"{sum(e.distance >= 0.1 for e in known.drift)} of 5 columns"
    assert f"area under the curve of {known.told_apart:.2f}" in changed["text"]
    assert known.drift[0].about in changed["text"]
    words = ("trust", "verdict", "recommend", "adapted", "doubt")
    text = " ".join(each["title"] + each["text"] for each in found.rely).lower()
    assert not [word for word in words if word in text]


@pytest.mark.parametrize(
    ("interval", "level"), [((0.3, 0.5), "good"), ((0.6, 1.0), "fair"), ((0.55, 0.96), "poor")]
)
def test_cards_are_coloured_by_how_reliable_they_are(found, interval, level):
    known = replace(found.estimate, expected=0.7, interval=interval)
    assert replace(found, estimate=known).rely[0]["level"] == level


@pytest.mark.parametrize(
    ("apart", "level"), [(0.6, "good"), (0.7, "fair"), (0.94, "fair"), (0.95, "poor")]
)
def test_tables_that_are_told_apart_are_a_bad_sign(found, apart, level):
    assert (
        replace(found, estimate=replace(found.estimate, told_apart=apart)).rely[2]["level"] == level
    )


def test_what_cannot_be_estimated_is_not_said(found):
    known = replace(found.estimate, expected=None, interval=None)
    accuracy, sure, _ = replace(found, estimate=known).rely
    assert (accuracy["value"], accuracy["range"]) == ("unknown", None)
    assert accuracy["text"].startswith("It cannot be estimated here: label 30 rows.")
    assert (accuracy["level"], sure["level"]) == ("unknown", "unknown")
    summary = replace(found, estimate=known).summary
    assert summary["expected_accuracy"] is None
    assert summary["expected_accuracy_interval"] is None
    assert summary["sure_share"] == found.sure_share


def test_where_nothing_could_be_held_out_nothing_is_said_of_it():
    again = adapted(TABLES.source[:3])  # a row of each class
    assert again.summary["held_out_source_accuracy"] is None
    assert "held-out" not in again.rely[0]["text"]


def test_labels_are_counted_where_they_count():
    again = adapted(target=TABLES.labelled(12))
    assert ", from 12 target labels" in again.rely[0]["text"]


def test_what_was_measured_is_said_of_what_it_was_measured_with(monkeypatch):
    monkeypatch.setattr(learning, "TREES", 3)
    source = pd.concat([TABLES.source, *[TABLES.source[TABLES.source["class"] == "bee"]] * 12])
    source["sample"] = [f"{i:04d}" for i in range(len(source))]
    text = adapted(source, method="committee").rely[1]["text"]
    assert answer.SURE_RIGHT["committee"] in text
    rare = f"Of rows predicted to be of a rare class (here ant, élan) {answer.RARE_RIGHT:.0%} were."
    assert text.endswith(rare)
    text = adapted(source, method="committee", own_scaling=True).rely[1]["text"]
    assert answer.SURE_RIGHT["own scaling"] in text
    assert "rare" not in text


def test_lines_of_text_say_all_of_it(found):
    lines = found.sentences("results/")
    cards = [f"{each['title']}: {each['value']}. {each['text']}" for each in found.rely]
    assert lines[:3] == cards
    assert [each for each in lines if each.startswith("Note: ")] == [
        f"Note: {each}" for each in found.notes
    ]
    assert lines[-1].startswith("Next: Label thirty rows")
    assert lines[-1].endswith("ilspace label results/")
    assert not any("\n" in each for each in lines)


def test_there_is_always_a_next_step_and_what_it_is_worth(monkeypatch):
    monkeypatch.setattr(learning, "TREES", 3)
    (step,) = adapted(method="committee", own_scaling=False).next_steps("over there/")
    assert step["command"] == "ilspace label 'over there/'"
    assert f"random ones raised it by {answer.GAIN_OF_LABELS} points" in step["text"]
    features = adapted(
        *[
            each[[*NUMBERS, *extra]]
            for each, extra in ((TABLES.source, ["class"]), (TABLES.target, []))
        ],
        method="ils",
        kind="features",
    )
    assert "points" not in features.next_steps()[0]["text"]
    known = replace(features.estimate, n_labels=30)
    assert "Label more rows" in replace(features, estimate=known).next_steps()[0]["text"]


def test_of_adapted_features_nothing_is_expected_without_labels():
    tables = [each.drop(columns="colour") for each in (TABLES.source, TABLES.target)]
    features = adapted(*tables, method="ils", kind="features")
    assert features.estimate.expected is None
    assert features.estimate.held_out_accuracy is not None
    assert answer.SURE_RIGHT["ils"] in features.rely[1]["text"]
    some = adapted(tables[0], TABLES.labelled(12).drop(columns="colour"), method="ils")
    assert some.estimate.expected is not None


def test_a_line_is_a_line_whatever_the_data_hold():
    odd = [
        each.assign(colour=each["colour"] + "\n\u2028x") for each in (TABLES.source, TABLES.target)
    ]
    odd[1]["colour"] = np.where(np.arange(24) < 14, odd[0]["colour"][0], odd[1]["colour"])
    again = adapted(*[each.rename(columns={"height": "he\night"}) for each in odd])
    assert all(len(each.splitlines()) == 1 for each in again.sentences())


# -- tables that were measured differently ---------------------------------------------------------


def test_where_most_numbers_have_shifted_own_scaling_is_suggested():
    again = adapted(target=MOVED.target)
    assert again.changed_by_own_scaling is not None
    own = adapted(target=MOVED.target, own_scaling=True)
    changed = np.mean(again.predictions["label"] != own.predictions["label"])
    assert again.changed_by_own_scaling == again.summary["changed_by_own_scaling"] == changed
    step = again.next_steps()[0]
    assert f"use --own-scaling: it would change {changed:.0%} of the labels" in step["text"]
    assert "another population measured alike, do not" in step["text"]
    assert again.summary["next_step"] == step["text"]
    assert len(again.next_steps()) == 2
    # who has said what is to be done is not asked
    for asked in (own, adapted(target=MOVED.target, own_scaling=False)):
        assert asked.changed_by_own_scaling is None
        assert len(asked.next_steps()) == 1


def test_it_is_not_suggested_where_few_have_shifted_nor_for_features(monkeypatch):
    few = TABLES.target.assign(height=99.0 + TABLES.target["height"])
    monkeypatch.setattr(estimates, "_FAR", 0.7)
    assert adapted(target=few).changed_by_own_scaling is None
    tables = [each.drop(columns="colour") for each in (TABLES.source, MOVED.target)]
    for options in ({"method": "ils"}, {"kind": "features", "method": "committee"}):
        monkeypatch.setattr(learning, "TREES", 3)
        assert adapted(*tables, **options).changed_by_own_scaling is None


def test_samples_are_told(monkeypatch):
    monkeypatch.setattr(job, "MOST_ROWS", 25)
    monkeypatch.setattr(job, "PAIR_ROWS", 20)
    notes = adapted(method="ils").notes
    assert "The source has 30 rows, of which a sample of 20 trains the latent space." in notes
    assert "The held-out accuracy is that of 25 of the 30 source rows." in notes
    notes = adapted().notes
    assert not any("latent space" in each for each in notes)
