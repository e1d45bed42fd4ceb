"""Targets that stay in their Parquet files: the same labels as of a table in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tables.small_tables import quick, small_tables

import ilspace
from ilspace.dask import ClusterError, cluster
from ilspace.tables import TableError, partitioned
from ilspace.tables.outputs import write_outputs
from ilspace.tables.partitioned import PartitionedTable, read_partition

dask = pytest.importorskip("dask")
pytest.importorskip("dask.array")
pytest.importorskip("pyarrow")

TABLES = small_tables(n=60, nt=47)


@pytest.fixture(autouse=True)
def _one_thread():
    with dask.config.set(scheduler="synchronous"):
        yield


def write_partitions(folder, target, *, sizes=(20, 20, 7), rows_per_group=8):
    """The source as CSV, the target as a folder of Parquet files with several row groups."""
    folder.mkdir(exist_ok=True)
    TABLES.source.to_csv(folder / "source.csv", index=False)
    (folder / "parts").mkdir()
    first = 0
    for number, size in enumerate(sizes):
        some = target.iloc[first : first + size]
        path = folder / "parts" / f"{number}.parquet"
        some.to_parquet(path, index=False, row_group_size=rows_per_group)
        first += size
    assert first == len(target)
    return str(folder / "source.csv"), str(folder / "parts")


def adapted(paths, folder, **options):
    options = {"method": quick()} | options
    answer = ilspace.adapt(paths[0], paths[1], "class", ids=("sample",), **options)
    summary = write_outputs(answer, folder)
    return answer, summary, pd.read_csv(folder / "predictions.csv", dtype={"sample": str})


@pytest.mark.parametrize(
    ("method", "n_labelled"), [(quick(), 12), ("ils", 0)], ids=["pooled", "adapted"]
)
def test_a_small_table_in_partitions_is_labelled_as_in_memory(tmp_path, method, n_labelled):
    target = TABLES.labelled(n_labelled) if n_labelled else TABLES.target
    paths = write_partitions(tmp_path, target)
    whole, summary, rows = adapted(paths, tmp_path / "whole", method=method)
    found, other_summary, other_rows = adapted(
        paths, tmp_path / "partitioned", method=method, partitioned=True
    )
    pd.testing.assert_frame_equal(other_rows, rows, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(found.votes, whole.votes, atol=1e-9)
    for name in ("target", "notes", "drift", "sure_share", "balance", "n_target_labels"):
        assert other_summary[name] == summary[name]
    assert other_summary["expected_accuracy"] == pytest.approx(summary["expected_accuracy"])
    assert found.n_target_rows == 47


@pytest.mark.parametrize("own_scaling", [False, True])
def test_all_rows_of_a_large_table_are_labelled(tmp_path, monkeypatch, own_scaling):
    monkeypatch.setattr(partitioned, "SAMPLE", 30)
    paths = write_partitions(tmp_path, TABLES.labelled(3))
    options = {"partitioned": True, "own_scaling": own_scaling}
    answer, summary, rows = adapted(paths, tmp_path / "out", **options)
    target = answer.pair.target
    assert target is not None
    assert 30 <= len(target) <= 33
    assert set(target["sample"]) >= set(TABLES.target["sample"][:3])
    assert answer.pair.has_labels.sum() == 3  # none is left out
    assert rows["sample"].tolist() == TABLES.target["sample"].tolist()
    assert rows["row"].tolist() == list(range(1, 48))
    assert rows["given"].tolist() == [i < 3 for i in range(47)]
    assert rows["label"][:3].tolist() == TABLES.truth[:3].tolist()
    assert summary["target"]["rows"] == answer.n_target_rows == 47
    note = f"The target has 47 rows, of which {len(target)} stand for all where predictions are "
    assert any(each.startswith(note) for each in summary["notes"])
    expected = answer.model.predict_proba(TABLES.target)
    labels = answer.model.classes_[expected.argmax(axis=1)]
    assert rows["label"][3:].tolist() == labels[3:].tolist()
    np.testing.assert_allclose(rows["probability"][3:], expected.max(axis=1)[3:], rtol=1e-5)


def test_the_same_seed_draws_the_same_rows(tmp_path, monkeypatch):
    monkeypatch.setattr(partitioned, "SAMPLE", 20)
    _, path = write_partitions(tmp_path, TABLES.target)
    table = PartitionedTable.of(path, label="class")
    drawn = [
        table.sample(seed, string_columns=("sample",), classes=np.array(["a", "b"]))["sample"]
        for seed in (3, 3, 4)
    ]
    assert drawn[0].tolist() == drawn[1].tolist() != drawn[2].tolist()
    assert drawn[0].is_monotonic_increasing
    assert drawn[0].nunique() == 20


def test_partitions_are_counted_as_they_are_done(tmp_path):
    paths = write_partitions(tmp_path, TABLES.target)
    answer = ilspace.adapt(*paths, "class", method=quick(), partitioned=True)
    told = []
    write_outputs(answer, tmp_path / "out", on_count=lambda *count: told.append(count))
    assert told == [(i, 7) for i in range(1, 8)]


def test_partitions_are_row_groups_in_order(tmp_path):
    _, path = write_partitions(tmp_path, TABLES.target)
    table = PartitionedTable.of(path, label="class")
    assert [each.n_rows for each in table.partitions] == [8, 8, 4, 8, 8, 4, 7]
    assert table.n_rows == 47
    rows = pd.concat(
        [read_partition(each, ("sample",)) for each in table.partitions], ignore_index=True
    )
    pd.testing.assert_frame_equal(rows, TABLES.target.reset_index(drop=True))


def test_folders_in_folders_are_read_as_in_memory(tmp_path):
    path = tmp_path / "table.parquet" / "year=2024.parquet"
    path.mkdir(parents=True)
    TABLES.target.to_parquet(path / "part-0.parquet")
    assert PartitionedTable.of(tmp_path / "table.parquet", label="class").n_rows == len(
        TABLES.target
    )


@pytest.mark.parametrize("mark", ["-1", "NA", "", "n/a"])
def test_rows_marked_as_unlabelled_are_not_all_sampled(tmp_path, monkeypatch, mark):
    monkeypatch.setattr(partitioned, "SAMPLE", 10)
    some = [*TABLES.truth[:3], *[mark] * (len(TABLES.truth) - 3)]
    _, path = write_partitions(tmp_path, TABLES.target.assign(**{"class": some}))
    table = PartitionedTable.of(path, label="class")
    sample = table.sample(0, string_columns=(), classes=np.unique(TABLES.truth))
    assert 10 <= len(sample) <= 13
    assert set(sample["class"]) == {*TABLES.truth[:3], mark}


def test_what_is_no_parquet_is_refused(tmp_path):
    source, path = write_partitions(tmp_path, TABLES.target)
    with pytest.raises(TableError, match="must be a Parquet file or a folder"):
        ilspace.adapt(source, source, "class", partitioned=True)
    with pytest.raises(TableError, match="must be a Parquet file or a folder"):
        ilspace.adapt(source, tmp_path / "missing", "class", partitioned=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="must hold Parquet files, but has none"):
        ilspace.adapt(source, tmp_path / "empty", "class", partitioned=True)
    TABLES.target.iloc[:0].to_parquet(tmp_path / "empty" / "none.parquet")
    with pytest.raises(TableError, match="with rows, but has none"):
        ilspace.adapt(source, tmp_path / "empty", "class", partitioned=True)
    wrong = TABLES.target.assign(**{"class": "wasp"})
    paths = write_partitions(tmp_path / "wrong", wrong)
    with pytest.raises(TableError, match="'wasp' is not"):
        ilspace.adapt(*paths, "class", ids=("sample",), partitioned=True)


def test_a_cluster_that_does_not_answer_is_refused(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr("ilspace.dask.clusters._PATIENCE", 0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what its client leaves behind
        with (
            pytest.raises(ClusterError, match="scheduler that answers"),
            cluster("tcp://127.0.0.1:9"),
        ):
            pytest.fail("there is none")
    with cluster(None):
        pass
