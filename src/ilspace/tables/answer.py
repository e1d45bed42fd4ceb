"""What came of a job: one record that files, report, notebook and terminal read."""

from __future__ import annotations

import platform
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from ilspace.tables.encoding import Encoded
from ilspace.tables.estimates import SURE, Estimate
from ilspace.tables.pair import Pair
from ilspace.tables.values import listed, write_out

if TYPE_CHECKING:
    from ilspace.tables.classifier import TableClassifier
    from ilspace.tables.partitioned import PartitionedTable
    from ilspace.tables.pictures import PicturePair

PREDICTIONS, MODEL, REPORT, SUMMARY, LABELS = (
    *("predictions.csv", "model.skops", "report.html"),
    *("summary.json", "labels.jsonl"),
)
"""Files of a folder of results."""

SURE_RIGHT = {
    "committee": "On pairs of tables of other populations 95% of such rows were right.",
    "own scaling": "On pairs of tables measured differently 79% of such rows were right.",
    "ils": "On pairs of pictures 68 to 92% of such rows were right.",
}
"""What was measured of sure rows, by what gives the labels."""

RARE, RARE_RIGHT = 0.15, 0.66
"""Share of the source rows below which a class is rare, and the same share for such classes."""

GAIN_OF_LABELS = 1.6
"""Points of accuracy that thirty random target labels add to the committee on tables."""

_PACKAGES = ("ilspace", "numpy", "pandas", "scikit-learn", "scipy", "skrub")


@dataclass(frozen=True)
class Answer:
    """Labels of a target, the model that gave them, and what is known of them.

    Attributes
    ----------
    model : TableClassifier
        Fitted.
    pair : Pair
        The tables and their labels; of a target on workers a sample.
    encoded : Encoded
        Their rows as numbers.
    votes : ndarray of shape (n_members, nt, n_classes)
        Probabilities of the target rows by each member.
    estimate : Estimate
        What is known of the labels.
    inputs : dict
        What was asked for.
    notes : tuple of str
        What was decided, one sentence each.
    seconds : float
        Time it took.
    changed_by_own_scaling : float or None
        Share of the labels that `own_scaling` would change, where numbers have shifted.
    whole : PartitionedTable or None
        All rows of the target, where the pair has a sample of them.
    pictures : PicturePair or None
        Where the pictures of the rows are.
    """

    model: TableClassifier
    pair: Pair
    encoded: Encoded = field(repr=False)
    votes: np.ndarray = field(repr=False)
    estimate: Estimate = field(repr=False)
    inputs: dict[str, Any]
    notes: tuple[str, ...]
    seconds: float
    changed_by_own_scaling: float | None = None
    whole: PartitionedTable | None = field(default=None, repr=False)
    pictures: PicturePair | None = field(default=None, repr=False)

    @cached_property
    def labelled(self) -> pd.DataFrame:
        """Label, probability and more of each target row; labels that rows came with are kept."""
        given = self.pair.known if self.pair.has_labels.any() else None
        return labelled_rows(self.model.classes_, self.votes.mean(axis=0), given)

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """Identifiers, number of the row, label, probability, whether sure, whether given."""
        return predictions_table(self.pair.target, self.labelled, self.model.plan_.ids)

    @cached_property
    def new(self) -> pd.DataFrame:
        """Those of `labelled` that had no label; all, if each had one."""
        free = ~self.pair.has_labels
        return self.labelled[free] if free.any() else self.labelled

    @property
    def sure_share(self) -> float:
        """Share of the rows without a label whose label is sure."""
        return float(self.new["sure"].mean())

    @property
    def n_target_rows(self) -> int:
        """Rows of the target, in the sample or not."""
        return len(self.pair.known) if self.whole is None else self.whole.n_rows

    # -- in words --------------------------------------------------------------------------------

    @cached_property
    def rely(self) -> list[dict[str, Any]]:
        """What can be relied on: three cards, the same words wherever they are read."""
        found = self.estimate
        held = ""
        if found.held_out_accuracy is not None:
            held = f" On held-out source rows the accuracy is {found.held_out_accuracy:.0%}."
        caution = (
            "It is far lower if the relation between columns and label changed, which inputs "
            "cannot show."
        )
        if found.expected is None:
            value, text, level = "unknown", "It cannot be estimated here: label 30 rows.", "unknown"
        else:
            value = f"{found.expected:.0%}"
            low, high = found.interval or (0.0, 1.0)
            text = f"Between {low:.0%} and {high:.0%} in nine of ten cases"
            text += f", from {found.n_labels} target labels." if found.n_labels else f". {caution}"
            # how reliable the number is, not how large
            level = "good" if high - low <= 0.2 else "fair" if high - low <= 0.4 else "poor"
        changed = [each for each in found.drift if each.distance >= 0.1]
        most = listed([f"{each.name} ({each.about})" for each in changed], 3)
        apart = (
            "A classifier tells the tables apart with an area under the curve of "
            f"{found.told_apart:.2f}."
        )
        return [
            {
                "title": "Expected accuracy on the target",
                "value": value,
                "range": found.interval,
                "text": text + held,
                "level": level,
            },
            {
                "title": "Sure rows",
                "value": f"{self.sure_share:.0%}",
                "range": None,
                "text": self._sure_in_words(),
                "level": {"committee": "good", None: "unknown"}.get(self._measured, "fair"),
            },
            {
                "title": "What changed",
                "value": f"{len(changed)} of {len(found.drift)} columns" if found.drift else "–",
                "range": None,
                "text": (f"Most of all: {most}. " if changed else "No column moved much. ") + apart
                if found.drift
                else "The tables share no columns that could be compared.",
                "level": "good"
                if found.told_apart < 0.7
                else "fair"
                if found.told_apart < 0.95
                else "poor",
            },
        ]

    def _sure_in_words(self) -> str:
        shares = np.bincount(self.pair.codes, minlength=len(self.pair.classes)) / len(
            self.pair.codes
        )
        rare = [str(each) for each in self.pair.classes[shares < RARE]]
        text = f"Of {len(self.new)} rows, these have a probability of {SURE:.2f} or more. "
        text += SURE_RIGHT.get(self._measured or "", "How many of them are right is not known.")
        if rare and self._measured == "committee":
            text += (
                f" Of rows predicted to be of a rare class (here {listed(rare)}) {RARE_RIGHT:.0%} "
                "were."
            )
        return text

    @property
    def _measured(self) -> str | None:
        """What gives the labels, if it is one of the ways that were measured."""
        model = self.model
        if self.method == "ils":
            return "ils" if model.kind_ == "features" else None
        if self.method != "committee" or model.kind_ != "table":
            return None
        return "own scaling" if model.own_scaling else "committee"

    def next_steps(self, folder: str | Path = "out/") -> list[dict[str, Any]]:
        """What to do next.

        Parameters
        ----------
        folder : str or Path, default="out/"
            Where the results are.

        Returns
        -------
        list of dict
            With ``text`` and ``command``, which may be None.
        """
        steps = []
        if self.changed_by_own_scaling is not None:
            steps.append(
                {
                    "text": "Most numeric columns have shifted. If the target comes from another "
                    "device, lab or unit, use --own-scaling: it would change "
                    f"{self.changed_by_own_scaling:.0%} of the labels. If it is another "
                    "population measured alike, do not.",
                    "command": None,
                }
            )
        worth = "They measure the accuracy, and usually raise it."
        if self._measured == "committee":
            worth = f"They measure the accuracy; random ones raised it by {GAIN_OF_LABELS} points."
        text = f"Label thirty rows. {worth}"
        if self.estimate.n_labels >= 30:
            text = "Label more rows where the interval is too wide."
        command = f"ilspace label {shlex.quote(str(folder))}"
        steps.append({"text": text, "command": command})
        return steps

    def sentences(self, folder: str | Path = "out/") -> list[str]:
        """All of it as lines of text.

        Parameters
        ----------
        folder : str or Path, default="out/"
            Where the results are.

        Returns
        -------
        list of str
            For the terminal.
        """
        cards = [f"{each['title']}: {each['value']}. {each['text']}" for each in self.rely]
        steps = [
            f"Next: {each['text']}" + (f"   {each['command']}" if each["command"] else "")
            for each in self.next_steps(folder)
        ]
        lines = [*cards, *(f"Note: {each}" for each in self.notes), *steps]
        return [" ".join(each.splitlines()) for each in lines]  # as categories are written

    def __repr__(self) -> str:
        """The three numbers; the tables would fill pages."""
        said = ". ".join(f"{each['title']}: {each['value']}" for each in self.rely)
        return f"<Answer: {said}.>"

    def _repr_html_(self) -> str:
        """What a notebook shows: what can be relied on, and some labels."""
        from ilspace.pages.adaptation import render_summary

        said = {"rely": self.rely, "notes": list(self.notes), "next": self.next_steps()}
        rows = self.predictions.head().to_html(border=0, index=False, float_format="%.2f")
        return render_summary(said) + rows

    # -- as data ---------------------------------------------------------------------------------

    @property
    def summary(self) -> dict[str, Any]:
        """What ``summary.json`` says."""
        return self.summary_for("out/")

    def summary_for(self, folder: str | Path) -> dict[str, Any]:
        """All of it as plain data.

        Parameters
        ----------
        folder : str or Path
            Where the results are.

        Returns
        -------
        dict
            For ``summary.json``.
        """
        model, pair, found = self.model, self.pair, self.estimate
        names, numbers = [str(each) for each in pair.classes], range(len(pair.classes))
        source = np.bincount(pair.codes, minlength=len(names)) / len(pair.codes)
        predicted = self.new["label"].value_counts(normalize=True)
        sources = {}
        if pair.owners is not None:
            rows = np.bincount(pair.owners, minlength=len(pair.source_names)).tolist()
            weights = getattr(model.rule_, "source_weights_", np.array(rows) / sum(rows))
            parts = zip(pair.source_names, rows, weights.tolist(), strict=True)
            sources = {"sources": [{"name": n, "rows": r, "weight": w} for n, r, w in parts]}
        return {
            "kind": model.kind_,
            "method": self.method,
            "expected_accuracy": found.expected,
            "expected_accuracy_interval": found.interval and list(found.interval),
            "held_out_source_accuracy": found.held_out_accuracy,
            "sure_share": self.sure_share,
            "n_target_labels": int(pair.has_labels.sum()),
            "tables_told_apart": found.told_apart,
            "drift": [
                {"column": each.name, "distance": each.distance, "about": each.about}
                for each in found.drift
            ],
            "next_step": self.next_steps(folder)[0]["text"],
            "changed_by_own_scaling": self.changed_by_own_scaling,
            "notes": list(self.notes),
            "classes": names,
            "class_frequencies": dict(zip(names, model.class_prior_.tolist(), strict=True)),
            "balance": [
                {
                    "class": names[i],
                    "source": float(source[i]),
                    "predicted": float(predicted.get(pair.classes[i], 0.0)),
                }
                for i in numbers
            ],
            "source": {"rows": len(pair.codes), "columns": len(model.plan_.source)},
            **sources,
            "target": {"rows": self.n_target_rows, "columns": len(model.plan_.target)},
            "columns_are_shared": model.plan_.are_shared,
            "identifiers": list(model.plan_.ids),
            "inputs": self.inputs,
            "seconds": round(self.seconds, 3),
            "versions": {name: version(name) for name in _PACKAGES}
            | {"python": platform.python_version()},
            "files": [PREDICTIONS, MODEL, REPORT, SUMMARY],
        }

    @property
    def method(self) -> str:
        """What gave the labels."""
        model = self.model
        if not isinstance(model.method, str):
            return type(model.method).__name__
        if model.method != "auto":
            return model.method
        return "ils" if model.rule_.adapts else "committee"

    def report(self, path: str | Path) -> None:
        """Write a page to look at.

        Parameters
        ----------
        path : str or Path
            An HTML file; one that is there is replaced.
        """
        from ilspace.tables.report import report_page

        Path(path).write_text(report_page(self, "out/"), encoding="utf-8")


def labelled_rows(
    classes: np.ndarray, probabilities: np.ndarray, known: np.ndarray | None = None
) -> pd.DataFrame:
    """The most probable class of each row.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
        The classes.
    probabilities : ndarray of shape (n, n_classes)
        Of the rows.
    known : ndarray of int, shape (n,), optional
        Classes of rows that came with a label, -1 for others: these labels are kept.

    Returns
    -------
    DataFrame
        ``label``, its ``probability``, whether it is ``sure``, and, with `known`, ``given``.
    """
    codes, sure = probabilities.argmax(axis=1), probabilities.max(axis=1)
    found: dict[str, Any] = {}
    if known is not None:
        given = known >= 0
        codes, sure = np.where(given, known, codes), np.where(given, 1.0, sure)
        found = {"given": given}
    said = {"label": classes[codes], "probability": sure, "sure": sure >= SURE}
    return pd.DataFrame(said | found)


def predictions_table(
    table: pd.DataFrame, labelled: pd.DataFrame, ids: Sequence[str], *, first: int = 0
) -> pd.DataFrame:
    """Put identifiers and the number of each row beside its label.

    Parameters
    ----------
    table : DataFrame
        Rows as they were read.
    labelled : DataFrame
        From :func:`labelled_rows`.
    ids : sequence of str
        Columns to copy.
    first : int, default=0
        Number of rows before them.

    Returns
    -------
    DataFrame
        Identifiers, ``row`` from 1, then the columns of `labelled`.
    """
    kept = [each for each in ids if each in table.columns]
    copied = write_out(table[kept].reset_index(drop=True), kept)
    clashes = {each: f"{each} (given)" for each in kept if each in {"row", *labelled.columns}}
    rows = pd.DataFrame({"row": np.arange(first + 1, first + 1 + len(labelled))})
    return pd.concat(
        [copied.rename(columns=clashes), rows, labelled.reset_index(drop=True)], axis=1
    )
