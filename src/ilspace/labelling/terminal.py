"""The same in a terminal: one row at a time, one key each."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ilspace.labelling.answers import Kind, new_id
from ilspace.labelling.label_file import LabelWriteError
from ilspace.labelling.session import AnswerError, Session

_MOST_COLUMNS = 40
_COMMANDS = {"s": "skip", "n": "not one of these", "u": "undo", "q": "quit"}


def label_in_terminal(session: Session, *, read: Callable[[], str], console: Console) -> None:
    """Ask about rows until there are none left, or someone quits.

    Parameters
    ----------
    session : Session
        What is labelled.
    read : callable
        Returns the next key or line; an empty string for Enter, and ``"q"`` at the end.
    console : Console
        Where rows are shown.
    """
    window = f"terminal-{new_id()}"  # two terminals may label the same rows
    while True:
        state = session.state(window)
        row = state["row"]
        if row is None:
            console.print("All rows have an answer.")
            return
        _show(console, session, state)
        while True:
            key = read()
            if key == _commands(session)["q"]:
                return
            said = _act(session, window, row, key)
            if said is None:
                break
            console.print(Text(said, style="bold red"))


def _act(session: Session, window: str, row: dict[str, Any], key: str) -> str | None:
    """Do what a key says; None if that went well, else a sentence."""
    label, kind, classes = None, Kind.LABEL, session.job.classes
    commands = _commands(session)
    if key == commands["u"]:
        try:
            undone = session.undo(window, event=new_id())
        except LabelWriteError as error:
            return _not_saved(session, error)
        return None if undone is not None else "There is nothing to undo."
    if key in (commands["s"], commands["n"]):
        kind = Kind.SKIP if key == commands["s"] else Kind.OTHER
    elif key == "" and row["guess"] is not None:
        label = row["guess"]
    elif key in _keys(session):
        label = classes[_keys(session).index(key)]
    elif key in classes:
        label = key
    else:
        return f"Type a key of a class, or its name, or: {_help(session)}."
    try:
        session.answer(window, event=new_id(), kind=kind, row=row["row"], label=label)
    except AnswerError as error:
        session_said = str(error)
        return session_said if "window" not in session_said else None
    except LabelWriteError as error:
        return _not_saved(session, error)
    return None


def _keys(session: Session) -> list[str]:
    """What is typed for each class: its key, and from ten classes on a number."""
    job = session.job
    if all(job.keys):
        return list(job.keys)
    if any(each.isdigit() for each in job.classes):  # a number would be taken for a name
        return list(job.classes)
    return [str(number + 1) for number in range(len(job.classes))]


def _commands(session: Session) -> dict[str, str]:
    """What is typed for each command: a letter, in upper case where a class is called so."""
    names = {*session.job.classes, *_keys(session)}
    return {each: each.upper() if names & set(_COMMANDS) else each for each in _COMMANDS}


def _help(session: Session) -> str:
    found = [f"{_commands(session)[each]} {what}" for each, what in _COMMANDS.items()]
    return " · ".join(["Enter the guess", *found])


def _plain(text: str) -> str:
    """Text of a file without control characters, which a terminal would obey."""
    return "".join(each if each.isprintable() or each in "\n\t" else "\ufffd" for each in text)


def _not_saved(session: Session, error: LabelWriteError) -> str:
    return f"Not saved: {error.strerror}. Make room for {session.file.path}, then type it again."


def _show(console: Console, session: Session, state: dict[str, Any]) -> None:
    row, progress, model = state["row"], state["progress"], state["model"]
    console.rule()
    name = _plain(", ".join(f"{key} {value}" for key, value in row["ids"]))
    console.print(Text(f"Row {row['row']} of {progress['rows']}  {name}", style="bold"))
    for key, value in (*row["pictures"], *row["texts"]):
        console.print(Text(_plain(f"{key}: {value}")))
    table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
    shown = row["columns"][:_MOST_COLUMNS]
    for first in range(0, len(shown), 2):
        table.add_row(*(Text(_plain(each)) for pair in shown[first : first + 2] for each in pair))
    console.print(table)
    hidden = len(row["columns"]) - len(shown) + row["hidden"]
    if hidden:
        console.print(Text(f"and {hidden} more columns", style="dim"))
    shares = row["probabilities"] or [None] * len(session.job.classes)
    options = Text()
    for code, (each, share) in enumerate(zip(session.job.classes, shares, strict=True)):
        likely = f" {share:.0%}" if share is not None else ""
        style = "bold" if each == row["guess"] else ""
        options.append(_plain(f"{_keys(session)[code]}: {each}{likely}   "), style=style)
    console.print(options)
    console.print(Text(_help(session), style="dim"))
    known = f"{progress['labelled']} labelled, {progress['left']} left"
    for each in model["rely"][:2]:  # what changed between the tables stays
        low, high = each.get("range") or (None, None)
        between = "" if low is None else f" ({low:.0%} to {high:.0%})"
        known += f"; {each['title']}: {each['value']}{between}"
    known += "; learning …" if model["learning"] else ""
    console.print(Text(known + (f"; {model['trouble']}" if model["trouble"] else ""), style="dim"))


def key_reader(session: Session) -> Callable[[], str]:
    """Make a function that reads one answer: a key, or a line where one key would not do.

    Parameters
    ----------
    session : Session
        Where classes have keys of two digits, and without a terminal, answers are lines.

    Returns
    -------
    callable
        Returns the answer; ``"q"`` at the end of the input.
    """
    end = _commands(session)["q"]

    def read_line() -> str:
        sys.stderr.write("> ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        return line.strip() if line else end

    def read_key() -> str:
        import click

        try:
            key = click.getchar()
        except EOFError:
            return end
        return "" if key in ("\r", "\n") else end if key in ("\x04", "\x1b") else key

    one_key = all(len(each) == 1 for each in _keys(session))
    return read_key if one_key and sys.stdin.isatty() else read_line
