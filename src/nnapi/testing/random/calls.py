"""Random calls of an operation, drawn from its declaration and accepted by its shape function."""

import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from nnapi.codes import OperandCode
from nnapi.errors import NnapiError, need
from nnapi.model.call import UNKNOWN, normalize
from nnapi.model.operand import DTYPES, ZERO_POINTS, Array, OperandType, Shape, type_name
from nnapi.model.operation import Operation, Overload
from nnapi.model.parameter import ModelParameter, Parameter, ScalarParameter, Several, Slot, TensorParameter
from nnapi.model.proposal import Draw, Proposal
from nnapi.testing.example import (
    ChannelSpec,
    Example,
    ExampleGraph,
    OperandSource,
    OperandSpec,
    OperationSpec,
    find_operands,
    with_tolerance,
)
from nnapi.testing.random.control_flow import random_control_flow
from nnapi.testing.random.values import (
    Ranges,
    draw_ranges,
    pick,
    random_data,
    random_dimensions,
    random_scalar,
    random_values,
)

ATTEMPTS = 2000
LARGEST = 100_000
"""The largest number of elements of a result; larger results take too long."""
RESCALED = 0.25
"""Probability that a result has its own scale instead of its input's."""


class NoCall(Exception):
    """The operation's shape function accepted no draw. The message is the reason of the last refusal."""


def random_call(
    operation: Operation,
    rng: np.random.Generator,
    attempts: int = ATTEMPTS,
    *,
    given: Sequence[OperandSpec] = (),
    special: float = 0.0,
    **shares: Any,
) -> Example:
    """Return a model of one call that the operation's shape function accepts, without expected outputs.

    The first operand in ``given`` is the first tensor of the call; the others are used if they fit. ``special`` is the
    probability that an element is denormal or not finite; ``shares`` are other fields of Ranges. Raises NoCall if all
    draws are rejected.
    """
    if is_control_flow(operation):
        return random_control_flow(operation, rng)
    violation = None
    for _ in range(attempts):
        try:
            draft = _draft(operation, rng, given, special=special, **shares)
            draft.settle_outputs()
            return draft.example()
        except NnapiError as error:
            violation = error
    raise NoCall(f"{operation.name}: none of {attempts} draws is accepted, the last because {violation}")


def random_attempt(operation: Operation, rng: np.random.Generator) -> Example:
    """Return one draw. Its types are legal; its dimensions and values may not be."""
    if is_control_flow(operation):
        return random_control_flow(operation, rng)
    draft = _draft(operation, rng)
    with suppress(NnapiError):
        draft.settle_outputs()
    return draft.example()


def _draft(
    operation: Operation, rng: np.random.Generator, given: Sequence[OperandSpec] = (), **shares: Any
) -> "_Draft":
    ranges = replace(draw_ranges(rng), given=given[0].dimensions if given else None, **shares)
    overload = pick(rng, operation.overloads)
    counts = _counts(overload, rng)
    proposal = _propose(operation, overload, [slot for slot, _ in counts], ranges, rng)
    draft = _Draft(operation, proposal, ranges, rng, given)
    for slot, count in counts:
        draft.add_inputs(slot, count)
    draft.add_outputs()
    return draft


def _propose(
    operation: Operation, overload: Overload, slots: Sequence[Slot], ranges: Ranges, rng: np.random.Generator
) -> Proposal:
    if operation.propose is None:
        return Proposal()
    shares = {name: getattr(ranges, name) for name in ("given", "points", "nchw", "spatial", "is_high")}
    return operation.propose(Draw(overload.name, slots, rng, **shares))


def is_control_flow(operation: Operation) -> bool:
    return any(isinstance(slot, ModelParameter) for overload in operation.overloads for slot in overload.inputs)


def _counts(overload: Overload, rng: np.random.Generator) -> list[tuple[Parameter | Several, int]]:
    if overload.is_variadic:
        return [
            (slot, slot.least + int(rng.integers(3)) if isinstance(slot, Several) else 1) for slot in overload.inputs
        ]
    return [(slot, 1) for slot in overload.inputs[: pick(rng, overload.legal_lengths)]]


class _Draft:
    def __init__(
        self,
        operation: Operation,
        proposal: Proposal,
        ranges: Ranges,
        rng: np.random.Generator,
        given: Sequence[OperandSpec],
    ) -> None:
        self.operation, self.proposal, self.ranges, self.rng, self.given = operation, proposal, ranges, rng, given
        self.scalars_are_inputs = self.rng.random() < 0.02
        self.operands: list[OperandSpec] = []
        self.values: list[Array | None] = []
        self.codes: dict[str, int] = {}
        self.tensors: list[OperandSpec] = []
        self.inputs: list[int] = []
        self.outputs: list[int] = []

    def add_inputs(self, slot: Parameter | Several, count: int) -> None:
        parameter = slot.parameter if isinstance(slot, Several) else slot
        code = self._code(parameter)
        first = len(self.operands)
        for number in range(count):
            name = f"{parameter.name} {number}" if isinstance(slot, Several) else parameter.name
            if isinstance(parameter, ScalarParameter):
                self.inputs.append(self._add_scalar(parameter, name, code))
            else:  # the tensors of a list (CONCATENATION, PACK) mostly have one shape
                leader = self.operands[first] if number else None
                self.inputs.append(self._add_tensor(parameter, name, code, leader))

    def _code(self, parameter: Parameter) -> OperandCode:
        accepted = sorted(parameter.accepts(self.codes))
        need(accepted, "no type is accepted beside those before it")
        code = OperandCode(pick(self.rng, [each for each in accepted for _ in range(1 + (each in ZERO_POINTS))]))
        if self.given and not self.tensors and isinstance(parameter, TensorParameter):
            code = self.given[0].code
            need(code in accepted, "the tensor given is of another type")
        self.codes[parameter.name] = code
        return code

    def _add_scalar(self, parameter: Parameter, name: str, code: OperandCode) -> int:
        if self._is_omitted(parameter):
            return self._add(OperandSpec(type_name(code), lifetime=OperandSource.NO_VALUE, name=name), None)
        value = random_scalar(parameter, code, self.rng)
        if name in self.proposal.scalars:
            value = np.array(self.proposal.scalars[name], value.dtype)
        is_tensor = code == OperandCode.TENSOR_INT32  # of one element
        value = value.reshape((1,) * is_tensor)
        operand = OperandSpec(type_name(code), value.shape, name=name)
        if not (self.scalars_are_inputs or is_tensor):
            return self._add(replace(operand, lifetime=OperandSource.CONSTANT_COPY, data=value), value)
        return self._add(replace(operand, lifetime=OperandSource.SUBGRAPH_INPUT), value)

    def _add_tensor(self, parameter: Parameter, name: str, code: OperandCode, leader: OperandSpec | None) -> int:
        assert isinstance(parameter, TensorParameter)
        ranges, rng = self.ranges, self.rng
        if self.given and not self.tensors:
            return self._join(self.given[0])
        numbers: Array | None
        if parameter.name in self.proposal.numbers:
            numbers = np.asarray(self.proposal.numbers[parameter.name], DTYPES[code])
        else:
            numbers = random_values(parameter, self.tensors[0] if self.tensors else None, rng)
        dimensions = self._dimensions(parameter, leader) if numbers is None else numbers.shape
        others = [spec for spec in self.given if (spec.code, spec.dimensions) == (code, dimensions)]
        if others and numbers is None and rng.random() < 0.5:
            return self._join(pick(rng, others))
        type = replace(self._quantize(code, dimensions, parameter), name=name)
        if self._is_omitted(parameter):
            return self._add(replace(type, lifetime=OperandSource.NO_VALUE), None)
        value = random_data(type, ranges, rng) if numbers is None else numbers
        constant = rng.random() < (0.8 if numbers is not None else ranges.constants if self.tensors else 0.2)
        if constant and numbers is None and rng.random() < ranges.uniform:
            value = np.full_like(value, value.flat[0])
        lifetime = (
            pick(rng, (OperandSource.CONSTANT_COPY, OperandSource.CONSTANT_REFERENCE))
            if constant
            else OperandSource.SUBGRAPH_INPUT
        )
        operand = replace(type, lifetime=lifetime, data=value if constant else None)
        self.tensors.append(operand)
        return self._add(operand, value)

    def _is_omitted(self, parameter: Parameter) -> bool:
        if not parameter.optional or parameter.name in self.proposal.present:
            return False
        return parameter.name in self.proposal.omitted or self.rng.random() < self.ranges.omission

    def _join(self, value: OperandSpec) -> int:
        """Add an existing tensor of the graph; zeros are used as its elements, which are not known here."""
        self.tensors.append(value)
        return self._add(
            replace(value, lifetime=OperandSource.SUBGRAPH_INPUT), np.zeros(value.dimensions, DTYPES[value.code])
        )

    def _dimensions(self, parameter: TensorParameter, leader: OperandSpec | None) -> Shape:
        if leader is not None and self.rng.random() < 0.9:
            return leader.dimensions
        if parameter.name in self.proposal.shapes:
            return self.proposal.shapes[parameter.name]
        legal = [rank for rank in range(1, 5) if parameter.rank_level(rank) is not None]
        if self.ranges.is_high:
            legal = [*parameter.ranks_beyond] or legal
        keeps = self.ranges.rank in legal and self.rng.random() < 0.8
        rank = self.ranges.rank if keeps else pick(self.rng, legal)
        return random_dimensions(parameter.name, rank, self.ranges, self.rng)

    def _quantize(self, code: OperandCode, dimensions: tuple[int, ...], parameter: Parameter) -> OperandSpec:
        """Return an operand with the scales that its type needs; a bias gets the scale of input times filter."""
        spec = OperandSpec(type_name(code), dimensions)
        if code == OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL:
            channel = (parameter.channel or 0) if isinstance(parameter, TensorParameter) else 0
            scales = tuple(pick(self.rng, self.ranges.scales) for _ in range(dimensions[channel]))
            return replace(spec, channel_quant=ChannelSpec(channel, scales))
        if code == OperandCode.TENSOR_INT32 and (parameter.like or "bias" in parameter.name):
            scaled = [operand.scale for operand in self.tensors if operand.scale]
            product = float(np.float32(scaled[0]) * np.float32(scaled[1])) if len(scaled) > 1 else 0.0
            per_channel = any(operand.channel_quant for operand in self.tensors)
            return replace(spec, scale=0.0 if per_channel else product)
        settled = self.proposal.quantization.get(parameter.name)
        if settled is not None and code in ZERO_POINTS:
            return replace(spec, scale=settled[0], zero_point=settled[1])
        return replace(spec, **self.ranges.quantization(code, self.rng))

    def add_outputs(self) -> None:
        slots = self.operation.outputs
        if isinstance(slots[0], Several):
            slots = (slots[0].parameter,) * (self.proposal.outputs or int(self.rng.integers(1, 4)))
        else:
            slots = slots[: pick(self.rng, tuple(self.operation.output_lengths) or (len(slots),))]
        for slot in slots:
            assert isinstance(slot, Parameter)
            spec = self._quantize(self._code(slot), (), replace(slot, like=None))
            output = replace(spec, lifetime=OperandSource.SUBGRAPH_OUTPUT, name=slot.name, is_ignored=slot.unspecified)
            self.outputs.append(self._add(output, None))

    def _add(self, operand: OperandSpec, value: Array | None) -> int:
        self.operands.append(operand)
        self.values.append(value)
        return len(self.operands) - 1

    def settle_outputs(self) -> None:
        """Set dimensions, scales and zero points of the outputs; raise the errors of the shape function."""
        inputs, outputs = tuple(self.inputs), tuple(self.outputs)
        types = [self.operands[index].full_type for index in inputs]
        declared = tuple(self.operands[index].full_type.with_dimensions(()) for index in outputs)
        match = self.operation.match(types, declared)
        value_of = self.values.__getitem__
        call = normalize(self.operation, match, inputs, outputs, declared, self._present, value_of)
        results = call.requantized_results() if self.rng.random() < RESCALED else call.stored_results()
        for index, result in zip(outputs, results, strict=True):
            need(0 not in result.dimensions, "a result would have no elements")
            need(math.prod(result.dimensions) <= LARGEST, "a result would be large")
            self.operands[index] = replace(
                self.operands[index],
                dimensions=tuple(0 if dimension == UNKNOWN else dimension for dimension in result.dimensions),
                scale=result.scale,
                zero_point=result.zero_point,
            )

    def _present(self, index: int) -> OperandType | None:
        operand = self.operands[index]
        return None if operand.lifetime == OperandSource.NO_VALUE else operand.full_type

    def example(self) -> Example:
        if not any(operand.lifetime == OperandSource.SUBGRAPH_INPUT for operand in self.operands):
            # A model needs an input: make one of a constant.
            index = next(i for i in self.inputs if self.operands[i].data is not None)
            self.operands[index] = replace(self.operands[index], lifetime=OperandSource.SUBGRAPH_INPUT, data=None)
        given = {i: self.values[i] for i in find_operands(self.operands, OperandSource.SUBGRAPH_INPUT)}
        call = OperationSpec(self.operation.name, tuple(self.inputs), tuple(self.outputs))
        graph = ExampleGraph(tuple(self.operands), (call,), tuple(given), call.outputs)
        return with_tolerance(Example(f"random_{self.operation.name.lower()}", graph, given, {}, high_ranks=True))
