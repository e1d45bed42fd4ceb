"""A real cluster of processes: one worker or two, or one that is killed, give the same result."""

import json
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("distributed")

# In a process of its own: a cluster leaves threads and sockets behind for a while.
SCRIPT = """
import json, os, signal, sys, threading
import dask.array as da
import numpy as np
from distributed import Client, LocalCluster
from ilspace import ILSClassifier

def main(n_workers, kill):
    rng = np.random.default_rng(0)
    n, d = 6000, 8
    y = np.arange(n) % 3
    X = rng.normal(size=(n, d)) + 3 * rng.normal(size=(3, d))[y]
    Xt = X @ np.diag(np.linspace(0.5, 1.5, d)) + rng.normal(size=(n, d)) + 2
    yt = np.where(np.arange(n) < 60, y, -1)
    if n_workers == 0:
        report(ILSClassifier(4, self_training=0, max_iter=6, tol=0.0).fit(X, y, Xt, yt), Xt, [], [])
        return
    killed, held = [], []

    def kill_one(client):
        pids = client.run(os.getpid)
        holdings = client.has_what()
        address = max(pids, key=lambda each: len(holdings.get(each, ())))
        held.append(len(holdings.get(address, ())))
        killed.append(pids[address])
        os.kill(pids[address], signal.SIGKILL)

    with LocalCluster(
        n_workers=n_workers, threads_per_worker=1, dashboard_address=None
    ) as cluster, Client(cluster) as client:
        def callback(count, now):
            if kill and count == 1:  # between two evaluations: what it held is gone
                kill_one(client)
            if kill and count == 3:  # in the middle of one
                timer = threading.Timer(0.2, kill_one, [client])
                timer.start()

        model = ILSClassifier(4, self_training=0, max_iter=6, tol=0.0, callback=callback).fit(
            da.from_array(X, chunks=(700, 5)), y, da.from_array(Xt, chunks=(1100, 8)), yt
        )
        predicted = model.predict(da.from_array(Xt, chunks=1000)).compute()
        assert (predicted == model.predict(Xt)).all()
        report(model, Xt, killed, held)

def report(model, Xt, killed, held):
    found = {
        "source": model.source_projection_.tolist(),
        "target": model.target_projection_.tolist(),
        "metric": model.metric_.tolist(),
        "proba": model.predict_proba(Xt[:200]).tolist(),
        "killed": len(set(killed)),
        "held": held,
    }
    with open(sys.argv[3], "w") as file:
        json.dump(found, file)

if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2] == "kill")
"""


def run(folder, n_workers, kill):
    script, result = folder / "script.py", folder / f"{n_workers}-{kill}.json"
    script.write_text(SCRIPT)
    command = [sys.executable, "-W", "ignore", str(script), str(n_workers), kill, str(result)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ended.returncode == 0, ended.stderr[-3000:]
    return json.loads(result.read_text())


@pytest.mark.slow
def test_workers_may_be_few_or_be_killed(tmp_path):
    expected = run(tmp_path, 0, "spare")
    for n_workers, kill in ((1, "spare"), (2, "spare"), (2, "kill")):
        found = run(tmp_path, n_workers, kill)
        for name in ("source", "target", "metric", "proba"):
            np.testing.assert_allclose(found[name], expected[name], atol=1e-8)
        if kill == "kill":
            assert found["killed"] == 2
            assert found["held"][0] > 0  # it took labelled rows with it
