"""The page and what it asks for, on the loopback address."""

from __future__ import annotations

import json
import re
import secrets
import socket
from collections.abc import Callable
from importlib import resources
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from ilspace.labelling.answers import Kind
from ilspace.labelling.guard import Guard, parameters
from ilspace.labelling.label_file import LabelWriteError
from ilspace.labelling.session import AnsweredElsewhereError, AnswerError, Session
from ilspace.tables.values import TableError

ADDRESS = "127.0.0.1"
"""The only address that is listened to."""

_FILES = {
    "page.css": "text/css",
    "page.js": "text/javascript",
    "row.js": "text/javascript",
    "map.js": "text/javascript",
    "symbols.js": "text/javascript",
}
"""Files of the page, besides itself."""

_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""What windows and events may be called."""

_PICTURE_POLICY = "default-src 'none'; sandbox"
"""A picture is shown, and nothing in it is run."""


def make_app(session: Session, *, token: str, port: int) -> Any:
    """Make the application.

    Parameters
    ----------
    session : Session
        What it shows.
    token : str
        First part of all paths.
    port : int
        On which it is served.

    Returns
    -------
    ASGI application
        With all its guards.
    """
    view = _View(session)
    routes = [
        Route("/", view.page),
        Route("/{name:str}", view.file),
        Route("/api/job", view.job),
        Route("/api/state", view.state),
        Route("/api/map", view.map),
        Route("/api/picture", view.picture),
        Route("/api/answer", view.answer, methods=["POST"]),
        Route("/api/undo", view.undo, methods=["POST"]),
    ]
    app = Starlette(routes=routes, exception_handlers={404: _not_found, 405: _not_found})
    return Guard(app, token=token, hosts=(f"{ADDRESS}:{port}", f"localhost:{port}"))


class _View:
    """Answers to requests that passed the guard."""

    def __init__(self, session: Session) -> None:
        self.session = session
        folder = resources.files("ilspace.labelling") / "page"
        self.index = (folder / "index.html").read_bytes()
        self.files = {name: (folder / name).read_bytes() for name in _FILES}

    async def page(self, request: Request) -> Response:
        return Response(self.index, media_type="text/html; charset=utf-8")

    async def file(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in self.files:
            return _refused(404, "There is no such file.")
        return Response(self.files[name], media_type=f"{_FILES[name]}; charset=utf-8")

    async def job(self, request: Request) -> Response:
        job = self.session.job
        content = {
            "target": job.target_path.name,
            "label": job.label,
            "classes": job.classes,
            "keys": job.keys,
            "labels": str(job.labels_path),
        }
        return JSONResponse(content)

    async def state(self, request: Request) -> Response:
        window = parameters(request).get("window", "")
        if not _NAME.fullmatch(window):
            return _refused(400, "A window must have a name of letters and digits.")
        return await self._answered(lambda: None, window)

    async def map(self, request: Request) -> Response:
        return JSONResponse(await run_in_threadpool(self.session.map))

    async def picture(self, request: Request) -> Response:
        asked = parameters(request)
        row = asked.get("row", "")
        if not re.fullmatch(r"[0-9]{1,12}", row):
            return _refused(400, "A row must be a number.")
        found = await run_in_threadpool(self.session.picture, int(row), asked.get("column", ""))
        if found is None:
            return _refused(404, "There is no such picture in the folder of the table.")
        content, kind = found
        return Response(
            content, media_type=kind, headers={"Content-Security-Policy": _PICTURE_POLICY}
        )

    async def answer(self, request: Request) -> Response:
        said = await _said(request)
        if said is None:
            return _refused(400, "The request must say window, event, kind and row.")
        label, row, kind = said.get("label"), said.get("row"), said.get("kind")
        kinds = {each.value: each for each in (Kind.LABEL, Kind.SKIP, Kind.OTHER)}
        is_label = label is None or isinstance(label, str)
        if type(row) is not int or not isinstance(kind, str) or kind not in kinds or not is_label:
            return _refused(400, "The request must say window, event, kind and row.")
        window, event = said["window"], said["event"]

        def record() -> None:
            self.session.answer(window, event=event, kind=kinds[kind], row=row, label=label)

        return await self._answered(record, window)

    async def undo(self, request: Request) -> Response:
        said = await _said(request)
        if said is None:
            return _refused(400, "The request must say window and event.")
        window, event = said["window"], said["event"]
        return await self._answered(lambda: self.session.undo(window, event=event), window)

    async def _answered(self, act: Callable[[], object], window: str) -> Response:
        """Do something, and say how things stand then."""

        def work() -> tuple[dict[str, Any], int]:
            status, said = 200, {}
            try:
                act()
            except AnsweredElsewhereError as error:
                status, said = 409, {"error": str(error)}
            except AnswerError as error:
                return {"error": str(error)}, 400
            except LabelWriteError as error:
                sentence = (
                    f"Not saved: {error.strerror}. Make room for {self.session.file.path}, then "
                    "press the key again. All earlier labels are safe."
                )
                return {"error": sentence}, 507
            return self.session.state(window) | said, status

        try:
            return JSONResponse(*await run_in_threadpool(work))
        except (TableError, OSError) as error:  # the file of labels was replaced, or is gone
            return _refused(507, str(error))


async def _said(request: Request) -> dict[str, Any] | None:
    """The content of a request, if it has a window and an event."""
    try:
        content = json.loads(await request.body())
    except (ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    names = [content.get("window"), content.get("event")]
    if not all(isinstance(each, str) and _NAME.fullmatch(each) for each in names):
        return None
    return content


def _refused(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


async def _not_found(request: Request, error: Exception) -> Response:
    return _refused(404, "There is no such page.")


def serve(session: Session, *, port: int = 0, on_ready: Callable[[str], object]) -> None:
    """Serve the page until interrupted.

    Parameters
    ----------
    session : Session
        What it shows.
    port : int, default=0
        Where; 0 for any that is free.
    on_ready : callable
        Called with the address of the page, token included.
    """
    import uvicorn

    token = secrets.token_urlsafe(24)
    try:
        listening = socket.create_server((ADDRESS, port))
    except OSError as error:
        raise TableError(
            f"The port {port} must be free, but is not ({error.strerror}): name another with "
            "--port, or leave it out."
        ) from None
    with listening:
        found = listening.getsockname()[1]
        app = make_app(session, token=token, port=found)
        settings = uvicorn.Config(
            app,
            log_level="warning",
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            timeout_graceful_shutdown=2,
        )
        on_ready(f"http://{ADDRESS}:{found}/{token}/")
        uvicorn.Server(settings).run(sockets=[listening])
