"""Edits of one operation: each is a model that is valid and that devices can be asked about."""

from __future__ import annotations

import numpy as np

import nnapi
from nnapi.cli.suggested_edits import list_edits
from nnapi.model.model import Lifetime, Model
from nnapi.testing.divergence import each_alone


def edits_of(model: Model, *inputs: np.ndarray) -> dict[str, Model]:
    ((_, part),) = each_alone(model, inputs)
    return dict(list_edits(part))


def softmax() -> Model:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("quant8_asymm", (1, 4), scale=0.5, zero_point=128), name="x")
    builder.output(builder.softmax(x, 1.0, name="y"))
    return builder.finish()


def test_types_are_replaced() -> None:
    edited = edits_of(softmax(), np.zeros((1, 4), np.uint8))
    assert edited["quantize it as signed 8-bit"].operands[0].type.name == "TENSOR_QUANT8_ASYMM_SIGNED"
    assert edited["keep it in float32"].operands[0].type.name == "TENSOR_FLOAT32"
    names = [call.name for call in edited["write it as DEQUANTIZE, SOFTMAX, QUANTIZE"].operations]
    assert names == ["DEQUANTIZE", "SOFTMAX", "QUANTIZE"]


def test_computed_weights_become_constants() -> None:
    builder = nnapi.Builder()
    x, weights = (builder.input(nnapi.tensor("float32", (3, 4)), name=name) for name in "xw")
    bias = builder.constant(np.zeros(3, np.float32))
    builder.output(builder.fully_connected(x, weights, bias, name="y"))
    edited = edits_of(builder.finish(), np.ones((3, 4), np.float32), np.full((3, 4), 2, np.float32))
    constant = edited["make its other inputs constants"]
    assert [constant.operands[index].lifetime for index in constant.operations[0].inputs[:2]] == [
        Lifetime.INPUT,
        Lifetime.CONSTANT,
    ]
    assert (constant.operands[constant.operations[0].inputs[1]].value == 2).all()


def test_an_operation_without_alternatives_has_no_edits() -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (2,)), name="x")
    builder.output(builder.add(x, x))
    assert edits_of(builder.finish(), np.ones(2, np.float32)) == {}
