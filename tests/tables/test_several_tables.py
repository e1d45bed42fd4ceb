"""Several labelled tables as sources: columns, weights, maps, files."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from sklearn.decomposition import PCA
from tables.small_tables import NUMBERS, quick, small_tables
from typer.testing import CliRunner

import ilspace
from ilspace import ILSClassifier, TableClassifier, load
from ilspace.cli.app import app
from ilspace.labelling.job import open_job
from ilspace.labelling.learner import Learner, Task
from ilspace.tables import TableError
from ilspace.tables.inputs import names_of_sources
from ilspace.tables.job import adapt

NORTH, SOUTH = small_tables(0, n=40), small_tables(0, n=36)
BAD = small_tables(0, n=42).source
BAD = BAD.assign(**{"class": np.random.default_rng(1).permutation(BAD["class"])})
TARGET = NORTH.target
SOURCES = [NORTH.source, SOUTH.source.assign(height=SOUTH.source["height"] + 1), BAD]
NAMES = ["north", "south", "bad"]


def features(table):
    return table.drop(columns="class")


def labels(table):
    return table["class"].to_numpy(str)


def fitted(method="ils", yt=None, **options):
    model = TableClassifier(method, **options)
    rows, y = [features(each) for each in SOURCES], [labels(each) for each in SOURCES]
    return model.fit(rows, y, TARGET, yt, source_names=NAMES)


@pytest.fixture(scope="module")
def model():
    return fitted()


@pytest.mark.parametrize("method", [quick(), "ils"], ids=["pooled", "adapted"])
def test_one_table_in_a_list_is_that_table(method):
    X, y, Xt = NORTH.features
    alone = TableClassifier(method).fit(X, y, Xt)
    listed = TableClassifier(method).fit([X], [y], Xt, source_names=["north"])
    np.testing.assert_array_equal(listed.predict_proba(Xt), alone.predict_proba(Xt))
    np.testing.assert_array_equal(
        listed.predict_proba(X, "north"), alone.predict_proba(X, "source")
    )
    assert alone.source_names_ == ("source",)


def test_tables_are_pooled_and_their_names_kept():
    found = fitted(quick())
    whole = pd.concat([features(each) for each in SOURCES], ignore_index=True)
    y = np.concatenate([labels(each) for each in SOURCES])
    pooled = TableClassifier(quick()).fit(whole, y, TARGET)
    np.testing.assert_array_equal(found.predict_proba(TARGET), pooled.predict_proba(TARGET))
    assert found.source_names_ == tuple(NAMES)
    for name in (*NAMES, "source"):
        rows = features(SOURCES[1])
        np.testing.assert_array_equal(found.predict(rows, name), pooled.predict(rows, "source"))
    with pytest.raises(ValueError, match="domain must be"):
        found.predict(TARGET, "west")


def test_the_weights_are_those_that_the_latent_space_has(model):
    assert model.source_names_ == tuple(NAMES)
    weights = model.rule_.source_weights_
    assert weights[2] < 0.01
    np.testing.assert_allclose(model.rule_.estimator_.source_weights_, weights)
    assert model.rule_.estimator_.source_names_ == tuple(NAMES)
    assert model.score(TARGET, NORTH.truth) > 0.7


def test_shuffled_labels_hardly_weigh_in_the_latent_space(model):
    rows, y = [features(each) for each in SOURCES[:2]], [labels(each) for each in SOURCES[:2]]
    without = TableClassifier("ils", class_prior=model.class_prior_).fit(rows, y, TARGET)
    given = fitted(class_prior=model.class_prior_)
    assert np.mean(given.predict(TARGET) == without.predict(TARGET)) > 0.85


def test_numbers_are_as_good_as_a_list(model):
    rows = pd.concat([features(each) for each in SOURCES], ignore_index=True)
    y = np.concatenate([labels(each) for each in SOURCES])
    numbers = np.repeat([1, 2, 3], [len(each) for each in SOURCES])
    found = TableClassifier("ils").fit(rows, y, TARGET, None, numbers, source_names=NAMES)
    np.testing.assert_array_equal(found.predict_proba(TARGET), model.predict_proba(TARGET))
    latent = model.transform(rows, "source", sample_domain=numbers)
    south = model.transform(features(SOURCES[1]), "south")
    np.testing.assert_allclose(latent[numbers == 2], south)
    assert not np.allclose(model.transform(features(SOURCES[1]), "north"), south)


def test_other_methods_see_one_table():
    assert fitted("CORAL").score(TARGET, NORTH.truth) > 0.5
    own = fitted(ILSClassifier(3, classifier="nearest", self_training=0))
    assert own.rule_.estimator_.source_names_ == tuple(NAMES)


def test_labels_of_the_target_are_held_out_with_several_sources():
    given = TARGET.assign(**{"class": [*NORTH.truth[:12], *[None] * (len(TARGET) - 12)]})
    found = adapt(SOURCES, given, "class", method="ils")
    assert found.estimate.n_labels == 12


def test_columns_that_not_all_sources_have_are_left_out():
    narrow = SOURCES[1].drop(columns="width").assign(smell=1.0)
    found = adapt([SOURCES[0], narrow], TARGET, "class", method=quick())
    assert found.notes[0] == "Not in all sources, and left out: width, smell."
    assert set(found.model.plan_.source) == {*NUMBERS, "colour"} - {"width"}
    foreign = narrow.rename(columns=lambda each: each if each == "class" else f"{each} there")
    said = "The sources must have columns in common, but have none .source 1: .*; source 2: "
    with pytest.raises(TableError, match=said):
        adapt([SOURCES[0], foreign], TARGET, "class", method=quick())


def test_what_is_loaded_says_the_same(model, tmp_path):
    model.save(tmp_path / "model.skops")
    loaded = load(tmp_path / "model.skops")
    np.testing.assert_array_equal(loaded.predict_proba(TARGET), model.predict_proba(TARGET))
    rows = features(SOURCES[1])
    np.testing.assert_array_equal(loaded.predict(rows, "south"), model.predict(rows, "south"))
    assert tuple(loaded.source_names_) == tuple(NAMES)
    np.testing.assert_array_equal(loaded.rule_.source_weights_, model.rule_.source_weights_)


def test_names_come_from_files():
    assert names_of_sources(["a/north.csv", "b/south.csv.gz"]) == ("north", "south")
    assert names_of_sources(["a/x.csv", "a/x.parquet"]) == ("x.csv", "x.parquet")
    assert names_of_sources(["a/x.csv", "b/x.csv"]) == ("a/x.csv", "b/x.csv")
    assert names_of_sources(["source.csv", "other.csv"]) == ("source.csv", "other.csv")
    assert names_of_sources([TARGET, "a/x.csv"]) == ("source 1", "x")
    with pytest.raises(TableError, match="different files"):
        names_of_sources(["a.csv", "a.csv"])


# -- the command -----------------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(app, ["adapt", *map(str, arguments), "--label", "class", "-q"])


def call(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name, table in zip((*NAMES, "east"), (*SOURCES, TARGET), strict=True):
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def test_several_files_and_a_target(files, model):
    sources = [files / f"{name}.csv" for name in NAMES]
    where = ["--target", files / "east.csv", "-o", files / "out", "--method", "ils"]
    done = run(*sources, *where, "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads((files / "out" / "summary.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in summary["sources"]] == NAMES
    assert [each["rows"] for each in summary["sources"]] == [40, 36, 42]
    weights = [each["weight"] for each in summary["sources"]]
    np.testing.assert_allclose(weights, model.rule_.source_weights_, rtol=1e-6)
    page = (files / "out" / "report.html").read_text(encoding="utf-8")
    assert "<strong>north.csv, south.csv, bad.csv</strong>" in page
    assert "source south" in page
    found = pd.read_csv(files / "out" / "predictions.csv", dtype=str)
    assert found["label"].tolist() == model.predict(TARGET).tolist()
    said = call("predict", files / "out", files / "east.csv", "-o", "-")
    assert said.exit_code == 0, said.output


@pytest.fixture(scope="module")
def results(files, tmp_path_factory):
    """Results of an adapted latent space, whose tables lie beside them."""
    before = tmp_path_factory.mktemp("before")
    folder = before / "moved"
    folder.mkdir()
    sources = []
    for name in NAMES:  # the first two will be found beside the results, the third where it was
        sources.append((folder if name == "bad" else before) / f"{name}.csv")
        sources[-1].write_bytes((files / f"{name}.csv").read_bytes())
    (before / "east.csv").write_bytes((files / "east.csv").read_bytes())
    out = before / "out"
    command = [*sources, "--target", before / "east.csv", "-o", out, "--method", "ils"]
    done = run(*command, "--id", "sample")
    assert done.exit_code == 0, done.output
    for each in ("north.csv", "south.csv", "east.csv", "out"):
        (before / each).rename(folder / each)
    return folder


@pytest.mark.slow
def test_labels_of_chosen_rows_are_learned_with_several_sources(results, tmp_path):
    chosen = tmp_path / "to_label.csv"
    done = call("label", results / "out", "--batch", 6, "-o", chosen)
    assert done.exit_code == 0, done.output
    table = pd.read_csv(chosen, dtype=str)
    rows = table["row"].astype(int).to_numpy() - 1
    assert len(set(rows)) == 6
    table.assign(**{"class": NORTH.truth[rows]}).to_csv(chosen, index=False)
    assert call("label", results / "out", "--import", chosen).exit_code == 0
    exported = call("label", results / "out", "--export", tmp_path / "labelled.csv")
    assert f"bad.csv --target {tmp_path / 'labelled.csv'} --label class" in exported.stderr
    sources = [results / f"{name}.csv" for name in NAMES]
    where = ["--target", results / "east.csv", "--labels", results / "out"]
    better = run(*sources, *where, "-o", tmp_path / "better", "--method", "ils", "--id", "sample")
    assert better.exit_code == 0, better.output
    found = json.loads((tmp_path / "better" / "summary.json").read_text(encoding="utf-8"))
    assert found["n_target_labels"] == 6
    assert call("explain", tmp_path / "better", "--row", 1).exit_code == 0


def test_the_map_has_rows_of_all_sources_where_they_lie(results):
    job = open_job([results / "out"])
    assert job.pair.source_names == tuple(NAMES)
    learner = Learner(job)
    *_, found = learner.learn(Task({0: str(NORTH.truth[0])}))
    assert len(found.map.source_places) == sum(map(len, SOURCES))
    assert learner.answer is not None
    model = learner.answer.model
    assert model.source_names_ == tuple(NAMES)
    latent = np.concatenate(
        [model.transform(features(each), name) for each, name in zip(SOURCES, NAMES, strict=True)]
    )
    both = np.concatenate([model.transform(TARGET.iloc[found.map.target]), latent])
    plane = np.concatenate([found.map.target_places, found.map.source_places])
    whole = PCA(2).fit_transform(both)
    inner = np.abs(plane).max(axis=1) < 1  # the others are at the edge
    scale = np.quantile(np.abs(whole), 0.995)
    np.testing.assert_allclose(pdist(plane[inner]), pdist(whole[inner]) / scale, atol=1e-6)


def test_neighbours_are_named_by_their_source(results):
    said = call("explain", results / "out", "--row", 2, "--neighbours", 60, "--json")
    assert said.exit_code == 0, said.output
    near = json.loads(said.stdout)["neighbours"]
    assert {each["domain"] for each in near} >= {"north", "south"}
    tables = dict(zip(NAMES, SOURCES, strict=True))
    told = call("explain", results / "out", "--row", 2, "--neighbours", 60).stdout
    for each in near:
        if each["domain"] == "target":
            continue
        assert tables[each["domain"]]["class"].iloc[each["row"] - 1] == each["label"]
        name = tables[each["domain"]]["sample"].iloc[each["row"] - 1]
        assert f"  {each['label']}  {each['domain']}, {name}, distance" in told


def test_a_source_that_changed_is_named(results):
    path = results / "south.csv"
    before = path.read_bytes()
    path.write_bytes(before + b"S999,1,1,1,1,red,ant\n")
    try:
        for command in (["label"], ["explain", "--row", 1]):
            refused = call(command[0], results / "out", *command[1:])
            assert refused.exit_code == 2
            said = " ".join(refused.stderr.split())
            assert "The source 'south'" in said
            assert "has changed" in said
    finally:
        path.write_bytes(before)


def test_one_source_and_a_target_is_what_two_files_are(files):
    source, target, method = files / "north.csv", files / "east.csv", ["--method", "ils"]
    assert run(source, "--target", target, "-o", files / "one", *method).exit_code == 0
    assert run(source, target, "-o", files / "two", *method).exit_code == 0
    one, two = ((files / each / "predictions.csv").read_text() for each in ("one", "two"))
    assert one == two
    first, second = (
        json.loads((files / each / "summary.json").read_text()) for each in ("one", "two")
    )
    assert first | {"seconds": 0} == second | {"seconds": 0}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["north"], "A source and a target must be named, but one table is"),
        (["north", "south", "east"], "but 3 tables are: with several sources, name the target"),
    ],
)
def test_without_a_target_two_tables_are_named(files, given, message):
    refused = run(*(files / f"{name}.csv" for name in given), "-o", files / "no")
    assert refused.exit_code == 2
    assert message in " ".join(refused.stderr.split())
    assert not (files / "no").exists()


def test_what_is_refused(files, tmp_path):
    target = files / "east.csv"
    few = tmp_path / "few.csv"
    SOURCES[0].iloc[:1].to_csv(few, index=False)
    for sources, to, said in (
        ([files / "north.csv", few], target, r"two labelled rows or more, but .*few.csv has 1"),
        ([files / "north.csv", target], target, r"east.csv must have the column 'class' of labels"),
        ([files / "north.csv"] * 2, target, "different files"),
        (["-", files / "north.csv"], "-", "standard input, but more are"),
        ([], target, "There must be a source"),
    ):
        with pytest.raises(TableError, match=said):
            ilspace.adapt(sources, to, "class")
