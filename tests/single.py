"""One operation as a whole model, for tests of operations and drivers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nnapi.codes import CONTROL_FLOW, OperandCode
from nnapi.compiling import compile
from nnapi.model.call import UNKNOWN, normalize
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import Code
from nnapi.runtime.device import Device

Given = tuple[OperandType, Any]
"""An input's type and value; a value of None omits it."""


def scalar(code: OperandCode, value: Any) -> Given:
    """A scalar input: ``scalar(OperandCode.INT32, 2)``."""
    return OperandType(code), np.asarray(value)


def run_single(
    code: Code,
    inputs: Sequence[Given],
    outputs: Sequence[OperandType],
    *,
    constant: bool = False,
    devices: Sequence[Device | str] | None = None,
) -> list[Array]:
    """The outputs of one operation on stored values (codes where quantized).

    Tensors are model inputs, with ``constant`` only the first is; scalars are constants always. The dimensions of the
    outputs must be those that the shape function infers.
    """
    model = single(code, inputs, outputs, constant=constant)
    tensors = [value for type, value in inputs if _is_input(type, value, False)]
    given = tensors[: len(model.inputs)]
    arrays = [
        np.asarray(value, model.operands[index].type.dtype) for index, value in zip(model.inputs, given, strict=True)
    ]
    results = compile(model, devices).run(*arrays)
    if code not in CONTROL_FLOW:
        need_inferred(code, inputs, outputs, [result.shape for result in results])
    return results


def need_inferred(code: Code, inputs: Sequence[Given], outputs: Sequence[OperandType], found: Sequence[Shape]) -> None:
    """Assert that results have the dimensions that are inferred from the inputs; some depend on data."""
    operation = REGISTRY[code]
    types = [None if value is None else type.with_dimensions(np.shape(value)) for type, value in inputs]
    values = [None if value is None else np.asarray(value, type.dtype) for type, value in inputs]
    match = operation.match([type for type, _ in inputs], outputs)
    indices = tuple(range(len(inputs)))
    call = normalize(operation, match, indices, (), tuple(outputs), types.__getitem__, values.__getitem__)
    inferred = [type.dimensions for type in call.stored_results()]
    assert [len(dimensions) for dimensions in inferred] == [len(shape) for shape in found]
    wanted = [
        tuple(n if d == UNKNOWN else d for d, n in zip(dimensions, shape, strict=True))
        for dimensions, shape in zip(inferred, found, strict=True)
    ]
    assert wanted == list(found)


def single(code: Code, inputs: Sequence[Given], outputs: Sequence[OperandType], *, constant: bool = False) -> Model:
    """The finished model of one operation; with ``constant`` every tensor but the first is a constant."""
    model = Model(code.name)
    indices: list[int] = []
    model_inputs: list[int] = []
    for position, (type, value) in enumerate(inputs):
        index = model.add_operand(
            OperandType(type.code, type.dimensions, type.scale, type.zero_point), f"input{position}"
        )
        if type.channel:
            model.set_operand_symm_per_channel_quant_params(index, type.channel.dimension, type.channel.scales)
        if _is_input(type, value, constant and bool(model_inputs)):
            model_inputs.append(index)
        else:
            model.set_operand_value(index, None if value is None else np.ascontiguousarray(value, type.dtype))
        indices.append(index)
    results = [model.add_operand(type, f"output{position}") for position, type in enumerate(outputs)]
    model.add_operation(code, indices, results)
    model.identify_inputs_and_outputs(model_inputs, results)
    model.finish()
    return model


def _is_input(type: OperandType, value: Any, constant: bool) -> bool:
    return not type.is_scalar and value is not None and not constant
