"""The page is for this computer, this token and itself; all else is refused."""

import json
import re
import socket

import numpy as np
import pytest
from labelling.small_job import CLASSES, Silent, make_job, snapshot
from PIL import Image
from starlette.testclient import TestClient
from tables.small_tables import small_tables

from ilspace.labelling import label_file
from ilspace.labelling.server import make_app, serve
from ilspace.labelling.session import Session
from ilspace.tables.values import TableError

TOKEN, PORT = "a-token_of-2026", 4711
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table with pictures, some of which lie where they must not."""
    outside = tmp_path_factory.mktemp("outside")
    folder = outside / "job"
    (folder / "pictures").mkdir(parents=True)
    picture = Image.fromarray(np.zeros((4, 4), dtype=np.uint8))
    picture.save(outside / "secret.png")
    picture.save(folder / "pictures" / "a b.png")
    picture.save(folder / "pictures" / "c.jpg")
    (folder / "pictures" / "text.png").write_text("<script>boom()</script>")
    (folder / "pictures" / "link.png").symlink_to(outside / "secret.png")
    (folder / "folder.png").mkdir()
    return folder


PICTURES = {
    1: "pictures/a b.png",
    2: "pictures/c.jpg",
    3: "../secret.png",
    4: "pictures/../../secret.png",
    5: "pictures/link.png",
    6: "pictures/text.png",
    7: "folder.png",
    8: "pictures/none.png",
    9: "",
    10: "source.csv",
    11: "/etc/hostname.png",
}
SEEN = (1, 2)


@pytest.fixture
def session(folder):
    pictures = [PICTURES.get(row, "pictures/c.jpg") for row in range(1, 25)]
    target = small_tables().target.assign(photo=pictures)
    (folder / "target.csv.labels.jsonl").unlink(missing_ok=True)
    job = make_job(folder, target=target)
    found = Session(job, Silent())
    found._take(snapshot(job))
    return found


@pytest.fixture
def client(session):
    app = make_app(session, token=TOKEN, port=PORT)
    with TestClient(app, base_url=ORIGIN, follow_redirects=False) as client:
        yield client


def get(client, path, **headers):
    return client.get(f"/{TOKEN}{path}", headers=headers)


def post(client, path, content, **headers):
    sent = {"Origin": ORIGIN, "Sec-Fetch-Site": "same-origin"} | headers
    return client.post(f"/{TOKEN}{path}", json=content, headers=sent)


def answer(**more):
    said = {"window": "w1", "event": "e1", "kind": "label", "row": 4, "label": "bee"}
    return said | more


# -- what it is for -------------------------------------------------------------------------------


def test_the_page_and_its_files_come_from_here_alone(client):
    page = get(client, "/")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "<!doctype html>" in page.text
    linked = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    names = {each for each in linked if not each.startswith("data:")}
    assert names == {"page.css", "page.js"}
    for name in (*names, "map.js", "row.js", "symbols.js"):
        file = get(client, f"/{name}")
        assert file.status_code == 200
        assert "http://" not in file.text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in file.text
    assert "<script>" not in page.text
    assert "style=" not in page.text
    there = get(client, "")
    assert (there.status_code, there.headers["location"]) == (307, f"/{TOKEN}/")


def test_every_answer_has_the_headers(client):
    for response in (
        get(client, "/"),
        get(client, "/api/state?window=w"),
        get(client, "/none"),
        client.get("/"),
        client.put("/"),
    ):
        headers = response.headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["cache-control"] == "no-store"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers


def test_label_undo_skip(client, session):
    job = get(client, "/api/job").json()
    assert (job["classes"], job["keys"]) == ([*CLASSES], ["1", "2", "3"])
    assert get(client, "/api/state?window=w1").json()["row"]["row"] == 4
    after = post(client, "/api/answer", answer())
    assert after.status_code == 200
    assert after.json()["row"]["row"] == 6
    assert session.file.answers.labels == {4: "bee"}
    assert len(get(client, "/api/map").json()["target"]) == 24
    skipped = post(client, "/api/answer", answer(event="e2", row=6, kind="skip", label=None))
    assert skipped.json()["progress"]["skipped"] == 1
    undone = post(client, "/api/undo", {"window": "w1", "event": "e3"}).json()
    assert undone["row"]["row"] == 6
    assert undone["progress"]["skipped"] == 0


def test_an_answer_that_comes_too_late_says_so_and_shows_the_next_row(client):
    get(client, "/api/state?window=w1")
    post(client, "/api/answer", answer())
    late = post(client, "/api/answer", answer(window="w2", event="e2", label="ant"))
    assert late.status_code == 409
    assert "Row 4 has an answer by now" in late.json()["error"]
    assert late.json()["row"]["row"] == 8


def test_a_full_disk_is_said(client, session, monkeypatch):
    def fail(*arguments):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(label_file.os, "write", fail)
        full = post(client, "/api/answer", answer())
    assert full.status_code == 507
    assert full.json()["error"].startswith("Not saved: No space left on device. Make room for")
    assert session.file.answers.labels == {}
    assert post(client, "/api/answer", answer()).status_code == 200


# -- what it is not for ---------------------------------------------------------------------------


def refused(response, status, session):
    assert response.status_code == status, response.text
    assert set(response.json()) == {"error"}
    assert session.file.answers.events == {}


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{PORT + 1}"},
        {"Origin": f"https://{HOST}"},
        {"Origin": f"http://{HOST}.evil.example"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Host": "evil.example"},
        {"Host": f"evil.example:{PORT}"},
        {"Host": "127.0.0.1"},
        {"Host": f"127.0.0.1:{PORT}.evil.example"},
        {"Host": f"0.0.0.0:{PORT}"},
        {"Host": ""},
    ],
)
def test_other_origins_and_hosts_are_refused(client, session, headers):
    for path in ("/", "/page.js", "/api/state?window=w", "/api/picture?row=1&column=photo"):
        refused(get(client, path, **headers), 403, session)
    refused(post(client, "/api/answer", answer(), **headers), 403, session)
    refused(post(client, "/api/undo", {"window": "w", "event": "e"}, **headers), 403, session)


def test_a_change_must_come_from_the_page(client, session):
    path = f"/{TOKEN}/api/answer"
    refused(client.post(path, json=answer()), 403, session)  # no origin
    own = {"Origin": ORIGIN}
    # what a form of another page could send without asking
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""):
        sent = client.post(path, content=json.dumps(answer()), headers=own | {"Content-Type": kind})
        refused(sent, 415, session)
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH", "TRACE"):
        refused(client.request(method, path, headers=own), 405, session)
    refused(client.get(path), 404, session)
    refused(client.post(f"/{TOKEN}/api/state", json={}, headers=own), 404, session)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api/state?window=w",
        f"/{TOKEN[:-1]}/",
        f"/{TOKEN}x/",
        f"/{TOKEN.upper()}/",
        f"//{TOKEN}/",
        f"/%2e/{TOKEN}/",
        f"/?token={TOKEN}",
        f"/{TOKEN}%00/",
        f"/{TOKEN}%2f",
        "/é/",
    ],
)
def test_a_missing_or_wrong_token_is_refused(client, session, path):
    refused(client.get(path), 403, session)
    sent = client.post(path, json=answer(), headers={"Origin": ORIGIN})
    refused(sent, 403, session)


CLIMBING = [
    "../secret.png",
    "..%2fsecret.png",
    "%2e%2e/secret.png",
    "..\\secret.png",
    "/etc/passwd",
]


@pytest.mark.parametrize("climb", CLIMBING)
def test_no_parameter_leads_out_of_the_folder(client, session, climb):
    for path in (f"/{climb}", f"/page/{climb}", f"/api/{climb}", f"/page.js/{climb}"):
        response = get(client, path)
        assert response.status_code in (403, 404), path
        assert b"PNG" not in response.content
        assert b"root:" not in response.content
    for query in (f"row={climb}&column=photo", f"row=1&column={climb}", f"window={climb}"):
        for name in ("picture", "state"):
            response = get(client, f"/api/{name}?{query}")
            assert response.status_code in (400, 404), query
            assert b"PNG" not in response.content
    for name in ("window", "event", "kind", "row", "label"):
        refused(post(client, "/api/answer", answer(**{name: climb})), 400, session)
    for name in ("window", "event"):
        said = {"window": "w", "event": "e"} | {name: climb}
        refused(post(client, "/api/undo", said), 400, session)


@pytest.mark.parametrize("row", PICTURES)
def test_pictures_lie_in_the_folder_of_the_table_and_are_pictures(client, session, row):
    response = get(client, f"/api/picture?row={row}&column=photo")
    if row not in SEEN:
        refused(response, 404, session)
        return
    assert response.status_code == 200
    kinds = {1: "image/png", 2: "image/jpeg"}
    assert response.headers["content-type"] == kinds[row]
    assert response.headers["content-security-policy"] == "default-src 'none'; sandbox"


@pytest.mark.parametrize(
    "query",
    ["row=1&column=colour", "row=0&column=photo", "row=25&column=photo", "row=-1&column=photo"]
    + ["row=1", "column=photo", "row=1e0&column=photo", "row=٣&column=photo", ""],
)
def test_no_other_column_and_no_other_row_is_a_picture(client, session, query):
    response = get(client, f"/api/picture?{query}")
    assert response.status_code in (400, 404)


def test_long_bodies_are_refused(client, session):
    own = {"Origin": ORIGIN, "Content-Type": "application/json"}
    path = f"/{TOKEN}/api/answer"
    refused(client.post(path, content=b" " * 10_000_000, headers=own), 413, session)

    def drops():  # without a length
        for _ in range(1000):
            yield b" " * 10_000

    refused(client.post(path, content=drops(), headers=own), 413, session)
    lies = own | {"Content-Length": "10"}
    refused(client.post(path, content=b" " * 20_000, headers=lies), 413, session)
    refused(get(client, f"/api/state?window={'w' * 5000}"), 414, session)


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'"x"', b"[" * 5000, b"\xff", b'{"window": "w", "event": 3}']
    + [b'{"window": "", "event": "e"}', b'{"window": "w", "event": "<b>"}'],
)
def test_what_is_no_answer_is_refused(client, session, content):
    own = {"Origin": ORIGIN, "Content-Type": "application/json"}
    refused(client.post(f"/{TOKEN}/api/answer", content=content, headers=own), 400, session)
    refused(client.post(f"/{TOKEN}/api/undo", content=content, headers=own), 400, session)


@pytest.mark.parametrize(
    "wrong",
    [{"row": "4"}, {"row": True}, {"row": 4.0}, {"row": 10**30}, {"row": None}, {"kind": "undo"}]
    + [{"kind": ["label"]}, {"label": ["bee"]}, {"label": "wasp"}, {"label": None}],
)
def test_answers_of_the_wrong_kind_are_refused(client, session, wrong):
    refused(post(client, "/api/answer", answer(**wrong)), 400, session)


def test_a_port_that_is_taken_is_said(session):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(TableError, match=f"The port {port} must be free, but is not"):
            serve(session, port=port, on_ready=lambda address: None)


def test_no_websockets(client):
    from starlette.websockets import WebSocketDisconnect

    with pytest.raises(WebSocketDisconnect), client.websocket_connect(f"/{TOKEN}/api/state"):
        pass
