"""``ilspace adapt``, ``embed`` and ``predict`` on folders of pictures, as a user meets them."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from images.digit_folders import write_digits
from typer.testing import CliRunner

from ilspace.cli.app import app
from ilspace.labelling.job import open_job
from ilspace.tables import TableError
from ilspace.tables.inputs import read_inputs


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def done(*arguments):
    result = run(*arguments)
    assert result.exit_code == 0, result.output
    return result


@pytest.fixture(scope="module")
def first(tmp_path_factory):
    """Results of one command on two folders, one picture of which is broken."""
    folder = tmp_path_factory.mktemp("pictures")
    digits = write_digits(folder)
    (folder / "new" / "broken.png").write_bytes(b"\x89PNG")
    result = done("adapt", digits.source, digits.target, "-o", folder / "out")
    return folder, digits, result


def test_two_folders_end_in_labels(first):
    folder, digits, result = first
    rows = pd.read_csv(folder / "out" / "predictions.csv", dtype=str)
    assert set(rows["picture"]) == set(digits.truth)
    right = np.mean(
        [digits.truth[each] == said for each, said in rows[["picture", "label"]].values]
    )
    assert right > 0.8
    assert "broken.png (not a picture)" in result.stderr
    summary = json.loads((folder / "out" / "summary.json").read_text(encoding="utf-8"))
    assert summary["inputs"]["pictures"]["backbone"] == "pixels"
    assert list(summary["inputs"]["pictures"]["broken"].values()) == ["not a picture"]
    assert summary["inputs"]["label"] == "class"
    assert (summary["kind"], summary["method"]) == ("features", "ils")
    assert summary["inputs"]["scaling"] == "l2"


def test_the_report_shows_doubtful_pictures_beside_labelled_ones(first):
    folder, digits, _ = first
    page = (folder / "out" / "report.html").read_text(encoding="utf-8")
    rows = pd.read_csv(folder / "out" / "predictions.csv", dtype={"picture": str})
    least = rows.sort_values("probability", kind="stable")["picture"].head(12).tolist()
    for each in least:
        assert each in page
    assert page.count("data:image/png;base64,") >= 2 * len(least)


def test_further_pictures_are_labelled_as_those_seen(first, tmp_path):
    folder, digits, _ = first
    some = sorted(digits.truth)[:3]
    for each in some:
        shutil.copy(Path(digits.target) / each, tmp_path / each)
    labels = tmp_path / "labels.csv"
    done("predict", folder / "out", tmp_path, "-o", labels)
    found = pd.read_csv(labels, dtype=str)
    known = pd.read_csv(folder / "out" / "predictions.csv", dtype=str)
    known = known[known["picture"].isin(some)].reset_index(drop=True)
    assert found["picture"].tolist() == some
    assert found[["label", "sure"]].equals(known[["label", "sure"]])


def test_a_model_alone_does_not_know_its_backbone(first, tmp_path):
    folder, digits, _ = first
    shutil.copy(folder / "out" / "model.skops", tmp_path)
    model = tmp_path / "model.skops"
    result = run("predict", model, digits.target)
    assert result.exit_code == 2
    assert "--backbone" in result.stderr
    done("predict", model, digits.target, "--backbone", "pixels", "-o", tmp_path / "labels.csv")


def test_results_can_be_labelled_further(first):
    folder, digits, _ = first
    job = open_job([folder / "out"])
    assert job.pictures == Path(digits.target)
    assert job.n_rows == len(digits.truth)
    assert job.ids == ("picture",)


def test_features_alone(first, tmp_path):
    _, digits, _ = first
    for name in ("features.parquet", "features.csv"):
        result = done("embed", digits.source, "-o", tmp_path / name, "--backbone", "pixels:8")
        assert "60 pictures, 64 features of pixels:8" in result.stderr
    one = pd.read_parquet(tmp_path / "features.parquet")
    other = pd.read_csv(tmp_path / "features.csv", dtype={"class": str})
    assert list(one.columns[:3]) == ["picture", "class", "x0"]
    assert (one["picture"].str.split("/").str[0] == one["class"]).all()
    assert np.array_equal(one.iloc[:, 2:], other.iloc[:, 2:])
    assert one[["picture", "class"]].astype(str).equals(other[["picture", "class"]].astype(str))
    assert run("embed", digits.source, "-o", tmp_path / "features.csv").exit_code == 2


def test_paths_in_a_column_are_the_same_pictures(first, tmp_path):
    folder, digits, _ = first
    known = pd.read_csv(folder / "out" / "predictions.csv", dtype=str)
    for name, files in (("old", sorted((folder / "old").rglob("*.png"))), ("new", None)):
        paths = files or [folder / "new" / each for each in known["picture"]]
        table = pd.DataFrame({"file": [str(each) for each in paths]})
        if files:
            table["digit"] = [each.parent.name for each in paths]
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    tables = tmp_path / "old.csv", tmp_path / "new.csv"
    done("adapt", *tables, "--label", "digit", "--pictures", "file", "-o", tmp_path / "out")
    found = pd.read_csv(tmp_path / "out" / "predictions.csv", dtype=str)
    assert found["label"].tolist() == known["label"].tolist()
    assert found["file"].tolist() == pd.read_csv(tables[1])["file"].tolist()
    assert "x1 " not in (tmp_path / "out" / "summary.json").read_text()


def test_target_folders_named_as_classes_are_labels(tmp_path):
    digits = write_digits(tmp_path, n=40)
    target = Path(digits.target)
    for name, digit in list(digits.truth.items())[:12]:
        (target / digit).mkdir(exist_ok=True)
        (target / name).rename(target / digit / name)
    (target / "march").mkdir()
    (target / list(digits.truth)[-1]).rename(target / "march" / "late.png")
    read = read_inputs(digits.source, target, label=None)
    pair = read.pair
    assert pair.target is not None
    given = [pair.classes[code] if code >= 0 else None for code in pair.known]
    found = dict(zip(pair.target["picture"].tolist(), given, strict=True))
    assert {name.split("/")[-1]: each for name, each in found.items() if each} == dict(
        list(digits.truth.items())[:12]
    )
    assert found["march/late.png"] is None
    assert pair.notes == ("Folders that name no class of the source: march.",)


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["new", "old"], "sort them into folders"),
        (["old", "labels.csv"], "both be pictures"),
        (["labels.csv", "labels.csv"], "add --label"),
        (["old", "new", "--backbone", "big"], "choose one of them"),
        (["old", "empty"], "empty must hold pictures"),
        (["old", "nowhere"], "nowhere must be a file or a folder of pictures, but there is none"),
        (["nowhere", "elsewhere"], "nowhere must be a file or a folder of pictures"),
    ],
)
def test_requests_that_make_no_sense_are_refused(first, tmp_path, arguments, reason):
    folder, _, _ = first
    (folder / "labels.csv").write_text("a,b\n1,2\n")
    (folder / "empty").mkdir(exist_ok=True)
    paths = [folder / each if (folder / each).exists() else each for each in arguments]
    result = run("adapt", *paths, "-o", tmp_path / "out")
    assert result.exit_code == 2, result.output
    assert reason in result.stderr
    assert not (tmp_path / "out").exists()


def test_pictures_are_not_left_to_workers(first):
    _, digits, _ = first
    with pytest.raises(TableError, match="on workers"):
        read_inputs(digits.source, digits.target, label=None, partitioned=True)


def test_pictures_none_of_which_can_be_read_are_refused(first, tmp_path):
    _, digits, _ = first
    (tmp_path / "a.png").write_bytes(b"")
    result = run("adapt", digits.source, tmp_path, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert "but has none (empty file)" in result.stderr
