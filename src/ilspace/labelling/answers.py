"""What people said of rows, one event each, and what holds after all of them."""

from __future__ import annotations

import enum
import secrets
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

from ilspace.active import Prediction


class Kind(enum.StrEnum):
    """What an event says of a row."""

    LABEL = "label"
    SKIP = "skip"
    OTHER = "other"  # the row is of none of the classes
    UNDO = "undo"


@dataclass(frozen=True)
class Event:
    """One line of the file of labels.

    Attributes
    ----------
    event : str
        Identifier; a second event with the same one is ignored, so that anything may be sent
        twice.
    kind : Kind
        What it says.
    row : int
        Number of the target row, from 1, as in the predictions.
    label : str or None
        The class, for labels.
    of : str or None
        Which event is undone.
    by : str
        Window or program that it came from.
    at : str
        Time, in UTC.
    guess : str or None
        What the model said when the row was shown.
    probability : float or None
        Its probability.
    learned : int or None
        How many target labels that model had learned from.
    random : bool or None
        True if the row was drawn at random, and not chosen.
    """

    event: str
    kind: Kind
    row: int
    label: str | None = None
    of: str | None = None
    by: str = ""
    at: str = ""
    guess: str | None = None
    probability: float | None = None
    learned: int | None = None
    random: bool | None = None

    def as_dict(self) -> dict[str, Any]:
        """As plain data, without what is not said."""
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Event | None:
        """Read an event from plain data.

        Parameters
        ----------
        content : dict
            A line of the file.

        Returns
        -------
        Event or None
            None for a line that is no event.
        """
        try:
            known: dict[str, Any] = {
                name: content[name] for name in cls.__dataclass_fields__ if name in content
            }
            known["kind"] = Kind(content["kind"])
            event = cls(**known)
        except (KeyError, TypeError, ValueError):
            return None
        strings = (event.event, event.by, event.at)
        is_whole = all(isinstance(each, str) for each in strings) and type(event.row) is int
        says = {Kind.LABEL: event.label, Kind.UNDO: event.of}.get(event.kind, "")
        return event if is_whole and isinstance(says, str) else None


def new_id() -> str:
    """Make an identifier that no other event has."""
    return secrets.token_hex(12)


def now() -> str:
    """Time of day, in UTC, as it is written."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


class Answers:
    """What holds after some events; each is added once.

    Parameters
    ----------
    events : iterable of Event, default=()
        The first of them.

    Attributes
    ----------
    events : dict of str to Event
        All of them, by identifier, in their order.
    undone : set of str
        Identifiers of events that no longer count.
    by_row : dict of int to Event
        The last answer of each row that has one; rows are numbered from 1.
    """

    def __init__(self, events: Iterable[Event] = ()) -> None:
        self.events: dict[str, Event] = {}
        self.undone: set[str] = set()
        self.by_row: dict[int, Event] = {}
        for each in events:
            self.add(each)

    def add(self, event: Event) -> bool:
        """Take note of an event.

        Parameters
        ----------
        event : Event
            Any; an undo may name an event that is unknown or undone, and then changes nothing.

        Returns
        -------
        bool
            False if it was there before.
        """
        if event.event in self.events:
            return False
        self.events[event.event] = event
        if event.kind is not Kind.UNDO:
            self.by_row[event.row] = event
            return True
        gone = self.events.get(event.of or "")
        if gone is None or gone.kind is Kind.UNDO or gone.event in self.undone:
            return True
        self.undone.add(gone.event)
        if self.by_row.get(gone.row) == gone:
            del self.by_row[gone.row]
            for each in self.events.values():  # an earlier answer holds again
                is_answer = each.kind is not Kind.UNDO and each.event not in self.undone
                if is_answer and each.row == gone.row:
                    self.by_row[gone.row] = each
        return True

    def rows(self, kind: Kind) -> list[int]:
        """Rows with one kind of answer.

        Parameters
        ----------
        kind : Kind
            Which.

        Returns
        -------
        list of int
            Numbers from 1, in the order of the answers.
        """
        return [row for row, each in self.by_row.items() if each.kind is kind]

    @property
    def labels(self) -> dict[int, str]:
        """The labelled rows, numbered from 1, and their labels."""
        return {
            row: each.label
            for row, each in self.by_row.items()
            if each.kind is Kind.LABEL and each.label is not None
        }

    def predictions(self) -> dict[int, Prediction]:
        """What the model said of labelled rows before, where that was recorded; rows from 1."""
        found = {}
        for row, each in self.by_row.items():
            sure, learned = each.probability, each.learned
            if each.kind is Kind.SKIP or each.guess is None:
                continue
            if isinstance(sure, float | int) and 0 <= sure <= 1 and isinstance(learned, int):
                is_random = each.random is True
                found[row] = Prediction(each.guess, float(sure), max(learned, 0), is_random)
        return found

    def last(self, is_own: Callable[[Event], bool]) -> Event | None:
        """Find the event that an undo is about.

        Parameters
        ----------
        is_own : callable
            Says of an event whether it may be undone.

        Returns
        -------
        Event or None
            The last one that holds; None if there is none.
        """
        for each in reversed(self.events.values()):
            if self.by_row.get(each.row) == each and is_own(each):
                return each
        return None
