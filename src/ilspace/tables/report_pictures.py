"""Pictures in a report: doubtful ones, and the nearest labelled ones beside them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from ilspace.images import PictureError
from ilspace.images.decoding import thumbnail
from ilspace.pages import escaped
from ilspace.tables.labels import LabelledTables
from ilspace.tables.neighbours import nearest_labelled, row_name

if TYPE_CHECKING:
    from ilspace.tables.job import Adaptation


def doubtful_pictures(adaptation: Adaptation, rows: pd.DataFrame) -> str:
    """Show pictures, what is said of them, and the nearest labelled picture of each.

    Parameters
    ----------
    adaptation : Adaptation
        A job with pictures.
    rows : DataFrame
        What is said of some target rows, by their positions.

    Returns
    -------
    str
        HTML, the pictures in it.
    """
    tables = LabelledTables(adaptation.source, adaptation.y, adaptation.target, adaptation.yt)
    positions = [int(each) for each in rows.index]
    nearest = nearest_labelled(adaptation.model, tables, positions, n=1)
    figures = []
    for position, said, near in zip(positions, rows.itertuples(), nearest, strict=True):
        figures.append(
            '<li class="pair">'
            + _figure(adaptation, "target", position, f"{said.label}, {said.probability:.2f}?")
            + "".join(_figure(adaptation, each.domain, each.row, each.label) for each in near)
            + "</li>"
        )
    return (
        "<p>The same as pictures: on the left each of them with the label it was given and its "
        "probability, on the right the nearest picture whose label is known.</p>"
        f'<ul class="pictures">{"".join(figures)}</ul>'
    )


def _figure(adaptation: Adaptation, side: str, row: int, said: str) -> str:
    pictures = adaptation.pictures
    assert pictures is not None
    table = adaptation.source if side == "source" else adaptation.target
    name = row_name(table, row, [getattr(pictures, side).column])
    return picture_figure(pictures.path_of(side, table.iloc[row]), said, f"{side}: {name}")


def picture_figure(path: Path, said: str, name: str) -> str:
    """A small picture with what is said of it.

    Parameters
    ----------
    path : Path
        Its file.
    said : str
        Below it.
    name : str
        What it is, for those who point at it or cannot see it.

    Returns
    -------
    str
        HTML; words where the file is gone or broken.
    """
    try:
        shown = f'<img src="{thumbnail(path.read_bytes())}" alt="{escaped(name)}">'
    except (OSError, PictureError):
        shown = f"<span>{escaped(name)} (cannot be shown)</span>"
    return (
        f'<figure data-tip="{escaped(name)}">{shown}<figcaption>{escaped(said)}</figcaption>'
        "</figure>"
    )
