"""Replace an operation that an engine lacks by simpler NNAPI operations.

Results equal the reference driver's: exactly for integers, quantized values and booleans, else within the rounding of
float32. The rules are in ``decompositions/``, one file per family of operations.
"""

from collections.abc import Mapping
from typing import Any

from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.lowering.decomposition_builder import RULES, Decomposition
from nnapi.model.builder import Tensor
from nnapi.model.call import Call
from nnapi.model.described_operand import describe
from nnapi.model.model import Model, OperationCall
from nnapi.model.operand import Array, OperandType

FLOAT16S = {OperandCode.TENSOR_FLOAT16: OperandCode.TENSOR_FLOAT32, OperandCode.FLOAT16: OperandCode.FLOAT32}
Types = Mapping[int, OperandType | None]


def decompose_call(
    model: Model, call: OperationCall, normal: Call, types: Types, values: Mapping[int, Array]
) -> Decomposition | None:
    """Return the decomposition of a call into simpler calls, which may be decomposed in turn; None without a rule.

    ``normal`` is the call in normal form. ``types`` and ``values`` hold the model's known types and constants.
    """
    decomposition = Decomposition(normal, types, values)
    given = [type for index in call.inputs if (type := types[index]) is not None]
    first = types[call.inputs[0]]
    kind = normal.operation.kernel_for(-1 if first is None else first.code).kind if normal.operation.kernels else ""
    is_quantized = call.code != Op.DEQUANTIZE and any(type.is_quantized for type in given)
    is_half = any(type.code in FLOAT16S for type in given)
    if (kind in ("real", "pointwise") and (is_quantized or is_half)) or (kind == "linear" and is_half):
        made: Any = _repeat_in_float(decomposition, model, call, types)
    elif rule := RULES.find(call.code):
        made = rule(decomposition, **decomposition.arguments())
    else:
        return None
    decomposition.complete(made)
    return decomposition


def _repeat_in_float(decomposition: Decomposition, model: Model, call: OperationCall, types: Types) -> list[Tensor]:
    """Repeat the operation in float32, as the reference's kernel does: convert inputs to float32 and results back."""
    inputs = [_as_float(decomposition, model, index, types[index]) for index in call.inputs]
    stored = decomposition.call.stored_results()
    outputs = [describe(decomposition.model, _float_type(type)) for type in stored]
    decomposition.model.add_operation(call.code, inputs, outputs)
    made = []
    for index, type in zip(outputs, stored, strict=True):
        tensor = decomposition._tensor(index)
        if type.is_quantized:
            tensor = decomposition.quantize(tensor, out=type)
        elif type.code in FLOAT16S:
            tensor = decomposition.cast(tensor, out=type)
        made.append(tensor)
    decomposition.is_stored = True
    return made


def _float_type(type: OperandType) -> OperandType:
    if type.is_quantized:
        return OperandType(OperandCode.TENSOR_FLOAT32, type.dimensions)
    return OperandType(FLOAT16S.get(OperandCode(type.code), type.code), type.dimensions)


def _as_float(decomposition: Decomposition, model: Model, index: int, type: OperandType | None) -> int:
    """Return the index of an input in the decomposition, as float32 if it is quantized or float16."""
    tensor = decomposition.read(index)
    if tensor is None or type is None:
        return describe(decomposition.model, _float_type(model.operands[index].type), omitted=True)
    if type.is_quantized:
        return int(decomposition.dequantize(tensor, out=_float_type(type)).index)
    if type.code == OperandCode.FLOAT16:
        return decomposition.constant(model.operands[index].value.item(), _float_type(type)).index
    if type.code == OperandCode.TENSOR_FLOAT16:
        return int(decomposition.cast(tensor, out=_float_type(type)).index)
    return tensor.index
