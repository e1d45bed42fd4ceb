"""What a job leaves behind: predictions, a model, a report and a summary, all or none."""

from __future__ import annotations

import json
import os
import platform
import secrets
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from ilspace.selection.grid import with_settings
from ilspace.tables.classifier import TableClassifier
from ilspace.tables.errors import TableError
from ilspace.tables.job import Adaptation
from ilspace.tables.partitioned import label_partitions
from ilspace.tables.prediction import MODEL, PREDICTIONS, REPORT, SUMMARY, csv_lines, doubt_shares
from ilspace.tables.report import report_page


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
    estimator, plan = model.estimator_, model.plan_
    n_labelled = 0 if adaptation.yt is None else sum(each is not None for each in adaptation.yt)
    comparison = diagnosis.comparison
    shifts = {"before": diagnosis.shift_before, "after": diagnosis.shift_after}
    return {
        "inputs": adaptation.inputs,
        "verdict": comparison.verdict,
        "adaptation_helps": comparison.helps,
        "setting": "semi-supervised" if n_labelled else "unsupervised",
        "source": {"rows": len(adaptation.source), "columns": len(plan.source)},
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
        "held_out_source_accuracy": model.holdout_score_,
        "trusted": {
            "share": float(adaptation.predicted["trusted"].mean()),
            "least_probability": _plain(model.trust_.confidence),
            "largest_distance": _plain(model.trust_.distance),
            "doubts": doubt_shares(adaptation.predicted["doubts"]),
            "accuracy_asked_for": model.trust,
        },
        "comparison": {"judged_by": comparison.judged_by, "rows": comparison.n_rows}
        | {"scores": comparison.scores},
        "shift": {when: each and asdict(each) for when, each in shifts.items()},
        "balance": {"source": diagnosis.source_balance, "predicted": diagnosis.target_balance},
        "optimization": {
            "status": estimator.solution_.status.name,
            "reason": estimator.solution_.status.value,
            "iterations": int(estimator.n_iter_),
            "objective": float(estimator.solution_.history[-1].value),
        },
        "parameters": {
            name: each
            for name, each in with_settings(estimator).get_params().items()
            if isinstance(each, str | int | float | bool | None)
        }
        | {"n_components": int(estimator.n_components_)},
        "selection": _selection(model),
        "seconds": round(adaptation.seconds, 3),
        "versions": {name: version(name) for name in ("ilspace", "numpy", "scipy", "scikit-learn")}
        | {"python": platform.python_version()},
        "files": [PREDICTIONS, MODEL, REPORT, SUMMARY],
    }


def _selection(model: TableClassifier) -> dict[str, Any] | None:
    if model.search_ is None:
        return None
    results = model.search_.cv_results_
    return {
        "chosen": model.search_.best_params_,
        "settings": [
            {name: _plain(found[i]) for name, found in results.items() if name != "warnings"}
            for i in range(len(results["params"]))
        ],
    }


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not np.isfinite(value) else value


def write_outputs(
    adaptation: Adaptation,
    folder: Path,
    *,
    force: bool = False,
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
    on_count : callable, optional
        Called with how many partitions are labelled, and of how many, where the target has some.

    Returns
    -------
    dict
        The summary.
    """
    summary = summary_of(adaptation)
    model, whole, given = adaptation.model, adaptation.whole, adaptation.yt is not None
    with staged(folder, force=force) as draft:
        with open(draft / PREDICTIONS, "w", encoding="utf-8", newline="") as output:
            if whole is None:
                output.write(csv_lines(adaptation.target, adaptation.labelled, model.plan_.ids))
            else:
                label_partitions(model, whole, output=output, given=given, on_count=on_count)
        model.save(draft / MODEL)
        (draft / REPORT).write_text(report_page(adaptation, summary), encoding="utf-8")
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
    """Write files beside a folder, and move them there once all are whole.

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
    made = [each for each in folder.absolute().parents if not each.exists()]
    # inside a folder that is there, as a link may lead to another file system
    home = folder if folder.exists() else folder.parent
    draft = home / f".{folder.name[:20]}-{secrets.token_hex(8)}"
    try:
        draft.mkdir(parents=True)
        yield draft
        for file in draft.iterdir():
            with file.open("rb+") as stream:
                os.fsync(stream.fileno())  # some file systems notice only here that they are full
        if folder.exists():
            _exchange(draft, folder)
        else:
            os.rename(draft, folder)
    except BaseException:  # Ctrl-C too
        _remove(draft, *made)
        raise
    _remove(draft)


def _exchange(draft: Path, folder: Path) -> None:
    """Move files to where others of their names may be: all, or the others stay."""
    kept = draft / "replaced"
    kept.mkdir()
    names = [each.name for each in sorted(draft.iterdir()) if each != kept]
    try:
        for name in names:
            if (folder / name).exists():
                os.replace(folder / name, kept / name)
            os.replace(draft / name, folder / name)
    except BaseException:
        for name in names:
            if not (draft / name).exists():
                (folder / name).unlink(missing_ok=True)
            if (kept / name).exists():
                os.replace(kept / name, folder / name)
        raise


def _remove(draft: Path, *folders: Path) -> None:
    """Leave nothing of what was made."""
    with suppress(OSError):  # it may have become the folder of results
        shutil.rmtree(draft)
    with suppress(OSError):
        for each in folders:
            each.rmdir()
