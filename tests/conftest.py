"""Fixtures shared by all tests."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def ilspace_data():
    """The data root in use; skips the test when there is none."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    with pytest.MonkeyPatch.context() as patch:
        if "ILSPACE_DATA" not in os.environ and beside.is_dir():
            patch.setenv("ILSPACE_DATA", str(beside))
        from ilspace.datasets import search_roots

        roots = [root for root in search_roots() if (root / "office_caltech_surf").is_dir()]
        if not roots:
            pytest.skip("needs the benchmark data: ILSPACE_DATA names no folder that holds them")
        yield roots[0]
