"""Options of all commands that take pictures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from ilspace.tables.pictures import PictureOptions

PicturesOption = Annotated[
    str | None,
    typer.Option(
        "--pictures",
        help="Column of paths of pictures, relative to the folder of the table.",
        metavar="COLUMN",
    ),
]

BackboneOption = Annotated[
    str,
    typer.Option(
        help="Feature extractor: pixels, efficientnet-lite0, an ONNX file, timm:NAME; or "
        "auto: pixels for pictures of up to 32 pixels, else efficientnet-lite0.",
        metavar="auto|pixels[:SIDE]|efficientnet-lite0|MODEL.onnx|timm:NAME",
    ),
]

CacheOption = Annotated[
    Path | None,
    typer.Option(
        "--cache",
        help="Folder to cache features of pictures; by default in the user's cache.",
        metavar="FOLDER",
    ),
]


def picture_options(column: str | None, backbone: str, cache: Path | None) -> PictureOptions:
    """What the options say.

    Parameters
    ----------
    column : str or None
        Of ``--pictures``.
    backbone : str
        Of ``--backbone``.
    cache : Path or None
        Of ``--cache``.

    Returns
    -------
    PictureOptions
        For a job.
    """
    from ilspace.tables.pictures import PictureOptions

    if cache is None:
        return PictureOptions(column, backbone)
    return PictureOptions(column, backbone, cache)
