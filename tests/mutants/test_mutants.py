"""Deliberate errors in the method: each must be noticed by the tests mapped to it."""

import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from mutants.mutants import KINDS, MUTANTS

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "ilspace"
PASSED, FAILED = 0, 1  # exit codes of pytest; all others say that no test could be run


def run(arguments, folder):
    """Run Python from the root of the repository, with the copy of the package in a folder."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    env |= {"PYTHONPATH": str(folder), "HYPOTHESIS_STORAGE_DIRECTORY": str(folder / "hypothesis")}
    env |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def run_tests(tests, folder):
    return run(
        ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", *tests], folder
    )


def test_each_text_occurs_once_and_each_kind_twice():
    occurrences = {each.name: (PACKAGE / each.path).read_text().count(each.old) for each in MUTANTS}
    assert {name: n for name, n in occurrences.items() if n != 1} == {}
    assert len(occurrences) == len(MUTANTS)
    counts = Counter(each.kind for each in MUTANTS)
    assert set(counts) == set(KINDS)
    assert min(counts.values()) >= 2


@pytest.mark.slow
def test_without_a_mutant_all_is_green(tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "ilspace")
    found = run(["-c", "import ilspace; print(ilspace.__file__)"], tmp_path)
    assert Path(found.stdout.strip()) == tmp_path / "ilspace" / "__init__.py"
    done = run_tests(dict.fromkeys(test for each in MUTANTS for test in each.tests), tmp_path)
    assert done.returncode == PASSED, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda each: each.name)
def test_mutant_turns_its_tests_red(mutant, tmp_path):
    shutil.copytree(PACKAGE, tmp_path / "ilspace")
    file = tmp_path / "ilspace" / mutant.path
    text = file.read_text()
    assert text.count(mutant.old) == 1, f"{mutant.path} must hold once: {mutant.old}"
    file.write_text(text.replace(mutant.old, mutant.new))
    done = run_tests(mutant.tests, tmp_path)
    assert done.returncode == FAILED, done.stdout + done.stderr
