"""Operands with all that is known of them, and their copies."""

import numpy as np

from nnapi import Model, tensor
from nnapi.codes import OperandCode
from nnapi.model.described_operand import copy_operand, describe
from nnapi.model.graph import Lifetime
from nnapi.model.operand import ChannelQuantization, OperandType
from tests.graphs import finished_sum

F32 = tensor("float32", (2,))
FILTER = OperandType(
    OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, (2, 1, 1, 1), channel=ChannelQuantization(0, (0.5, 2.0))
)


def test_an_operand_gets_its_scales_its_value_and_its_name() -> None:
    model = Model()
    index = describe(model, FILTER, "filter", np.ones(FILTER.dimensions, np.int8))
    operand = model.operands[index]
    assert (operand.type, operand.name, operand.lifetime) == (FILTER, "filter", Lifetime.CONSTANT)
    assert model.operands[describe(model, F32)].lifetime is Lifetime.TEMPORARY
    assert model.operands[describe(model, F32, omitted=True)].lifetime is Lifetime.NO_VALUE


def test_an_operand_refers_to_a_model() -> None:
    model, inner = Model(), finished_sum()
    operand = model.operands[describe(model, OperandType(OperandCode.MODEL), value=inner)]
    assert (operand.lifetime, operand.value) == (Lifetime.SUBGRAPH, inner)


def test_a_copy_shares_the_constant_and_has_no_role() -> None:
    model, target = Model(), Model()
    value = np.ones(64, np.float32)
    value.flags.writeable = False
    for index in (describe(model, F32, "x"), describe(model, F32, "y")):
        assert copy_operand(model.operands[index], target) == index
    model.assign_roles([0], [1])
    given = model.operands[describe(model, tensor("float32", (64,)), "weights", value)]
    found = target.operands[copy_operand(given, target)]
    assert np.shares_memory(found.value, value)
    assert target.operands[copy_operand(model.operands[0], target)].lifetime is Lifetime.TEMPORARY
    omitted = model.operands[describe(model, F32, omitted=True)]
    assert target.operands[copy_operand(omitted, target)].lifetime is Lifetime.NO_VALUE
