"""The normalized call of an operation: named arguments, explicit padding, pairs, images as NHWC."""

from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass
from operator import is_
from typing import Any, NamedTuple, TypeVar

from nnapi.codes import FuseCode, OperandCode
from nnapi.errors import OpFailedError, need
from nnapi.model.operand import MAX_BYTES, Array, OperandType, Shape, combine
from nnapi.model.operation import Arguments, Match, Operation, Overload
from nnapi.model.parameter import (
    ActivationParameter,
    LayoutParameter,
    ScalarParameter,
    Several,
    Slot,
    TensorParameter,
    ValuesParameter,
    nchw_to_nhwc,
    nhwc_to_nchw,
)

UNKNOWN = -1
"""A dimension that depends on the data; 0 is a dimension without elements."""
TypeOf = Callable[[int], OperandType | None]
ValueOf = Callable[[int], Any]
"""Returns the array of an operand by index; None if it is unknown."""
T = TypeVar("T")
FUSE_CODES = {int(code): code for code in FuseCode}
HIGHEST_RANK = 8


class NotYetKnown(Exception):
    """A call depends on a scalar or shape that only a run knows; ``operand`` is its index."""

    def __init__(self, name: str, operand: int) -> None:
        super().__init__(f"{name} (operand {operand}) is not known before the model runs")
        self.operand = operand


@dataclass(slots=True)
class Call:
    """An operation's normalized arguments and result types; immutable.

    ``operands`` names the operand behind each tensor argument (several for lists). ``results`` have UNKNOWN dimensions
    where they depend on the data; ``declared`` are the types of the output operands. Image tensors are described as
    NHWC even when the stored arrays are NCHW (``nchw``).
    """

    operation: Operation
    arguments: Arguments
    operands: dict[str, tuple[int, ...]]
    outputs: tuple[int, ...]
    results: tuple[OperandType, ...]
    activation: FuseCode = FuseCode.FUSED_NONE
    nchw: bool = False
    declared: tuple[OperandType, ...] = ()

    def bind(
        self, value_of: Callable[[int], T | None], to_nhwc: Callable[[T], T], as_types: Container[str] = ()
    ) -> Arguments:
        """Return the arguments with the values of tensors instead of their types, except ``as_types``.

        ``to_nhwc`` transposes images of rank 4 that are stored as NCHW.
        """
        images = self.images
        arguments = dict(self.arguments)
        for name, indices in self.operands.items():
            argument = arguments.get(name)
            if name in as_types:
                continue
            if isinstance(argument, OperandType) and not argument.is_scalar:
                value = value_of(indices[0])
                is_stored_as_nchw = name in images and argument.rank == 4
                arguments[name] = value if value is None or not is_stored_as_nchw else to_nhwc(value)
            elif isinstance(argument, list) and argument and isinstance(argument[0], OperandType):
                arguments[name] = [value_of(index) for index in indices]
        return arguments

    @property
    def images(self) -> frozenset[str]:
        """Return the names of the images that are stored as NCHW."""
        return self.operation.images if self.nchw else frozenset()

    def stored_results(self) -> tuple[OperandType, ...]:
        """Return the result types as stored: NCHW where the call has that layout."""
        if not self.nchw:
            return self.results
        images, slots = self.images, self.operation.outputs
        return tuple(
            type.with_dimensions(nhwc_to_nchw(type.dimensions)) if slot.name in images else type
            for slot, type in zip(slots, self.results, strict=False)
        )

    def requantized_results(self) -> tuple[OperandType, ...]:
        """Return the result types with the output operands' quantization, which may differ from the operation's."""
        types = self.stored_results()
        if not self.declared or all(map(is_, types, self.declared)):
            return types
        return tuple(map(self._keep, range(len(types)), types, self.declared))

    def _keep(self, position: int, type: OperandType, declared: OperandType) -> OperandType:
        passes_through = type.is_quantized and isinstance(output_slot(self.operation, position).quant, str)
        return type.replace(scale=declared.scale, zero_point=declared.zero_point) if passes_through else type


def normalize(
    operation: Operation,
    match: Match,
    inputs: tuple[int, ...],
    outputs: tuple[int, ...],
    declared: tuple[OperandType, ...],
    type_of: TypeOf,
    value_of: ValueOf,
    *,
    empty_tensors: bool = False,
) -> Call:
    """Return the normalized call for concrete types (None for an omitted operand).

    ``value_of`` returns the arrays of constants. ``empty_tensors`` permits inputs without elements. Raises NotYetKnown
    if a required value is unknown. Raises OpFailedError, or the operation's ``failure`` if it has one, for illegal
    values.
    """
    arguments, operands, activation, nchw = _normal_arguments(
        operation, match, inputs, type_of, value_of, empty_tensors or operation.zero_sized
    )
    results = _results(operation, arguments, declared)
    if activation and results and results[0].code == OperandCode.TENSOR_INT32:
        raise OpFailedError(f"activation {activation.name} cannot be fused into a result of type TENSOR_INT32")
    return Call(operation, arguments, operands, outputs, results, activation, nchw, declared)


def number_of_results(
    operation: Operation, match: Match, inputs: tuple[int, ...], type_of: TypeOf, value_of: ValueOf
) -> int:
    """Return the number of results, including optional ones; raises like :func:`normalize`."""
    arguments, *_ = _normal_arguments(operation, match, inputs, type_of, value_of, operation.zero_sized)
    return len(_shapes(operation, arguments))


def _normal_arguments(
    operation: Operation, match: Match, inputs: tuple[int, ...], type_of: TypeOf, value_of: ValueOf, zero_sized: bool
) -> tuple[Arguments, dict[str, tuple[int, ...]], FuseCode, bool]:
    """Return normalized arguments, the operand indices behind each, the activation, and whether images are NCHW."""
    arguments: Arguments = {}
    operands: dict[str, tuple[int, ...]] = {}
    for name, slot, positions, reading, detail in _plan_steps(match, len(inputs)):
        if reading == ABSENT:
            arguments[name] = detail
            continue
        if reading == LISTED:
            operands[name] = indices = inputs[positions[0] : positions[1]]
            arguments[name] = [_tensor(operation, slot, index, type_of, value_of, zero_sized) for index in indices]
            continue
        index = inputs[positions[0]]
        operands[name] = (index,)
        if reading == TENSOR:
            type = type_of(index)
            if type is not None and 0 not in type.dimensions and (detail is None or len(type.dimensions) in detail):
                arguments[name] = type
                continue
        elif reading == SCALAR:
            array = value_of(index)
            if array is not None:
                value = array.item()
                if detail is None or detail(value) is None:
                    arguments[name] = value
                    continue
        arguments[name] = _READERS[slot.__class__](operation, slot, index, type_of, value_of, zero_sized)
    if nchw := bool(arguments.get("layout", False)):
        _describe_as_nhwc(match, arguments)
    if match.overload.normal:
        arguments = match.overload.normal(arguments)
    arguments.pop("layout", None)
    activation = _fuse_code(arguments.pop("activation", 0)) if match.overload.fuses else FuseCode.FUSED_NONE
    return arguments, operands, activation, nchw


ABSENT, LISTED, TENSOR, SCALAR, OTHER = range(5)

Step = tuple[str, Any, tuple[int, ...], int, Any]
"""How an argument is read: name, parameter, operand positions, kind, and default, legal ranks or check."""


class _Reading(NamedTuple):
    overload: Overload
    steps: list[Step]


_readings: dict[tuple[int, int], _Reading] = {}


def _plan_steps(match: Match, count: int) -> list[Step]:
    overload = match.overload
    if (found := _readings.get((id(overload), count))) is None:
        found = _Reading(overload, [_step(slot, match.inputs.get(slot.name, ())) for slot in overload.inputs])
        _readings[id(overload), count] = found  # the value keeps the overload alive, so that no other has its id
    return found.steps


def _step(slot: Slot, positions: tuple[int, ...]) -> Step:
    if isinstance(slot, Several):
        return slot.name, slot.parameter, (positions[0], positions[-1] + 1) if positions else (0, 0), LISTED, None
    if not positions:
        return slot.name, slot, positions, ABSENT, slot.default
    if isinstance(slot, TensorParameter) and not isinstance(slot, ValuesParameter):
        return slot.name, slot, positions, TENSOR, _late_ranks(slot)
    if isinstance(slot, ScalarParameter) and OperandCode.BOOL not in slot.types and slot.like is None:
        return slot.name, slot, positions, SCALAR, slot.check
    return slot.name, slot, positions, OTHER, None


def _late_ranks(slot: TensorParameter) -> Sequence[int] | None:
    if not slot.late_rank or slot.rank is None:
        return None
    return [rank for rank in range(HIGHEST_RANK + 1) if slot.rank_level(rank) is not None]


def _tensor(
    operation: Operation, slot: TensorParameter, index: int, type_of: TypeOf, value_of: ValueOf, zero_sized: bool
) -> OperandType | None:
    type = type_of(index)
    if type is None:
        if not slot.optional:
            raise (operation.failure or OpFailedError)(f"{slot.name} is omitted, but needed")
        return None
    if 0 in type.dimensions and not zero_sized:
        raise (operation.failure or OpFailedError)(f"{slot.name} has no elements: {type}")
    if slot.late_rank and slot.rank is not None and slot.rank_level(len(type.dimensions)) is None:
        raise OpFailedError(f"{slot.name} has rank {type.rank}, must have rank {slot.describe_ranks()}")
    return type


def _values(
    operation: Operation, slot: ValuesParameter, index: int, type_of: TypeOf, value_of: ValueOf, zero_sized: bool
) -> Array | None:
    if _tensor(operation, slot, index, type_of, value_of, zero_sized) is None:
        return None
    value: Array | None = value_of(index)
    if value is None:
        raise NotYetKnown(slot.name, index)
    return value


def _scalar(
    operation: Operation, slot: ScalarParameter, index: int, type_of: TypeOf, value_of: ValueOf, zero_sized: bool
) -> Any:
    type = type_of(index)
    if type is None:
        need(slot.optional, f"{slot.name} is omitted, but needed", operation.failure or OpFailedError)
        return None
    array = value_of(index)
    if array is None:
        raise NotYetKnown(slot.name, index)
    value = array.item()
    if type.code == OperandCode.BOOL:
        value = bool(value)
    if slot.check is not None:
        violation = slot.check(value)
        if violation is not None:
            raise OpFailedError(f"{slot.name} is {value}, {violation}")
    return value


_READERS: dict[type[Slot], Callable[..., Any]] = {
    TensorParameter: _tensor,
    ValuesParameter: _values,
    ScalarParameter: _scalar,
    ActivationParameter: _scalar,
    LayoutParameter: _scalar,
}


def _describe_as_nhwc(match: Match, arguments: Arguments) -> None:
    for slot in match.overload.inputs:
        type = arguments.get(slot.name)
        if isinstance(slot, TensorParameter) and slot.image and isinstance(type, OperandType):
            arguments[slot.name] = type.with_dimensions(nchw_to_nhwc(type.dimensions))


def _fuse_code(value: int) -> FuseCode:
    code = FUSE_CODES.get(value)
    if code is None:
        raise OpFailedError(f"activation is {value}, must be a FuseCode 0..3")
    return code


def _shapes(operation: Operation, arguments: Arguments) -> list[tuple[int | None, ...]]:
    assert operation.shape_function is not None, operation
    shapes = operation.shape_function(**arguments)
    return shapes if isinstance(shapes, list) else [shapes]


def _results(operation: Operation, arguments: Arguments, declared: tuple[OperandType, ...]) -> tuple[OperandType, ...]:
    shapes = _shapes(operation, arguments)
    if len(shapes) == len(declared) == 1:
        return (_result(output_slot(operation, 0), arguments, shapes[0], declared[0]),)
    legal = (len(shapes) - operation.optional_outputs, len(shapes))
    if len(declared) not in legal:
        message = f"gives {len(shapes)} outputs, {len(declared)} are listed: "
        message += _miscount(operation, arguments, legal, len(declared))
        raise (operation.failure or OpFailedError)(message)
    return tuple(
        _result(output_slot(operation, position), arguments, shape, type)
        for position, (shape, type) in enumerate(zip(shapes, declared, strict=False))
    )


def _miscount(operation: Operation, arguments: Arguments, legal: tuple[int, int], count: int) -> str:
    if count > legal[1]:
        return f"{_output_name(operation, arguments, legal[1] - 1)} is the last, {count - legal[1]} too many"
    end = next(number for number in legal if number > count)
    missing = [_output_name(operation, arguments, position) for position in range(count, end)]
    return f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} missing"


def _output_name(operation: Operation, arguments: Arguments, position: int) -> str:
    if isinstance(operation.outputs[-1], Several):
        return f"{output_slot(operation, position).name} {position}"
    return output_slot(operation, position + bool(position and arguments.get("merge_outputs"))).name


def output_slot(operation: Operation, position: int) -> TensorParameter:
    """Return the parameter of an output. If the last parameter is a list, all further outputs belong to it."""
    slot = operation.outputs[position if position < len(operation.outputs) else -1]
    parameter = slot.parameter if isinstance(slot, Several) else slot
    assert isinstance(parameter, TensorParameter | ScalarParameter), parameter
    return parameter  # type: ignore[return-value]  # RANK's scalar has no quantization either


def _result(
    slot: TensorParameter, arguments: Arguments, shape: tuple[int | None, ...], declared: OperandType
) -> OperandType:
    free = declared.scale, declared.zero_point
    scale, zero_point = find_fixed_quantization(slot, declared.code, arguments) or free
    if shape == declared.dimensions and scale == declared.scale and zero_point == declared.zero_point:
        return declared
    dimensions = tuple([UNKNOWN if dimension is None else dimension for dimension in shape])
    return OperandType(declared.code, dimensions, scale, zero_point, declared.channel)


def find_fixed_quantization(slot: TensorParameter, code: int, arguments: Arguments) -> tuple[float, int] | None:
    """Return the (scale, zero point) that an operation requires of an output; None if any is legal."""
    quant = getattr(slot, "quant", None)
    if isinstance(quant, str):
        leader = arguments[quant][0] if isinstance(arguments[quant], list) else arguments[quant]
        return leader.scale, leader.zero_point
    return quant.get(code) if isinstance(quant, Mapping) else None


def check_declared(result: OperandType, declared: OperandType, *, is_model_output: bool, lax: bool = False) -> None:
    """Raise OpFailedError if a result contradicts its declared dimensions or, unless ``lax``, quantization."""
    if result is declared:
        return
    known: Shape = tuple(0 if dimension == UNKNOWN else dimension for dimension in result.dimensions)
    nbytes = result.with_dimensions(known).nbytes
    if nbytes > MAX_BYTES:
        raise OpFailedError(f"gives {result}, which takes {nbytes} bytes, more than {MAX_BYTES}")
    agrees = combine(known, declared.dimensions) is not None and not (
        0 in result.dimensions
        and len(declared.dimensions) == len(known)
        and any(dimension == 0 and want for dimension, want in zip(result.dimensions, declared.dimensions, strict=True))
    )
    if not agrees:
        raise OpFailedError(f"gives {result}, but the model declares {declared}")
    if not lax and (result.scale, result.zero_point) != (declared.scale, declared.zero_point):
        role = "model output" if is_model_output else "tensor between operations"
        raise OpFailedError(
            f"gives scale {result.scale:.9g} and zero point {result.zero_point}, but the {role} is declared with "
            f"{declared.scale:.9g} and {declared.zero_point}"
        )
