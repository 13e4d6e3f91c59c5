"""Operations of a model as a model of their own."""

import numpy as np

from nnapi import Builder, tensor
from nnapi.codes import OperandCode
from nnapi.model.model import Lifetime
from nnapi.model.operand import ChannelQuantization, OperandType
from nnapi.runtime.verdicts.submodel import make_submodel


def test_operands_keep_types_names_and_values() -> None:
    b = Builder("convolutions")
    x = b.input(tensor("quant8_asymm", (1, 2, 2, 1), 0.5, 3), name="x")
    channels = ChannelQuantization(0, (0.25, 0.125))
    type = OperandType(OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, (2, 1, 1, 1), channel=channels)
    filters = b.constant(np.array([[[[1]]], [[[2]]]], np.int8), type, name="filters")
    bias = b.constant(np.zeros(2, np.int32), tensor("int32", (2,)))
    y = b.conv_2d(x, filters, bias, 0, 0, 0, 0, 1, 1, 0, out=tensor("quant8_asymm", (1, 2, 2, 2), 1.0, 0), name="y")
    b.output(b.relu(y))
    model = b.finish()
    part, inputs, outputs = make_submodel(model, [model.operations[0]])
    assert (inputs, outputs) == (model.inputs, model.operations[0].outputs)
    found = {operand.name: operand for operand in part.operands if operand.name}
    assert found["x"].type == tensor("quant8_asymm", (1, 2, 2, 1), 0.5, 3)
    assert found["filters"].type == type
    assert found["filters"].lifetime is Lifetime.CONSTANT
    np.testing.assert_array_equal(found["filters"].value, [[[[1]]], [[[2]]]])
    assert found["y"].lifetime is Lifetime.OUTPUT
