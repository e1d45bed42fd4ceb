"""Count the files and functions of ours that a fit, a prediction and a job visit.

python perf/walk.py
"""

from __future__ import annotations

import ast
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd

import ilspace
from ilspace import ILSClassifier, ILSTransformer
from ilspace.cli.adapt import adapt
from ilspace.tables.encoding import TableEncoder

ROOT = Path(ilspace.__file__).resolve().parent


def visited(call: Callable[[], object]) -> tuple[set[str], set[tuple[str, str]]]:
    """Files below the package, and functions in them, that a call goes through."""
    files, functions = set(), set()

    def look(frame, event, _):
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(str(ROOT)):
            path = str(Path(name).relative_to(ROOT))
            files.add(path)
            functions.add((path, frame.f_code.co_qualname))

    sys.setprofile(look)
    try:
        call()
    finally:
        sys.setprofile(None)
    return files, functions


def code_lines(path: Path) -> int:
    """Lines of code, without docstrings, comments and blank lines."""
    text = path.read_text()
    lines = {
        number
        for number, line in enumerate(text.splitlines(), 1)
        if line.strip() and not line.strip().startswith("#")
    }
    return len(lines - _docstring_lines(text))


def _docstring_lines(text: str) -> set[int]:
    """Numbers of the lines of docstrings, also those below constants."""
    return {
        number
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


def main() -> None:
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = rng.normal(size=(60, 8)) + 3 * rng.normal(size=(3, 8))[y]
    Xt = X @ np.diag(rng.uniform(0.5, 1.5, 8)) + 1
    ILSTransformer(4).fit(X, y, Xt)  # what is imported when first used is not counted
    files, functions = visited(lambda: ILSTransformer(4).fit(X, y, Xt))
    print(f"ILSTransformer.fit: {len(files)} files, {len(functions)} functions")
    print("  " + ", ".join(sorted(files)))
    fitted = ILSClassifier(4, self_training=0).fit(X, y, Xt)
    files, functions = visited(lambda: fitted.predict(Xt))
    print(f"ILSClassifier.predict: {len(files)} files, {len(functions)} functions")
    print("  " + ", ".join(sorted(files)))
    with tempfile.TemporaryDirectory() as folder:
        walk_adapt(Path(folder))
    ours = [kind for kind in ILSClassifier.__mro__ if kind.__module__.startswith("ilspace")]
    print(f"classes of ours in the MRO of ILSClassifier: {len(ours)}")
    print(f"parameters of ILSClassifier: {len(ILSClassifier().get_params(deep=False))}")
    paths = sorted(ROOT.rglob("*.py"))
    print(f"lines of code: {sum(map(code_lines, paths))} in {len(paths)} files")
    mentions = [
        line
        for path in paths
        for line in _code(path)
        if "trade_off" in line and "draw_trade_off" not in line
    ]
    print(f"lines of code that mention trade_off: {len(mentions)}")


def walk_adapt(folder: Path) -> None:
    """Count what ``ilspace adapt`` visits on 300 + 300 rows, and how often tables are encoded."""
    rng, paths = np.random.default_rng(0), []
    for name in ("source", "target"):
        table = pd.DataFrame(rng.normal(size=(300, 8)), columns=list("abcdefgh"))
        table["color"] = np.where(table["a"] > 0, "red", "blue")
        if name == "source":
            table["label"] = np.where(table["b"] + rng.normal(size=300) > 0, "yes", "no")
        paths.append(str(folder / f"{name}.csv"))
        table.to_csv(paths[-1], index=False)
    options = {"label": "label", "quiet": True, "force": True}
    adapt(paths, folder / "out", **options)
    encoded: list[int] = []

    def counted(name: str) -> Callable[..., object]:
        method = getattr(TableEncoder, name)

        def call(self: TableEncoder, *tables: pd.DataFrame) -> object:
            encoded.append(len(tables))
            return method(self, *tables)

        return call

    with (
        mock.patch.object(TableEncoder, "fit_transform", counted("fit_transform")),
        mock.patch.object(TableEncoder, "transform", counted("transform")),
    ):
        files, functions = visited(lambda: adapt(paths, folder / "out", **options))
    print(f"ilspace adapt: {len(files)} files, {len(functions)} functions")
    print(f"  tables encoded: {sum(encoded)}")
    print("  " + ", ".join(sorted(files)))


def _code(path: Path) -> list[str]:
    text = path.read_text()
    hidden = _docstring_lines(text)
    return [
        line
        for number, line in enumerate(text.splitlines(), 1)
        if number not in hidden and not line.strip().startswith("#")
    ]


if __name__ == "__main__":
    main()
