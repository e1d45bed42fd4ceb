"""Keys and commands in a terminal, and what it must not be told."""

from dataclasses import replace
from io import StringIO

import numpy as np
import pytest
from labelling.small_job import Silent, make_job
from rich.console import Console

from ilspace.labelling.session import Session
from ilspace.labelling.terminal import label_in_terminal


@pytest.fixture
def job(tmp_path):
    return make_job(tmp_path, nt=6)


def with_classes(job, classes):
    pair = replace(job.pair, classes=np.array(classes))
    return replace(job, read=replace(job.read, pair=pair))


def sitting(job, *typed):
    """Type something; what was printed, and the labels that were given, by row."""
    printed, lines = StringIO(), iter([*typed, "q", "Q"])
    session = Session(job, Silent())
    console = Console(file=printed, width=200)
    label_in_terminal(session, read=lambda: next(lines), console=console)
    return printed.getvalue(), session.file.answers


@pytest.mark.parametrize(
    ("classes", "keys"),
    [
        (("ant", "bee"), ("1", "2")),
        (("1", "10", "2", "3"), ("1", "0", "2", "3")),
        (("0", "1", "unknown"), ("0", "1", "2")),
        (tuple("0123456789"), tuple("0123456789")),
    ],
)
def test_classes_that_are_digits_have_their_own_keys(job, classes, keys):
    found = with_classes(job, classes).keys
    assert [key for each, key in zip(classes, found, strict=True) if len(each) == 1] == [
        key for each, key in zip(classes, keys, strict=True) if len(each) == 1
    ]
    assert len(set(found)) == len(classes)


def test_the_eleventh_class_has_no_key(job):
    found = with_classes(job, [f"c{i:02d}" for i in range(11)]).keys
    assert found[10] == ""
    assert len(set(found)) == 11


def test_numbers_are_names_where_classes_are_numbers(job):
    classes = tuple(sorted(str(i) for i in range(1, 13)))
    _, answers = sitting(with_classes(job, classes), "2", "10")
    assert [each.label for each in answers.events.values()] == ["2", "10"]


def test_a_class_called_like_a_command_is_a_class(job):
    printed, answers = sitting(with_classes(job, ("n", "y")), "n", "N", "U")
    assert [(each.kind, each.label) for each in answers.events.values()][0][1] == "n"
    assert "N not one of these" in printed


def test_a_space_is_no_answer(job):
    printed, answers = sitting(job, " ")
    assert not answers.events
    assert "Type a key of a class" in printed


def test_control_characters_of_a_cell_do_not_reach_the_terminal(job):
    pair = replace(job.pair, target=job.target.assign(colour="\x1b]52;c;aGk=\x1b\\"))
    printed, _ = sitting(replace(job, read=replace(job.read, pair=pair)))
    assert "aGk=" in printed
    assert "\x1b" not in printed
