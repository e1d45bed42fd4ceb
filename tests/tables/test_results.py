"""Results of an earlier job: what was asked for, where its tables are, labels recorded since."""

import json

import pytest
from tables.small_tables import quick, small_tables, write_csv

import ilspace
from ilspace.active import Prediction
from ilspace.tables import TableError
from ilspace.tables.inputs import read_inputs
from ilspace.tables.outputs import write_outputs
from ilspace.tables.results import (
    RecordedLabels,
    found_again,
    inputs_of,
    read_again,
    row_called,
    with_recorded,
)

TABLES = small_tables()


@pytest.fixture
def results(tmp_path):
    """A folder of results, with the tables beside it."""
    folder = tmp_path / "job"
    folder.mkdir()
    source, target = write_csv(folder, TABLES)
    found = ilspace.adapt(source, target, "class", method=quick(), keep=["colour"])
    write_outputs(found, folder / "out")
    return folder / "out"


@pytest.fixture(scope="module")
def summary():
    """What a summary says."""
    return ilspace.adapt(TABLES.source, TABLES.target, "class", method=quick()).summary


def test_what_was_asked_for_is_read_from_the_summary(results):
    inputs = inputs_of(results)
    assert inputs["label"] == "class"
    assert inputs["keep"] == ["colour"]
    assert (inputs["ids"], inputs["own_scaling"], inputs["kind"]) == ([], None, "auto")
    paths = found_again(results, inputs, remedy="do something")
    assert paths == ((results.parent / "source.csv",), results.parent / "target.csv")
    read = read_again(results, inputs, paths)
    assert read.pair.classes.tolist() == ["ant", "bee", "élan"]
    assert len(read.pair.known) == 24


def test_tables_that_moved_with_the_results_are_found(results, tmp_path):
    inputs = inputs_of(results)
    other = tmp_path / "elsewhere"
    results.parent.rename(other)
    paths = found_again(other / "out", inputs, remedy="do something")
    assert paths == ((other / "source.csv",), other / "target.csv")


def test_tables_that_changed_or_are_gone_are_not(results):
    inputs, target = inputs_of(results), results.parent / "target.csv"
    target.write_text(target.read_text() + "\n")
    with pytest.raises(
        TableError, match=r"The target .*target.csv must be as it was when .*changed"
    ):
        found_again(results, inputs, remedy="do something")
    target.unlink()
    with pytest.raises(TableError, match=r"The target .*target.csv must be there.*but is not"):
        found_again(results, inputs, remedy="do something")
    inputs["files"] = {"target": inputs["files"]["target"]}
    with pytest.raises(TableError, match="The source of .* read again, but was .*: do something."):
        found_again(results, inputs, remedy="do something")


@pytest.mark.parametrize("damage", ["{", '{"inputs": {}}', "[]", '{"inputs": {"files": []}}'])
def test_summaries_that_say_too_little(tmp_path, damage):
    with pytest.raises(TableError, match="has no summary.json: run ilspace adapt first"):
        inputs_of(tmp_path)
    (tmp_path / "summary.json").write_text(damage)
    with pytest.raises(TableError, match="must say which tables the results came from"):
        inputs_of(tmp_path)


def test_every_option_is_in_the_summary(tmp_path, summary):
    """An older one that lacks one is refused."""
    path, inputs = tmp_path / "summary.json", summary["inputs"]
    path.write_text(json.dumps({"inputs": inputs}))
    assert inputs_of(tmp_path) == json.loads(json.dumps(inputs))
    for name in ("method", "own_scaling", "class_prior", "matching", "text", "random_state"):
        less = {each: value for each, value in inputs.items() if each != name}
        path.write_text(json.dumps({"inputs": less}))
        with pytest.raises(TableError, match="must say which tables"):
            inputs_of(tmp_path)


def test_a_row_is_called_by_its_number_or_its_identifier():
    assert row_called(TABLES.target, 3, None, ("sample",)) == 2
    assert row_called(TABLES.target, None, "00004", ("gone", "sample")) == 4
    for row, name, said in (
        (None, None, "is not: add one of them"),
        (1, "00004", "is by both: leave out one of them"),
        (25, None, "one of the 24 rows of the target, but is 25"),
        (None, "7", "but none has '7'"),
    ):
        with pytest.raises(TableError, match=said):
            row_called(TABLES.target, row, name, ("sample",))
    twice = TABLES.target.assign(sample="same")
    with pytest.raises(TableError, match="but 24 has 'same'"):
        row_called(twice, None, "same", ("sample",))


# -- labels that were recorded ---------------------------------------------------------------------


@pytest.fixture
def read(tmp_path):
    paths = write_csv(tmp_path, TABLES, TABLES.labelled(2))
    return read_inputs(*paths, label="class")


def recorded(read, labels, *others, about=None, is_random=True):
    known = {"column": "class", "sha256": read.files["target"]["sha256"]} | (about or {})
    said = {row: Prediction("ant", 0.5, 0, is_random) for row in (*labels, *others)}
    return RecordedLabels(read.files["target"]["path"], known, labels, said, others)


def test_recorded_labels_are_those_of_rows(read):
    found, notes = with_recorded(read, recorded(read, {1: "bee", 7: "élan"}))
    codes = found.pair.known
    assert codes[[0, 1, 7]].tolist() == [
        found.pair.classes.tolist().index(each) for each in (TABLES.truth[0], "bee", "élan")
    ]
    assert (codes >= 0).sum() == 3
    assert notes == []
    assert (read.pair.known >= 0).sum() == 2  # those that were read stay


def test_rows_of_no_class_and_chosen_rows_are_told(read):
    found, notes = with_recorded(read, recorded(read, {7: "bee"}, 0, 9, is_random=False))
    assert found.pair.known[[0, 9]].tolist() == [-1, -1]
    assert "2 rows are said to be of none of the classes" in notes[0]
    assert "the expected accuracy may be too low" in notes[1]


@pytest.mark.parametrize(
    ("labels", "about", "said"),
    [
        ({1: "wasp"}, None, "but says 'wasp' of row 2: correct that line"),
        ({99: "bee"}, None, "but says 'bee' of row 100"),
        ({1: "bee"}, {"column": "kind"}, "but its column is 'kind' and not 'class'"),
        ({1: "bee"}, {"sha256": "0"}, "but its sha256 is '0' and not"),
    ],
)
def test_labels_of_something_else_are_refused(read, labels, about, said):
    with pytest.raises(TableError, match=said):
        with_recorded(read, recorded(read, labels, about=about))
