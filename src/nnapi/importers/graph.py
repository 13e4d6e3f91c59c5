"""The graph under construction: values, and the NNAPI operations that compute them.

:meth:`Graph.emit` inserts DEQUANTIZE and QUANTIZE around operations that lack the file's quantization, moves booleans
as bytes, and computes operations on constants.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError, NnapiError, need
from nnapi.importers.refusals import Refused, expressible
from nnapi.importers.symbolic_results import defer_results
from nnapi.model.arguments import TENSOR_OF
from nnapi.model.call import UNKNOWN, Call, NotYetKnown, find_fixed_quantization, normalize, output_slot
from nnapi.model.facts import Trait
from nnapi.model.matching import KnownMatch, Match
from nnapi.model.model import Model
from nnapi.model.operand import ZERO_POINTS, Array, OperandType, Shape, type_name
from nnapi.model.operation import REGISTRY, Operation
from nnapi.operation_codes import Code, CompositeCode
from nnapi.ops.evaluate import evaluate
from nnapi.ops.quantized_values import dequantize
from nnapi.shapes.array import as_integers, fill, in_order, is_symbolic
from nnapi.shapes.size import number_of

FLOAT32, INT32 = OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_INT32
BOOL8, QUANT8 = OperandCode.TENSOR_BOOL8, OperandCode.TENSOR_QUANT8_ASYMM
FLOATS = (FLOAT32, OperandCode.TENSOR_FLOAT16)

MADE_UP = 64 << 20
"""Bytes of constants that an import may create, in addition to a multiple of the file's size."""
MADE_UP_PER_BYTE = 8

SAME_SCALE = 1e-6
"""Scales with a relative difference up to this are the same, because tools round differently."""


@dataclass(eq=False, slots=True)
class Value:
    """An operand. ``array`` is the value of a constant; ``in_file`` tells whether it is a view of the file.

    ``is_dynamic_shape``: the array is a shape with -1 for dynamic dimensions, ``shape_of`` its tensor if unchanged.
    ``row``: for a value of more dimensions than NNAPI allows, one of lower rank with its elements, which is written.
    """

    type: OperandType
    name: str
    array: Array | None = None
    in_file: bool = False
    model: Model | None = None
    omitted: bool = False
    is_dynamic_shape: bool = False
    shape_of: "Value | None" = None
    row: "Value | None" = None
    initial: Array | None = None  # the value of a state at the first run

    @property
    def shape(self) -> Shape:
        return self.type.dimensions

    @property
    def rank(self) -> int:
        return len(self.type.dimensions)

    @property
    def constant(self) -> Array:
        """Return the array of a constant; raise Refused if the operand is computed."""
        if self.array is None:
            raise Refused(f"{self.name} is computed, NNAPI needs a constant")
        return self.array

    @property
    def is_float(self) -> bool:
        return self.type.code in FLOATS

    @property
    def is_quantized(self) -> bool:
        """Return whether the value is quantized; an int32 bias with a scale counts as quantized."""
        return self.type.is_quantized or (self.type.code == INT32 and self.type.scale > 0)

    @property
    def is_known(self) -> bool:
        """Return whether all dimensions are static."""
        dimensions = self.type.dimensions
        if dimensions:
            return 0 not in dimensions or self.omitted or self.array is not None
        return self.omitted or self.model is not None or self.type.is_scalar


@dataclass(eq=False, slots=True)
class Step:
    code: Code
    inputs: list[Value]
    outputs: list[Value]
    known: KnownMatch | None = None


class Allowance:
    """The number of bytes of constants that an import may still create, so that no small file makes a huge model."""

    def __init__(self, file_size: int, made_up: int = MADE_UP) -> None:
        self.left = made_up + MADE_UP_PER_BYTE * file_size

    def grants(self, count: int) -> bool:
        """Take ``count`` bytes from the allowance and return True, or return False if fewer are left."""
        if (number := number_of(count)) > self.left:
            return False
        self.left -= number
        return True


class Graph:
    def __init__(self, allowance: Allowance, high_ranks: bool = False) -> None:
        self.allowance, self.high_ranks = allowance, high_ranks
        self.steps: list[Step] = []
        self.written: set[Value] = set()
        self.undetermined: set[Value] = set()
        """Results whose shapes depend on computed values; their types have the file's shapes."""
        self.pooled: dict[Value, tuple[Value, Shape]] = {}  # a file's indices of maxima: positions, size of windows
        self._scalars: dict[tuple[int, Any], Value] = {}
        self.views: dict[tuple[Any, ...], Value] = {}  # views of a file: one operand each, so engines pack it once
        self._reals: dict[Value, Value] = {}
        self._decoded: dict[Value, Value] = {}

    # Constants

    def scalar(self, code: OperandCode, value: Any) -> Value:
        """Return a scalar operand; equal scalars share one operand."""
        found = self._scalars.get((code, value))
        if found is None:
            type = OperandType(code)
            found = self._scalars[code, value] = Value(type, "", _freeze(np.asarray(value, type.dtype)))
        return found

    def constant(self, array: Array, type: OperandType | None = None, name: str = "") -> Value:
        """Return a constant tensor. By default its type follows from the array's dtype (int32, float, bool)."""
        if type is None:
            type = OperandType(BOOL8 if array.dtype == np.uint8 else TENSOR_OF[array.dtype], array.shape)
        return Value(type, name, _freeze(in_order(array.view(type.dtype).reshape(type.dimensions))))

    def reserve(self, count: int) -> None:
        """Take ``count`` bytes from the allowance; raise Refused if fewer are left."""
        expressible(self.allowance.grants(count), f"it would take {count} bytes of constants that are not in the file")

    def full(self, type: OperandType, value: float = 0, name: str = "") -> Value:
        """Return a constant tensor filled with one stored value; raise Refused if its size is dynamic or too large."""
        expressible(type.is_known, f"{name or 'a constant'} has dynamic dimensions {list(type.dimensions)}")
        self.reserve(type.nbytes)
        return Value(type, name, _freeze(fill(type.dimensions, value, type.dtype)))

    def ints(self, values: Sequence[int] | Sequence[Sequence[int]] | Array) -> Value:
        return self.constant(as_integers(values, np.int32))

    def no_value(self, code: int = FLOAT32) -> Value:
        """Return an omitted optional operand."""
        return Value(OperandType(code, scale=float(code in ZERO_POINTS)), "", omitted=True)

    # Operations

    def emit(self, code: Code, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        """Append an operation that writes ``outputs``; raise Refused with NNAPI's message if it is not valid."""
        if code not in REGISTRY:
            raise Refused(f"NNAPI's {code.name} is not available")
        for value in inputs:
            self.write_whole(value)
        try:
            try:
                self._emit(code, inputs, outputs)
            except BadDataError:
                if not (self._emit_real(code, inputs, outputs) or self._emit_bytes(code, inputs, outputs)):
                    raise
        except NnapiError as error:
            raise Refused(f"NNAPI's {code.name}: {error.message}") from None

    def write_whole(self, value: Value) -> None:
        """Append a RESHAPE from a value's ``row`` to the value, unless an operation writes the value already."""
        if value.row is not None and value not in self.written and value.array is None:
            self.emit(OperationCode.RESHAPE, [value.row, self.ints(value.shape)], [value])

    def _emit(self, code: Code, inputs: Sequence[Value], outputs: Sequence[Value]) -> None:
        """Append an operation, or compute it if all inputs are constants; raise BadDataError if no signature fits."""
        operation, is_dynamic_shape, is_known = REGISTRY[code], False, True
        for value in inputs:
            is_dynamic_shape = is_dynamic_shape or value.is_dynamic_shape
            is_known = is_known and value.is_known
        types, references = [value.type for value in inputs], [value.model for value in inputs]
        declared = [value.type for value in outputs]
        match = operation.match(types, declared, references)
        need(self.high_ranks or not match.beyond, match.beyond, BadDataError)
        settled = _settle(operation, match, types, declared)
        if operation.shape_function and is_known:
            settled = self._compute(operation, match, inputs, outputs, settled)
        for value, type in zip(outputs, settled, strict=True):
            value.type = type
        if is_dynamic_shape:
            expressible(_passes(operation, match, inputs, outputs), "it computes with dimensions that only a run knows")
            for value in outputs:
                value.is_dynamic_shape = value.array is not None
        if any(value.array is None for value in outputs):
            known = KnownMatch(match, code, types, settled, references)
            self.steps.append(Step(code, list(inputs), list(outputs), known))
            self.written.update(outputs)

    def _compute(
        self,
        operation: Operation,
        match: Match,
        inputs: Sequence[Value],
        outputs: Sequence[Value],
        declared: list[OperandType],
    ) -> list[OperandType]:
        """Compute the results' dimensions, and the results themselves where all inputs are constants."""

        def compute(own: Sequence[Value], types: Sequence[OperandType]) -> list[Array]:
            call = normalize_call(operation, match, [value.type for value in own], own, types)
            return _evaluate(call, own, types)

        try:
            call = normalize_call(operation, match, [value.type for value in inputs], inputs, declared)
        except NotYetKnown:
            self.undetermined.update(outputs)
            return declared
        results = [
            type if result is type else _with_dimensions(type, result.dimensions)
            for type, result in zip(declared, call.stored_results(), strict=True)
        ]
        is_constant = all(value.omitted or value.array is not None for value in inputs) and operation.does(Trait.FOLDS)
        if is_constant and self.allowance.grants(sum(type.nbytes for type in results)):
            if deferred := defer_results(inputs, declared, results, compute):
                for value, array in zip(outputs, deferred, strict=True):
                    value.array = array
                return results
            for value, array in zip(outputs, _evaluate(call, inputs, results), strict=True):
                value.array = _freeze(array)
            return [
                _with_dimensions(type, value.array.shape)
                for type, value in zip(results, outputs, strict=True)
                if value.array is not None
            ]
        return results

    def _emit_real(self, code: Code, inputs: Sequence[Value], outputs: Sequence[Value]) -> bool:
        """Emit the operation on dequantized inputs, and quantize its results. Return False if no operand is quantized,
        or if NNAPI lacks the operation on floats too."""
        if not any(value.is_quantized for value in (*inputs, *outputs)):
            return False
        reals = [
            Value(OperandType(FLOAT32, value.shape), f"{value.name}:real") if value.is_quantized else value
            for value in outputs
        ]
        try:
            self._emit(code, [self.real(value) for value in inputs], reals)
        except BadDataError:
            return False
        for real, value in zip(reals, outputs, strict=True):
            if real is not value:
                self.quantize(real, value)
        return True

    def _emit_bytes(self, code: Code, inputs: Sequence[Value], outputs: Sequence[Value]) -> bool:
        """Emit the operation on booleans as bytes. Return False if no result is boolean or it does not take bytes."""
        if not any(value.type.code == BOOL8 for value in outputs):
            return False
        moved = [Value(_byte_type(value.shape), f"{value.name}:bytes") for value in outputs]
        try:
            self._emit(code, [self.bytes(value) if value.type.code == BOOL8 else value for value in inputs], moved)
        except BadDataError:
            return False
        for source, target in zip(moved, outputs, strict=True):
            self._emit(CompositeCode.CONVERT, [source], [target])
        return True

    # Conversions

    def real(self, value: Value) -> Value:
        """Return a quantized value dequantized to TENSOR_FLOAT32; other values unchanged."""
        if not value.is_quantized:
            return value
        if value not in self._reals:
            real = Value(OperandType(FLOAT32, value.shape), f"{value.name}:real")
            if value.array is not None:
                self.reserve(real.type.nbytes)
                real.array = _freeze(real_numbers(value.type, value.array))
            else:
                self._emit(OperationCode.DEQUANTIZE, [value], [real])
            self._reals[value] = real
        return self._reals[value]

    def real_at_run(self, value: Value) -> Value:
        """Append a DEQUANTIZE of a constant, so that the model stores the quantized values; return the float value."""
        if value not in self._decoded:
            real = self._decoded[value] = Value(OperandType(FLOAT32, value.shape), f"{value.name}:real")
            self.steps.append(Step(OperationCode.DEQUANTIZE, [value], [real]))
            self.written.add(real)
        return self._decoded[value]

    def widen(self, value: Value, target: Value) -> bool:
        """Convert constant ``value`` to float32, as the array of ``target``; return whether that was possible."""
        if value.array is None or target.type.code != FLOAT32 or target.shape != value.shape:
            return False
        if granted := self.allowance.grants(target.type.nbytes):
            target.array = _freeze(value.array.astype(np.float32))
        return granted

    def quantize(self, real: Value, target: Value) -> None:
        expressible(
            target.type.code in (QUANT8, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED),
            f"NNAPI quantizes to 8 bits, {target.name or 'the result'} is {type_name(target.type.code)}",
        )
        self.emit(self.choose_quantize(real, target.type), [real], [target])

    def choose_quantize(self, real: Value, target: OperandType) -> Code:
        """Return the operation that quantizes a float as the file's format does."""
        return OperationCode.QUANTIZE

    def bytes(self, value: Value) -> Value:
        """Return a TENSOR_BOOL8 as bytes 0 and 1."""
        type = _byte_type(value.shape)
        if value.array is not None:
            return Value(type, value.name, _freeze(np.not_equal(value.array, 0).astype(np.uint8)))
        result = Value(type, f"{value.name}:bytes")
        self._emit(CompositeCode.CONVERT, [value], [result])
        return result


def _evaluate(call: Call, inputs: Sequence[Value], types: Sequence[OperandType]) -> list[Array]:
    """Compute an operation on constants."""
    known = {i: value.array for i, value in enumerate(inputs) if value.array is not None}
    found = zip(types, evaluate(call, known), strict=True)
    return [array.astype(type.dtype, copy=False) for type, array in found]


def normalize_call(
    operation: Operation,
    match: Match,
    types: Sequence[OperandType],
    inputs: Sequence[Value],
    declared: Sequence[OperandType],
) -> Call:
    """Return the normalized call for input ``types``; raise NotYetKnown like :func:`normalize`."""
    count = len(inputs)
    positions = tuple(range(count)), tuple(range(count, count + len(declared)))
    given = [None if value.omitted else type for value, type in zip(inputs, types, strict=True)]
    known = given.__getitem__, [value.array for value in inputs].__getitem__
    return normalize(operation, match, *positions, tuple(declared), *known, empty_tensors=True)


def _passes(operation: Operation, match: Match, inputs: Sequence[Value], outputs: Sequence[Value]) -> bool:
    """Return whether an operation accepts a shape with dynamic dimensions: it only moves the shape's values, or it is a
    RESHAPE to this shape, which may infer one dimension."""
    moved = match.inputs.get(output_slot(operation, 0).like or "", ())
    if all(i in moved for i, value in enumerate(inputs) if value.is_dynamic_shape):
        return operation.does(Trait.MOVES | Trait.RESTATES) and all(value.array is not None for value in outputs)
    is_shape = operation.code == OperationCode.RESHAPE and not inputs[0].is_dynamic_shape
    return is_shape and int((inputs[1].constant < 0).sum()) < 2


def _settle(
    operation: Operation, match: Match, inputs: Sequence[OperandType], outputs: Sequence[OperandType]
) -> list[OperandType]:
    """Return the output types with the quantization that the operation fixes; raise BadDataError if theirs differs."""
    settled = []
    for position, type in enumerate(outputs):
        if type.code in ZERO_POINTS:
            named = {name: inputs[rows[0]] for name, rows in match.inputs.items() if rows}
            fixed = find_fixed_quantization(output_slot(operation, position), type.code, named)
            type = _same_quantization(type, *fixed) if fixed else type
        settled.append(type)
    return settled


def _with_dimensions(type: OperandType, dimensions: Shape) -> OperandType:
    return type if UNKNOWN in dimensions or type.is_scalar else type.with_dimensions(dimensions)


def _same_quantization(type: OperandType, scale: float, zero_point: int) -> OperandType:
    if type.zero_point != zero_point or abs(type.scale - scale) > SAME_SCALE * scale:
        raise BadDataError(
            f"gives scale {scale:.9g} and zero point {zero_point}, "
            f"the file wants {type.scale:.9g} and {type.zero_point}"
        )
    return type if type.scale == scale else type.replace(scale=scale)


def _byte_type(shape: Shape) -> OperandType:
    return OperandType(QUANT8, shape, 1.0, 0)


def real_numbers(type: OperandType, value: Array) -> Array:
    return value.astype(np.float32) * np.float32(type.scale) if type.code == INT32 else dequantize(type, value)


def _freeze(array: Array) -> Array:
    if not is_symbolic(array):
        array.flags.writeable = False
    return array
