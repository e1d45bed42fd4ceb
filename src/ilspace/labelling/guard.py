"""Who may talk to the page: this computer, with the token, from the page itself."""

from __future__ import annotations

import secrets
from typing import Any
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response

LARGEST_BODY = 16_384
"""Bytes of the longest request body."""

LONGEST_QUERY = 2_048
"""Characters of the longest query string."""

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
"""Of every answer."""


class Guard:
    """ASGI middleware that refuses requests before anything looks at them.

    A request must name this server as its host (a page of another name that was made to lead here
    does not), come from the page itself or from nobody, begin its path with the token, and be
    short. Requests that change something must say that they come from the page.

    Parameters
    ----------
    app : ASGI application
        What is guarded. It sees paths without the token.
    token : str
        First part of all paths.
    hosts : tuple of str
        Names and ports under which the server may be called.
    """

    def __init__(self, app: Any, *, token: str, hosts: tuple[str, ...]) -> None:
        self.app = app
        self.token = token
        self.hosts = hosts
        self.origins = tuple(f"http://{each}" for each in hosts)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer or refuse one request."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return
        if scope["type"] != "http":  # no websockets
            await send({"type": "websocket.close", "code": 1008})
            return
        request = Request(scope)
        refused = self._refusal(request)
        if refused is not None:
            await _refuse(*refused)(scope, receive, _with_headers(send))
            return
        body = b"" if request.method in ("GET", "HEAD") else await _body(receive)
        if body is None:
            await _refuse(413, "The request is too long.")(scope, receive, _with_headers(send))
            return

        async def receive_body() -> dict[str, Any]:
            return {"type": "http.request", "body": body, "more_body": False}

        path = scope["path"][len(self.token) + 1 :]
        if not path:  # else the page would look for its files one level too high
            there = RedirectResponse(f"/{self.token}/")
            await there(scope, receive, _with_headers(send))
            return
        inner = scope | {"path": path, "raw_path": path.encode()}
        await self.app(inner, receive_body, _with_headers(send))

    def _refusal(self, request: Request) -> tuple[int, str] | None:
        """Why a request is refused, if it is."""
        headers = request.headers
        if request.method not in ("GET", "HEAD", "POST"):
            return 405, "This method is not known here."
        if headers.getlist("host") not in [[each] for each in self.hosts]:
            return 403, "This server answers under its own address only."
        if not set(headers.getlist("origin")) <= set(self.origins):
            return 403, "Pages of other origins are refused."
        if headers.get("sec-fetch-site", "none") not in ("same-origin", "none"):
            return 403, "Pages of other origins are refused."
        # the path as it was sent: nothing is unescaped before it is compared
        sent = request.scope.get("raw_path") or request.scope["path"].encode()
        first = sent.partition(b"?")[0].split(b"/")[1:2]
        if not first or not secrets.compare_digest(first[0], self.token.encode()):
            return 403, "The address must hold the token that ilspace label has printed."
        if len(request.url.query) > LONGEST_QUERY:
            return 414, "The address is too long."
        if request.method != "POST":
            return None
        if "origin" not in headers:
            return 403, "A change must come from the page."
        if headers.get("content-type", "").partition(";")[0].strip() != "application/json":
            return 415, "A change must be sent as JSON."
        length = headers.get("content-length", "0")
        if not length.isascii() or not length.isdigit() or int(length) > LARGEST_BODY:
            return 413, "The request is too long."
        return None


def parameters(request: Request) -> dict[str, str]:
    """The query string, each name once.

    Parameters
    ----------
    request : Request
        Of the page.

    Returns
    -------
    dict of str to str
        Of names that are there several times, the first.
    """
    found = parse_qs(request.url.query, keep_blank_values=True, max_num_fields=10)
    return {name: values[0] for name, values in found.items()}


def _refuse(status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status, headers={"Connection": "close"})


async def _body(receive: Any) -> bytes | None:
    """The whole body; None if it is too long, whatever its head said."""
    parts, size = [], 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        parts.append(message.get("body", b""))
        size += len(parts[-1])
        if size > LARGEST_BODY:
            return None
        if not message.get("more_body", False):
            return b"".join(parts)


def _with_headers(send: Any) -> Any:
    """Add the headers of every answer, where it has none of its own."""

    async def send_with_headers(message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            there = {name.lower() for name, _ in message.get("headers", [])}
            added = [
                (name.lower().encode(), value.encode())
                for name, value in HEADERS.items()
                if name.lower().encode() not in there
            ]
            message = message | {"headers": [*message.get("headers", []), *added]}
        await send(message)

    return send_with_headers
