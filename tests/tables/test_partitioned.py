"""Targets that stay in their Parquet files: the same labels as of a table in memory."""

import warnings

import numpy as np
import pandas as pd
import pytest
from tables.small_tables import small_tables

from ilspace.dask import ClusterError, cluster
from ilspace.tables import TableError, partitioned
from ilspace.tables.columns import plan_columns
from ilspace.tables.encoding import fit_encoder
from ilspace.tables.job import adapt_files
from ilspace.tables.outputs import write_outputs
from ilspace.tables.partitioned import PartitionedTable, encoder_of_all, read_partition

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
    adaptation = adapt_files(*paths, label="class", ids=("sample",), **options)
    summary = write_outputs(adaptation, folder)
    return adaptation, summary, pd.read_csv(folder / "predictions.csv", dtype={"sample": str})


def flat(numbers):
    """The numbers of a part of a summary."""
    return {name: each for name, each in numbers.items() if isinstance(each, float)}


@pytest.mark.parametrize(("n_labelled", "scaling"), [(0, "auto"), (9, "zscore-l2")])
def test_a_small_table_in_partitions_is_labelled_as_in_memory(tmp_path, n_labelled, scaling):
    target = TABLES.labelled(n_labelled) if n_labelled else TABLES.target
    paths = write_partitions(tmp_path, target)
    whole, summary, rows = adapted(paths, tmp_path / "whole", scaling=scaling)
    found, other_summary, other_rows = adapted(
        paths, tmp_path / "partitioned", scaling=scaling, partitioned=True
    )
    pd.testing.assert_frame_equal(other_rows, rows, rtol=1e-4, atol=1e-6)
    assert found.model.ils_ is not None
    np.testing.assert_allclose(found.model.ils_.metric_, whole.model.ils_.metric_, atol=1e-8)
    for name in ("target", "verdict", "verdict_word", "notes"):
        assert other_summary[name] == summary[name]
    for name in ("trusted", "expected_accuracy"):
        assert pytest.approx(flat(summary[name])) == flat(other_summary[name])


def test_all_rows_of_a_large_table_are_learned_from_and_labelled(tmp_path, monkeypatch):
    monkeypatch.setattr(partitioned, "SAMPLE", 30)
    paths = write_partitions(tmp_path, TABLES.labelled(3))
    adaptation, summary, rows = adapted(paths, tmp_path / "out", partitioned=True)
    assert 30 <= len(adaptation.target) <= 33
    assert adaptation.yt is not None
    assert sum(each is not None for each in adaptation.yt) == 3  # none is left out
    assert rows["sample"].tolist() == TABLES.target["sample"].tolist()
    assert rows["given"].tolist() == [i < 3 for i in range(47)]
    assert summary["target"]["rows"] == 47
    assert any("47 rows" in note for note in summary["notes"])
    numbers = TABLES.target[["height"]].to_numpy()
    names = adaptation.model.target_encoder_.names
    filled = adaptation.model.target_encoder_.fill[names.index("height")]
    assert filled == pytest.approx(np.nanmean(numbers), rel=1e-12)
    expected = adaptation.model.label_rows(TABLES.target)
    assert rows["label"].tolist() == expected["label"].tolist()


@pytest.mark.parametrize("scaling", ["zscore", "l2-zscore-l2", "l2", "none"])
def test_numbers_of_the_encoder_are_those_of_all_rows(tmp_path, scaling):
    paths = write_partitions(tmp_path, TABLES.target)
    columns = plan_columns(TABLES.source, TABLES.target, ignored=["class"]).target
    expected, _ = fit_encoder(TABLES.target, columns, scaling=scaling)
    sampled, _ = fit_encoder(TABLES.target[:20], columns, scaling=scaling)
    found = encoder_of_all(sampled, PartitionedTable.of(paths[1], label="class"))
    for name in ("fill", "center", "scale"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=1e-12)
    assert found.scaling == scaling


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
        adapt_files(source, source, label="class", partitioned=True)
    with pytest.raises(TableError, match="must be a Parquet file or a folder"):
        adapt_files(source, tmp_path / "missing", label="class", partitioned=True)
    (tmp_path / "empty").mkdir()
    with pytest.raises(TableError, match="must hold Parquet files, but has none"):
        adapt_files(source, tmp_path / "empty", label="class", partitioned=True)
    TABLES.target.iloc[:0].to_parquet(tmp_path / "empty" / "none.parquet")
    with pytest.raises(TableError, match="with rows, but has none"):
        adapt_files(source, tmp_path / "empty", label="class", partitioned=True)
    wrong = TABLES.target.assign(**{"class": "wasp"})
    paths = write_partitions(tmp_path / "wrong", wrong)
    with pytest.raises(TableError, match="'wasp' is not"):
        adapt_files(*paths, label="class", ids=("sample",), partitioned=True)


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
