"""Hostile tables and plans: read, or refused in one sentence."""

import io
import json
import random
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.io
from benchmark.hostile_plans import BASE, FIELD, HOSTILE
from tables.small_tables import quick

from ilspace.benchmark.kinds import load_experiment
from ilspace.benchmark.plan_entries import PlanError
from ilspace.tables import TableError, read_chunks
from ilspace.tables.job import adapt

ENTRIES = [
    *("", " ", "?", "NA", "nan", "1", "-2.5", "1e400", "1e-400", "0x1f", "1,5", "007", "=1+1"),
    *("a", "ü", "\u2028", "\ufeff", "2020-01-01", '"', "'", ";", "\t", "|", "a b c d e", "1_000"),
    *("inf", "-Infinity", "True", "x" * 300, "\x0b", "9" * 400, "\x00"),
]
NAMES = ["class", "id", "x", "Individual ID", "y", "", "0", "a,b", "Unnamed: 0", "z", "row", "ü"]
METHODS = [(None, quick()), (False, quick()), (True, quick()), (None, "CORAL"), (None, "ils")]
METHODS.append((False, "committee"))
"""Whether numbers are scaled by table, and what learns."""


def one_sentence(error):
    """A message that is told to a user."""
    text = str(error)
    assert "\n" not in text, text
    assert text.endswith("."), text


def assert_one_line(error):
    """A message that is told to a user, though it may end in what a parser says."""
    assert "\n" not in str(error), error


def hostile_csv(rng):
    """Text that is nearly a table."""
    n, d = rng.randrange(1, 25), rng.randrange(1, 7)
    separator, ending = rng.choice(",,,;\t|"), rng.choice(["\n", "\n", "\r\n", "\r"])
    pools = [rng.choices(ENTRIES, k=rng.randrange(1, 4)) for _ in range(d)]
    numbers = [rng.random() < 0.6 for _ in range(d)]
    names = rng.sample(NAMES, d)
    if rng.random() < 0.9:
        names[0] = "class"
        pools[0], numbers[0] = ["a", "b"], False
    lines = [names] + [
        [
            f"{rng.gauss(0, 1):.3f}" if is_number and rng.random() < 0.97 else rng.choice(pool)
            for is_number, pool in zip(numbers, pools, strict=True)
        ]
        for _ in range(n)
    ]
    if rng.random() < 0.1:
        rng.choice(lines).append("more")
    if rng.random() < 0.1:
        rng.choice(lines).pop()
    text = ending.join(separator.join(line) for line in lines)
    return text.encode("utf-8" if rng.random() < 0.95 else "latin-1", "replace")


def intact(rng):
    """A whole file of a random format."""
    table = pd.DataFrame({"class": list("abab") * 5, "x": range(20), "y": np.linspace(0, 1, 20)})
    stream = io.BytesIO()
    arrays = {"X": table[["x", "y"]].to_numpy(float), "y": np.arange(20) % 2}
    match rng.choices(range(4), weights=[10, 10, 10, 1])[0]:  # a MAT file takes a process
        case 0:
            table.to_csv(stream, index=False)
        case 1:
            table.to_parquet(stream)
        case 2:
            np.savez(stream, **arrays)
        case 3:
            scipy.io.savemat(stream, arrays, do_compression=rng.random() < 0.5)
    return stream.getvalue()


def mangled(rng, content):
    """The same with some bytes changed, lost or repeated."""
    content = bytearray(content)
    for _ in range(rng.choice([1, 1, 2, 5, 20])):
        place, length = rng.randrange(len(content) + 1), rng.choice([1, 1, 2, 8, 100])
        match rng.randrange(4):
            case 0:
                content[place : place + length] = rng.randbytes(length)
            case 1:
                del content[place : place + length]
            case 2:
                content[place:place] = content[place : place + length]
            case 3:
                del content[place:]
        if not content:
            break
    return bytes(content)


def run_files(seed):
    """Read a hostile or damaged file."""
    rng = random.Random(seed)
    content = hostile_csv(rng) if rng.random() < 0.5 else mangled(rng, intact(rng))
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        path = Path(folder) / "table"
        path.write_bytes(content)
        n_rows = rng.choice([None, 1, 7])
        try:
            blocks = list(read_chunks(path, label="class", n_rows=n_rows))
        except TableError as error:
            one_sentence(error)
            return "refused"
    assert sum(map(len, blocks)) > 0
    return "read"


def run_tables(seed):
    """Adapt between two hostile tables."""
    rng = random.Random(seed)
    own_scaling, method = rng.choice(METHODS)
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / name for name in ("source", "target")]
        contents = [hostile_csv(rng) for _ in paths]
        if rng.random() < 0.7:  # the same columns
            contents[1] = mangled(rng, contents[0]) if rng.random() < 0.3 else contents[0]
        for path, content in zip(paths, contents, strict=True):
            path.write_bytes(content)
        try:
            found = adapt(paths[0], paths[1], "class", method=method, own_scaling=own_scaling)
        except TableError as error:
            one_sentence(error)
            return "refused"
    assert found.predictions["probability"].between(0, 1).all()
    assert set(found.predictions["label"]) <= set(found.model.classes_.tolist())
    json.dumps(found.summary, allow_nan=False)
    for each in found.sentences():
        assert len(each.splitlines()) == 1, each
    return "labelled"


def run_plans(seed):
    """Read a plan that is damaged somewhere."""
    rng = random.Random(seed)
    hostile = [each for each in HOSTILE.values() if isinstance(each, str)]
    text = rng.choice([BASE, FIELD]) if rng.random() < 0.7 else rng.choice(hostile)
    lines = text[:3000].split("\n")
    for _ in range(rng.randrange(1, 3)):
        place = rng.randrange(len(lines))
        name, _, _ = lines[place].partition("=")
        values = ["3", "-1", "[]", "{}", '""', '"x"', "[1]", "true", "1979-05-27", "nan", '["x"]']
        match rng.randrange(4):
            case 0:
                lines[place] = f"{name}= {rng.choice(values)}"
            case 1:
                del lines[place]
            case 2:
                lines.insert(place, rng.choice(lines or [""]))
            case 3:
                lines[place] = mangled(rng, lines[place].encode() or b"x").decode(errors="replace")
        lines = lines or [""]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.toml"
        path.write_bytes("\n".join(lines).encode())
        try:
            n_cells = len(list(load_experiment(str(path)).cells()))
        except PlanError as error:
            assert_one_line(error)
            return "refused"
    assert n_cells > 0
    return "read"
