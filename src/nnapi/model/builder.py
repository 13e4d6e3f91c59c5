"""Build a model by calling operations as methods, on arrays, numbers and results of other operations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.model.arguments import Argument, Arranged, arrange, constant
from nnapi.model.builder_operations import Operations
from nnapi.model.call import UNKNOWN, NotYetKnown, find_fixed_quantization, normalize, number_of_results, output_slot
from nnapi.model.model import Model
from nnapi.model.operand import ZERO_POINTS, Array, OperandType, combine, tensor, type_name
from nnapi.model.operation import Operation
from nnapi.model.parameter import AnyParameter, Several, TensorParameter


@dataclass(frozen=True, eq=False, repr=False)
class Tensor:
    """A value in a model being built: an input, a constant, or an operation's result."""

    builder: Builder
    index: int
    type: OperandType
    name: str

    @property
    def shape(self) -> tuple[int, ...]:
        return self.type.dimensions

    def __repr__(self) -> str:
        return f"<{self.name or 'operand'} ({self.index}): {self.type}>"


class Builder(Operations):
    """A model under construction, with one method per operation.

    The declared signatures define the methods: ``help(Builder.softmax)`` describes one. Operands are given in order or
    by name: tensors of this builder, arrays and lists (which become constants), numbers, finished Models, None for an
    optional one. Trailing defaults may be omitted. ``out`` (a type, or a list of them) or ``scale`` and ``zero_point``
    complete the type of the result. Errors name the operation and the operand.
    """

    def __init__(self, name: str = "model") -> None:
        self.model = Model(name)
        self._inputs: list[int] = []
        self._outputs: list[int] = []
        self._values: dict[int, Array] = {}

    def input(self, type: OperandType, name: str = "") -> Tensor:
        """Add a model input. A dimension of 0 is only known when the model runs."""
        index = self._operand(type, name)
        self._inputs.append(index)
        return Tensor(self, index, type, name)

    def constant(self, value: Any, type: OperandType | None = None, name: str = "") -> Tensor:
        """Add a constant; ``value`` is an array, list or number.

        By default its type is the one that stores such an array; quantized values need a ``type``. A type without
        dimensions gets the array's.
        """
        return self._tensor(self._add_argument(constant(value, type, {}, name or "the constant"), name))

    def output(self, *tensors: Tensor) -> None:
        for each in tensors:
            known = isinstance(each, Tensor) and each.builder is self
            need(known, f"{each!r} is not a tensor of this model", BadDataError)
            self._outputs.append(each.index)

    def finish(self) -> Model:
        """Identify inputs and outputs in the order in which they were added, validate, and freeze the model."""
        self.model.identify_inputs_and_outputs(self._inputs, self._outputs)
        self.model.finish()
        return self.model

    def __repr__(self) -> str:
        return f"<nnapi.Builder of {self.model!r}>"

    # Adding an operation

    def _add(
        self,
        operation: Operation,
        given: Sequence[Any],
        named: dict[str, Any],
        *,
        out: Any,
        scale: float | None,
        zero_point: int,
        name: str,
    ) -> Tensor | tuple[Tensor, ...]:
        self.model.state.need("building", to=f"add {operation.name}")
        number, mark = len(self.model.operations), len(self.model.operands)
        try:
            arranged = arrange(
                operation, self._unwrap(given), {key: self._unwrap(value) for key, value in named.items()}
            )
            types = result_types(operation, arranged, _list_types(out), scale, zero_point)
            inputs = [self._add_argument(argument, slot.name) for slot, row in arranged for argument in row]
            name = name or f"{operation.name.lower()}_{number}"
            names = [f"{name}_{i}" for i in range(len(types))] if len(types) > 1 else [name]
            results = [self._operand(type, each) for type, each in zip(types, names, strict=False)]
            self.model.add_operation(operation.code, inputs, results)
        except NnapiError as error:
            del self.model._operands[mark:]  # what no operation uses would keep the model from finishing
            self._values = {index: value for index, value in self._values.items() if index < mark}
            raise error.at(f"{operation.name} (#{number})") from None
        tensors = tuple(self._tensor(index) for index in results)
        return tensors[0] if len(tensors) == 1 and not isinstance(operation.outputs[0], Several) else tensors

    def _unwrap(self, value: Any) -> Any:
        """Replace Tensors, also in lists, by arguments of this model."""
        if isinstance(value, Tensor):
            need(value.builder is self, f"{value!r} belongs to another model", BadDataError)
            return Argument(value.type, self._values.get(value.index), value.index)
        return [self._unwrap(each) for each in value] if isinstance(value, list | tuple) else value

    def _add_argument(self, argument: Argument, name: str) -> int:
        if argument.index is not None:
            return argument.index
        index = self._operand(argument.type, name)
        if isinstance(argument.value, Model):
            self.model.set_operand_value_from_model(index, argument.value)
        else:
            self.model.set_operand_value(index, argument.value)
            if argument.value is not None:
                self._values[index] = argument.value
        return index

    def _operand(self, type: OperandType, name: str) -> int:
        index = self.model.add_operand(OperandType(type.code, type.dimensions, type.scale, type.zero_point), name)
        if type.data:
            self.model.set_operand_extension_data(index, type.data)
        if type.channel:
            self.model.set_operand_symm_per_channel_quant_params(index, type.channel.dimension, type.channel.scales)
        return index

    def _tensor(self, index: int) -> Tensor:
        operand = self.model.operands[index]
        return Tensor(self, index, operand.type, operand.name)


def _list_types(out: Any) -> list[OperandType]:
    listed = out if isinstance(out, list | tuple) else [] if out is None else [out]
    types = [tensor(each) if isinstance(each, str) else each for each in listed]
    bad = next((type for type in types if not isinstance(type, OperandType)), None)
    need(bad is None, f"out is {bad!r}, must be a type, as nnapi.tensor gives", BadDataError)
    return types


# Result types


def result_types(
    operation: Operation, arranged: Arranged, out: Sequence[OperandType], scale: float | None, zero_point: int
) -> list[OperandType]:
    """Return one type per output, with unspecified dimensions where the shape function cannot infer them.

    ``out`` (may be empty), ``scale`` and ``zero_point`` complete the declaration. Raises BadDataError if types remain
    undetermined, and the errors of matching and shape functions.
    """
    arguments = [argument for _, row in arranged for argument in row]
    models = [argument.value for argument in arguments if isinstance(argument.value, Model)]
    if isinstance(output_slot(operation, 0), AnyParameter):
        return list(out) or _of_models(models if operation.code == OperationCode.IF else models[1:])
    results = _Results(operation, arranged, out, scale, zero_point)
    count = len(out) or len(operation.outputs) - operation.optional_outputs
    placeholders = [results.placeholder(position) for position in range(count)]
    match = operation.match([argument.type for argument in arguments], placeholders)
    inputs = tuple(range(len(arguments)))

    def type_of(position: int) -> OperandType | None:
        argument = arguments[position]
        if not (argument.is_omitted or argument.type.is_known):
            raise NotYetKnown("a dimension", position)
        return None if argument.is_omitted else argument.type

    def value_of(position: int) -> Array | Model | None:
        return arguments[position].value

    try:
        if not out:
            count = number_of_results(operation, match, inputs, type_of, value_of) - operation.optional_outputs
        declared = tuple(results.declare(position) for position in range(count))
        call = normalize(operation, match, inputs, inputs[:0], declared, type_of, value_of)
    except NotYetKnown:
        counted = bool(out) or not isinstance(operation.outputs[0], Several)
        need(counted, "the number of outputs is not known: list them as out", BadDataError)
        return [results.declare(position) for position in range(count)]
    return [results.complete(position, type) for position, type in enumerate(call.stored_results())]


class _Results:
    def __init__(
        self, operation: Operation, arranged: Arranged, out: Sequence[OperandType], scale: float | None, zero_point: int
    ) -> None:
        self.operation = operation
        self.named = {slot.name: row[0].type for slot, row in arranged if row}
        self.codes = {slot.name: row[0].type.code for slot, row in arranged if row}
        self.out, self.scale, self.zero_point = out, scale, zero_point

    def placeholder(self, position: int) -> OperandType:
        """Return some legal type, to match the inputs before the outputs are known."""
        slot = output_slot(self.operation, position)
        code = self.out[position].code if self.out else next(iter(slot.accepts(self.codes)), OperandCode.TENSOR_FLOAT32)
        free = (math.inf, 0) if code in ZERO_POINTS else (0.0, 0)
        return OperandType(code, (), *(find_fixed_quantization(slot, code, self.named) or free))

    def declare(self, position: int) -> OperandType:
        slot = output_slot(self.operation, position)
        wanted = self.out[position] if self.out else None
        code = self._code(slot) if wanted is None else wanted.code
        if code not in ZERO_POINTS:
            return wanted or OperandType(code)
        fixed = find_fixed_quantization(slot, code, self.named)
        asked = (wanted.scale, wanted.zero_point) if wanted and wanted.scale else (self.scale, self.zero_point)
        if asked[0] is None:
            need(
                fixed,
                f"{slot.name} is {type_name(code)} and needs its scale: give scale and zero_point, or out",
                BadDataError,
            )
            asked = fixed or asked
        result = OperandType(code, wanted.dimensions if wanted else (), asked[0] or 0.0, asked[1])
        need(
            fixed is None or OperandType(code, result.dimensions, *fixed) == result,
            f"{slot.name} is given scale {result.scale:g} and zero point {result.zero_point}, "
            f"the operation gives {fixed[0] if fixed else 0:g} and {fixed[1] if fixed else 0}",
            BadDataError,
        )
        return result

    def complete(self, position: int, result: OperandType) -> OperandType:
        known = tuple(0 if dimension == UNKNOWN else dimension for dimension in result.dimensions)
        wanted = self.out[position].dimensions if self.out else ()
        combined = combine(known, wanted)
        name = output_slot(self.operation, position).name
        need(combined is not None, f"{name} has dimensions {list(known)}, not {list(wanted)}", BadDataError)
        return result.with_dimensions(combined or ())

    def _code(self, slot: TensorParameter) -> int:
        accepted = slot.accepts(self.codes)
        names = " or ".join(map(type_name, accepted))
        need(len(accepted) == 1, f"{slot.name} may be {names}: say which as out", BadDataError)
        return next(iter(accepted))


def _of_models(models: Sequence[Model]) -> list[OperandType]:
    rows = [[model.operands[index].type for index in model.outputs] for model in models]
    return [_agree(column) for column in zip(*rows, strict=False)]


def _agree(types: Sequence[OperandType]) -> OperandType:
    first = types[0]
    if len({type.rank for type in types}) > 1:
        return first.with_dimensions(())
    columns = zip(*(type.dimensions for type in types), strict=True)
    return first.with_dimensions([column[0] if len(set(column)) == 1 else 0 for column in columns])
