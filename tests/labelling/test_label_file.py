"""The file of labels: nothing lost, nothing doubled, whatever is cut off, full or written twice."""

import errno
import json
import os
import resource
import threading

import pytest

from ilspace.labelling.answers import Answers, Event, Kind
from ilspace.labelling.label_file import LabelFile, LabelWriteError
from ilspace.tables.values import TableError

ABOUT = {"column": "class", "rows": 100, "sha256": "abc"}


def said(event, row, label="bee", **more):
    return Event(event, Kind.LABEL, row, label, **more)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "labels.jsonl"


def labels_in(path):
    return LabelFile(path, ABOUT).answers.labels


# -- what holds after events ----------------------------------------------------------------------


def test_the_last_answer_of_a_row_holds_and_undo_brings_the_one_before_back():
    answers = Answers([said("a", 1, "ant"), said("b", 2), said("c", 1, "bee")])
    assert answers.labels == {1: "bee", 2: "bee"}
    answers.add(Event("d", Kind.UNDO, 1, of="c"))
    assert answers.labels == {1: "ant", 2: "bee"}
    answers.add(Event("e", Kind.UNDO, 1, of="a"))
    assert answers.labels == {2: "bee"}


def test_an_event_counts_once_and_an_undo_of_nothing_changes_nothing():
    answers = Answers([said("a", 1)])
    assert not answers.add(said("a", 1, "ant"))
    answers.add(Event("b", Kind.UNDO, 1, of="unknown"))
    assert answers.labels == {1: "bee"}
    answers.add(Event("c", Kind.UNDO, 1, of="a"))
    answers.add(Event("d", Kind.UNDO, 1, of="a"))
    assert answers.labels == {}


def test_kinds_are_kept_apart():
    answers = Answers([said("a", 1), Event("b", Kind.SKIP, 2), Event("c", Kind.OTHER, 3)])
    assert answers.labels == {1: "bee"}
    assert [answers.rows(kind) for kind in (Kind.SKIP, Kind.OTHER)] == [[2], [3]]


def test_undo_is_about_the_last_answer_that_holds_and_may_be_undone():
    answers = Answers([said("a", 1, by="old"), said("b", 2, by="me"), said("c", 3, by="you")])

    def last(*own):
        found = answers.last(lambda event: event.by in own)
        return found and found.event

    assert [last("me"), last("me", "old"), last("you", "old"), last("new")] == ["b", "b", "c", None]
    answers.add(Event("d", Kind.UNDO, 2, of="b"))
    assert last("me", "old") == "a"


def test_predictions_are_those_that_were_recorded_whole():
    whole = {"guess": "ant", "probability": 0.7, "learned": 3}
    parts = [whole, {**whole, "probability": "high"}, {**whole, "learned": "few"}, {"guess": "ant"}]
    parts.append({**whole, "random": True})
    lines = [
        {"event": f"e{row}", "kind": "label", "row": row, "label": "bee", **part}
        for row, part in enumerate(parts, 1)
    ]
    events = [Event.from_dict(each) for each in lines]
    found = Answers([each for each in events if each]).predictions()
    assert found == {1: ("ant", 0.7, 3, False), 5: ("ant", 0.7, 3, True)}


# -- on disk --------------------------------------------------------------------------------------


def test_events_are_there_when_the_file_is_opened_again(path):
    file = LabelFile(path, ABOUT)
    assert not path.exists()
    event = said("a", 1, "élan", by="w", at="2026", guess="ant", probability=0.5)
    assert file.append(event) == [event]
    assert file.append(event) == []
    assert LabelFile(path, ABOUT).answers.events == {"a": event}
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines[0] == {"format": 1, **ABOUT}
    assert len(lines) == 2


@pytest.mark.parametrize("cut", [1, 5, 30])
def test_a_line_that_was_cut_off_is_skipped_and_the_next_one_is_whole(path, cut):
    LabelFile(path, ABOUT).append(said("a", 1), said("b", 2))
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    assert labels_in(path) == {1: "bee"}
    LabelFile(path, ABOUT).append(said("b", 2), said("c", 3))
    assert labels_in(path) == {1: "bee", 2: "bee", 3: "bee"}
    assert labels_in(path) == labels_in(path)


def test_a_first_line_that_was_cut_off_is_written_again(path):
    path.write_bytes(b'{"format": 1, "colu')
    LabelFile(path, ABOUT).append(said("a", 1))
    assert labels_in(path) == {1: "bee"}
    with pytest.raises(TableError, match="labels of this target table"):
        LabelFile(path, ABOUT | {"sha256": "other"})


def test_garbage_between_lines_is_skipped(path):
    LabelFile(path, ABOUT).append(said("a", 1))
    garbage = [
        b"\xff\xfe",
        b"[1, 2]",
        b'{"event": 3, "kind": "label"}',
        b'{"event": "x", "kind": "boom", "row": 1}',
        b'{"event": "x", "kind": "label", "row": true, "label": "bee"}',
        b'{"event": "x", "kind": "label", "row": 4}',
        b"null",
    ]
    with path.open("ab") as stream:
        stream.write(b"\n".join(garbage) + b"\n")
    LabelFile(path, ABOUT).append(said("b", 2))
    assert labels_in(path) == {1: "bee", 2: "bee"}


def test_labels_of_another_table_are_refused(path):
    LabelFile(path, ABOUT).append(said("a", 1))
    with pytest.raises(TableError, match="its sha256 is 'abc' and not 'other'"):
        LabelFile(path, ABOUT | {"sha256": "other"})
    path.write_text('{"format": 99}\n')
    with pytest.raises(TableError, match="must have the format 1, but has 99"):
        LabelFile(path, ABOUT)


def test_a_file_of_another_table_is_refused_as_often_as_it_is_read(path):
    file = LabelFile(path, ABOUT)
    file.append(said("a", 1))
    other = path.with_name("other")
    LabelFile(other, ABOUT | {"sha256": "other"}).append(said("b", 2))
    other.replace(path)
    before = path.read_bytes()
    for _ in range(2):
        with pytest.raises(TableError, match="its sha256 is 'other' and not 'abc'"):
            file.refresh()
        with pytest.raises(TableError, match="its sha256 is 'other' and not 'abc'"):
            file.append(said("c", 3))
    assert path.read_bytes() == before


def test_two_programs_see_each_other(path):
    one, two = LabelFile(path, ABOUT), LabelFile(path, ABOUT)
    one.append(said("a", 1))
    assert two.refresh()
    assert not two.refresh()
    two.append(said("b", 2))
    assert one.append(said("b", 2)) == []  # sent to both
    assert one.answers.labels == two.answers.labels == {1: "bee", 2: "bee"}


def test_a_file_that_is_replaced_or_gone_is_read_anew(path):
    file = LabelFile(path, ABOUT)
    file.append(said("a", 1), said("b", 2))
    other = path.with_name("other")
    LabelFile(other, ABOUT).append(said("c", 3))
    os.replace(other, path)
    assert file.refresh()
    assert file.answers.labels == {3: "bee"}
    path.unlink()
    assert file.refresh()
    assert file.answers.labels == {}


def test_many_writers_at_once_lose_and_double_nothing(path):
    """Four threads write through files of their own, each event twice."""

    def write(number):
        file = LabelFile(path, ABOUT)
        for i in range(10):
            for _ in range(2):
                file.append(said(f"{number}-{i}", 10 * number + i + 1))

    threads = [threading.Thread(target=write, args=(number,)) for number in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(labels_in(path)) == list(range(1, 41))
    assert len(path.read_bytes().splitlines()) == 41


# -- full disks -----------------------------------------------------------------------------------


def test_a_full_disk_leaves_the_file_as_it_was(path, monkeypatch):
    file = LabelFile(path, ABOUT)
    file.append(said("a", 1))
    before = path.read_bytes()
    write = os.write

    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, content: _then_full(write, handle, content))
        with pytest.raises(LabelWriteError, match="No space left"):
            file.append(said("b", 2))
    assert path.read_bytes() == before
    assert file.append(said("b", 2)) != []
    assert labels_in(path) == {1: "bee", 2: "bee"}


def _then_full(write, handle, content):
    """Take ten bytes, then no more."""
    if len(content) > 50:
        return write(handle, bytes(content[:10]))
    raise OSError(errno.ENOSPC, "No space left on device")


def test_what_cannot_be_cut_back_is_a_line_that_was_cut_off(path, monkeypatch):
    file = LabelFile(path, ABOUT)
    file.append(said("a", 1))

    def fail(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", fail)
        patch.setattr(os, "ftruncate", fail)
        with pytest.raises(LabelWriteError, match="Input/output error"):
            file.append(said("b", 2))
    file.append(said("b", 2))  # it may be there or not: it counts once
    assert file.answers.labels == labels_in(path) == {1: "bee", 2: "bee"}


@pytest.fixture
def largest_file():
    """The operating system's own limit on what a file may grow to."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    yield lambda size: resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_file_that_may_not_grow_says_so_and_keeps_what_it_has(path, largest_file):
    file, done = LabelFile(path, ABOUT), []

    def fill():
        for row in range(1, 100):
            file.append(said(f"e{row}", row))
            done.append(row)

    largest_file(1000)
    with pytest.raises(LabelWriteError, match="too large"):
        fill()
    assert 0 < len(done) < 99
    assert path.stat().st_size <= 1000
    assert path.read_bytes().endswith(b"\n")
    assert list(labels_in(path)) == done
    largest_file(10_000)
    file.append(said("e50", 50))
    assert list(labels_in(path)) == [*done, 50]


def test_a_check_sees_what_another_program_wrote_and_can_refuse(path):
    mine, yours = LabelFile(path, ABOUT), LabelFile(path, ABOUT)
    yours.append(said("a", 1))

    def check(answers):
        if 1 in answers.by_row:
            raise ValueError("answered")

    with pytest.raises(ValueError, match="answered"):
        mine.append(said("b", 1, "ant"), check=check)
    assert labels_in(path) == {1: "bee"}
    assert yours.append(said("a", 1), check=check) == []  # it is there: nothing to refuse


def test_a_folder_that_is_gone_is_an_error_and_no_crash(tmp_path):
    file = LabelFile(tmp_path / "gone" / "labels.jsonl", ABOUT)
    with pytest.raises(LabelWriteError):
        file.append(said("a", 1))
