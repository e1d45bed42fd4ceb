"""What the entries of a plan must be, checked before anything is made of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

MOST_TRIALS = 10_000
"""Trials of a plan; more are a slip of the pen."""


class PlanError(ValueError):
    """An invalid plan."""


class Rule(NamedTuple):
    """What an entry must be.

    Attributes
    ----------
    words : str
        The same in words.
    holds : callable
        Tells whether a value is so.
    """

    words: str
    holds: Callable[[Any], bool]


def _is_name(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_name, value))


def _is_count(value: Any, least: int = 1) -> bool:
    return type(value) is int and least <= value <= MOST_TRIALS


STRING = Rule("a string", lambda value: isinstance(value, str))
NAME = Rule("a string that is not empty", _is_name)
NAMES = Rule("a list of strings that are not empty", _are_names)
SOME_NAMES = Rule(f"{NAMES.words}, one at least", lambda value: _are_names(value) and bool(value))
TRIALS = Rule(f"a whole number from 1 to {MOST_TRIALS}", _is_count)
TRIALS_OR_ALL = Rule(f"a whole number from 0 to {MOST_TRIALS}", lambda value: _is_count(value, 0))
TRIALS_BY_GROUP = Rule(
    f"a table of whole numbers from 1 to {MOST_TRIALS}",
    lambda value: isinstance(value, dict) and all(map(_is_count, value.values())),
)
BOOLEAN = Rule("true or false", lambda value: isinstance(value, bool))
TABLE = Rule("a table", lambda value: isinstance(value, dict))
GROUPS = Rule(
    "a table of lists of strings",
    lambda value: isinstance(value, dict) and all(map(_are_names, value.values())),
)
METHODS = Rule(
    "one [[method]] for each row, or more",
    lambda value: (
        isinstance(value, list) and bool(value) and all(isinstance(each, dict) for each in value)
    ),
)

METHOD_RULES: Mapping[str, Rule] = {
    "name": NAME,
    "estimator": NAME,
    "parameters": TABLE,
    "selection": STRING,
    "paper": STRING,
    "grid": TABLE,
    "trials": TRIALS_OR_ALL,
    "given_shares": BOOLEAN,
    "estimates": BOOLEAN,
    "groups": NAMES,
}
"""What the entries of a method must be, in either kind of plan."""


def check_entries(what: str, raw: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Refuse entries of another type than they must have.

    Parameters
    ----------
    what : str
        What they are entries of.
    raw : mapping
        The entries; those without a rule are not looked at.
    rules : mapping of str to Rule
        What they must be, if they are there.
    """
    for name, value in raw.items():
        if name in rules and not rules[name].holds(value):
            met = repr(value)
            raise PlanError(
                f"The entry {name} of {what} must be {rules[name].words}, but is "
                f"{met if len(met) <= 80 else f'{met[:80]}…'}: correct it."
            )


def chosen(plan: str, what: str, names: Sequence[str], known: Mapping[str, Any]) -> list[Any]:
    """Entries of a plan by name, or all of them.

    Parameters
    ----------
    plan, what : str
        Name of the plan, and what the entries are, for the error.
    names : sequence of str
        Which entries, case-insensitive; none means all.
    known : mapping of str to object
        All entries.

    Returns
    -------
    list
        In the order of the names.
    """
    lower = {name.lower(): name for name in known}
    for name in names:
        if name.lower() not in lower:
            raise PlanError(f"{plan} has no {what} {name!r}; it has {', '.join(known)}.")
    return [known[lower[name.lower()]] for name in names] or list(known.values())


def first_trials(plan: str, asked: int | None, n_trials: int) -> int:
    """Number of trials of a subset of a plan.

    Parameters
    ----------
    plan : str
        Its name, for the error.
    asked : int or None
        How many are asked for; None for all.
    n_trials : int
        How many the plan has.

    Returns
    -------
    int
        At least 1, at most `n_trials`.
    """
    if asked is not None and not 1 <= asked <= n_trials:
        raise PlanError(f"{plan} has 1 to {n_trials} trials, but {asked} are asked.")
    return n_trials if asked is None else asked
