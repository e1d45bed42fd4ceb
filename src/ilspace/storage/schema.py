"""What a fitted estimator is in a file, declared once and used in both directions.

A schema is a dictionary from attributes to fields, as scikit-learn's ``_parameter_constraints`` is
one from parameters to constraints::

    _schema = {
        "classes_": ArrayOf(("c",), kinds="iU", check=SORTED),
        "means_": Each(ArrayOf(("d#",)), "n"),
        "maps_": Each(ArrayOf(("d#", "p")), "n"),
        "scale_": Value(float, check=POSITIVE),
    }

:func:`pack` turns the attributes into plain data, and :func:`unpack` turns plain data from anywhere
into values for them, or refuses it by a :class:`ModelFileError` that names the entry.

A symbol, such as ``"p"``, stands for the same size wherever a schema uses it, and ``#`` for the
position in the innermost :class:`Each`: ``means_[1]`` and ``maps_[1]`` share ``d1``. So most of
what must agree in a file needs no code.
"""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, NoReturn, get_type_hints

import numpy as np

from ilspace.backend import to_numpy
from ilspace.storage.error import ModelFileError


class Check(NamedTuple):
    """What a value must be, beyond its type.

    Attributes
    ----------
    rule : str
        In words, after "should".
    holds : callable
        Tells whether a value, which has the right type, keeps the rule.
    """

    rule: str
    holds: Callable[[Any], Any]


POSITIVE = Check("be positive and finite", lambda value: np.all((value > 0) & (value < np.inf)))
SHARE = Check("lie between 0 and 1", lambda value: 0 <= value <= 1)
NOT_EMPTY = Check("not be empty", len)


@dataclass(frozen=True)
class Place:
    """Where in the data :func:`unpack` is, and what it knows by then.

    Attributes
    ----------
    path : str
        The entry, as one would write it in Python.
    position : int
        In the innermost list.
    known : dict of str to object
        What each symbol stands for; shared by all places of one schema.
    """

    path: str = ""
    position: int = 0
    known: dict[str, Any] = dataclasses.field(default_factory=dict)

    def symbol(self, symbol: str, met: Any) -> Any:
        """What a symbol stands for: from its first use on, what was met there.

        Parameters
        ----------
        symbol : str
            A ``#`` in it becomes the position.
        met : object
            What it stands for here.

        Returns
        -------
        object
            What it stands for; other than `met` is a flaw.
        """
        return self.known.setdefault(symbol.replace("#", str(self.position)), met)

    def refuse(self, rule: str, met: str) -> NoReturn:
        """Raise the error about the entry here.

        Parameters
        ----------
        rule : str
            After "should".
        met : str
            What is the case, with its verb.
        """
        raise ModelFileError(f"its {self.path or 'content'} should {rule} and {met}")

    def _entry(self, name: str) -> Place:
        return dataclasses.replace(self, path=f"{self.path}.{name}" if self.path else name)

    def _item(self, position: int) -> Place:
        return dataclasses.replace(self, path=f"{self.path}[{position}]", position=position)


@dataclass(frozen=True, kw_only=True)
class Field:
    """What an entry may be.

    A subclass turns a value into plain data in ``_pack``, unchecked, and data from anywhere into a
    value in ``_parse``, where any flaw is told to ``place.refuse``.

    Attributes
    ----------
    check : Check, optional
        A rule that the value must keep as well.
    """

    check: Check | None = None

    def _pack(self, value: Any) -> Any:
        return value

    def _parse(self, data: Any, place: Place) -> Any:
        raise NotImplementedError

    def _unpack(self, data: Any, place: Place) -> Any:
        value = self._parse(data, place)
        if self.check is not None and not self.check.holds(value):
            place.refuse(self.check.rule, f"is {' '.join(repr(value).split())[:60]}")
        return value


@dataclass(frozen=True)
class Value(Field):
    """A value of a plain type; a boolean is no number here."""

    type: type

    def _parse(self, data, place):
        if not isinstance(data, self.type) or (isinstance(data, bool) and self.type is not bool):
            place.refuse(f"be of type {self.type.__name__}", f"is of type {type(data).__name__}")
        return data


@dataclass(frozen=True)
class ArrayOf(Field):
    """An array, of any library as a value and of NumPy in a file.

    Attributes
    ----------
    shape : tuple of str
        A symbol per axis.
    kinds : str
        Letters of the types it may have, as in ``numpy.dtype.kind``.
    dtype : str, optional
        A symbol: arrays with the same one have the same type.
    finite : bool
        Whether NaN and infinities are refused.
    """

    shape: tuple[str, ...]
    kinds: str = "f"
    dtype: str | None = None
    finite: bool = True

    def _pack(self, value):
        return to_numpy(value)

    def _parse(self, data, place):
        if not isinstance(data, np.ndarray):
            place.refuse("be an array", f"is of type {type(data).__name__}")
        sizes = data.shape if data.ndim == len(self.shape) else self.shape
        wanted = tuple(map(place.symbol, self.shape, sizes))
        if wanted != data.shape:
            shape = str(wanted).replace("'", "")
            place.refuse(f"have shape {shape}", f"has shape {data.shape}")
        dtype = data.dtype if self.dtype is None else place.symbol(self.dtype, data.dtype)
        if data.dtype.kind not in self.kinds:
            place.refuse(f"have a type of kind {self.kinds!r}", f"has type {data.dtype}")
        if data.dtype != dtype:
            place.refuse(f"have type {dtype}", f"has type {data.dtype}")
        if self.finite and data.dtype.kind == "f" and not np.isfinite(data).all():
            place.refuse("be finite", "holds NaN or infinity")
        return data


@dataclass(frozen=True)
class Choice(Field):
    """A member of an enumeration, by its name in a file."""

    members: type[enum.Enum]

    def _pack(self, value):
        return value.name

    def _parse(self, data, place):
        names = self.members.__members__
        if not isinstance(data, str) or data not in names:
            place.refuse(f"be one of {', '.join(names)}", f"is {repr(data)[:60]}")
        return names[data]


@dataclass(frozen=True)
class Optional(Field):
    """A value or None, which also stands for an attribute that is not there.

    Attributes
    ----------
    field : Field
        What the value may be.
    came_later : bool
        Whether files of the same format were written before the entry was: a file then has no such
        entry where it is None.
    """

    field: Field
    came_later: bool = False

    def _pack(self, value):
        return None if value is None else self.field._pack(value)

    def _parse(self, data, place):
        return None if data is None else self.field._unpack(data, place)


@dataclass(frozen=True)
class Each(Field):
    """A tuple of values of one kind, a list in a file.

    Attributes
    ----------
    field : Field
        What each of them may be.
    length : str, optional
        A symbol: tuples with the same one have the same length.
    """

    field: Field
    length: str | None = None

    def _pack(self, value):
        return [self.field._pack(each) for each in value]

    def _parse(self, data, place):
        if not isinstance(data, list):
            place.refuse("be a list", f"is of type {type(data).__name__}")
        length = len(data) if self.length is None else place.symbol(self.length, len(data))
        if len(data) != length:
            place.refuse(f"have {length} items", f"has {len(data)}")
        return tuple(self.field._unpack(each, place._item(i)) for i, each in enumerate(data))


@dataclass(frozen=True)
class Columns(Field):
    """A tuple of named tuples of numbers, one array per attribute in a file."""

    make: Any

    def _pack(self, value):
        kinds = get_type_hints(self.make).items()
        return {
            name: np.array([getattr(each, name) for each in value], kind) for name, kind in kinds
        }

    def _parse(self, data, place):
        length, kinds = (f"length of {place.path}",), get_type_hints(self.make).items()
        schema = {name: ArrayOf(length, np.dtype(kind).kind, finite=False) for name, kind in kinds}
        columns = unpack(schema, data, place).values()
        return tuple(map(self.make, *(each.tolist() for each in columns)))


@dataclass(frozen=True)
class Record(Field):
    """An object with attributes, a dictionary in a file.

    Attributes
    ----------
    make : callable
        Takes the attributes by name and gives the object.
    schema : dict of str to Field
        The attributes.
    view : callable, optional
        Takes the object and gives one that has the attributes, if it has not got them itself.
    """

    make: Callable[..., Any]
    schema: Mapping[str, Field]
    view: Callable[[Any], Any] = lambda value: value

    def _pack(self, value):
        return pack(self.schema, self.view(value))

    def _parse(self, data, place):
        return self.make(**unpack(self.schema, data, place))


@dataclass(frozen=True)
class OneOf(Field):
    """An object of one of some classes, with the name of its class in a file.

    Attributes
    ----------
    kinds : dict of str to type
        Classes by name; each has its schema as the attribute `schema`.
    own_symbols : bool
        Whether symbols stand for something else in each object, and outside.
    """

    kinds: Mapping[str, Any]
    own_symbols: bool = False

    def _pack(self, value):
        kind = next(name for name, each in self.kinds.items() if type(value) is each)
        return {"kind": kind} | pack(value.schema, value)

    def _parse(self, data, place):
        kind = data.get("kind") if isinstance(data, dict) else None
        if not isinstance(kind, str) or kind not in self.kinds:
            place.refuse(f"be of a kind among {', '.join(self.kinds)}", f"is {repr(data)[:60]}")
        rest = {name: each for name, each in data.items() if name != "kind"}
        place = dataclasses.replace(place, known={}) if self.own_symbols else place
        return self.kinds[kind](**unpack(self.kinds[kind].schema, rest, place))


def pack(schema: Mapping[str, Field], owner: Any) -> dict[str, Any]:
    """Turn the attributes of an object into plain data.

    Parameters
    ----------
    schema : dict of str to Field
        The attributes.
    owner : object
        Has them; an :class:`Optional` one may be missing.

    Returns
    -------
    dict of str to object
        For :func:`unpack`.
    """
    packed = {
        name: field._pack(
            getattr(owner, name, None) if isinstance(field, Optional) else getattr(owner, name)
        )
        for name, field in schema.items()
    }
    later = _came_later(schema)
    return {name: each for name, each in packed.items() if each is not None or name not in later}


def _came_later(schema: Mapping[str, Field]) -> set[str]:
    """Entries that a file may lack."""
    return {
        name for name, field in schema.items() if isinstance(field, Optional) and field.came_later
    }


def unpack(schema: Mapping[str, Field], data: Any, place: Place | None = None) -> dict[str, Any]:
    """Turn plain data into values for attributes.

    Parameters
    ----------
    schema : dict of str to Field
        The attributes.
    data : object
        From anywhere: nothing in it is trusted.
    place : Place, optional
        Where the data stand, if they are part of other data.

    Returns
    -------
    dict of str to object
        All checked.

    Raises
    ------
    ModelFileError
        If anything is not as the schema says.
    """
    place = place or Place()
    lacking = _came_later(schema) - data.keys() if isinstance(data, dict) else set()
    if not isinstance(data, dict) or data.keys() | lacking != schema.keys():
        met = sorted(data) if isinstance(data, dict) else type(data).__name__
        place.refuse(f"have the entries {', '.join(schema)}", f"is {str(met)[:300]}")
    return {
        name: None if name in lacking else field._unpack(data[name], place._entry(name))
        for name, field in schema.items()
    }
