"""Files of one's own: every layout is read, every bad file gets a sentence."""

import hashlib

import numpy as np
import pandas as pd
import pytest
import scipy.io

from ilspace.datasets import DataCorrupt, DataMissing, load_domain, load_folder

X = np.random.default_rng(0).integers(0, 255, (6, 4)).astype(np.uint8)
y = np.array([1, 2, 1, 2, 1, 2])


@pytest.mark.parametrize(
    ("features", "labels"),
    [("FTS", "LABELS"), ("fea", "gnd"), ("fts", "labels"), ("feas", "labels"), ("X", "y")],
)
@pytest.mark.parametrize("suffix", [".mat", ".npz"])
def test_published_layouts(tmp_path, features, labels, suffix):
    path = tmp_path / f"PIE05{suffix}"
    if suffix == ".mat":
        scipy.io.savemat(path, {features: X, labels: y[:, None].astype(float)})
    else:
        np.savez(path, **{features: X.astype(np.float32), labels: y})
    domain = load_domain(path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())
    assert domain.name == "PIE05"
    assert domain.X.dtype == (np.float64 if suffix == ".mat" else np.float32)
    np.testing.assert_array_equal(domain.X, X)
    np.testing.assert_array_equal(domain.y, y)
    assert "sha256" in domain.provenance


def test_folder_of_tables(tmp_path):
    table = pd.DataFrame(X.astype(float), columns=list("abcd")).assign(kind=["cat", "dog"] * 3)
    table.to_csv(tmp_path / "one.csv", index=False)
    table.iloc[:4].to_parquet(tmp_path / "two.parquet")
    (tmp_path / "notes.txt").write_text("left alone")
    domains = load_folder(tmp_path, label="kind")
    assert list(domains) == ["one", "two"]
    assert domains["two"].X.shape == (4, 4)
    np.testing.assert_array_equal(domains["one"].y, ["cat", "dog"] * 3)


def write(path, content):
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda d: d / "gone.mat", DataMissing, "There is no file"),
        (lambda d: write(d / "a.xlsx", b""), DataCorrupt, "must be one of .mat"),
        (lambda d: write(d / "a.mat", b"no matrix at all" * 20), DataCorrupt, "cannot be read as"),
        (lambda d: write(d / "a.npz", b"\x00" * 50), DataCorrupt, "cannot be read as npz"),
        (lambda d: write(d / "a.parquet", b"PAR1"), DataCorrupt, "cannot be read as parquet"),
        (lambda d: write(d / "a.csv", b""), DataCorrupt, "cannot be read as csv"),
        (lambda d: write(d / "a.csv", b"a,b\n1,2\n"), DataCorrupt, "column 'label'.*a, b"),
        (lambda d: write(d / "a.csv", b"a,label\nx,2\n"), DataCorrupt, "hold numbers besides"),
    ],
)
def test_bad_files(tmp_path, make, error, message):
    with pytest.raises(error, match=message):
        load_domain(make(tmp_path))


def test_other_names_checksum_and_length(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, pixels=X)
    with pytest.raises(DataCorrupt, match="FTS and LABELS.*but holds pixels"):
        load_domain(path)
    with pytest.raises(DataCorrupt, match="must have sha256 00"):
        load_domain(path, sha256="00")
    np.savez(path, X=X.astype(float), y=y[:3])
    with pytest.raises(DataCorrupt, match="one label for each"):
        load_domain(path)
    with pytest.raises(DataMissing, match="has none"):
        load_folder(_empty(tmp_path))
    with pytest.raises(DataMissing, match="no folder"):
        load_folder(tmp_path / "gone")


def _empty(folder):
    (folder / "empty").mkdir()
    return folder / "empty"


def test_a_pickle_in_a_file_is_not_run(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.array([{"a": 1}], dtype=object), y=np.array([1]))
    with pytest.raises(DataCorrupt, match="allow_pickle"):
        load_domain(path)
