"""Rows go to windows, answers to the file, and tasks to the model."""

import threading
from dataclasses import replace

import numpy as np
import pytest
from labelling.small_job import CLASSES, Silent, make_job, snapshot
from tables.small_tables import small_tables

from ilspace.active import NONE_OF_THESE
from ilspace.labelling import session as sessions
from ilspace.labelling.answers import Kind, new_id
from ilspace.labelling.background import LearnsAtOnce, LearnsInBackground
from ilspace.labelling.learner import Learner, Task
from ilspace.labelling.session import AnsweredElsewhereError, AnswerError, Session


@pytest.fixture
def job(tmp_path):
    return make_job(tmp_path)


@pytest.fixture
def session(job):
    found = Session(job, Silent(), refit_after=4)
    found._take(snapshot(job))
    return found


def answered(session, window="one", *, label="bee", kind=Kind.LABEL, event=None):
    row = session.state(window)["row"]["row"]
    label = label if kind is Kind.LABEL else None
    session.answer(window, event=event or new_id(), kind=kind, row=row, label=label)
    return row


# -- rows -----------------------------------------------------------------------------------------


def test_rows_come_in_the_order_of_the_model_then_by_doubt(session, job):
    assert [answered(session) for _ in range(4)] == [4, 6, 8, job.n_rows]


def test_before_the_first_model_rows_come_at_random_without_a_guess(job):
    session = Session(job, Silent())
    row = session.state("one")["row"]
    assert row["guess"] is None
    rows = {answered(session) for _ in range(job.n_rows)}
    assert rows == set(range(1, job.n_rows + 1))
    assert session.state("one")["row"] is None


def test_a_row_says_what_it_is_and_what_is_thought_of_it(session):
    row = session.state("one")["row"]
    table = small_tables().target
    assert row["row"] == 4
    assert row["ids"] == [["sample", table["sample"][3]]]
    assert dict(row["columns"])["colour"] == table["colour"][3]
    assert (row["guess"], row["probabilities"]) == ("ant", [0.7, 0.15, 0.15])
    assert row["probability"] == pytest.approx(0.9 - 0.4 * 3 / 23, abs=1e-3)


def test_two_windows_get_different_rows_and_keep_them(session):
    first, second = session.state("one")["row"]["row"], session.state("two")["row"]["row"]
    assert {first, second} == {4, 6}
    assert session.state("one")["row"]["row"] == first
    answered(session, "one")
    assert session.state("one")["row"]["row"] == 8
    assert session.state("two")["row"]["row"] == second
    assert session.state("one")["progress"]["windows"] == 2


def test_the_row_of_a_closed_window_is_free_again(session, monkeypatch):
    assert session.state("one")["row"]["row"] == 4
    monkeypatch.setattr(sessions, "_GONE_AFTER", -1.0)
    assert session.state("two")["row"]["row"] == 4


def test_rows_with_a_label_in_the_table_are_not_asked(tmp_path):
    job = make_job(tmp_path, target=small_tables().labelled(20))
    session = Session(job, Silent())
    assert session.state("one")["progress"]["given"] == 20
    assert {answered(session) for _ in range(4)} == {21, 22, 23, 24}
    with pytest.raises(AnsweredElsewhereError):
        session.answer("one", event="x", kind=Kind.SKIP, row=1)


# -- answers --------------------------------------------------------------------------------------


def test_an_answer_is_on_disk_with_what_was_guessed(session, job):
    row = answered(session, event="e1")
    event = job.open_labels().answers.events["e1"]
    assert (event.row, event.label, event.guess, event.by) == (row, "bee", "ant", "one")
    assert event.probability == pytest.approx(0.848, abs=1e-3)


def test_an_answer_sent_twice_counts_once(session, job):
    row = answered(session, event="e1")
    session.answer("one", event="e1", kind=Kind.LABEL, row=row, label="bee")
    assert job.open_labels().answers.labels == {row: "bee"}
    assert session.state("one")["progress"]["labelled"] == 1


def test_a_row_that_was_answered_in_another_window_is_not_answered_again(session):
    row = answered(session, "one")
    with pytest.raises(AnsweredElsewhereError, match=f"Row {row} has an answer"):
        session.answer("two", event="late", kind=Kind.LABEL, row=row, label="ant")
    assert session.file.answers.labels == {row: "bee"}


@pytest.mark.parametrize(
    ("kind", "row", "label"),
    [(Kind.LABEL, 0, "bee"), (Kind.LABEL, 25, "bee"), (Kind.LABEL, 1, "wasp")]
    + [(Kind.LABEL, 1, None), (Kind.SKIP, 1, "bee"), (Kind.LABEL, -1, "bee")],
)
def test_what_makes_no_sense_is_not_accepted(session, kind, row, label):
    with pytest.raises(AnswerError):
        session.answer("one", event="x", kind=kind, row=row, label=label)
    assert session.file.answers.events == {}


def test_undo_shows_the_row_again_and_once_only(session):
    row = answered(session)
    assert session.undo("one", event="u1") == row
    assert session.undo("one", event="u1") == row
    assert session.state("one")["row"]["row"] == row
    assert session.state("one")["progress"]["labelled"] == 0
    assert session.undo("one", event="u2") is None
    assert answered(session, label="ant") == row
    assert session.file.answers.labels == {row: "ant"}


def test_undo_goes_back_step_by_step_over_skips_too(session):
    rows = [answered(session, kind=kind) for kind in (Kind.LABEL, Kind.SKIP, Kind.OTHER)]
    assert session.state("one")["progress"] | {"windows": 0} == {
        "labelled": 1,
        "skipped": 1,
        "other": 1,
        "given": 0,
        "rows": 24,
        "left": 21,
        "windows": 0,
        "can_undo": True,
    }
    assert [session.undo("one", event=new_id()) for _ in range(4)] == [*rows[::-1], None]


def test_undo_leaves_another_open_window_alone_but_not_an_earlier_sitting(session, job):
    row = answered(session, "one")
    session.state("two")
    assert session.undo("two", event="u1") is None
    assert not session.state("two")["progress"]["can_undo"]
    later = Session(job, Silent())
    assert later.undo("three", event="u2") == row
    assert session.state("one")["progress"]["labelled"] == 0


def test_undo_leaves_what_another_program_records_meanwhile_alone(session, job):
    other = Session(job, Silent())
    row = answered(session, "one")
    answered(other, "theirs")
    assert session.undo("one", event="u1") == row
    assert session.undo("one", event="u2") is None
    assert len(session.file.answers.labels) == 1


def test_undo_takes_over_from_a_window_that_is_closed(session, monkeypatch):
    row = answered(session, "one")
    session.state("two")
    monkeypatch.setattr(sessions, "_GONE_AFTER", -1.0)
    assert session.undo("two", event="u") == row


def test_two_programs_cannot_both_answer_a_row(session, job, monkeypatch):
    other = Session(job, Silent())
    row = session.state("one")["row"]["row"]
    monkeypatch.setattr(type(session.file), "refresh", lambda self: False)  # both look, then write
    other.answer("theirs", event="e1", kind=Kind.LABEL, row=row, label="ant")
    with pytest.raises(AnsweredElsewhereError):
        session.answer("one", event="e2", kind=Kind.LABEL, row=row, label="bee")
    assert session.file.answers.labels == {row: "ant"}


def test_a_sitting_goes_on_where_the_last_one_ended(session, job):
    rows = {answered(session) for _ in range(3)}
    later = Session(job, Silent())
    assert later.state("new")["progress"]["labelled"] == 3
    assert {answered(later, "new") for _ in range(5)}.isdisjoint(rows)


# -- the model ------------------------------------------------------------------------------------


def test_the_model_learns_after_some_answers_and_not_while_it_learns(job):
    silent = Silent()
    session = Session(job, silent, refit_after=3)
    assert silent.tasks == [Task({})]
    for _ in range(4):
        answered(session)
    assert len(silent.tasks) == 1  # the first fit is not over
    session._take(snapshot(job))
    assert len(silent.tasks) == 2
    assert len(silent.tasks[1].labels) == 4
    session._take(snapshot(job, silent.tasks[1]))
    answered(session, kind=Kind.OTHER)
    answered(session, kind=Kind.SKIP)
    assert len(silent.tasks) == 2
    session.undo("one", event="u")
    answered(session, kind=Kind.SKIP)
    answered(session)
    assert len(silent.tasks) == 3
    assert list(silent.tasks[2].labels.values()).count(NONE_OF_THESE) == 1
    assert len(silent.tasks[2].skipped) == 1


def test_it_learns_on_until_it_is_known_how_good_it_is(session, job):
    before = session.state("one")["model"]
    assert before["rely"][0]["value"] == "70%"
    assert before["history"] == [{"labels": 0, "value": 0.7, "low": 0.5, "high": 0.8}]
    session._learn()
    session._take(replace(snapshot(job, queue=(9,)), rely=None, accuracy=None))
    state = session.state("one")
    assert state["model"]["learning"]
    assert state["model"]["rely"] == before["rely"]
    assert session.snapshot.queue.tolist() == [9]
    for _ in range(5):
        answered(session)
    assert len(session._teachable.tasks) == 2
    session._take(snapshot(job))
    assert len(session._teachable.tasks) == 3
    assert len(session.history) == 2


def test_a_model_that_cannot_be_fitted_is_tried_again_with_more_answers(job):
    silent = Silent()
    session = Session(job, silent, refit_after=2)
    session._take("The model cannot be fitted yet: no labels.")
    assert session.state("one")["model"]["trouble"].endswith("no labels.")
    assert len(silent.tasks) == 1
    answered(session)
    answered(session)
    assert len(silent.tasks) == 2
    session._take("still not")
    assert len(silent.tasks) == 2
    session._take(snapshot(job))
    assert session.state("one")["model"]["trouble"] == ""


def test_another_program_s_labels_are_learned_from(session, job):
    other = Session(job, Silent())
    for _ in range(4):
        answered(other)
    session.state("one")
    assert len(session._teachable.tasks[-1].labels) == 4


def test_the_map_shows_labels_as_they_are_and_guesses_elsewhere(session):
    row = answered(session)
    points = session.map()["target"]
    assert points[row - 1][-1] == CLASSES.index("bee")
    assert points[row][-1] is None
    assert points[row][3] == 0


# -- the real model -------------------------------------------------------------------------------


def last(learner, task):
    """What is known in the end."""
    *_, found = learner.learn(task)
    return found


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    """A learner that has seen two labels, one of which was taken back."""
    job = make_job(tmp_path_factory.mktemp("learned"))
    learner = Learner(job)
    first = last(learner, Task({}))
    rows = [int(each) for each in first.queue[:3]]
    truth = small_tables().truth
    task = Task({rows[0]: str(truth[rows[0]]), rows[1]: NONE_OF_THESE}, (rows[2],))
    second = last(learner, task)
    third = last(learner, Task({rows[1]: NONE_OF_THESE}))
    return job, rows, (first, second, third), learner


def test_answered_rows_are_not_asked_again_and_undone_ones_are(learned):
    _, rows, (first, second, third), _ = learned
    assert first.queue.tolist()[:3] == rows
    assert set(rows).isdisjoint(second.queue.tolist())
    assert len(second.queue) == 21
    assert {rows[0], rows[2]} <= set(third.queue.tolist())
    assert rows[1] not in third.queue


def test_the_answer_knows_the_labels_that_hold(learned):
    _, rows, (first, second, third), learner = learned
    assert [each.n_learned for each in (first, second, third)] == [0, 1, 0]
    assert not learner.answer.pair.has_labels.any()
    assert third.probability.tolist() == first.probability.tolist() != second.probability.tolist()


def test_guesses_are_those_of_the_model(learned):
    job, _, (*_, third), learner = learned
    model = learner.answer.model
    said = model.predict_proba(job.target)
    assert [job.classes[each] for each in third.codes] == model.predict(job.target).tolist()
    np.testing.assert_allclose(third.probability, said.max(axis=1), rtol=1e-5)
    np.testing.assert_allclose(third.queue_probabilities, said[third.queue], atol=1e-6)
    assert 0 <= third.accuracy["low"] <= third.accuracy["value"] <= third.accuracy["high"] <= 1


def test_labels_are_learned_without_encoding_a_row_again(tmp_path, monkeypatch):
    job, truth = make_job(tmp_path), small_tables().truth
    learner = Learner(job)
    last(learner, Task({}))
    assert learner.answer is not None
    encoded = learner.answer.encoded
    for method in ("transform", "fit_transform"):
        monkeypatch.setattr(f"ilspace.tables.encoding.TableEncoder.{method}", None)
    task = Task({row: str(truth[row]) for row in range(12)})
    found = last(learner, task)
    assert learner.answer.encoded is encoded
    assert found.n_learned == 12
    # and as a fit would that knew the labels from the start
    monkeypatch.undo()
    again = Learner(job)
    whole = last(again, task)
    np.testing.assert_allclose(found.probability, whole.probability, atol=1e-12)
    assert again.answer is not None
    assert again.answer.rely == learner.answer.rely == found.rely
    assert found.rely is not None
    assert "12 target labels" in found.rely[0]["text"]


def test_guesses_come_before_it_is_known_how_good_they_are(tmp_path):
    first, second = Learner(make_job(tmp_path)).learn(Task({}))
    assert first.rely is None
    assert second.rely is not None
    assert [each["title"] for each in second.rely][1:] == ["Sure rows", "What changed"]
    assert second.queue is first.queue


def test_the_map_holds_all_rows_and_turns_as_little_as_possible(learned):
    job, _, (_, second, third), learner = learned
    assert third.map.target.tolist() == list(range(job.n_rows))
    assert third.map.source_places.shape == (30, 2)
    here = second.map.target_places, third.map.target_places
    assert np.sum(here[0] * here[1]) > 0
    mirrored = learner._turned(third.map.target, -learner._last_places[1])
    np.testing.assert_allclose(mirrored, learner._last_places[1], atol=1e-9)


def test_after_a_restart_the_same_is_known(tmp_path):
    job, truth = make_job(tmp_path), small_tables().truth
    session = Session(job, LearnsAtOnce(Learner(job)), refit_after=4)
    for _ in range(8):
        row = session.state("one")["row"]["row"]
        session.answer("one", event=new_id(), kind=Kind.LABEL, row=row, label=str(truth[row - 1]))
    model = session.state("one")["model"]
    assert (model["labels"], model["learning"]) == (8, False)
    later = Session(job, LearnsAtOnce(Learner(job)))
    assert later.state("one")["model"]["rely"] == model["rely"]
    assert later.history == model["history"][-1:]


@pytest.mark.parametrize("strategy", ["random", "margin"])
def test_it_is_recorded_how_a_row_was_chosen_and_what_was_known_then(tmp_path, strategy):
    """Labels that the table came with count, and of a row that was learned nothing is told."""
    tables = small_tables()
    job = make_job(tmp_path, target=tables.labelled(5))
    session = Session(job, LearnsAtOnce(Learner(job, strategy)), refit_after=4)
    shown = []
    for _ in range(5):
        shown.append(session.state("one")["row"]["row"])
        label = str(tables.truth[shown[-1] - 1])
        session.answer("one", event=new_id(), kind=Kind.LABEL, row=shown[-1], label=label)
    found = session.file.answers.by_row
    assert {row: each.learned for row, each in found.items()} == dict(
        zip(shown, [5, 5, 5, 5, 9], strict=True)
    )
    assert {each.random is True for each in found.values()} == {strategy == "random"}
    # two are taken back, of which the model has learned one, and answered again
    for _ in range(2):
        session.undo("one", event=new_id())
    assert session.state("one")["row"]["row"] == shown[3]
    session.answer("one", event=new_id(), kind=Kind.OTHER, row=shown[3])
    assert session.file.answers.by_row[shown[3]].learned is None


def test_tables_without_common_columns_wait_for_labels(tmp_path):
    target = small_tables().target.add_prefix("other_")
    job = make_job(tmp_path, target=target)
    session = Session(job, LearnsAtOnce(Learner(job)), refit_after=6)
    assert "label a few target rows" in session.state("one")["model"]["trouble"]
    truth = small_tables().truth
    for _ in range(6):
        row = session.state("one")["row"]["row"]
        session.answer("one", event=new_id(), kind=Kind.LABEL, row=row, label=str(truth[row - 1]))
    state = session.state("one")
    assert state["model"]["trouble"] == ""
    assert state["row"]["guess"] in CLASSES


@pytest.mark.slow
def test_the_model_learns_in_another_process_and_its_end_is_noticed(job):
    learner = LearnsInBackground(job)
    session = Session(job, learner, refit_after=2)
    try:
        session.wait()
        assert session.snapshot is not None
        answered(session)
        answered(session)
        session.wait()
        assert session.state("one")["model"]["labels"] == 2
        learner._process.kill()
        ended = threading.Event()
        for _ in range(100):
            if "has ended" in session.state("one")["model"]["trouble"]:
                break
            ended.wait(0.1)
        answered(session)
        answered(session)
        assert "has ended" in session.state("one")["model"]["trouble"]
        assert not session.state("one")["model"]["learning"]
        assert len(job.open_labels().answers.labels) == 4
    finally:
        session.close()
