"""What a job leaves behind: predictions, a model, a report and a summary, all or none."""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ilspace.storage import whole_folder
from ilspace.tables.classifier import JUDGED_ROWS, TableClassifier
from ilspace.tables.errors import TableError
from ilspace.tables.job import Adaptation
from ilspace.tables.members import METHODS
from ilspace.tables.parquet_output import SUFFIX, write_parquet
from ilspace.tables.partitioned import label_partitions
from ilspace.tables.prediction import (
    LABELS,
    MODEL,
    PREDICTIONS,
    REPORT,
    SUMMARY,
    csv_lines,
    doubt_shares,
    threads_for_rows,
)
from ilspace.tables.report import report_page
from ilspace.tables.verdict import Verdict


def summary_of(adaptation: Adaptation) -> dict[str, Any]:
    """What came of a job, as plain data.

    Parameters
    ----------
    adaptation : Adaptation
        The job.

    Returns
    -------
    dict
        For JSON.
    """
    model, diagnosis = adaptation.model, adaptation.diagnosis
    plan, verdict = model.plan_, diagnosis.verdict
    n_labelled = 0 if adaptation.yt is None else sum(each is not None for each in adaptation.yt)
    shifts = {"before": diagnosis.shift_before, "after": diagnosis.shift_after}
    return {
        "inputs": adaptation.inputs,
        "verdict": verdict.sentence,
        "verdict_word": verdict.word.value,
        "reason": verdict.reason,
        "recommended": verdict.recommended,
        "judged": {
            "by": verdict.judged_by,
            "labels": verdict.n_labels,
            "probability_adapted_better": verdict.probability,
            "label_more_rows": verdict.n_more,
            "accuracy": verdict.scores,
        },
        "expected_accuracy": _expected_accuracy(model, verdict),
        "setting": "semi-supervised" if n_labelled else "unsupervised",
        "source": {"rows": len(adaptation.source), "columns": len(plan.source)},
        **_sources(adaptation),
        "target": {
            "rows": adaptation.n_target_rows,
            "columns": len(plan.target),
            "labelled": n_labelled,
        },
        "columns_are_shared": plan.are_shared,
        "identifiers": list(plan.ids),
        "scaling": model.target_encoder_.scaling,
        "notes": [*plan.notes, *adaptation.warnings],
        "classes": [str(each) for each in model.classes_],
        "class_frequencies": _class_frequencies(model),
        "members": _members(adaptation),
        "trusted": {
            "share": float(adaptation.predicted["trusted"].mean()),
            "least_probability": _plain(model.trust_.confidence),
            "largest_distance": _plain(model.trust_.distance),
            "doubts": doubt_shares(adaptation.predicted["doubts"]),
            "withheld": list(model.trust_.withheld),
        },
        "shift": {when: each and asdict(each) for when, each in shifts.items()},
        "balance": {"source": diagnosis.source_balance, "predicted": diagnosis.target_balance},
        "latent_space": _latent_space(model),
        "seconds": round(adaptation.seconds, 3),
        "versions": {name: version(name) for name in ("ilspace", "numpy", "scipy", "scikit-learn")}
        | {"python": platform.python_version()},
        "files": [PREDICTIONS, *([MODEL] if can_be_saved(model) else []), REPORT, SUMMARY],
    }


def _sources(adaptation: Adaptation) -> dict[str, Any]:
    """Rows and weight of each source, where there are several."""
    if adaptation.sample_domain is None:
        return {}
    model = adaptation.model
    rows = np.bincount(adaptation.sample_domain)[1:].tolist()
    parts = zip(model.source_names_, rows, model.source_weights_.tolist(), strict=True)
    return {"sources": [{"name": name, "rows": n, "weight": w} for name, n, w in parts]}


def _expected_accuracy(model: TableClassifier, verdict: Verdict) -> dict[str, Any]:
    """What share of the labels to expect to be right; the interval is of those that are given."""
    low, high = verdict.intervals[verdict.recommended]
    reliable = bool(verdict.scores) or not model.trust_.withheld
    return verdict.expected | {"low": low, "high": high, "reliable": reliable}


def _class_frequencies(model: TableClassifier) -> dict[str, Any]:
    """The shares of the classes that were assumed, and how they were found."""
    names = [str(each) for each in model.classes_]
    found: dict[str, Any] = {"assumed": dict(zip(names, model.class_prior_.tolist(), strict=True))}
    estimate = model.prior_estimate_
    if estimate is not None:
        found |= {
            "low": dict(zip(names, estimate.low.tolist(), strict=True)),
            "high": dict(zip(names, estimate.high.tolist(), strict=True)),
            "counted": estimate.counted,
            "overlap": float(estimate.overlap),
        }
    return found


def _members(adaptation: Adaptation) -> list[dict[str, Any]]:
    """What was asked, and how often each says what all say together."""
    model = adaptation.model
    rows = adaptation.target
    if len(rows) > JUDGED_ROWS:
        rows = rows.sample(JUDGED_ROWS, random_state=0)
    said = model.member_probabilities(rows)
    together = model.predict_proba(rows).argmax(axis=1)
    return [
        {
            "name": each.name,
            "about": METHODS[each.name].about if each.name in METHODS else each.name,
            "adapts": each.adapts,
            "weight": float(weight),
            "agrees": float(np.mean(own.argmax(axis=1) == together)),
            "confidence": float(own.max(axis=1).mean()),
        }
        for each, own, weight in zip(model.members_, said, model.member_weights_, strict=True)
    ]


def _latent_space(model: TableClassifier) -> dict[str, Any] | None:
    """How the fit of the latent space ended, if there is one."""
    estimator = model.ils_
    if estimator is None:
        return None
    return {
        "components": int(estimator.n_components_),
        "status": estimator.solution_.status.name,
        "reason": estimator.solution_.status.value,
        "iterations": int(estimator.n_iter_),
        "objective": float(estimator.solution_.history[-1].value),
    }


def can_be_saved(model: TableClassifier) -> bool:
    """Tell whether a model can be written to a file.

    Parameters
    ----------
    model : TableClassifier
        Fitted.

    Returns
    -------
    bool
        False for methods other than the committee and its members.
    """
    return all(hasattr(each.estimator, "_schema") for each in model.members_)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def write_outputs(
    adaptation: Adaptation,
    folder: Path,
    *,
    force: bool = False,
    spreadsheet: bool = False,
    as_parquet: bool = False,
    on_count: Callable[[int, int], object] | None = None,
) -> dict[str, Any]:
    """Write the predictions, the model, the report and the summary, all or none.

    Parameters
    ----------
    adaptation : Adaptation
        The job.
    folder : Path
        Where; a new folder, unless `force`.
    force : bool, default=False
        Whether to replace the files of an earlier job; others in the folder stay.
    spreadsheet : bool, default=False
        Whether to put an apostrophe before strings that a spreadsheet takes for formulas.
    as_parquet : bool, default=False
        Whether the predictions are written as Parquet instead of CSV.
    on_count : callable, optional
        Called with how many partitions are labelled, and of how many, where the target has some.

    Returns
    -------
    dict
        The summary.
    """
    with threads_for_rows(len(adaptation.source) + len(adaptation.target)):
        summary = summary_of(adaptation)
        page = report_page(adaptation, summary)
    model, whole, given = adaptation.model, adaptation.whole, adaptation.yt is not None
    with staged(folder, force=force) as draft:
        with open(draft / PREDICTIONS, "w", encoding="utf-8", newline="") as output:
            if whole is None:
                found = adaptation.target, adaptation.labelled, model.plan_.ids
                output.write(csv_lines(*found, spreadsheet=spreadsheet))
            else:
                options = {"given": given, "spreadsheet": spreadsheet, "on_count": on_count}
                label_partitions(model, whole, output=output, **options)
        if as_parquet:
            place = (draft / PREDICTIONS).with_suffix(SUFFIX)
            with open(draft / PREDICTIONS, "rb") as lines, open(place, "wb") as stream:
                write_parquet(lines, stream, are_numbered=not model.plan_.ids)
            (draft / PREDICTIONS).unlink()
            summary["files"][0] = place.name
        if can_be_saved(model):
            model.save(draft / MODEL)
        if "labels" in adaptation.inputs and not (folder / LABELS).exists():
            # so that labelling goes on from these results
            shutil.copyfile(adaptation.inputs["labels"]["path"], draft / LABELS)
        (draft / REPORT).write_text(page, encoding="utf-8")
        text = json.dumps(summary, indent=2, ensure_ascii=False, allow_nan=False)
        (draft / SUMMARY).write_text(text + "\n", encoding="utf-8")
    return summary


def check_folder(folder: Path, *, force: bool) -> None:
    """Refuse a folder that must not be written to, before work is spent.

    Parameters
    ----------
    folder : Path
        Where results are to go.
    force : bool
        Whether an existing folder may be used.
    """
    if folder.exists() and not folder.is_dir():
        raise TableError(f"The output {folder} must be a folder, but is a file: name another.")
    if folder.exists() and not force and any(folder.iterdir()):
        raise TableError(
            f"The output folder {folder} must not exist, but does: name another, or add --force to "
            "replace the results in it."
        )
    parent = next(each for each in (folder, *folder.resolve().parents) if each.exists())
    if not parent.is_dir():
        raise TableError(f"{parent} must be a folder, but is a file: name another output folder.")
    if not os.access(parent, os.W_OK):
        raise TableError(f"{parent} must be writable, but is not: name another output folder.")


@contextmanager
def staged(folder: Path, *, force: bool) -> Iterator[Path]:
    """Write results beside a folder, and move them there once all are whole.

    Parameters
    ----------
    folder : Path
        Where they go.
    force : bool
        Whether an existing folder may be used.

    Yields
    ------
    Path
        A folder of its own, on the same file system.
    """
    check_folder(folder, force=force)
    try:
        with whole_folder(folder, replace=force) as draft:
            yield draft
    except FileExistsError:
        raise TableError(
            f"The output folder {folder} must not exist, but was made in the meantime: name "
            "another, or add --force to replace the results in it."
        ) from None
