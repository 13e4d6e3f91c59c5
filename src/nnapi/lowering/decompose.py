"""Canonical decompositions: an operation that an engine lacks, as simpler operations of NNAPI.

Results are those of the reference: to the bit where they are integers, quantized values and booleans, else within the
rounding of float32. :func:`decompose` replaces calls of a model; the rules are in ``decompositions/``, one file per
family of operations.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, NamedTuple

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import NnapiError
from nnapi.lowering import decompositions  # noqa: F401  (registers the rules)
from nnapi.lowering.lower import KnownTypes, Unsupported, normalize_call
from nnapi.lowering.sketch import RULES, Sketch
from nnapi.model.builder import Tensor
from nnapi.model.call import UNKNOWN, Call, NotYetKnown
from nnapi.model.model import Lifetime, Model, Operand, OperationCall
from nnapi.model.nesting import list_nested, list_references
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import REGISTRY

FLOAT16S = {OperandCode.TENSOR_FLOAT16: OperandCode.TENSOR_FLOAT32, OperandCode.FLOAT16: OperandCode.FLOAT32}
NO_MODELS: Mapping[Model, Model] = {}
DEEPEST = 8
"""Decompositions within each other."""

Lacks = Callable[[Model], Collection[int] | None]
"""Returns the numbers of the calls of a model that the engine lacks; None where it refuses others."""


class Decomposed(NamedTuple):
    """A model with some calls replaced; ``origins`` has, for each of its calls, the number of the original call."""

    model: Model
    origins: tuple[int, ...]


class Part(NamedTuple):
    """The replacement of a call: its outputs are the call's, ``origins`` maps its operands to those of the model."""

    model: Model
    origins: Mapping[int, int]


def decompose(model: Model, shapes: Sequence[Shape | None], wanted: Collection[int], lacks: Lacks) -> Decomposed:
    """Replace the calls with the ``wanted`` numbers by decompositions that the engine has, where there are such.

    ``shapes`` are those of the inputs, None for one that is omitted. In nested models, all calls that the engine lacks
    are replaced, for the declared shapes of their inputs.
    """
    replaced: dict[Model, Model] = {}
    for nested in list_nested(model)[:-1]:
        declared = [nested.operands[index].type.dimensions for index in nested.inputs]
        replaced[nested] = _decompose_one(nested, declared, lacks(nested) or (), lacks, replaced).model
    return _decompose_one(model, shapes, wanted, lacks, replaced)


def _decompose_one(
    model: Model,
    shapes: Sequence[Shape | None],
    wanted: Collection[int],
    lacks: Lacks,
    replaced: Mapping[Model, Model],
) -> Decomposed:
    types, values = _known(model, shapes)
    parts: dict[int, Part] = {}
    for call in model.operations:
        normal = _normalize(model, call, types, values)
        if call.number in wanted and normal is not None:
            part = _decompose_call(model, call, normal, types, values, lacks, DEEPEST)
            if part is not None:
                parts[call.number] = part
    return _splice(model, parts, replaced)


def _known(model: Model, shapes: Sequence[Shape | None]) -> tuple[KnownTypes, dict[int, Array]]:
    """The types and values of operands that no call computes, as far as they are known."""
    types, values = KnownTypes(model), {}
    for operand in model.operands:
        if operand.lifetime is Lifetime.CONSTANT:
            types[operand.index], values[operand.index] = operand.type, operand.value
        elif operand.lifetime is Lifetime.NO_VALUE:
            types[operand.index] = None
    for index, shape in zip(model.inputs, shapes, strict=True):
        type = model.operands[index].type
        types[index] = None if shape is None else type.with_dimensions(shape) if shape else type
    return types, values


def _normalize(model: Model, call: OperationCall, types: KnownTypes, values: Mapping[int, Array]) -> Call | None:
    """The call in normal form, with the types of its results noted; None where too little is known."""
    try:
        is_nested = call.match is None or REGISTRY[call.code].shape_function is None  # as IF and WHILE
        normal = None if is_nested else normalize_call(model, call, types, values.get)
    except (NnapiError, NotYetKnown, Unsupported):
        normal = None
    kept = [model.operands[index].type for index in call.outputs] if normal is None else normal.kept_results()
    for index, type in zip(call.outputs, kept, strict=True):
        if type.is_known and UNKNOWN not in type.dimensions:
            types[index] = type
    return normal


def _decompose_call(
    model: Model,
    call: OperationCall,
    normal: Call,
    types: KnownTypes,
    values: Mapping[int, Array],
    lacks: Lacks,
    depth: int,
) -> Part | None:
    """A call as calls that the engine has; None where that cannot be."""
    try:
        sketch = sketch_call(model, call, normal, types, values)
        part = None if sketch is None else Part(sketch.model, sketch.origins)
        lacking = None if part is None else lacks(part.model)
    except (NnapiError, NotYetKnown, Unsupported):
        return None
    if part is None or lacking is None or (lacking and not depth):
        return None
    inner_types, inner_values = _known(part.model, [part.model.operands[i].type.dimensions for i in part.model.inputs])
    parts: dict[int, Part] = {}
    for inner in part.model.operations:
        inner_normal = _normalize(part.model, inner, inner_types, inner_values)
        if inner.number not in lacking:
            continue
        found = None
        if inner_normal is not None:
            found = _decompose_call(part.model, inner, inner_normal, inner_types, inner_values, lacks, depth - 1)
        if found is None:
            return None
        parts[inner.number] = found
    return Part(_splice(part.model, parts).model, part.origins) if parts else part


def sketch_call(
    model: Model, call: OperationCall, normal: Call, types: KnownTypes, values: Mapping[int, Array]
) -> Sketch | None:
    """Return the finished decomposition of a call, one step of it; None where there is none."""
    sketch = Sketch(normal, types, values)
    codes = {types[index].code for index in call.inputs if types[index] is not None}  # type: ignore[union-attr]
    kind = normal.operation.kernel_for(_first_code(call, types)).kind if normal.operation.kernels else ""
    is_quantized = any(type is not None and type.is_quantized for type in map(types.__getitem__, call.inputs))
    if is_quantized and kind in ("real", "pointwise") and call.code != OperationCode.DEQUANTIZE:
        made: Any = _repeat_in_float(sketch, model, call, types)
    elif codes & FLOAT16S.keys() and kind in ("real", "pointwise", "linear"):
        made = _repeat_in_float(sketch, model, call, types)
    elif call.code in RULES:
        made = RULES[call.code](sketch, **sketch.arguments())
    else:
        return None
    sketch.complete(made)
    return sketch


def _first_code(call: OperationCall, types: KnownTypes) -> int:
    found = types[call.inputs[0]]
    return -1 if found is None else found.code


def _repeat_in_float(sketch: Sketch, model: Model, call: OperationCall, types: KnownTypes) -> list[Tensor]:
    """The same operation on float32, which the reference's kernel computes in: converted before and after."""
    inputs = [_as_float(sketch, model, index, types[index]) for index in call.inputs]
    stored = sketch.call.stored_results()
    outputs = [sketch._operand(_float_type(type), "") for type in stored]
    sketch.model.add_operation(call.code, inputs, outputs)
    made = []
    for index, type in zip(outputs, stored, strict=True):
        tensor = sketch._tensor(index)
        if type.is_quantized:
            tensor = sketch.quantize(tensor, out=type)
        elif type.code in FLOAT16S:
            tensor = sketch.cast(tensor, out=type)
        made.append(tensor)
    sketch.is_stored = True
    return made


def _float_type(type: OperandType) -> OperandType:
    if type.is_quantized:
        return OperandType(OperandCode.TENSOR_FLOAT32, type.dimensions)
    return OperandType(FLOAT16S.get(OperandCode(type.code), type.code), type.dimensions)


def _as_float(sketch: Sketch, model: Model, index: int, type: OperandType | None) -> int:
    """An input of the call, as float32 where it is quantized or float16."""
    tensor = sketch.take(index)
    if tensor is None or type is None:
        omitted = sketch._operand(_float_type(model.operands[index].type), "")
        sketch.model.set_operand_value(omitted, None)
        return omitted
    if type.is_quantized:
        return int(sketch.dequantize(tensor, out=_float_type(type)).index)
    if type.code == OperandCode.FLOAT16:
        return sketch.constant(model.operands[index].value.item(), _float_type(type)).index
    if type.code == OperandCode.TENSOR_FLOAT16:
        return int(sketch.cast(tensor, out=_float_type(type)).index)
    return tensor.index


# Replacing calls by decompositions


def _splice(model: Model, parts: Mapping[int, Part], replaced: Mapping[Model, Model] = NO_MODELS) -> Decomposed:
    """The model with some calls and the models that it refers to replaced: operands keep their indices, new ones
    follow."""
    if not parts and all(replaced.get(each, each) is each for each in list_references(model)):
        return Decomposed(model, tuple(range(len(model.operations))))
    whole = Model(model.name)
    for operand in model.operands:
        copy_operand(operand, whole, replaced)
    origins: list[int] = []
    for call in model.operations:
        part = parts.get(call.number)
        if part is None:
            whole.add_operation(call.code, call.inputs, call.outputs)
            origins.append(call.number)
            continue
        places = dict(part.origins) | dict(zip(part.model.outputs, call.outputs, strict=True))
        for inner in part.model.operations:
            for index in (*inner.inputs, *inner.outputs):
                if index not in places:
                    places[index] = copy_operand(part.model.operands[index], whole)
            whole.add_operation(inner.code, [places[i] for i in inner.inputs], [places[i] for i in inner.outputs])
            origins.append(call.number)
    whole.assign_roles(model.inputs, model.outputs)
    whole.relax_computation_float32_to_float16(model.relaxed)
    whole.permit_dynamic_range(model.dynamic_range)
    whole.freeze()
    return Decomposed(whole, tuple(origins))


def copy_operand(operand: Operand, to: Model, replaced: Mapping[Model, Model] = NO_MODELS) -> int:
    """Add an operand like that of another model and return its index; a constant's value is shared."""
    type = operand.type
    index = to.add_operand(OperandType(type.code, type.dimensions, type.scale, type.zero_point), operand.name)
    if type.data:
        to.set_operand_extension_data(index, type.data)
    if type.channel:
        to.set_operand_symm_per_channel_quant_params(index, type.channel.dimension, type.channel.scales)
    if operand.lifetime is Lifetime.CONSTANT:
        to.set_operand_value(index, operand.value)
    elif operand.lifetime is Lifetime.NO_VALUE:
        to.set_operand_value(index, None)
    elif operand.lifetime is Lifetime.SUBGRAPH:
        to.set_operand_value_from_model(index, replaced.get(operand.value, operand.value))
    return index
