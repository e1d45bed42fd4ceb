"""Rows go out as a file, and labels come back as one."""

import io

import pandas as pd
import pytest
from labelling.small_job import make_job
from rich.console import Console
from tables.small_tables import small_tables

from ilspace.labelling.answers import Event, Kind
from ilspace.labelling.background import LearnsAtOnce
from ilspace.labelling.exchange import OTHER, choose_batch, labelled_table, take_labels
from ilspace.labelling.label_file import LabelFile
from ilspace.labelling.learner import Learner
from ilspace.labelling.session import Session
from ilspace.labelling.terminal import key_reader, label_in_terminal
from ilspace.tables.values import TableError

TRUTH = small_tables().truth


@pytest.fixture
def job(tmp_path):
    return make_job(tmp_path)


def test_a_batch_goes_out_and_comes_back(job, tmp_path):
    batch = choose_batch(job, 6)
    assert list(batch.columns[:5]) == ["row", "class", "guess", "probability", "colour"]
    assert (batch["class"] == "").all()
    table = small_tables().target
    assert batch["sample"].tolist() == table["sample"][batch["row"] - 1].tolist()
    batch["class"] = TRUTH[batch["row"] - 1]
    batch.loc[0, "class"] = ""
    batch.loc[1, "class"] = OTHER
    batch.iloc[::-1].to_csv(tmp_path / "labels.csv", index=False)
    counts = take_labels(job, tmp_path / "labels.csv")
    assert counts == {"new": 5, "known": 0, "changed": 0, "blank": 1}
    assert take_labels(job, tmp_path / "labels.csv")["known"] == 5
    answers = job.open_labels().answers
    assert answers.labels == {row: TRUTH[row - 1] for row in batch["row"][2:]}
    assert answers.rows(Kind.OTHER) == [batch["row"][1]]
    again = choose_batch(job, 100)
    assert len(again) == 24 - 5
    assert set(again["row"]).isdisjoint(batch["row"][1:])
    other = "bee" if batch["class"][2] != "bee" else "ant"
    batch.assign(**{"class": [other if i == 2 else "" for i in range(6)]}).to_csv(
        tmp_path / "labels.csv", index=False
    )
    assert take_labels(job, tmp_path / "labels.csv")["changed"] == 1
    assert job.open_labels().answers.labels[batch["row"][2]] == other


def test_the_labelled_table_is_the_target_with_its_labels(job):
    job.open_labels().append(Event("a", Kind.LABEL, 3, "bee"), Event("b", Kind.OTHER, 4))
    table = labelled_table(job)
    assert table["class"].tolist() == ["", "", "bee", *[""] * 21]
    met = table.drop(columns="class")
    pd.testing.assert_frame_equal(met, job.target, check_dtype=False)  # of strings there are two


def write(tmp_path, **columns):
    table = pd.DataFrame({"row": [1, 2], "class": ["bee", "ant"]} | columns)
    table.to_csv(tmp_path / "labels.csv", index=False)
    return tmp_path / "labels.csv"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"row": [1, 25]}, "must hold different rows, 1 to 24, but has '25'"),
        ({"row": [1, 1]}, "but has '1' twice"),
        ({"row": [1, 0]}, "but has '0'"),
        ({"row": [1, "x"]}, "but has 'x'"),
        ({"class": ["bee", "wasp"]}, "but row 2 of .* has 'wasp'"),
        ({"sample": ["00000", "00000"]}, "Row 1|Row 2 of the target must have the sample"),
    ],
)
def test_what_does_not_fit_is_refused_whole(job, tmp_path, columns, said):
    with pytest.raises(TableError, match=said):
        take_labels(job, write(tmp_path, **columns))
    assert not job.labels_path.exists()


def test_a_file_without_the_columns_is_refused(job, tmp_path):
    pd.DataFrame({"class": ["bee"]}).to_csv(tmp_path / "labels.csv", index=False)
    with pytest.raises(TableError, match="must have the column 'row'"):
        take_labels(job, tmp_path / "labels.csv")


def test_a_spreadsheet_s_numbers_are_rows_and_a_target_may_have_a_column_row(job, tmp_path):
    assert take_labels(job, write(tmp_path, row=["1.0", "2.0"]))["new"] == 2
    (tmp_path / "other").mkdir()
    target = small_tables().target.assign(row=1.5)
    other = make_job(tmp_path / "other", target=target, ignored=("row",))
    batch = choose_batch(other, 2)
    assert batch.columns[0] == "row (ilspace)"
    batch["class"] = "bee"
    batch.to_csv(tmp_path / "labels.csv", index=False)
    assert take_labels(other, tmp_path / "labels.csv")["new"] == 2


def test_labels_that_are_no_class_are_refused_when_the_file_is_opened(job):
    file = job.open_labels()
    file.append(Event("a", Kind.LABEL, 3, "wasp"))
    with pytest.raises(TableError, match="but row 3 has 'wasp'"):
        job.open_labels()
    assert isinstance(file, LabelFile)


# -- in a terminal --------------------------------------------------------------------------------


def test_a_sitting_in_a_terminal(job):
    session = Session(job, LearnsAtOnce(Learner(job)), refit_after=3)
    keys = iter(["x", "1", "2", "u", "u", "u", "3", "", "s", "n", "bee", "q"])
    shown = io.StringIO()
    console = Console(file=shown, width=100, force_terminal=False)
    label_in_terminal(session, read=lambda: next(keys), console=console)
    answers = session.file.answers
    first, second = (each.row for each in list(answers.events.values())[:2])
    assert next(keys, None) is None
    # both undone, and the first of them answered anew; then the guess, a skip, another, a name
    assert answers.labels[first] == "élan"
    kinds = [each.kind for each in answers.by_row.values()]
    assert kinds == [Kind.LABEL, Kind.LABEL, Kind.SKIP, Kind.OTHER, Kind.LABEL]
    assert list(answers.labels.values())[-1] == "bee"
    text = shown.getvalue()
    assert "Type a key of a class" in text
    assert "There is nothing to undo." in text
    assert "1: ant" in text
    accuracy, sure, _ = session.rely
    low, high = accuracy["range"]
    known = f"{accuracy['title']}: {accuracy['value']} ({low:.0%} to {high:.0%}); "
    assert f"{known}{sure['title']}: {sure['value']}" in " ".join(text.split())
    assert "What changed" not in text
    assert f"Row {second} of 24" in text


def test_all_rows_answered_ends_it(tmp_path):
    job = make_job(tmp_path, target=small_tables().labelled(23))
    session = Session(job, LearnsAtOnce(Learner(job)))
    shown = io.StringIO()
    label_in_terminal(session, read=lambda: "1", console=Console(file=shown))
    assert shown.getvalue().endswith("All rows have an answer.\n")


def test_lines_are_read_where_there_is_no_terminal(job, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO("1\n\nbee\n"))
    read = key_reader(Session(job, LearnsAtOnce(Learner(job))))
    assert [read() for _ in range(4)] == ["1", "", "bee", "q"]
