"""A page about one adaptation, to look at."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.decomposition import PCA

from ilspace.pages.adaptation import MOST_POINTS, render_report
from ilspace.tables.explanation import explain, has_common_space, nearest_labelled

if TYPE_CHECKING:
    from ilspace.tables.answer import Answer

MOST_ROWS, MOST_EXPLAINED, MOST_COLUMNS = 12, 3, 8
"""Rows to look at first; of these, rows that are explained; columns, and words, that are named."""

_MOST_IDS = 3
"""Identifiers in the table of rows to look at first."""


def report_page(answer: Answer, folder: str | Path = "out/") -> str:
    """Make the page.

    Parameters
    ----------
    answer : Answer
        The job.
    folder : str or Path, default="out/"
        Where the results are.

    Returns
    -------
    str
        HTML that needs nothing from the network.
    """
    summary = answer.summary_for(folder)
    source, target = (_named(answer.inputs.get(each, each)) for each in ("source", "target"))
    first = _least_probable(answer)
    sure = answer.new["probability"].idxmax()
    return render_report(
        {
            "title": f"Labels of {target}",
            "made": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            "source": source,
            "target": target,
            "kind": answer.model.kind_,
            "notes": answer.notes,
            "rely": answer.rely,
            "drift": [asdict(each) for each in answer.estimate.drift],
            "told_apart": answer.estimate.told_apart,
            "balance": [each | {"name": each["class"]} for each in summary["balance"]],
            "look_first": _look_first(answer, first),
            "explained": _explained(answer, [*dict.fromkeys([*first[:MOST_EXPLAINED], int(sure)])]),
            "map": _map(answer),
            "done": _done(summary, own_scaling=answer.model.own_scaling),
            "next": answer.next_steps(folder),
        }
    )


def _named(path: object) -> str:
    """What a file is called, without its folders."""
    return ", ".join(Path(each).name or each for each in str(path).split(", "))


def _least_probable(answer: Answer) -> list[int]:
    """Rows to look at first; those that are mostly missing values come last."""
    new, target = answer.new, answer.pair.target
    assert target is not None
    used = target[list(answer.model.plan_.target)].iloc[new.index]
    is_empty = used.isna().mean(axis=1).to_numpy() > 0.5
    order = np.lexsort((new["probability"].to_numpy(), is_empty))
    return [int(each) for each in new.index[order[:MOST_ROWS]]]


def _look_first(answer: Answer, rows: list[int]) -> list[dict[str, Any]]:
    near = nearest_labelled(answer.model, answer.pair, answer.encoded, rows, n=1)
    shown = answer.predictions.iloc[rows].to_dict("records")
    ids = list(answer.predictions)[: min(list(answer.predictions).index("row"), _MOST_IDS)]
    found = []
    for row, said, others in zip(rows, shown, near, strict=True):
        found.append({name: said[name] for name in ("row", "label", "probability")})
        found[-1]["ids"] = {name: said[name] for name in ids}
        found[-1]["picture"] = _picture(answer, "target", row)
        for each in others:
            side = "target" if each.domain == "target" else "source"
            pictured = {"picture": _picture(answer, side, each.position)}
            found[-1]["neighbour"] = asdict(each) | pictured
    return found


def _picture(answer: Answer, side: str, row: int) -> str | None:
    """A small picture of a row, if it has one that can be shown."""
    if answer.pictures is None:
        return None
    from ilspace.images import PictureError
    from ilspace.images.decoding import thumbnail

    path = answer.pictures.path_of(side, getattr(answer.pair, side).iloc[row])
    try:
        return thumbnail(path.read_bytes())
    except (OSError, PictureError):
        return None


def _explained(answer: Answer, rows: list[int]) -> list[dict[str, Any]]:
    most = 0 if answer.pictures is not None else MOST_COLUMNS
    asked = answer.model, answer.pair, answer.encoded, rows
    found = map(asdict, explain(*asked, votes=answer.votes[:, rows]))
    return [one | {each: one[each][:most] for each in ("columns", "words")} for one in found]


def _map(answer: Answer) -> dict[str, Any] | None:
    """Rows of both tables on two axes, of many some."""
    rule, pair, classes = answer.model.rule_, answer.pair, answer.pair.classes
    steps = [-(-len(each) // MOST_POINTS) for each in (pair.codes, pair.known)]
    some, kept = slice(None, None, steps[0]), slice(None, None, steps[1])
    sides = {"target": (rule.latent(answer.encoded.target[kept]), answer.labelled["label"][kept])}
    if has_common_space(answer.model):
        numbers = None if pair.owners is None else pair.owners[some] + 1
        rows = rule.latent(answer.encoded.source[some], "source", sample_domain=numbers)
        sides["source"] = rows, classes[pair.codes[some]]
    every = np.concatenate([rows for rows, _ in sides.values()])
    if min(every.shape) < 2:
        return None
    plane = PCA(2, random_state=0).fit(every)
    drawn: dict[str, Any] = {"source": [], "classes": [str(each) for each in classes]}
    for name, (rows, labels) in sides.items():
        places = plane.transform(rows).round(4).tolist()
        drawn[name] = [[*place, str(each)] for place, each in zip(places, labels, strict=True)]
    return drawn


def _done(summary: dict[str, Any], *, own_scaling: bool) -> list[tuple[str, str]]:
    """What was asked for, and what came of it."""
    inputs = summary["inputs"]
    sizes = {
        side: f"{inputs.get(side, side)}, {summary[side]['rows']} rows, "
        f"{summary[side]['columns']} columns"
        for side in ("source", "target")
    }
    shared = "matched by name" if summary["columns_are_shared"] else "different in the two tables"
    said = sizes | {
        "label": inputs.get("label"),
        "target labels": summary["n_target_labels"],
        "columns": shared,
        "identifiers": ", ".join(summary["identifiers"]) or "none",
        "pictures": inputs.get("pictures", {}).get("backbone"),
        "method": summary["method"],
        "own scaling": "yes" if own_scaling else "no",
        "versions": ", ".join(f"{name} {each}" for name, each in summary["versions"].items()),
        "time": f"{summary['seconds']:.1f} s",
    }
    for each in summary.get("sources", ()):
        said[f"source {each['name']}"] = f"{each['rows']} rows, weight {each['weight']:.2f}"
    return [(key, str(value)) for key, value in said.items() if value is not None]
