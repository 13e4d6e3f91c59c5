"""Match operand types, ranks and channel dimensions with the overloads of an operation; cached per combination."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from nnapi.errors import BadDataError
from nnapi.model.operand import PER_CHANNEL, OperandType, type_name
from nnapi.model.parameter import (
    REQUIRED,
    ActivationParameter,
    AnyParameter,
    Levels,
    ModelParameter,
    Parameter,
    Several,
    Slot,
    TensorParameter,
)

Arguments = dict[str, Any]
"""Named arguments: OperandTypes (or lists) for tensors, Python values for scalars and Values, None if omitted."""
OperandKind = tuple[int, int, int]
"""Type, rank and channel dimension (NO_CHANNEL without per-channel scales)."""
NO_CHANNEL = -1


class Facet(NamedTuple):
    level: int
    reason: str


@dataclass(frozen=True)
class Overload:
    """One argument list. ``normal`` normalizes its arguments; ``lengths`` are the legal numbers of inputs, by default
    those that the parameters' defaults permit."""

    name: str
    inputs: tuple[Slot, ...]
    normal: Callable[[Arguments], Arguments] | None = None
    lengths: tuple[int, ...] | None = None

    @cached_property
    def legal_lengths(self) -> tuple[int, ...]:
        if self.lengths:
            return self.lengths
        required = sum(isinstance(slot, Several) or slot.default is REQUIRED for slot in self.inputs)
        return tuple(range(required, len(self.inputs) + 1))

    @cached_property
    def is_variadic(self) -> bool:
        return any(isinstance(slot, Several) for slot in self.inputs)

    @cached_property
    def fuses(self) -> bool:
        return any(isinstance(slot, ActivationParameter) for slot in self.inputs)

    def spread(self, count: int) -> list[tuple[Slot, slice]]:
        """Assign ``count`` inputs to the parameters; raise BadDataError for an illegal number."""
        if not self.is_variadic:
            legal = self.legal_lengths
            if count not in legal:
                raise BadDataError(f"takes {describe_count(legal, 'input')}, got {count}")
            return [(slot, slice(i, i + 1)) for i, slot in enumerate(self.inputs[:count])]
        spare = count - (len(self.inputs) - 1)
        least = next(slot.least for slot in self.inputs if isinstance(slot, Several))
        if spare < least:
            raise BadDataError(f"takes at least {len(self.inputs) - 1 + least} inputs, got {count}")
        spread, at = [], 0
        for slot in self.inputs:
            width = spare if isinstance(slot, Several) else 1
            spread.append((slot, slice(at, at + width)))
            at += width
        return spread


class Match(NamedTuple):
    """A call that fits an overload: the positions of each parameter, and the required feature levels.

    ``beyond`` says which tensor has a rank beyond NNAPI's, if one has.
    """

    overload: Overload
    inputs: Mapping[str, tuple[int, ...]]
    codes: Mapping[str, int]
    facets: tuple[Facet, ...]
    beyond: str = ""

    @property
    def level(self) -> int:
        return max((facet.level for facet in self.facets), default=1)


class KnownMatch(NamedTuple):
    """A match, and the code, types and models that it was made for; :meth:`holds` compares them with others."""

    match: Match
    code: int
    inputs: list[OperandType]
    outputs: list[OperandType]
    references: list[Any]

    def holds(self, code: int, inputs: list[OperandType], outputs: list[OperandType], references: list[Any]) -> bool:
        return (code, inputs, outputs, references) == self[1:]


class MatchedOverload(NamedTuple):
    """The match of all calls with the same operand kinds, and where each parameter finds its types.

    A location is the inputs (0), outputs (1) or referenced models (2), and a position or slice there.
    """

    match: Match
    locations: dict[str, tuple[int, int | slice]]
    progress: int

    def name_types(
        self, names: Sequence[str], inputs: Sequence[Any], outputs: Sequence[Any], references: Sequence[Any]
    ) -> Arguments:
        """Return the types (or models) of a call by parameter name; None for missing ones."""
        sources, locations = (inputs, outputs, references), self.locations
        found: Arguments = {}
        for name in names:
            if name not in locations:
                found[name] = None
                continue
            source, where = locations[name]
            found[name] = list(sources[source][where]) if isinstance(where, slice) else sources[source][where]
        return found


class Mismatch(NamedTuple):
    """The reason why an overload does not match, and the number of steps that matched before."""

    message: str
    progress: int


def kinds(types: Sequence[OperandType]) -> tuple[OperandKind, ...]:
    return tuple(
        [(type.code, len(type.dimensions), type.channel.dimension if type.channel else NO_CHANNEL) for type in types]
    )


def match_overload(
    overload: Overload,
    inputs: Sequence[OperandKind],
    outputs: Sequence[OperandKind],
    slots: tuple[Slot, ...],
    lengths: Levels,
) -> MatchedOverload | Mismatch:
    """Match an overload with operand kinds; ``slots`` are the outputs, ``lengths`` their legal numbers with levels."""
    codes: dict[str, int] = {}
    facets: list[Facet] = []
    beyond: list[str] = []
    progress = 0
    try:
        spread = overload.spread(len(inputs))
        progress = 1
        for slot, where in spread:
            facets += _match_slot(slot, inputs[where], codes, beyond)
            progress += 1
        spread_outputs = _spread_outputs(slots, lengths, len(outputs), facets)
        for slot, where in spread_outputs:
            facets += _match_slot(slot, outputs[where], codes, beyond)
    except BadDataError as error:
        return Mismatch(error.message, progress)
    positions = {slot.name: tuple(range(len(inputs)))[where] for slot, where in spread}
    locations = {
        slot.name: _locate(2 if isinstance(slot, ModelParameter) else 0, slot, where) for slot, where in spread
    }
    locations |= {slot.name: _locate(1, slot, where) for slot, where in spread_outputs}
    return MatchedOverload(
        Match(overload, positions, codes, tuple(facets), next(iter(beyond), "")), locations, progress
    )


def describe_count(legal: Sequence[int], noun: str) -> str:
    return f"{' or '.join(map(str, sorted(legal)))} {noun}{'' if tuple(legal) == (1,) else 's'}"


def _spread_outputs(
    slots: tuple[Slot, ...], lengths: Levels, count: int, facets: list[Facet]
) -> list[tuple[Slot, slice]]:
    if slots and isinstance(slots[0], Several):
        if count < 1:
            raise BadDataError("takes at least 1 output, got 0")
        return [(slots[0], slice(0, count))]
    legal = lengths or {len(slots): 1}
    if count not in legal:
        raise BadDataError(f"has {describe_count(tuple(legal), 'output')}, got {count}")
    if legal[count] > 1:
        facets.append(Facet(legal[count], f"{count} outputs"))
    return [(slot, slice(i, i + 1)) for i, slot in enumerate(slots[:count])]


def _locate(source: int, slot: Slot, where: slice) -> tuple[int, int | slice]:
    return source, where if isinstance(slot, Several) else where.start


def _match_slot(slot: Slot, kinds: Sequence[OperandKind], codes: dict[str, int], beyond: list[str]) -> list[Facet]:
    """Return the facets of a parameter's operands. Add those with ranks beyond NNAPI's to ``beyond``."""
    parameter: Parameter = slot.parameter if isinstance(slot, Several) else slot
    facets: list[Facet] = []
    if isinstance(parameter, AnyParameter):
        return facets
    for position, (code, rank, channel) in enumerate(kinds):
        label = f"{slot.name} {position}" if isinstance(slot, Several) else slot.name
        accepted = parameter.accepts(codes)
        if code not in accepted:
            raise BadDataError(f"{label} is {type_name(code)}, must be {parameter.describe(codes)}")
        if not position:
            codes[parameter.name] = code
        elif code != codes[parameter.name]:
            raise BadDataError(f"{label} is {type_name(code)}, the first is {type_name(codes[parameter.name])}")
        level = max(accepted[code], parameter.since)
        is_extra = parameter.default is not REQUIRED and level == parameter.since
        facets.append(Facet(level, f"{label} is given" if is_extra else f"{label} is {type_name(code)}"))
        if not isinstance(parameter, TensorParameter):
            continue
        if rank and not parameter.late_rank:
            rank_level = parameter.rank_level(rank)
            if rank_level is None:
                said = f"{label} has rank {rank}, must have rank {parameter.describe_ranks()}"
                if rank not in parameter.high:
                    raise BadDataError(said)
                beyond.append(said)
            facets.append(Facet(rank_level or 1, f"{label} has rank {rank}"))
        if parameter.channel is not None and code == PER_CHANNEL:
            _need_channel(label, channel, parameter.channel)
    return facets


def _need_channel(label: str, given: int, wanted: int) -> None:
    if given == NO_CHANNEL:
        raise BadDataError(f"{label} was not given its scales")
    if given != wanted:
        raise BadDataError(f"{label} has its scales along dimension {given}, must be {wanted}")
