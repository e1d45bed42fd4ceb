"""What samples of rows cost in accuracy; a script.

``python perf/sampled.py --seeds 3`` labels tables with the samples that long tables are given
(5,000 labelled rows in a sum over all pairs, 10,000 rows that train a rule), and again with all
rows, and prints the accuracy of both on the target as JSON, one line per table and seed.
``--rows 20000`` is the size of the made-up tables, ``--only wine`` names one case.
"""

import argparse
import json
import os
import time
import warnings
from pathlib import Path
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before NumPy is loaded

import numpy as np
import pandas as pd

from ilspace.datasets import load_digit_pair
from ilspace.ils import ridge_rule, rounds
from ilspace.tables import TableClassifier, learning

ALL = 10**9
N_COLUMNS, N_CLASSES = 20, 5


def made_up(seed: int, n: int):
    """Classes of two clusters each; the target is scaled, sheared and shifted."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(N_CLASSES, 2, N_COLUMNS)) * 1.1
    shear = np.eye(N_COLUMNS) + 0.25 * rng.normal(size=(N_COLUMNS, N_COLUMNS)) / N_COLUMNS**0.5
    shift = 0.8 * rng.normal(size=N_COLUMNS)
    tables = []
    for is_target in (False, True):
        y, half = rng.integers(N_CLASSES, size=n), rng.integers(2, size=n)
        rows = centres[y, half] + rng.normal(size=(n, N_COLUMNS)) * 1.3
        tables.append((rows @ shear + shift if is_target else rows, y))
    return tables


def wine(seed: int, n: int):
    """White wine to red, three grades; the seed leaves out a tenth of the rows."""
    folder = Path(os.environ["ILSPACE_DATA"], "tables", "wine_quality")
    rng, tables = np.random.default_rng(seed), []
    for name in ("white.csv", "red.csv"):
        table = pd.read_csv(folder / name)
        table = table.iloc[np.sort(rng.permutation(len(table))[: len(table) * 9 // 10])]
        y = table.pop("quality").to_numpy()
        tables.append((table.to_numpy(dtype=float), y))
    return tables


def digits(seed: int, n: int):
    """MNIST's digits to those of scikit-learn; the seed leaves out a tenth of the rows."""
    rng, tables = np.random.default_rng(seed), []
    for domain in load_digit_pair()[::-1]:
        kept = np.sort(rng.permutation(len(domain.y))[: len(domain.y) * 9 // 10])
        tables.append((domain.X[kept], domain.y[kept]))
    return tables


CASES = {"made-up": made_up, "wine": wine, "digits": digits}


def accuracy(tables, seed: int) -> tuple[float, float]:
    """Share of target rows that are labelled rightly, in percent, and seconds of processor time."""
    (X, y), (Xt, yt) = tables
    names = [f"x{i}" for i in range(X.shape[1])]
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = TableClassifier("ils", random_state=seed).fit(
            pd.DataFrame(X, columns=names), y, pd.DataFrame(Xt, columns=names)
        )
        said = model.predict(pd.DataFrame(Xt, columns=names))
    return 100 * float(np.mean(said == yt)), time.process_time() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--first", type=int, default=0, help="seed to begin with")
    parser.add_argument("--rows", type=int, default=10_000, help="of each made-up table")
    parser.add_argument("--only", default=",".join(CASES), help="cases, with commas")
    options = parser.parse_args()
    for name in options.only.split(","):
        for seed in range(options.first, options.first + options.seeds):
            tables = CASES[name](seed, options.rows)
            sampled, short = accuracy(tables, seed)
            with (
                mock.patch.object(rounds, "PAIR_ROWS", ALL),
                mock.patch.object(learning, "PAIR_ROWS", ALL),
                mock.patch.object(ridge_rule, "TRAINING_ROWS", ALL),
            ):
                full, long = accuracy(tables, seed)
            told = {"table": name, "seed": seed, "rows": [len(each[1]) for each in tables]}
            told |= {"sampled": round(sampled, 2), "full": round(full, 2)}
            told |= {"sampled_seconds": round(short, 1), "full_seconds": round(long, 1)}
            print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
