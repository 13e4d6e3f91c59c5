"""Operations: one object says everything true of an operation on every device.

An :class:`Operation` holds the signature as data, one shape function and one reference kernel (rarely one more for
a type that computes differently). Everything else is derived: matching a call against the signature, its sentences,
the feature level a call needs, the :class:`Call` with defaults and padding filled in that kernels and drivers see.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple, TypeVar, overload

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.model.operand import OperandType, type_name
from nnapi.model.parameter import (
    REQUIRED,
    AnyParameter,
    Levels,
    ModelParameter,
    Parameter,
    Several,
    Slot,
    TensorParameter,
)

Arguments = dict[str, Any]
"""Named arguments: tensors as OperandType (or lists of them), scalars and Values as numbers, None where omitted."""
F = TypeVar("F", bound=Callable[..., Any])


class Facet(NamedTuple):
    """One thing about a call that asks for a feature level."""

    level: int
    reason: str


@dataclass(frozen=True)
class Form:
    """One argument list of an operation. ``normal`` turns its arguments into the form every kernel sees.

    ``lengths`` are the legal numbers of inputs where the defaults do not already say them.
    """

    name: str
    inputs: tuple[Slot, ...]
    normal: Callable[[Arguments], Arguments] | None = None
    lengths: tuple[int, ...] | None = None

    def legal_lengths(self) -> tuple[int, ...]:
        if self.lengths:
            return self.lengths
        required = sum(isinstance(slot, Several) or slot.default is REQUIRED for slot in self.inputs)
        return tuple(range(required, len(self.inputs) + 1))

    @property
    def is_variadic(self) -> bool:
        return any(isinstance(slot, Several) for slot in self.inputs)

    def spread(self, count: int) -> list[tuple[Slot, slice]]:
        """Which of ``count`` positions each slot takes; BadDataError where the number does not fit."""
        if not self.is_variadic:
            legal = self.legal_lengths()
            if count not in legal:
                raise BadDataError(f"takes {_counted(legal, 'input')}, got {count}")
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


@dataclass(frozen=True)
class Match:
    """A call that fits a form: which positions each parameter takes, and what the call asks of a device."""

    form: Form
    inputs: Mapping[str, tuple[int, ...]]
    codes: Mapping[str, int]
    facets: tuple[Facet, ...]

    @property
    def level(self) -> int:
        return max((facet.level for facet in self.facets), default=1)


@dataclass(frozen=True)
class Kernel:
    """How a result is computed.

    kind ``real``: arrays of real numbers in and out, quantised operands are converted around it. ``pointwise``: real,
    and each number of the only result depends on the same place of the only tensor. ``raw``: the stored codes
    themselves. ``linear``: linear in each tensor of ``scaled``, which are given as codes less zero point, so
    that sums are exact; the result is in units of the product of their scales. ``exact``: raw, and called with the
    Call first, because integer arithmetic needs its scales.
    """

    function: Callable[..., Any]
    kind: str = "real"
    scaled: tuple[str, ...] = ()
    types: tuple[int, ...] = ()


@dataclass(eq=False)
class Operation:
    """An NNAPI operation: signature, meaning, reference kernel.

    ``zero_sized``: accepts inputs without elements. ``failure`` is the error for an operand that is omitted or
    zero-sized where that is not allowed. ``output_lengths`` maps other legal numbers of outputs to their level;
    ``optional_outputs`` is how many of the last results may be left out, all of them together.
    """

    code: OperationCode
    inputs: tuple[Slot, ...] = ()
    outputs: tuple[Slot, ...] = ()
    forms: tuple[Form, ...] = ()
    zero_sized: bool = False
    failure: type[NnapiError] | None = None
    output_lengths: Levels = field(default_factory=dict)
    optional_outputs: int = 0
    doc: str = ""
    kernels: list[Kernel] = field(default_factory=list)
    shape_function: Callable[..., Any] | None = None
    checks: list[Callable[..., None]] = field(default_factory=list)
    facet_functions: list[Callable[..., Iterable[Facet]]] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.forms:
            self.forms = (Form("default", self.inputs),)
        REGISTRY.add(self)

    @property
    def name(self) -> str:
        return self.code.name

    def __repr__(self) -> str:
        return f"<Operation {self.name}>"

    # What is attached to the declaration

    def shape(self, function: F) -> F:
        """Register the shape function: normal arguments to the output's extents, or a list for several outputs.

        An extent is None where it depends on the data.
        """
        self.shape_function = function
        return function

    @overload
    def kernel(self, function: F) -> F: ...
    @overload
    def kernel(
        self, *, kind: str = ..., scaled: Sequence[str] = ..., types: Sequence[int] = ...
    ) -> Callable[[F], F]: ...
    def kernel(
        self, function: F | None = None, *, kind: str = "real", scaled: Sequence[str] = (), types: Sequence[int] = ()
    ) -> F | Callable[[F], F]:
        """Register a kernel; ``types`` narrows it to those codes of the first tensor."""

        def register(function: F) -> F:
            self.kernels.append(Kernel(function, "linear" if scaled else kind, tuple(scaled), tuple(types)))
            return function

        return register(function) if function else register

    def check(self, function: F) -> F:
        """Register a test of a call's operand types, made when the operation is added (``need`` refuses)."""
        self.checks.append(function)
        return function

    def facets(self, function: F) -> F:
        """Register a source of further level requirements."""
        self.facet_functions.append(function)
        return function

    def kernel_for(self, code: int) -> Kernel:
        """The kernel for a first tensor of that type."""
        return next(
            kernel
            for kernel in sorted(self.kernels, key=lambda k: not k.types)
            if not kernel.types or code in kernel.types
        )

    # Matching

    def match(
        self, inputs: Sequence[OperandType], outputs: Sequence[OperandType], references: Sequence[Any] = ()
    ) -> Match:
        """Fit operand types to a form; BadDataError with the sentence of the form that came closest.

        ``references`` are the models behind MODEL operands, position by position.
        """
        references = references or [None] * len(inputs)
        legal = {length for form in self.forms for length in form.legal_lengths()}
        if not (len(inputs) in legal or any(form.is_variadic for form in self.forms)):
            raise BadDataError(f"takes {_counted(tuple(legal), 'input')}, got {len(inputs)}")
        best: tuple[int, NnapiError] | None = None
        for form in self.forms:
            progress = [0]
            try:
                return self._match_form(form, inputs, outputs, references, progress)
            except BadDataError as error:
                if best is None or progress[0] > best[0]:
                    best = (progress[0], error)
        assert best is not None
        raise best[1]

    def _match_form(
        self,
        form: Form,
        inputs: Sequence[OperandType],
        outputs: Sequence[OperandType],
        references: Sequence[Any],
        progress: list[int],
    ) -> Match:
        codes: dict[str, int] = {}
        facets: list[Facet] = []
        spread = form.spread(len(inputs))
        progress[0] += 1  # a wrong type says more than a number that another form takes
        for slot, where in spread:
            facets += _match_slot(slot, inputs[where], codes)
            progress[0] += 1
        for slot, where in self._spread_outputs(len(outputs), facets):
            facets += _match_slot(slot, outputs[where], codes)
        named = {
            slot.name: _named(slot, references[where] if isinstance(slot, ModelParameter) else inputs[where])
            for slot, where in spread
        }
        named |= {slot.name: _named(slot, outputs[where]) for slot, where in self._spread_outputs(len(outputs), [])}
        for check in self.checks:
            check(**_wanted(check, named))
        for function in self.facet_functions:
            facets += function(**_wanted(function, named))
        positions = {slot.name: tuple(range(len(inputs)))[where] for slot, where in spread}
        return Match(form, positions, codes, tuple(facets))

    def _spread_outputs(self, count: int, facets: list[Facet]) -> list[tuple[Slot, slice]]:
        if self.outputs and isinstance(self.outputs[0], Several):
            need(count >= 1, "takes at least 1 output, got 0", BadDataError)
            return [(self.outputs[0], slice(0, count))]
        legal = {len(self.outputs): 1} if not self.output_lengths else self.output_lengths
        if count not in legal:
            raise BadDataError(f"has {_counted(tuple(legal), 'output')}, got {count}")
        if legal[count] > 1:
            facets.append(Facet(legal[count], f"{count} outputs"))
        return [(slot, slice(i, i + 1)) for i, slot in enumerate(self.outputs[:count])]


class Registry(Mapping[int, Operation]):
    """Operations by code. They are declared above this layer, in a package that is imported at the first look-up:
    a program that only asks for devices, say, does not pay for them."""

    def __init__(self, package: str) -> None:
        self._package: str | None = package
        self._operations: dict[int, Operation] = {}
        self._lock = threading.RLock()

    def add(self, operation: Operation) -> None:
        self._operations[operation.code] = operation

    def _filled(self) -> dict[int, Operation]:
        if self._package is not None:
            with self._lock:  # others wait for the whole; the importing thread itself comes back here and passes
                if self._package is not None:
                    import_module(self._package)
                    self._package = None
        return self._operations

    def __getitem__(self, code: int) -> Operation:
        return self._filled()[code]

    def __iter__(self) -> Iterator[int]:
        return iter(self._filled())

    def __len__(self) -> int:
        return len(self._filled())


REGISTRY = Registry("nnapi.ops")
"""Every declared operation by code."""


def _need_channel(label: str, type: OperandType, dimension: int) -> None:
    """Per-channel scales must be given before the operation is added, along the dimension it wants."""
    if type.code != OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL:
        return
    if not type.channel:
        raise BadDataError(f"{label} was not given its scales")
    assert type.channel is not None
    if type.channel.dimension != dimension:
        raise BadDataError(f"{label} has its scales along dimension {type.channel.dimension}, must be {dimension}")


def _counted(legal: Sequence[int], noun: str) -> str:
    return f"{' or '.join(map(str, sorted(legal)))} {noun}{'' if tuple(legal) == (1,) else 's'}"


def _named(slot: Slot, types: Sequence[Any]) -> Any:
    return list(types) if isinstance(slot, Several) else types[0]


def _wanted(function: Callable[..., Any], named: Arguments) -> Arguments:
    """Those arguments that the function asks for; what the form does not have is None."""
    code = function.__code__
    return {name: named.get(name) for name in code.co_varnames[: code.co_argcount]}


def _match_slot(slot: Slot, types: Sequence[OperandType], codes: dict[str, int]) -> list[Facet]:
    parameter: Parameter = slot.parameter if isinstance(slot, Several) else slot
    facets: list[Facet] = []
    for position, type in enumerate(types):
        label = f"{slot.name} {position}" if isinstance(slot, Several) else slot.name
        if isinstance(parameter, ModelParameter | AnyParameter) and not parameter.types:
            continue
        accepted = parameter.accepts(codes)
        if type.code not in accepted:
            raise BadDataError(f"{label} is {type_name(type.code)}, must be {parameter.describe(codes)}")
        if not (isinstance(parameter, AnyParameter) or position):
            codes[parameter.name] = type.code
        elif not isinstance(parameter, AnyParameter) and type.code != codes[parameter.name]:
            raise BadDataError(f"{label} is {type.name}, the first is {type_name(codes[parameter.name])}")
        level = max(accepted[type.code], parameter.since)
        is_extra = parameter.default is not REQUIRED and level == parameter.since
        facets.append(Facet(level, f"{label} is given" if is_extra else f"{label} is {type.name}"))
        if isinstance(parameter, TensorParameter) and type.rank and not parameter.late_rank:
            rank_level = parameter.rank_level(type.rank)
            if rank_level is None:
                raise BadDataError(f"{label} has rank {type.rank}, must have rank {parameter.describe_ranks()}")
            facets.append(Facet(rank_level or 1, f"{label} has rank {type.rank}"))
        if isinstance(parameter, TensorParameter) and parameter.channel is not None:
            _need_channel(label, type, parameter.channel)
    return facets
