"""Importing the package does nothing else."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import ilspace
from ilspace.cli._refusals import REQUESTS

_OPTIONAL = [
    *("torch", "cupy", "dask", "matplotlib", "plotly", "pandas", "typer", "rich", "skada"),
    *("skrub", "skops", "jinja2"),
]

_SCRIPT = f"""
import sys
import numpy as np
import sklearn.cross_decomposition, sklearn.metrics  # they load pandas and rich where they can
before = set(sys.modules)
state = repr(np.random.get_state())
config = sklearn.get_config()
import ilspace
from ilspace import *
assert all(name in globals() for name in ilspace.__all__)
assert ILSClassifier is ilspace.ILSClassifier
assert set(ilspace.__all__) <= set(dir(ilspace))
assert repr(np.random.get_state()) == state
assert sklearn.get_config() == config
loaded = [name for name in {_OPTIONAL} if name in set(sys.modules) - before]
assert not loaded, loaded
"""


def test_import_has_no_side_effect():
    # -I: no user site, no PYTHONPATH, so the path is handed over by hand
    script = f"import sys; sys.path[:] = {sys.path!r}\n{_SCRIPT}"
    ended = subprocess.run(
        [sys.executable, "-I", "-W", "error", "-c", script], capture_output=True, text=True
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")


def test_tables_load_only_what_they_use():
    unused = ("sklearn.datasets", "sklearn.cluster", "skrub", "ilspace.baselines.coral")
    script = f"""
import sys; sys.path[:] = {sys.path!r}
import ilspace.tables.job, ilspace.tables.outputs
loaded = [each for each in {unused} if each in sys.modules]
assert not loaded, loaded
"""
    pytest.importorskip("pandas")
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_dask_is_imported_in_one_folder():
    root = Path(ilspace.__file__).parent
    importing = {
        path.relative_to(root).parts[0]
        for path in root.rglob("*.py")
        if re.search(r"^\s*(from|import) (dask|distributed)\b", path.read_text(), re.M)
    }
    assert importing == {"dask"}


@pytest.mark.parametrize("command", [["--help"], ["adapt", "--help"], ["bench", "run", "--help"]])
def test_help_imports_nothing_heavy(command):
    script = f"""
import sys; sys.path[:] = {sys.path!r}
sys.argv = ["ilspace", *{command!r}]
from ilspace.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
loaded = [each for each in ("numpy", "scipy", "sklearn", "pandas", "plotly") if each in sys.modules]
assert not loaded, loaded
"""
    ended = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "Usage" in ended.stdout


@pytest.mark.parametrize(("name", "home"), REQUESTS.items())
def test_errors_that_are_refusals_live_where_they_are_looked_for(name, home):
    error = getattr(import_module(home), name)
    assert issubclass(error, Exception)
    assert error.__module__ == home
