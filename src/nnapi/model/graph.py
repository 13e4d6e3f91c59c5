"""Operands with their roles, and calls of operations."""

from collections.abc import Sequence
from enum import Enum
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias

import numpy as np

from nnapi.errors import BadDataError, need
from nnapi.model.extension import operation_name
from nnapi.model.operand import Array, OperandType
from nnapi.model.precision import Precision
from nnapi.printable import printable

if TYPE_CHECKING:
    from nnapi.model.matching import Match


class Lifetime(Enum):
    TEMPORARY = "temporary"
    INPUT = "input"
    OUTPUT = "output"
    CONSTANT = "constant"
    NO_VALUE = "omitted"
    SUBGRAPH = "model"


class Operand:
    __slots__ = ("in_memory", "index", "lifetime", "name", "type", "value")

    def __init__(self, index: int, type: OperandType, name: str, lifetime: Lifetime = Lifetime.TEMPORARY) -> None:
        self.index, self.type, self.name, self.lifetime = index, type, name, lifetime
        self.value: Any = None
        self.in_memory = False

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Operand):
            return NotImplemented
        mine, others = (tuple(getattr(each, name) for name in self.__slots__) for each in (self, other))
        return mine == others  # tuples compare by identity first, so an array equals itself

    @property
    def label(self) -> str:
        """Name and index."""
        return f"{printable(self.name) or 'operand'} ({self.index})"

    def __str__(self) -> str:
        return f"{self.label}: {self.type}"

    def __repr__(self) -> str:
        return f"<nnapi operand {self}>"


Names: TypeAlias = "tuple[tuple[str, int], ...]"


class Signature(NamedTuple):
    key: str
    inputs: Names
    outputs: Names


class StatePair(NamedTuple):
    """A value that lasts between the runs of a burst: the index of the constant that it begins with, and of the operand
    that has its value after a run; None if runs do not change it."""

    initial: int
    final: int | None


class OperationCall(NamedTuple):
    """One addOperation: code, operand indices, and their match (None for OEM and extension operations)."""

    number: int
    code: int
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    match: "Match | None"

    @property
    def name(self) -> str:
        return operation_name(self.code)

    def __str__(self) -> str:
        return label_call(self.code, self.number)


def label_call(code: int, number: int) -> str:
    return f"{operation_name(code)} (#{number})"


class Graph(Protocol):
    name: str
    operands: Sequence[Operand]
    operations: Sequence[OperationCall]
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    precision: Precision
    dynamic_range: bool
    rounded_states: bool
    high_ranks: bool
    empty_tensors: bool
    empty_inputs: frozenset[int]
    notes: tuple[str, ...]
    states: tuple[StatePair, ...]


def constants(model: Graph) -> list[Array]:
    values = [operand.value for operand in model.operands if operand.lifetime is Lifetime.CONSTANT]
    return [value for value in values if isinstance(value, np.ndarray)]


def find_computed(model: Graph, wanted: Sequence[str | int]) -> list[int]:
    """Return the indices of computed operands by name or index; BadDataError for unknown or ambiguous names."""
    computed = sorted(index for call in model.operations for index in call.outputs)
    found = []
    for each in wanted:
        matching = [index for index in computed if each in (index, model.operands[index].name)]
        need(matching, f"no operation of {model.name} computes an operand {each!r}", BadDataError)
        need(len(matching) == 1, f"{each!r} names several operands: {matching}; give an index", BadDataError)
        found += matching
    return found


class Supports(Protocol):
    def supports(self, model: Any) -> Sequence[bool]: ...


def need_distinct(devices: Sequence[object]) -> None:
    """Raise BadDataError if a device is listed twice."""
    twice = next(
        (each for number, each in enumerate(devices) if any(each is other for other in devices[:number])), None
    )
    need(twice is None, f"{twice} is listed twice", BadDataError)


class Origin(Protocol):
    @property
    def file_size(self) -> int: ...

    def need_unchanged(self) -> None: ...

    def keep(self, model: Any) -> None:
        """Cache data for the next import of the file; called when the model is compiled with a cache."""

    def reduce(self, model: Any) -> tuple[Any, ...] | None:
        """Return what ``__reduce__`` returns for an import of the same file; None if impossible."""
