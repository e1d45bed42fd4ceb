"""A page about one adaptation, to look at."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.decomposition import PCA

from ilspace.pages import (
    Points,
    Section,
    bar_chart,
    class_colours,
    escaped,
    line_chart,
    plain_table,
    render_page,
    scatter_chart,
)
from ilspace.tables.committee import ADAPTED, UNADAPTED
from ilspace.tables.job import Adaptation
from ilspace.tables.kinds import Text
from ilspace.tables.prediction import predictions_table
from ilspace.tables.reading import STANDARD_INPUT
from ilspace.tables.report_pictures import doubtful_pictures
from ilspace.tables.report_rows import explained_rows
from ilspace.tables.terms import leading_terms

MOST_POINTS = 2000
"""Points of each table in a scatter plot."""

MOST_COLOURS = 20
"""Classes whose colours are told in the legend."""

MOST_DOUBTFUL = 15
"""Rows in the table of those that are least sure."""

_MEASURES = {
    "stein": "covariances (Stein divergence per dimension; 0: equal)",
    "mmd": "distributions (squared MMD; 0: equal)",
    "mmd_p_value": "p-value of the MMD (small: they differ)",
    "a_distance": "proxy A-distance (0: no linear classifier tells the tables apart, 2: one does)",
}


def report_page(adaptation: Adaptation, summary: dict[str, Any]) -> str:
    """Make the page.

    Parameters
    ----------
    adaptation : Adaptation
        The job.
    summary : dict
        What the summary says of it.

    Returns
    -------
    str
        HTML that needs nothing from the network.
    """
    sections = [
        Section("adapt-at-all", "Which labels to use", _which_labels(summary)),
        *([Section("sources", "The sources", _sources(summary))] if "sources" in summary else []),
        Section("committee", "Who was asked, and who disagrees", _committee(summary)),
        Section("predictions", "The predictions", _predictions(adaptation, summary)),
        Section("doubtful", "The most doubtful rows", _doubtful(adaptation)),
        Section("explained", "Why they have their labels", _explained(adaptation)),
    ]
    if words := _words(adaptation):
        sections.append(Section("words", "The words that carry most", words))
    if summary["latent_space"] is not None:
        sections += [
            Section(
                "latent-space", "The latent space, before and after", _latent_space(adaptation)
            ),
            Section("convergence", "Convergence", _convergence(adaptation, summary)),
            Section("directions", "What the latent space looks at", _directions(adaptation)),
        ]
    sections.append(Section("what-was-done", "What was done", _what_was_done(summary)))
    source, target = summary["source"], summary["target"]
    labelled = f", of which {target['labelled']} had a label" if target["labelled"] else ""
    names = [_named(summary["inputs"][each]) for each in ("source", "target")]
    if "sources" in summary:
        names[0] = ", ".join(each["name"] for each in summary["sources"])
    made = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    introduction = (
        f"<p>From {escaped(names[0])} to {escaped(names[1])}, {made}.</p>"
        f'<p class="verdict">{escaped(summary["verdict"])}</p><p>{escaped(summary["reason"])}</p>'
        f"<p>Learned from {source['rows']} labelled source rows ({source['columns']} columns); "
        f"labelled {target['rows']} target rows ({target['columns']} columns){labelled}; "
        f"{summary['trusted']['share']:.0%} of the predictions are trusted.</p>"
    )
    return render_page("Adaptation report", sections, introduction=introduction)


def _named(path: str) -> str:
    """What a file is called, without its folders."""
    return "the standard input" if path == STANDARD_INPUT else Path(path).name or path


def _which_labels(summary: dict[str, Any]) -> str:
    expected, judged = summary["expected_accuracy"], summary["judged"]
    reliable = "" if expected["reliable"] else " It is unreliable here: see the predictions."
    how = "As measured on the labelled rows, and by the agreement of those who were asked"
    if not judged["accuracy"]:
        how = "Without looking at any target label, by the agreement of those who were asked"
    given = summary["recommended"]
    others = "".join(
        f" Of the {name} ones, {expected[name]:.0%} are."
        for name in (ADAPTED, UNADAPTED)
        if name != given and name in expected
    )
    parts = [
        f"<p>{how}, {expected[given]:.0%} of the {given} labels, which are given, are expected to "
        f"be right, between {expected['low']:.0%} and {expected['high']:.0%} as a rule.{others}"
        f"{reliable}</p>"
    ]
    if judged["accuracy"]:
        rows = [[name, f"{score:.1%}"] for name, score in judged["accuracy"].items()]
        what = (
            f"Accuracy on the {judged['labels']} labelled target rows, each predicted without its "
            "own label."
        )
        parts.append(plain_table(["classifier", "share of right rows"], rows, caption=what))
    before, after = (summary["shift"][when] or {} for when in ("before", "after"))
    rows = [[text, before.get(name), after.get(name)] for name, text in _MEASURES.items()]
    what = "Source rows against target rows, before and after adaptation."
    heads = ["difference between the tables", "before", "after"]
    return "".join(parts) + plain_table(heads, rows, caption=what)


def _sources(summary: dict[str, Any]) -> str:
    rows = [[each["name"], each["rows"], f"{each['weight']:.1%}"] for each in summary["sources"]]
    what = (
        "Weights were found without target labels: a source weighs the more, the more what it says "
        "of the target agrees with what all say together. The unadapted labels do without them."
    )
    return plain_table(["source", "labelled rows", "weight"], rows, caption=what)


def _committee(summary: dict[str, Any]) -> str:
    rows = [
        [each["name"], each["about"], "yes" if each["adapts"] else "no"]
        + [f"{each[number]:.0%}" for number in ("weight", "agrees", "confidence")]
        for each in summary["members"]
    ]
    what = "Each was trained alone; the prediction is their average"
    what += ", by how likely each finds labels it did not see." if _are_unequal(summary) else "."
    heads = ["member", "what it is", "adapts", "weight", "says what all say", "mean probability"]
    return plain_table(heads, rows, caption=what)


def _are_unequal(summary: dict[str, Any]) -> bool:
    """Whether some members weigh more than others."""
    return len({round(each["weight"], 6) for each in summary["members"]}) > 1


def _predictions(adaptation: Adaptation, summary: dict[str, Any]) -> str:
    source, predicted = summary["balance"]["source"], summary["balance"]["predicted"]
    assumed = summary["class_frequencies"]["assumed"]
    largest = max(source, key=lambda each: abs(source[each] - predicted[each]))
    shares = bar_chart(
        list(source),
        {
            name: [round(100 * each, 2) for each in values.values()]
            for name, values in (
                ("source labels", source),
                ("assumed", assumed),
                ("predictions", predicted),
            )
        },
        "Share of each class: in the source, as assumed, among the predictions",
        across="class",
        up="share in %",
    )
    trusted = adaptation.predicted["trusted"].to_numpy()
    probability = adaptation.predicted["probability"].to_numpy()
    edges = np.linspace(0, 1, 21)
    sure = bar_chart(
        [f"{low:.2f}–" for low in edges[:-1]],
        {
            name: np.histogram(probability[part], bins=edges)[0].tolist()
            for name, part in (("trusted", trusted), ("not trusted", ~trusted))
        },
        "How many predictions have which probability",
        across="probability of the predicted class",
        up="rows",
        stacked=True,
    )
    return (
        f"<p>{escaped(_frequencies_in_words(summary))} A class whose share among the predictions "
        "is far from its share in the source is "
        "either rarer or more frequent in the target, or predicted wrongly. Farthest off: "
        f"{escaped(largest)}, {source[largest]:.0%} of the source and "
        f"{predicted[largest]:.0%} of the predictions.</p>"
        + shares
        + f"<p>{escaped(_trust_in_words(summary))}</p>"
        + sure
    )


def _least_sure(adaptation: Adaptation) -> pd.DataFrame:
    """What is said of the rows whose label has the smallest probability."""
    labelled = adaptation.labelled
    if "given" in labelled.columns and not labelled["given"].all():
        labelled = labelled[~labelled["given"]]
    return labelled.sort_values("probability", kind="stable").head(MOST_DOUBTFUL)


def _explained(adaptation: Adaptation) -> str:
    return explained_rows(adaptation, [int(each) for each in _least_sure(adaptation).index])


def _doubtful(adaptation: Adaptation) -> str:
    rows = _least_sure(adaptation)
    shown = predictions_table(adaptation.target.iloc[rows.index], rows, adaptation.model.plan_.ids)
    if "row" in shown.columns and "row" not in adaptation.target.columns:
        shown["row"] = rows.index.to_numpy() + 1
    heads = [str(each) for each in shown.columns if each not in ("trusted", "given")]
    lines = [
        [None if pd.isna(each) else each if isinstance(each, float) else str(each) for each in row]
        for row in shown[heads].astype(object).to_numpy().tolist()
    ]
    what = "Target rows whose label has the smallest probability: look at these first."
    pictures = "" if adaptation.pictures is None else doubtful_pictures(adaptation, rows)
    return plain_table(heads, lines, caption=what) + pictures


def _words(adaptation: Adaptation) -> str:
    """Words of each text column, by class; nothing without such a column."""
    parts = []
    for column in adaptation.model.plan_.target:
        if isinstance(column, Text):
            found = leading_terms(adaptation.model, adaptation.target, column)
            rows = [[name, ", ".join(words)] for name, words in found.items() if words]
            what = (
                f"Column {column.name}: words, and pairs of them, that carry most for a class, by "
                "the logistic regressions of the committee and the texts of the target."
            )
            if rows:
                parts.append(plain_table(["class", "words"], rows, caption=what))
    return "".join(parts)


def _frequencies_in_words(summary: dict[str, Any]) -> str:
    found, asked = summary["class_frequencies"], summary["inputs"]["class_frequencies"]
    if not isinstance(asked, str):
        return "The class frequencies of the target were given."
    if found.get("counted"):
        return "The class frequencies of the target were counted among its labels."
    if "overlap" in found:
        return (
            f"The class frequencies assumed for the target are {found['overlap']:.0%} an estimate "
            "from its rows, and for the rest those of the source: the estimate counts as far as "
            "the tables overlap."
        )
    return "The class frequencies of the target were taken to be those of the source."


def _trust_in_words(summary: dict[str, Any]) -> str:
    trusted = summary["trusted"]
    if trusted["withheld"]:
        return f"No prediction is trusted: {'; '.join(trusted['withheld'])}."
    doubts = ", ".join(f"{word} {share:.0%}" for word, share in trusted["doubts"].items())
    return (
        "A prediction is trusted if its probability is at least "
        f"{trusted['least_probability']:.2f} (else unsure), if all members say the same (else "
        "split) and agree on half of the rows that any of them gives to the class (else "
        "contested), if the row is no farther from the target's mean than 99 % of its rows (else "
        f"far), and if half of its columns have values (else missing). Doubts: {doubts or 'none'}. "
        "Probabilities are the lower, the less the members agree on the target."
    )


def _latent_space(adaptation: Adaptation) -> str:
    model, rng = adaptation.model, np.random.default_rng(0)
    tables = {"source": adaptation.source, "target": adaptation.target}
    kept = {
        name: np.sort(rng.permutation(len(table))[:MOST_POINTS]) for name, table in tables.items()
    }
    source, target = (tables[name].iloc[rows] for name, rows in kept.items())
    y, labelled = adaptation.y[kept["source"]], adaptation.labelled.iloc[kept["target"]]
    tips = (
        [f"source, {_shown(each)}" for each in y],
        [
            f"target, {_shown(row.label)}, probability {row.probability:.2f}"
            f"{'' if row.trusted else ', not trusted'}"
            for row in labelled.itertuples()
        ],
    )
    views = {}
    if model.plan_.are_shared:
        views["before"] = model.encode(source, "source"), model.source_encoder_.encode(target)
    numbers = adaptation.sample_domain
    numbers = None if numbers is None else numbers[kept["source"]]
    sent = model.transform(source, "source", sample_domain=numbers)
    views["after"] = sent, model.transform(target)
    parts = []
    for when, view in views.items():
        labels, probability = (y, labelled["label"]), labelled["probability"]
        parts.append(f"<h3>{when.capitalize()} adaptation</h3>")
        what = f"Source and target rows {when} adaptation, in a plane"
        parts.append(_scatter(view, labels, tips, probability, model.classes_, what))
    thinned = " and ".join(
        f"{len(rows)} of {len(tables[name])} {name} rows"
        for name, rows in kept.items()
        if len(rows) < len(tables[name])
    )
    return (
        "<p>The plane of the two directions in which the source rows vary most. A colour is a "
        "class: the label of a source row (circle), the prediction for a target row (cross, the "
        "fainter the less sure). Hover or tap for details; the buttons hide a table."
        + (f" Points are thinned: {escaped(thinned)} are shown." if thinned else "")
        + "</p>"
        + "".join(parts)
    )


def _scatter(rows, labels, tips, probability, classes: np.ndarray, what: str) -> str:
    """Draw both domains in the plane of the source, colours by class."""
    plane = PCA(min(2, *rows[0].shape)).fit(rows[0])
    opacities = np.full(len(rows[0]), 0.9), (0.3 + 0.7 * probability).to_numpy()
    colours, kinds = class_colours(len(classes)), {"source": "circle", "target": "cross"}
    points = []
    for (kind, shape), domain, y, said, opacity in zip(
        kinds.items(), rows, labels, tips, opacities, strict=True
    ):
        places = plane.transform(domain)
        places = np.concatenate([places, np.zeros((len(places), 2))], axis=1)[:, :2]  # two at least
        codes = np.searchsorted(classes, y)
        for code in np.unique(codes):
            own = np.flatnonzero(codes == code)
            drawn = places[own].tolist(), opacity[own].tolist(), [said[i] for i in own]
            points.append(Points(kind, colours[code], shape, *drawn))
    named = dict(zip(map(str, classes), colours, strict=True))
    # of more classes the tips tell
    return scatter_chart(
        points, what, kinds=kinds, classes=named if len(classes) <= MOST_COLOURS else {}
    )


def _shown(name: object, most: int = 40) -> str:
    """A class as it is written in a chart."""
    text = str(name)
    return text if len(text) <= most else f"{text[:most]}…"


def _convergence(adaptation: Adaptation, summary: dict[str, Any]) -> str:
    history = adaptation.model.ils_.solution_.history
    values = [each.value for each in history]
    line = line_chart(
        values, "The objective falls over the iterations", across="iteration", up="objective"
    )
    ended = summary["latent_space"]
    return (
        f"<p>Stopped after {ended['iterations']} iterations: {escaped(ended['reason'])} "
        f"({escaped(ended['status'])}).</p>" + line
    )


def _directions(adaptation: Adaptation) -> str:
    rows = []
    for i, each in enumerate(adaptation.diagnosis.directions):
        weights = ", ".join(f"{name} ({weight:+.2f})" for name, weight in each.features)
        rows.append([f"{i + 1}", f"{each.share:.0%}", weights])
    what = (
        "Principal directions of the target rows in the latent space. Weights are of scaled "
        "columns; a sign says only which columns go together."
    )
    heads = ["direction", "share of variance", "columns that weigh most"]
    return plain_table(heads, rows, caption=what)


def _what_was_done(summary: dict[str, Any]) -> str:
    columns = "matched by name" if summary["columns_are_shared"] else "different in the two tables"
    filled = "numbers: the mean of the column in its own table; strings: none of the categories"
    inputs = summary["inputs"]
    rows = [
        ["source", str(inputs["source"])],
        ["target", str(inputs["target"])],
        ["label", str(inputs["label"])],
        ["setting", summary["setting"]],
        ["columns", columns],
        ["identifiers", ", ".join(summary["identifiers"]) or "none"],
        ["missing values", filled],
        ["scaling", f"{summary['scaling']}, by the source or by each table itself"],
        ["method", str(summary["inputs"]["method"])],
        ["versions", ", ".join(f"{k} {v}" for k, v in summary["versions"].items())],
        ["time", f"{summary['seconds']:.1f} s"],
    ]
    if "pictures" in inputs:
        rows.insert(3, ["pictures", f"features of {inputs['pictures']['backbone']}"])
    notes = "".join(f"<li>{escaped(each)}</li>" for each in summary["notes"])
    return plain_table(["what", "how"], rows) + (f"<p>Notes:</p><ul>{notes}</ul>" if notes else "")
