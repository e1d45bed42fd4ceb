"""``ilspace adapt --dask``: a cluster for the time of the job."""

import os
import signal
import subprocess
import sys
import time

import pandas as pd
import psutil
import pytest
from tables.small_tables import small_tables

pytest.importorskip("distributed")
pytest.importorskip("pyarrow")

TABLES = small_tables(n=60, nt=48)
COMMAND = [sys.executable, "-m", "ilspace.cli", "adapt"]
SINGLE = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}


@pytest.fixture
def paths(tmp_path):
    TABLES.source.to_csv(tmp_path / "source.csv", index=False)
    (tmp_path / "parts").mkdir()
    for number in range(3):
        part = TABLES.target.iloc[16 * number : 16 * number + 16]
        part.to_parquet(tmp_path / "parts" / f"{number}.parquet", index=False)
    return str(tmp_path / "source.csv"), str(tmp_path / "parts")


def command(paths, output, *options):
    return [*COMMAND, *paths, "--label", "class", "-o", str(output), *options]


@pytest.mark.slow
def test_a_local_cluster_gives_the_same_labels(paths, tmp_path):
    for name, options in (("whole", []), ("dask", ["--dask", "local"])):
        ended = subprocess.run(
            command(paths, tmp_path / name, *options),
            env=SINGLE,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert ended.returncode == 0, ended.stderr[-2000:]
        assert "Traceback" not in ended.stderr
    whole, found = (
        pd.read_csv(tmp_path / name / "predictions.csv", dtype={"sample": str})
        for name in ("whole", "dask")
    )
    pd.testing.assert_frame_equal(found, whole, rtol=1e-4, atol=1e-6)


@pytest.mark.slow
def test_an_interrupted_job_leaves_neither_files_nor_workers(paths, tmp_path):
    process = subprocess.Popen(
        command(paths, tmp_path / "out", "--dask", "local"),
        env=SINGLE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # a shell lets those that run in the background ignore it
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    workers = []
    end = time.monotonic() + 120
    while time.monotonic() < end and len(workers) < 2:  # until the first workers are there
        workers = psutil.Process(process.pid).children(recursive=True)
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=120)
    assert process.returncode == 130
    assert not (tmp_path / "out").exists()
    _, alive = psutil.wait_procs(workers, timeout=30)
    assert not alive


@pytest.mark.slow
def test_a_target_that_is_no_parquet_is_refused(paths, tmp_path):
    ended = subprocess.run(
        command((paths[0], paths[0]), tmp_path / "out", "--dask", "local"),
        env=SINGLE,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr.strip().splitlines()[-1].startswith("Error: With --dask the target must be")
