"""Several labelled tables as sources: columns, weights, members, files."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import pdist
from shifted import shifted
from sklearn.decomposition import PCA
from tables.small_tables import NUMBERS, small_tables
from typer.testing import CliRunner

from ilspace import ILSClassifier, TableClassifier, load
from ilspace.active import QuerySelector
from ilspace.cli.app import app
from ilspace.labelling.job import open_job
from ilspace.labelling.learner import Learner, Task
from ilspace.tables import TableError
from ilspace.tables.job import adapt_files
from ilspace.tables.members import LogisticRule, PlainSelfTraining
from ilspace.tables.several import names_of_files

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


def fitted(method="committee", yt=None, **options):
    model = TableClassifier(method, **options)
    rows, y = [features(each) for each in SOURCES], [labels(each) for each in SOURCES]
    return model.fit(rows, y, TARGET, yt, source_names=NAMES)


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_one_table_in_a_list_is_that_table():
    alone = TableClassifier().fit(*NORTH.features)
    X, y, Xt = NORTH.features
    listed = TableClassifier().fit([X], [y], Xt, source_names=["north"])
    np.testing.assert_array_equal(listed.predict_proba(Xt), alone.predict_proba(Xt))
    np.testing.assert_array_equal(
        listed.predict_proba(X, "north"), alone.predict_proba(X, "source")
    )
    assert (alone.source_names_, alone.source_weights_.tolist()) == (("source",), [1.0])


def test_the_weights_are_those_that_the_latent_space_has(model):
    assert model.source_names_ == tuple(NAMES)
    assert model.source_weights_[2] < 0.01
    np.testing.assert_allclose(model.ils_.source_weights_, model.source_weights_)
    assert model.ils_.source_names_ == tuple(NAMES)
    assert model.score(TARGET, NORTH.truth) > 0.7


def test_shuffled_labels_hardly_weigh_in_any_member(model):
    rows, y = [features(each) for each in SOURCES[:2]], [labels(each) for each in SOURCES[:2]]
    without = TableClassifier(class_prior=model.class_prior_).fit(rows, y, TARGET)
    given = fitted(class_prior=model.class_prior_)
    for each, other in zip(
        given.member_probabilities(TARGET), without.member_probabilities(TARGET), strict=True
    ):
        assert np.mean(each.argmax(axis=1) == other.argmax(axis=1)) > 0.85


def test_numbers_are_as_good_as_a_list(model):
    rows = pd.concat([features(each) for each in SOURCES], ignore_index=True)
    y = np.concatenate([labels(each) for each in SOURCES])
    numbers = np.repeat([1, 2, 3], [len(each) for each in SOURCES])
    found = TableClassifier().fit(rows, y, TARGET, None, numbers, source_names=NAMES)
    np.testing.assert_array_equal(found.predict_proba(TARGET), model.predict_proba(TARGET))
    latent = model.transform(rows, "source", sample_domain=numbers)
    south = model.transform(features(SOURCES[1]), "south")
    np.testing.assert_allclose(latent[numbers == 2], south)
    assert not np.allclose(model.transform(features(SOURCES[1]), "north"), south)


def test_rows_of_the_two_tables_weigh_as_told():
    data = shifted(n=40)
    weights = np.where(np.arange(40) < 20, 1.0, 1e-9)
    for rule in (LogisticRule(), PlainSelfTraining(random_state=0)):
        few = rule.fit(data.X[:20], data.y[:20], data.Xt).predict(data.Xt)
        found = rule.fit(data.X, data.y, data.Xt, sample_weight=weights).predict(data.Xt)
        assert np.mean(found == few) > 0.9
        equal = rule.fit(data.X, data.y, data.Xt).predict_proba(data.Xt)
        same = rule.fit(data.X, data.y, data.Xt, sample_weight=np.ones(40))
        np.testing.assert_allclose(same.predict_proba(data.Xt), equal)


def test_labels_of_the_target_are_held_out_with_several_sources():
    yt = np.where(np.arange(len(TARGET)) < 12, NORTH.truth, np.array(None))
    found = fitted(yt=yt)
    assert found.held_out_ is not None
    assert len(found.held_out_.codes) == 12


def test_other_methods_see_one_table():
    assert fitted("CORAL").score(TARGET, NORTH.truth) > 0.5
    own = fitted(ILSClassifier(3, classifier="nearest", self_training=0))
    assert own.ils_.source_names_ == tuple(NAMES)


def test_columns_that_not_all_sources_have_are_left_out():
    narrow = features(SOURCES[1]).drop(columns="width").assign(smell=1.0)
    rows = [features(SOURCES[0]), narrow]
    found = TableClassifier("linear").fit(rows, [labels(each) for each in SOURCES[:2]], TARGET)
    assert found.plan_.notes[0] == "Not in all sources, and left out: width, smell."
    assert {each.name for each in found.plan_.source} == {*NUMBERS, "colour"} - {"width"}
    foreign = narrow.rename(columns=lambda name: f"{name} of the south")
    with pytest.raises(TableError, match="The sources must have columns in common.*source 2: "):
        TableClassifier("linear").fit(
            [rows[0], foreign], [labels(each) for each in SOURCES[:2]], TARGET
        )


def test_what_is_loaded_says_the_same(model, tmp_path):
    model.save(tmp_path / "model.safetensors")
    loaded = load(tmp_path / "model.safetensors")
    np.testing.assert_array_equal(loaded.predict_proba(TARGET), model.predict_proba(TARGET))
    rows = features(SOURCES[1])
    np.testing.assert_array_equal(loaded.predict(rows, "south"), model.predict(rows, "south"))
    assert loaded.source_names_ == tuple(NAMES)
    np.testing.assert_array_equal(loaded.source_weights_, model.source_weights_)


def test_names_come_from_files():
    assert names_of_files(["a/north.csv", "b/south.csv.gz"]) == ("north", "south")
    assert names_of_files(["a/x.csv", "a/x.parquet"]) == ("x.csv", "x.parquet")
    assert names_of_files(["a/x.csv", "b/x.csv"]) == ("a/x.csv", "b/x.csv")
    assert names_of_files(["source.csv", "other.csv"]) == ("source.csv", "other.csv")
    with pytest.raises(TableError, match="different files"):
        names_of_files(["a.csv", "a.csv"])


# -- the command ----------------------------------------------------------------------------------


def run(*arguments):
    return CliRunner().invoke(app, ["adapt", *map(str, arguments), "--label", "class", "-q"])


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    for name, table in zip((*NAMES, "east"), (*SOURCES, TARGET), strict=True):
        table.to_csv(folder / f"{name}.csv", index=False)
    return folder


def test_several_files_and_a_target(files, model):
    sources = [files / f"{name}.csv" for name in NAMES]
    done = run(*sources, "--target", files / "east.csv", "-o", files / "out", "--json")
    assert done.exit_code == 0, done.output
    summary = json.loads((files / "out" / "summary.json").read_text(encoding="utf-8"))
    assert [each["name"] for each in summary["sources"]] == NAMES
    assert [each["rows"] for each in summary["sources"]] == [40, 36, 42]
    weights = [each["weight"] for each in summary["sources"]]
    np.testing.assert_allclose(weights, model.source_weights_, rtol=1e-6)
    page = (files / "out" / "report.html").read_text(encoding="utf-8")
    assert "The sources" in page
    assert "From north, south, bad to east.csv" in page
    found = pd.read_csv(files / "out" / "predictions.csv", dtype=str)
    assert found["adapted"].tolist() == model.predict(TARGET).tolist()
    said = CliRunner().invoke(
        app, ["predict", str(files / "out/model.safetensors"), str(files / "east.csv"), "-o", "-"]
    )
    assert said.exit_code == 0, said.output


@pytest.fixture
def results(files, tmp_path):
    """Results of an adapted latent space, whose tables lie beside them."""
    folder = tmp_path / "moved"
    folder.mkdir()
    sources = []
    for name in NAMES:  # the first two will be found beside the results, the third where it was
        sources.append((folder if name == "bad" else tmp_path) / f"{name}.csv")
        sources[-1].write_bytes((files / f"{name}.csv").read_bytes())
    (tmp_path / "east.csv").write_bytes((files / "east.csv").read_bytes())
    out = tmp_path / "out"
    command = [*sources, "--target", tmp_path / "east.csv", "-o", out, "--method", "ils"]
    done = run(*command, "--id", "sample")
    assert done.exit_code == 0, done.output
    for each in ("north.csv", "south.csv", "east.csv", "out"):
        (tmp_path / each).rename(folder / each)
    return folder


def call(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_rows_to_label_are_chosen_for_several_sources(results):
    chosen = results / "to_label.csv"
    done = call("label", results / "out", "--batch", 6, "-o", chosen)
    assert done.exit_code == 0, done.output
    table = pd.read_csv(chosen, dtype=str)
    rows = table["row"].astype(int).to_numpy() - 1
    assert len(rows) == 6
    # what one asks for who calls the estimator
    asked = QuerySelector(TableClassifier("ils", ids=("sample",)), random_state=0)
    rows_of, y = [features(each) for each in SOURCES], [labels(each) for each in SOURCES]
    asked.fit(rows_of, y, TARGET, source_names=NAMES)
    assert rows.tolist() == asked.query(6).tolist()
    table.assign(**{"class": NORTH.truth[rows]}).to_csv(chosen, index=False)
    assert call("label", results / "out", "--import", chosen).exit_code == 0
    exported = call("label", results / "out", "--export", results / "labelled.csv")
    assert f"bad.csv --target {results / 'labelled.csv'} --label class" in exported.stderr
    sources = [results / f"{name}.csv" for name in NAMES]
    where = ["--target", results / "east.csv", "--labels", results / "out"]
    better = run(*sources, *where, "-o", results / "better", "--method", "ils", "--id", "sample")
    assert better.exit_code == 0, better.output
    found = json.loads((results / "better" / "summary.json").read_text(encoding="utf-8"))
    assert found["target"]["labelled"] == 6
    assert call("explain", results / "better", "--row", 1).exit_code == 0


def test_the_map_has_rows_of_all_sources_where_they_lie(results):
    job = open_job([results / "out"])
    assert job.source_names == tuple(NAMES)
    assert [each.name for each in job.paths] == [*(f"{name}.csv" for name in NAMES), "east.csv"]
    learner = Learner(job)
    found = learner.learn(Task({0: str(NORTH.truth[0])}))
    assert len(found.map.source_places) == sum(map(len, SOURCES))
    model = learner.selector.estimator_
    assert model.source_names_ == tuple(NAMES)
    latent = np.concatenate(
        [model.transform(features(each), name) for each, name in zip(SOURCES, NAMES, strict=True)]
    )
    both = np.concatenate([model.transform(TARGET.iloc[found.map.target]), latent])
    plane = np.concatenate([found.map.target_places, found.map.source_places])
    whole = PCA(2).fit_transform(both)
    inner = np.abs(plane).max(axis=1) < 1  # the others are at the edge
    np.testing.assert_allclose(pdist(plane[inner]), pdist(whole[inner]) / scale(whole), atol=1e-6)


def scale(places):
    return np.quantile(np.abs(places), 0.995)


def test_neighbours_are_named_by_their_source(results):
    said = call("explain", results / "out", "--row", 2, "--neighbours", 60, "--json")
    assert said.exit_code == 0, said.output
    near = json.loads(said.stdout)["neighbours"]
    assert {each["domain"] for each in near} == set(NAMES)
    tables = dict(zip(NAMES, SOURCES, strict=True))
    for each in near:
        assert tables[each["domain"]]["class"].iloc[each["row"] - 1] == each["label"]
    told = call("explain", results / "out", "--row", 2, "--neighbours", 60).stdout
    for each in near:
        name = tables[each["domain"]]["sample"].iloc[each["row"] - 1]
        assert f"  {each['label']}  {each['domain']}, {name}, distance" in told


def test_a_source_that_changed_is_named(results):
    with (results / "south.csv").open("a", encoding="utf-8") as stream:
        stream.write("S999,1,1,1,1,red,ant\n")
    for command in (["label"], ["explain", "--row", 1]):
        refused = call(command[0], results / "out", *command[1:])
        assert refused.exit_code == 2
        said = " ".join(refused.stderr.split())
        assert "The source 'south'" in said
        assert "has changed" in said


def test_one_source_and_a_target_is_what_two_files_are(files):
    source, target = files / "north.csv", files / "east.csv"
    assert run(source, "--target", target, "-o", files / "one").exit_code == 0
    assert run(source, target, "-o", files / "two").exit_code == 0
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
    with pytest.raises(TableError, match=r"two labelled rows or more, but .*few.csv has 1"):
        adapt_files([files / "north.csv", few], target, label="class")
    with pytest.raises(TableError, match=r"east.csv must have the column 'class' of labels"):
        adapt_files([files / "north.csv", target], target, label="class")
    with pytest.raises(TableError, match="different files"):
        adapt_files([files / "north.csv"] * 2, target, label="class")
    with pytest.raises(TableError, match="standard input, but more are"):
        adapt_files(["-", files / "north.csv"], "-", label="class")
    with pytest.raises(TableError, match="There must be a source"):
        adapt_files([], target, label="class")
    with pytest.raises(ValueError, match="either as a list or by positive numbers"):
        TableClassifier().fit([features(NORTH.source)], [labels(NORTH.source)], TARGET, None, [1])
    X, y, Xt = NORTH.features
    with pytest.raises(ValueError, match="sample_domain must hold the positive number"):
        TableClassifier().fit(X, y, Xt, None, np.zeros(len(X)))
