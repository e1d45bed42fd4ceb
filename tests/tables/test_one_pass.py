"""A job makes each thing once: tables are read and encoded once, and a model is asked once."""

from contextlib import ExitStack
from unittest import mock

import pytest
from skrub import TableVectorizer
from tables.small_tables import quick, small_tables, write_csv

import ilspace
from ilspace.tables import classifier, inputs, job, pair, report
from ilspace.tables.encoding import TableEncoder
from ilspace.tables.estimates import N_FOLDS
from ilspace.tables.learning import AdaptedRule, PooledRule
from ilspace.tables.outputs import write_outputs

TABLES = small_tables(missing=0)

COUNTED = [
    (inputs, "read_table"),
    (inputs, "encode_source"),
    (pair, "encode_source"),
    (inputs, "take_target_labels"),
    (classifier, "plan_columns"),
    (TableEncoder, "fit_transform"),
    (TableEncoder, "transform"),
    (TableVectorizer, "fit_transform"),
    (TableVectorizer, "transform"),
    (PooledRule, "fit"),
    (PooledRule, "votes"),
    (AdaptedRule, "fit"),
    (AdaptedRule, "votes"),
    (job, "estimate"),
    (report, "explain"),
]


@pytest.fixture
def calls():
    """What is called, and with what; all of it is done."""
    with ExitStack() as stack:
        found = {}
        for home, name in COUNTED:
            own = getattr(home, name)
            patch = mock.patch.object(home, name, autospec=True, side_effect=own)
            where = home.__name__.rpartition(".")[2]
            found[f"{where}.{name}"] = stack.enter_context(patch)
        yield found


def counts(calls):
    return {name: each.call_count for name, each in calls.items() if each.call_count}


@pytest.mark.parametrize(
    ("method", "n_labels"), [(quick(), 12), ("ils", 0)], ids=["pooled", "adapted"]
)
def test_a_job_makes_each_thing_once(tmp_path, calls, method, n_labels):
    target = TABLES.labelled(n_labels) if n_labels else None
    paths = write_csv(tmp_path, TABLES, target)
    answer = ilspace.adapt(*paths, "class", method=method, own_scaling=False)
    rule = "AdaptedRule" if method == "ils" else "PooledRule"
    of_folds = N_FOLDS * (2 if n_labels else 1)  # rows of the source, and of the target
    assert counts(calls) == {
        "inputs.read_table": 2,
        "inputs.encode_source": 1,
        "inputs.take_target_labels": 1,
        "classifier.plan_columns": 1,
        "TableEncoder.fit_transform": 1,
        "TableVectorizer.fit_transform": 1,
        f"{rule}.fit": 1 + N_FOLDS,
        f"{rule}.votes": 1 + of_folds,
        "job.estimate": 1,
    }
    (encoded,) = calls["TableEncoder.fit_transform"].call_args_list
    assert [len(each) for each in encoded.args[1:]] == [30, 24]

    # files, report and notebook ask for no row that was answered: only for what is occluded
    for each in calls.values():
        each.reset_mock()
    write_outputs(answer, tmp_path / "out")
    answer._repr_html_()
    found = counts(calls)
    assert found.pop("report.explain") == 1
    assert found == {f"{rule}.votes": 1}
    (occluded,) = calls[f"{rule}.votes"].call_args_list
    assert len(occluded.args[1]) == 4 * 5 * 10  # rows, columns, entries in place of theirs


def test_what_own_scaling_would_change_takes_one_more_fit(calls):
    moved = TABLES.moved()
    answer = ilspace.adapt(moved.source, moved.target, "class", method=quick())
    assert answer.changed_by_own_scaling is not None
    found = counts(calls)
    assert found["PooledRule.fit"] == 2 + N_FOLDS
    assert found["TableEncoder.fit_transform"] == 1
    assert "TableEncoder.transform" not in found


def test_labels_become_codes_once_for_data_frames_too(calls):
    X, y, Xt = TABLES.features
    ilspace.TableClassifier(quick()).fit(X, y, Xt)
    found = counts(calls)
    assert found["pair.encode_source"] == 1
    assert "inputs.encode_source" not in found
    assert found["TableEncoder.fit_transform"] == found["PooledRule.fit"] == 1
    assert "PooledRule.votes" not in found
