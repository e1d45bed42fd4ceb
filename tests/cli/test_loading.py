"""Imports of a command, without a search for garbage among what they make."""

import gc
import subprocess
import sys

import pytest

from ilspace.cli import loading


def test_garbage_is_looked_for_again_however_imports_end():
    frozen = gc.get_freeze_count()
    with loading():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), loading():
        raise ImportError
    assert gc.isenabled()
    assert gc.get_freeze_count() == frozen  # this process is not the command's


def test_what_does_not_look_for_garbage_is_left_as_it_is():
    gc.disable()
    try:
        with loading():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_a_command_of_its_own_never_looks_at_what_it_loaded():
    script = f"""
import sys; sys.path[:] = {sys.path!r}
sys.argv = ["ilspace", "--version"]
from ilspace.cli import main
try:
    main()
except SystemExit as end:
    assert not end.code
import gc
assert gc.isenabled()
assert gc.get_freeze_count() > 10_000
"""
    ended = subprocess.run([sys.executable, "-I", "-c", script], capture_output=True, text=True)
    assert (ended.returncode, ended.stderr) == (0, "")
