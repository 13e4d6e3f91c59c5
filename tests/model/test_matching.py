"""How operands are fitted to signatures: what is remembered changes no answer, and is not trusted blindly."""

import pytest

from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.model.matching import KnownMatch
from nnapi.model.model import Model
from nnapi.model.operand import ChannelQuantization, OperandType, tensor
from nnapi.model.operation import MOST_REMEMBERED, REGISTRY
from nnapi.model.parameter import TensorParameter

X, Y, ACT = tensor("float32", (2, 3)), tensor("float32", (2, 3)), OperandType(OperandCode.INT32)
ADD = REGISTRY[OperationCode.ADD]
CONCATENATION = REGISTRY[OperationCode.CONCATENATION]


def add_model() -> Model:
    model = Model()
    for type in (X, X, ACT, Y):
        model.add_operand(type)
    model.set_operand_value(2, 0)
    return model


def test_the_same_kinds_are_fitted_once() -> None:
    first = ADD.match([X, X, ACT], [Y])
    assert ADD.match([tensor("float32", (7, 1)), X, ACT], [Y]) is first


def test_other_kinds_are_told_apart() -> None:
    assert ADD.match([X, X, ACT], [Y]).level == 1
    half = tensor("float16", (2, 3))
    assert ADD.match([half, half, ACT], [half]).level == 3
    deep = tensor("float32", (1,) * 7)
    for _ in range(2):
        with pytest.raises(BadDataError, match="has rank 7"):
            ADD.match([deep, deep, ACT], [deep])


def test_a_match_says_which_rank_is_beyond_nnapi() -> None:
    deep = tensor("float32", (1,) * 5)
    assert not ADD.match([X, X, ACT], [Y]).beyond
    assert ADD.match([X, deep, ACT], [deep]).beyond == "rhs has rank 5, must have rank 1 or 2 or 3 or 4"


def test_a_refusal_is_the_same_each_time() -> None:
    messages = set()
    for _ in range(3):
        with pytest.raises(BadDataError) as caught:
            ADD.match([X, tensor("int32", (2, 3)), ACT], [Y])
        messages.add(caught.value.message)
    assert messages == {"rhs is TENSOR_INT32, must be TENSOR_FLOAT32 (as lhs is TENSOR_FLOAT32)"}


def test_the_types_of_an_operand_are_described_by_what_is_known_of_others() -> None:
    rhs = ADD.overloads[0].inputs[1]
    assert isinstance(rhs, TensorParameter)
    assert rhs.describe({}) == "no type at all"
    assert rhs.describe({"lhs": X.code}) == "TENSOR_FLOAT32 (as lhs is TENSOR_FLOAT32)"


def test_a_variadic_operation_names_its_least_number_of_inputs() -> None:
    with pytest.raises(BadDataError, match="takes at least 2 inputs, got 1"):
        CONCATENATION.match([ACT], [Y])


def test_scales_per_channel_are_part_of_what_is_remembered() -> None:
    conv = REGISTRY[OperationCode.CONV_2D]
    x, bias = tensor("quant8_asymm", (1, 4, 4, 2), 0.5, 0), tensor("int32", (2,))
    filters = tensor("quant8_symm_per_channel", (2, 1, 1, 2))
    scalars = [ACT] * 4

    def match(channel: ChannelQuantization | None) -> None:
        filter = OperandType(filters.code, filters.dimensions, channel=channel)
        conv.match([x, filter, bias, *scalars], [x])

    match(ChannelQuantization(0, (0.5, 0.5)))
    with pytest.raises(BadDataError, match="filter has its scales along dimension 3, must be 0"):
        match(ChannelQuantization(3, (0.5, 0.5)))
    with pytest.raises(BadDataError, match="filter was not given its scales"):
        match(None)


def test_what_is_remembered_is_bounded() -> None:
    long = [X] * (2 * MOST_REMEMBERED)
    CONCATENATION.match([*long, ACT], [Y])
    for count in range(1, MOST_REMEMBERED + 20):
        CONCATENATION.match([*[X] * count, ACT], [Y])
    assert len(CONCATENATION._matches) <= MOST_REMEMBERED


def test_a_known_match_spares_the_test_where_the_types_are_the_same() -> None:
    model = add_model()
    known = KnownMatch(ADD.match([X, X, ACT], [Y]), ADD.code, [X, X, ACT], [Y], [None] * 3)
    model.add_matched_operation(known, [0, 1, 2], [3])
    assert model.operations[0].match is known.match


def test_a_known_match_of_something_else_is_not_believed() -> None:
    whole = tensor("int32", (2, 3))
    known = KnownMatch(ADD.match([whole, whole, ACT], [whole]), ADD.code, [whole, whole, ACT], [whole], [None] * 3)
    model = add_model()
    model.add_matched_operation(known, [0, 1, 2], [3])
    assert model.operations[0].match is not known.match
    with pytest.raises(BadDataError, match=r"ADD \(#1\): takes 3 inputs, got 2"):
        model.add_matched_operation(known, [0, 1], [3])


def test_operands_that_change_after_the_operation_was_added_are_noticed() -> None:
    conv = Model()
    for type in (
        tensor("quant8_asymm", (1, 4, 4, 2), 0.5, 0),
        tensor("quant8_symm_per_channel", (2, 1, 1, 2)),
        tensor("int32", (2,)),
        *[ACT] * 4,
        tensor("quant8_asymm", (1, 4, 4, 2), 0.5, 0),
    ):
        conv.add_operand(type)
    conv.set_operand_symm_per_channel_quant_params(1, 0, [0.5, 0.5])
    conv.set_operand_value(1, b"\1" * 4)
    conv.set_operand_value(2, bytes(8))
    for index, value in zip(range(3, 7), (1, 1, 1, 0), strict=True):
        conv.set_operand_value(index, value)
    conv.add_operation(OperationCode.CONV_2D, range(7), [7])
    conv.identify_inputs_and_outputs([0], [7])
    conv.set_operand_symm_per_channel_quant_params(1, 3, [0.5, 0.5])
    with pytest.raises(BadDataError, match=r"CONV_2D \(#0\): filter has its scales along dimension 3, must be 0"):
        conv.finish()


def test_what_no_operation_uses_yet_may_change_without_a_second_test() -> None:
    model = add_model()
    model.add_operation(OperationCode.ADD, [0, 1, 2], [3])
    model.set_operand_value(model.add_operand(ACT), 1)
    assert not model.is_altered
    model.set_operand_value(2, 1)
    assert model.is_altered
