"""Infer result types while a model is being built."""

import math
from collections.abc import Sequence

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, need
from nnapi.model.arguments import Arranged
from nnapi.model.call import UNKNOWN, NotYetKnown, find_fixed_quantization, normalize, number_of_results, output_slot
from nnapi.model.model import Model
from nnapi.model.operand import ZERO_POINTS, OperandType, combine, type_name
from nnapi.model.operation import Operation
from nnapi.model.parameter import AnyParameter, Several, TensorParameter, Unless


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
    inputs, value_of = tuple(range(len(arguments))), [argument.value for argument in arguments].__getitem__

    def type_of(position: int) -> OperandType | None:
        argument = arguments[position]
        if not (argument.is_omitted or argument.type.is_known):
            raise NotYetKnown("a dimension", position)
        return None if argument.is_omitted else argument.type

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
        """Return a legal type for an output, to match the inputs before the outputs' types are known."""
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
        if asked[0] is None and isinstance(slot.quant, Unless):
            proposed = self.named[slot.quant.input]
            asked = proposed.scale, proposed.zero_point
        elif asked[0] is None:
            need(
                fixed,
                f"{slot.name} is {type_name(code)} and needs its scale: give scale and zero_point, or out",
                BadDataError,
            )
            asked = fixed or asked
        result = OperandType(code, wanted.dimensions if wanted else (), asked[0] or 0.0, asked[1])
        if fixed is not None and OperandType(code, result.dimensions, *fixed) != result:
            raise BadDataError(
                f"{slot.name} is given scale {result.scale:g} and zero point {result.zero_point}, "
                f"the operation gives {fixed[0]:g} and {fixed[1]}"
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
