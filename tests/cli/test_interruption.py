"""Ctrl-C ends the command, whatever others make of it."""

import os
import signal
import types

import pytest

from ilspace import cli


def interrupted(*, swallow, by=signal.SIGINT):
    """What compiled code may make of an interruption."""
    try:
        os.kill(os.getpid(), by)
        signal.sigtimedwait([], 1)  # the handler runs before the next line at the latest
    except BaseException as error:
        if swallow:
            raise ValueError("not a valid buffer format") from error
        raise


@pytest.fixture
def command(monkeypatch):
    """A command line whose work is given; signals are as before afterwards."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    ended = signal.signal(signal.SIGTERM, signal.SIG_DFL)
    monkeypatch.setattr(cli, "_interruptions", [])

    def run(work):
        app = types.SimpleNamespace(app=work)
        monkeypatch.setitem(__import__("sys").modules, "ilspace.cli.app", app)
        with pytest.raises(SystemExit) as ended:
            cli.main()
        return ended.value.code

    yield run
    signal.signal(signal.SIGINT, before)
    signal.signal(signal.SIGTERM, ended)


@pytest.mark.parametrize("swallow", [True, False])
@pytest.mark.parametrize(("by", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interruption_is_one_whatever_becomes_of_it(command, capsys, swallow, by, code):
    assert command(lambda: interrupted(swallow=swallow, by=by)) == code
    assert capsys.readouterr().err == "Interrupted; no file was left half-written.\n"


def test_errors_without_an_interruption_are_errors(command):
    def fail():
        raise ValueError("wrong")

    with pytest.raises(ValueError, match="wrong"):
        command(fail)


def test_what_is_ignored_stays_ignored(command):
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def work():
        os.kill(os.getpid(), signal.SIGINT)
        raise SystemExit(0)

    assert command(work) == 0
