"""Operations: signature, shape function and reference kernels, from which everything else is derived."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib import import_module
from types import ModuleType
from typing import Any, NamedTuple, TypeAlias, TypeVar, overload

from nnapi.errors import BadDataError, NnapiError
from nnapi.model.facts import Facts, Trait
from nnapi.model.matching import (
    Arguments,
    Facet,
    Match,
    MatchedOverload,
    Mismatch,
    OperandKind,
    Overload,
    describe_count,
    kinds,
    match_overload,
)
from nnapi.model.operand import Array, OperandType
from nnapi.model.parameter import Levels, Slot, TensorParameter
from nnapi.model.proposal import Draw, Proposal
from nnapi.operation_codes import NAMES, Code

__all__ = ["REGISTRY", "Arguments", "Facet", "Kernel", "Match", "Operation", "Overload", "Registry"]

MOST_REMEMBERED = 256
NO_FACTS = Facts()
Loss: TypeAlias = Callable[[Sequence[Any], Sequence[Any], str], list[Array]]
F = TypeVar("F", bound=Callable[..., Any])


class Kernel(NamedTuple):
    """The kernel of an operation, and the representation it computes on.

    ``real``: float arrays; operands are dequantized, results quantized. ``pointwise``: real, and each result element
    depends on one element of the only tensor. ``raw``: the stored values. ``linear``: linear in each tensor of
    ``scaled``, which are quantized values less zero point, so that sums are exact; the result is in units of the
    product of their scales. ``exact``: raw, with the Call as the first argument, for integer arithmetic.
    """

    function: Callable[..., Any]
    kind: str = "real"
    scaled: tuple[str, ...] = ()
    types: tuple[int, ...] = ()


@dataclass(eq=False)
class Operation:
    """An operation of NNAPI, or a composite: signature, facts, reference kernel.

    ``zero_sized``: accepts inputs without elements. ``failure`` is the error for an illegally omitted or zero-sized
    operand. ``output_lengths`` maps other legal numbers of outputs to their level; ``optional_outputs`` is how many of
    the last results may be omitted together.
    """

    code: Code
    facts: Facts = NO_FACTS
    inputs: tuple[Slot, ...] = ()
    outputs: tuple[Slot, ...] = ()
    overloads: tuple[Overload, ...] = ()
    zero_sized: bool = False
    failure: type[NnapiError] | None = None
    output_lengths: Levels = field(default_factory=dict)
    optional_outputs: int = 0
    doc: str = ""
    kernels: list[Kernel] = field(default_factory=list)
    shape_function: Callable[..., Any] | None = None
    checks: list[Callable[..., Facet | None]] = field(default_factory=list)
    propose: Callable[[Draw], Proposal] | None = None
    estimate_loss: Loss | None = None
    _matches: dict[tuple[tuple[OperandKind, ...], tuple[OperandKind, ...]], list[MatchedOverload | Mismatch]] = field(
        default_factory=dict, init=False
    )

    def __post_init__(self) -> None:
        if not self.overloads:
            self.overloads = (Overload("default", self.inputs),)
        REGISTRY.add(self)

    @property
    def name(self) -> str:
        return self.code.name

    @cached_property
    def images(self) -> frozenset[str]:
        """Return the names of the inputs and outputs that are images."""
        slots = (*self.outputs, *(slot for overload in self.overloads for slot in overload.inputs))
        return frozenset(slot.name for slot in slots if isinstance(slot, TensorParameter) and slot.image)

    def does(self, trait: Trait) -> bool:
        return self.facts.traits._value_ & trait._value_ != 0  # operators of Flag take ten times as long

    def __repr__(self) -> str:
        return f"<Operation {self.name}>"

    # Functions attached to the declaration

    def shape(self, function: F) -> F:
        """Register the shape function, which returns the dimensions of the outputs; None if they depend on data."""
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
        """Register a kernel for these codes of the first tensor, by default for all."""

        def register(function: F) -> F:
            self.kernels.append(Kernel(function, "linear" if scaled else kind, tuple(scaled), tuple(types)))
            return function

        return register(function) if function else register

    def check(self, function: F) -> F:
        """Register a check of operand types, which raises BadDataError or may return a facet of the call."""
        self.checks.append(function)
        return function

    def proposal(self, function: F) -> F:
        """Register a function that proposes arguments for random tests; without one, each is drawn independently."""
        self.propose = function
        return function

    def loss(self, function: F) -> F:
        """Register an estimate of the precision that engines may lose by their order of computation.

        It gets the stored arrays of the inputs and outputs, and the precision ("fp32" or "fp16"), and returns the loss
        of each element of the first results: infinite if no digit may be left, [] if none is known.
        """
        self.estimate_loss = function
        return function

    def kernel_for(self, code: int) -> Kernel:
        return next(
            kernel
            for kernel in sorted(self.kernels, key=lambda k: not k.types)
            if not kernel.types or code in kernel.types
        )

    # Matching

    def match(
        self, inputs: Sequence[OperandType], outputs: Sequence[OperandType], references: Sequence[Any] = ()
    ) -> Match:
        """Match operand types, and the ``references`` of MODEL operands; raise the BadDataError of the closest
        overload."""
        best, cause = Mismatch("", -1), None
        for matched in self._match_overloads(kinds(inputs), kinds(outputs)):
            try:
                if isinstance(matched, MatchedOverload):
                    return self._check(matched, inputs, outputs, references or [None] * len(inputs))
                mismatch, error = matched, None
            except BadDataError as caught:
                mismatch, error = Mismatch(caught.message, matched.progress), caught
            if mismatch.progress > best.progress:
                best, cause = mismatch, error
        raise cause or BadDataError(best.message)

    def _match_overloads(
        self, inputs: tuple[OperandKind, ...], outputs: tuple[OperandKind, ...]
    ) -> list[MatchedOverload | Mismatch]:
        """Match every overload with operands of these kinds. Cached, because models have few combinations of kinds."""
        key = (inputs, outputs)
        found = self._matches.get(key)
        if found is None:
            legal = {length for overload in self.overloads for length in overload.legal_lengths}
            if not (len(inputs) in legal or any(overload.is_variadic for overload in self.overloads)):
                raise BadDataError(f"takes {describe_count(tuple(legal), 'input')}, got {len(inputs)}")
            found = [
                match_overload(overload, inputs, outputs, self.outputs, self.output_lengths)
                for overload in self.overloads
            ]
            if len(inputs) + len(outputs) <= MOST_REMEMBERED:
                if len(self._matches) >= MOST_REMEMBERED:
                    self._matches.clear()
                self._matches[key] = found
        return found

    def _check(
        self,
        matched: MatchedOverload,
        inputs: Sequence[OperandType],
        outputs: Sequence[OperandType],
        references: Sequence[Any],
    ) -> Match:
        match = matched.match
        for check in self.checks:
            facet = check(**matched.name_types(_argument_names(check), inputs, outputs, references))
            if facet:
                match = match._replace(facets=(*match.facets, facet))
        return match


class Registry(Mapping[int, Operation]):
    """Operations by code. The modules in ``nnapi.ops`` are imported at first use."""

    def __init__(self, package: str) -> None:
        self._package = package
        self._added: dict[int, Operation] = {}
        self._complete: dict[int, Operation] = {}

    def add(self, operation: Operation) -> None:
        self._added[operation.code] = operation

    def __getitem__(self, code: int) -> Operation:
        found = self._complete.get(code)
        return self._import(code) if found is None else found

    def _import(self, code: int) -> Operation:
        if code not in self:
            raise KeyError(code)
        self.find_module(code)  # waits while another thread imports it, so the operation is complete
        operation = self._complete[code] = self._added[code]
        return operation

    def find_module(self, code: int) -> ModuleType:
        """Return the module that declares an operation; its docstring has a line about the operation."""
        name = NAMES[code]
        return import_module(f"{self._package}.{import_module(self._package).HOMES.get(name, name.lower())}")

    def __contains__(self, code: object) -> bool:
        return code in NAMES

    def __iter__(self) -> Iterator[int]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


REGISTRY = Registry("nnapi.ops")


@cache
def _argument_names(function: Callable[..., Any]) -> tuple[str, ...]:
    code = function.__code__
    return code.co_varnames[: code.co_argcount]
