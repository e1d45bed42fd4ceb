"""What a user does first with an installed package; needs the extra cli and pytest alone."""

import json
import re
import subprocess
import sys
from importlib.metadata import distribution, metadata, version
from pathlib import Path

import numpy as np
import pytest

import ilspace

ROOT = Path(__file__).resolve().parents[1]


def test_the_version_has_one_source():
    assert version("ilspace") == ilspace.__version__
    assert f"\nversion: {ilspace.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    recipe = (ROOT / "conda" / "recipe.yaml").read_text()
    assert f'\n  version: "{ilspace.__version__}"\n' in recipe
    typed = re.findall(
        r"\b(?:version|VERSION)\s*=\s*['\"]\d", (ROOT / "pyproject.toml").read_text()
    )
    assert not typed


def test_the_metadata_are_complete():
    found = metadata("ilspace")
    named = {line.partition(",")[0] for line in found.get_all("Project-URL") or ()}
    assert named >= {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert found["License-Expression"] == "BSD-3-Clause"
    assert found["Requires-Python"] == ">=3.11"
    assert found["Description-Content-Type"] == "text/markdown"
    python = {line for line in found.get_all("Classifier") or () if "Python :: 3." in line}
    assert {line.rpartition(".")[2] for line in python} == {"11", "12", "13", "14"}


def test_the_description_has_no_relative_link():
    origin = json.loads(distribution("ilspace").read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        pytest.skip("the metadata of an editable install are as old as the install")
    text = metadata("ilspace")["Description"]
    addresses = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'src="([^"]+)"', text)
    assert len(addresses) > 10
    assert [each for each in addresses if not each.startswith("https://")] == []
    assert f"/blob/v{ilspace.__version__}/docs/quickstart.md" in text


def test_a_first_fit():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = rng.normal(size=(60, 5)) + 4 * y[:, None]
    clf = ilspace.ILSClassifier(n_components=2, random_state=0).fit(X, y, X + 1)
    assert np.mean(clf.predict(X + 1) == y) > 0.9


def test_the_command_line(tmp_path):
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X = pandas.DataFrame(rng.normal(size=(60, 3)) + 4 * y[:, None], columns=["a", "b", "c"])
    X.assign(kind=np.where(y, "wet", "dry")).to_csv(tmp_path / "old.csv", index=False)
    (X + 0.5).to_csv(tmp_path / "new.csv", index=False)

    def ilspace_(*words):
        command = [sys.executable, "-m", "ilspace.cli", *words]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert ilspace_("--version").stdout == f"ilspace {ilspace.__version__}\n"
    ended = ilspace_("adapt", "old.csv", "new.csv", "--label", "kind", "-o", "out")
    assert ended.returncode == 0, ended.stderr
    ended = ilspace_("predict", "out", "new.csv", "-o", "labels.csv")
    assert ended.returncode == 0, ended.stderr
    labels = pandas.read_csv(tmp_path / "labels.csv")["label"]
    assert np.mean(labels == np.where(y, "wet", "dry")) > 0.9
