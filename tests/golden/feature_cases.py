"""Labels that ILS gives on features, by the command line and by the library: frozen.

They hold while `ilspace.tables` is built anew, so nothing here is imported from inside it, and of
what a command writes only the labels are read. All settings but the method are the defaults.
"""

import csv
import io
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.io
from sklearn.datasets import load_digits
from typer.testing import CliRunner

from ilspace import TableClassifier
from ilspace.cli.app import app
from ilspace.datasets import load_digit_pair, search_roots

Numbers = dict[str, Any]
FEATURE_CASES: dict[str, Callable[[], Numbers]] = {}
FIXTURES: dict[str, str] = {}
SLOW: set[str] = set()
OFFICE, MNIST = "ilspace_data", "mnist_once"
OPTIONS = ("--label", "class", "--method", "ils")
CODES = "0123456789abcdefghijklmnopqrstuvwxyz"
DIGITS = [str(each) for each in range(10)]


def case(fixture=None, *, slow=False):
    """Register a case under the name of its function; its fixture skips where data are missing."""

    def register(function):
        name = "features-" + function.__name__.replace("_", "-")

        def labels() -> Numbers:
            with tempfile.TemporaryDirectory() as folder:
                return function(Path(folder))

        FEATURE_CASES[name] = labels
        if fixture is not None:
            FIXTURES[name] = fixture
        if slow:
            SLOW.add(name)
        return function

    return register


# -- what is kept ----------------------------------------------------------------------------------


def run(*arguments) -> str:
    """Run `ilspace` in this process."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def packed(labels, classes) -> str:
    """Labels as one string, the code of a class for each row."""
    code = {str(each): CODES[i] for i, each in enumerate(classes)}
    return "".join(code[str(each)] for each in labels)


def labels_in(table: str, classes) -> str:
    """Labels of ILS in a table of predictions, in row order, without those that were given."""
    rows = pd.DataFrame(csv.DictReader(io.StringIO(table)))
    if "picture" in rows:
        rows = rows.sort_values("picture", kind="stable")
    if "given" in rows:
        rows = rows[rows["given"] != "True"]
    # results that recommend between two labels have those of ILS beside them
    return packed(rows["adapted" if "adapted" in rows else "label"], classes)


def adapted(folder: Path, tables, classes, unseen) -> Numbers:
    """Labels by `ilspace adapt`, and by `ilspace predict` of rows that it has not seen."""
    out = folder / "out"
    run("adapt", *tables, *OPTIONS, "-o", out)
    kept = (out / "predictions.csv").read_text(encoding="utf-8")
    return {
        "classes": [str(each) for each in classes],
        "labels": labels_in(kept, classes),
        "unseen": labels_in(run("predict", out, unseen, "-q"), classes),
    }


def fitted_labels(classes, unseen, *data) -> str:
    """Labels of unseen rows by the library."""
    return packed(TableClassifier(method="ils").fit(*data).predict(unseen), classes)


def npz(path: Path, X, y=None) -> Path:
    np.savez(path, **({"X": X} if y is None else {"X": X, "y": np.asarray(y, dtype=str)}))
    return path


def frame(X) -> pd.DataFrame:
    return pd.DataFrame(X).add_prefix("x")


def first_of_each(y, n) -> np.ndarray:
    """Rows of the first n of each class; n may be a number per class."""
    classes = np.unique(y)
    n = np.broadcast_to(n, len(classes))
    return np.concatenate([np.flatnonzero(y == c)[:m] for c, m in zip(classes, n, strict=True)])


def beyond(y, n, more) -> np.ndarray:
    """Rows of some of each class, after the first n."""
    return np.setdiff1d(first_of_each(y, n + np.asarray(more)), first_of_each(y, n))


def some_known(y, n) -> np.ndarray:
    """Labels of the first n rows of each class, and blanks."""
    given = np.full(len(y), "", dtype=object)
    rows = first_of_each(y, n)
    given[rows] = y[rows].astype(str)
    return given


# -- pictures of objects ---------------------------------------------------------------------------


def office(folder: str, name: str) -> Path:
    """File of a domain of Office+Caltech10."""
    found = [root / folder / name for root in search_roots() if (root / folder / name).is_file()]
    return found[0]


def surf(name: str) -> tuple[Path, np.ndarray, np.ndarray]:
    path = office("office_caltech_surf", f"{name}_SURF_L10.mat")
    content = scipy.io.loadmat(path)
    return path, content["fts"], content["labels"].ravel()


TEN = range(1, 11)


@case(OFFICE)
def surf_webcam_to_dslr(folder):
    """Counts of visual words, as MAT files."""
    source, (_, Xt, _) = surf("webcam")[0], surf("dslr")
    target, unseen = folder / "target.mat", folder / "unseen.mat"
    scipy.io.savemat(target, {"fts": Xt[::2]})
    scipy.io.savemat(unseen, {"fts": Xt[1::2]})
    return adapted(folder, [source, target], TEN, unseen)


@case(OFFICE, slow=True)
def surf_with_some_labels(folder):
    """A label for two target rows of each class, the others marked by -1."""
    source, (_, Xt, yt) = surf("webcam")[0], surf("dslr")
    target, unseen = folder / "target.mat", folder / "unseen.mat"
    known = some_known(yt[::2], 2)
    known = np.where(known == "", "-1", known).astype(int)
    scipy.io.savemat(target, {"fts": Xt[::2], "labels": known[:, None]})
    scipy.io.savemat(unseen, {"fts": Xt[1::2]})
    return adapted(folder, [source, target], TEN, unseen)


@case(OFFICE, slow=True)
def surf_of_three_sources(folder):
    """Counts of three domains that differ in size and in how near they are."""
    sources = [surf(name)[0] for name in ("webcam", "dslr", "Caltech10")]
    _, Xt, _ = surf("amazon")
    target, unseen = folder / "target.mat", folder / "unseen.mat"
    scipy.io.savemat(target, {"fts": Xt[::4]})
    scipy.io.savemat(unseen, {"fts": Xt[1::8]})
    return adapted(folder, [*sources, "--target", target], TEN, unseen)


@case(OFFICE)
def deep_dslr_to_webcam(folder):
    """Outputs of a network in half precision, as NPZ files."""
    source, target = (
        office("office_caltech_deep", f"{name}_block10.npz") for name in ("dslr", "webcam")
    )
    with np.load(target) as content:
        Xt = content["fts"]
    tables = source, npz(folder / "target.npz", Xt[::3])
    return adapted(folder, tables, TEN, npz(folder / "unseen.npz", Xt[1::3]))


# -- digits ----------------------------------------------------------------------------------------

FEWER = np.arange(26, 6, -2)
"""Target rows of each digit: other frequencies than in the source."""


def digit_rows(*, pool=True):
    """Digits of two origins: some of the source, some of the target, and unseen ones of it."""
    old, new = load_digit_pair(pool)
    source, target = first_of_each(old.y, 25), first_of_each(new.y, FEWER)
    unseen = beyond(new.y, 400, 8)
    return old.X[source], old.y[source], new.X[target], new.y[target], new.X[unseen]


COLUMN = 1 + np.arange(64) % 5
"""Factors by which columns of digits differ, so that they do not look like pixels."""


@case(MNIST)
def digits(folder):
    """Columns of several units and zeros, yet others in the target."""
    X, y, Xt, _, new = digit_rows()
    X, Xt, new = X * COLUMN - 5, 2 * Xt / COLUMN + 1, 2 * new / COLUMN + 1
    tables = npz(folder / "source.npz", X, y), npz(folder / "target.npz", Xt)
    found = adapted(folder, tables, DIGITS, npz(folder / "unseen.npz", new))
    library = fitted_labels(DIGITS, frame(new), frame(X), y.astype(str), frame(Xt))
    return found | {"library": library}


@case(MNIST)
def digits_as_counts(folder):
    """Columns of counts; rows of the target have other sums."""
    X, y, Xt, _, new = digit_rows()
    tables = np.floor(X * COLUMN), np.floor(3 * Xt * COLUMN), np.floor(3 * new * COLUMN)
    source, target = npz(folder / "source.npz", tables[0], y), npz(folder / "target.npz", tables[1])
    return adapted(folder, [source, target], DIGITS, npz(folder / "unseen.npz", tables[2]))


@case(MNIST)
def digits_as_pixels(folder):
    """Most columns reach the largest value of all."""
    X, y, Xt, _, new = digit_rows()
    tables = [np.minimum(each, 6) for each in (X, Xt, new)]
    source, target = npz(folder / "source.npz", tables[0], y), npz(folder / "target.npz", tables[1])
    return adapted(folder, [source, target], DIGITS, npz(folder / "unseen.npz", tables[2]))


@case(MNIST)
def digits_with_missing_values(folder):
    """Every 17th pixel is missing in the source, and every 11th in the target."""
    X, y, Xt, _, new = digit_rows()
    for rows, step in ((X, 17), (Xt, 11), (new, 11)):
        rows.reshape(-1)[::step] = np.nan
    tables = npz(folder / "source.npz", X, y), npz(folder / "target.npz", Xt)
    return adapted(folder, tables, DIGITS, npz(folder / "unseen.npz", new))


@case(MNIST)
def digits_with_some_labels(folder):
    X, y, Xt, yt, new = digit_rows()
    known = some_known(yt, 2)
    tables = npz(folder / "source.npz", X, y), npz(folder / "target.npz", Xt, known)
    found = adapted(folder, tables, DIGITS, npz(folder / "unseen.npz", new))
    given = np.where(known == "", np.array(None), known)
    library = fitted_labels(DIGITS, frame(new), frame(X), y.astype(str), frame(Xt), given)
    return found | {"library": library}


@case(MNIST)
def digits_of_other_widths(folder):
    """Source rows of 64 pixels and target rows of 784, which only labels relate."""
    X, y, Xt, yt, new = digit_rows(pool=False)
    tables = npz(folder / "source.npz", X, y), npz(folder / "target.npz", Xt, some_known(yt, 4))
    return adapted(folder, tables, DIGITS, npz(folder / "unseen.npz", new))


@case(MNIST)
def digits_of_two_sources(folder):
    """One source is far from the target; the other is near, but a third of its labels is wrong."""
    X, y, Xt, _, new = digit_rows()
    pool = load_digit_pair()[1]
    rows = beyond(pool.y, 300, 12)
    near, near_y = pool.X[rows], pool.y[rows]
    near_y = np.where(np.arange(len(rows)) % 3 == 0, np.roll(near_y, 12), near_y)
    one, other = npz(folder / "one.npz", X, y), npz(folder / "other.npz", near, near_y)
    tables = one, other, "--target", npz(folder / "target.npz", Xt)
    found = adapted(folder, tables, DIGITS, npz(folder / "unseen.npz", new))
    sources, labels = [frame(X), frame(near)], [y.astype(str), near_y.astype(str)]
    return found | {"library": fitted_labels(DIGITS, frame(new), sources, labels, frame(Xt))}


@case()
def digits_of_other_frequencies(folder):
    """Frequencies that are estimated: two digits, equally many in the source, not in the target."""
    X, y = load_digits(return_X_y=True)
    X, y = X[np.isin(y, (5, 9))], y[np.isin(y, (5, 9))]
    source, target = first_of_each(y, 40), beyond(y, 40, [20, 90])
    new = np.setdiff1d(np.arange(len(y)), np.concatenate([source, target]))
    Xt = (X + np.roll(X, 1, axis=1)) / 2
    tables = npz(folder / "source.npz", X[source], y[source]), npz(folder / "t.npz", Xt[target])
    return adapted(folder, tables, [5, 9], npz(folder / "unseen.npz", Xt[new]))


@case()
def folders_of_pictures(folder):
    """Pictures of digits, a folder for each in the source."""
    from images.digit_folders import write_digits

    digits = write_digits(folder, n=80, digits=(0, 1, 3, 7, 8))
    unseen = folder / "unseen"
    unseen.mkdir()
    for path in sorted(Path(digits.target).iterdir())[::3]:
        path.rename(unseen / path.name)
    out = folder / "out"
    run("adapt", digits.source, digits.target, "--method", "ils", "-o", out)
    classes = sorted(set(digits.truth.values()))
    kept = (out / "predictions.csv").read_text(encoding="utf-8")
    return {
        "classes": classes,
        "labels": labels_in(kept, classes),
        "unseen": labels_in(run("predict", out, unseen, "-q"), classes),
    }
