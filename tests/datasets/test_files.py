"""Finding data files: where they are looked for, and what is said when that fails."""

import hashlib
from pathlib import Path

import pytest

from ilspace.datasets import DataCorrupt, DataMissing, locate, search_roots
from ilspace.datasets._files import PUBLIC_COPIES
from ilspace.datasets.catalogue import DATA_SETS

NAME = "office_caltech_surf/amazon_SURF_L10.mat"
CONTENT = b"not really a .mat file"
SHA256 = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def roots(tmp_path, monkeypatch):
    """Two empty data roots: the one of ILSPACE_DATA and the one in the cache."""
    monkeypatch.setenv("ILSPACE_DATA", str(tmp_path / "named"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "named", tmp_path / "cache" / "ilspace"


def put(root, content=CONTENT, name=NAME):
    path = root / name
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    return path


def test_roots_in_order(roots):
    assert search_roots() == roots


def test_cache_is_below_home_by_default(monkeypatch, tmp_path):
    monkeypatch.delenv("ILSPACE_DATA", raising=False)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    for unusable in ("", "relative/path"):
        monkeypatch.setenv("XDG_CACHE_HOME", unusable)
        assert search_roots() == (tmp_path / ".cache" / "ilspace",)


@pytest.mark.parametrize("which", [0, 1])
def test_found_in_either_root(roots, which):
    path = put(roots[which])
    assert locate(NAME, SHA256) == path


def test_named_root_comes_first(roots):
    path = put(roots[0])
    put(roots[1])
    assert locate(NAME, SHA256) == path


def test_missing_file_says_what_to_do(roots):
    with pytest.raises(DataMissing) as caught:
        locate(NAME, SHA256)
    message = str(caught.value)
    assert isinstance(caught.value, FileNotFoundError)
    assert "\n" not in message
    assert all(str(root) in message for root in roots)
    assert f"set ILSPACE_DATA to a folder that holds {NAME}" in message
    assert "viggin/domain-adaptation-toolbox" in message
    assert "`ilspace data fetch office-caltech-surf`" in message


def test_the_command_that_a_message_names_is_there():
    assert {folder.replace("_", "-") for folder in PUBLIC_COPIES} <= set(DATA_SETS)


@pytest.mark.usefixtures("roots")
def test_missing_file_without_public_copy_says_so():
    with pytest.raises(DataMissing, match="there is no public copy"):
        locate("office_caltech_deep/dslr_block10.npz", SHA256)


def test_corrupt_file_is_an_error_even_when_the_cache_has_a_good_one(roots):
    path = put(roots[0], CONTENT + b"!")
    put(roots[1])
    with pytest.raises(DataCorrupt) as caught:
        locate(NAME, SHA256)
    message = str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert str(path) in message
    assert SHA256 in message
    assert hashlib.sha256(CONTENT + b"!").hexdigest() in message
    assert "replace it with an intact copy" in message


def test_a_folder_is_not_a_file(roots):
    (roots[0] / NAME).mkdir(parents=True)
    with pytest.raises(DataMissing):
        locate(NAME, SHA256)
