"""Rules 36 to 46 of validation.md: the graph as a whole, the level it needs, what devices say of it."""

import mmap
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Memory, Model, OperandCode, OperandType, OperationCode, device, tensor
from nnapi.codes import OEM_OPERATION
from nnapi.errors import BadDataError, BadStateError, UnexpectedNullError
from nnapi.model.extension import MAX_PREFIX, Extensions
from tests.graphs import FLOATS, add, finished, finished_sum, on_reference, open_sum, sum_with

NONE: Any = None
BOOL, INT, FLOAT = (OperandType(code) for code in (OperandCode.BOOL, OperandCode.INT32, OperandCode.FLOAT32))
ZEROS = np.zeros((2, 2), np.float32)


def refuse_finish(model: Model, message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        model.finish()
    with pytest.raises(BadStateError, match="the model is invalid"):
        model.finish()


def test_rule_036_the_last_operation_that_became_ready_runs_first() -> None:
    model = Model()
    x, a, b, c, d, z = (model.add_operand(FLOATS) for _ in range(6))
    add(model, c, d, z)  # #0 waits for both
    add(model, x, a, b)  # #1 waits for #2
    add(model, x, x, a)  # #2 ready
    add(model, x, x, d)  # #3 ready, last
    add(model, b, a, c)  # #4 waits for #1 and #2
    finished(model, [x], [z])
    assert [call.number for call in model.operations] == [3, 2, 1, 4, 0]


def test_rule_036_answers_are_in_the_order_of_the_calls() -> None:
    class Odd:
        def supports(self, model: Model) -> Sequence[bool]:
            return [call.number % 2 == 1 for call in model.operations]

    model = Model()
    x, a, b, z = (model.add_operand(FLOATS) for _ in range(4))
    for lhs, out in ((b, z), (a, b), (x, a)):
        add(model, lhs, x, out)
    finished(model, [x], [z])
    assert [call.number for call in model.operations] == [2, 1, 0]
    assert model.supported_operations([Odd()]) == [False, True, False]


def test_rule_037_inputs_and_outputs() -> None:
    model, x, y, z = open_sum()
    for inputs, outputs, message in (
        ([], [z], "at least one input and one output"),
        ([x, y], [], "at least one input and one output"),
        ([x, 9], [z], "operand 9 does not exist"),
        ([x, y], [9], "operand 9 does not exist"),
    ):
        with pytest.raises(BadDataError, match=message):
            model.identify_inputs_and_outputs(inputs, outputs)
    assert model.operands[x].lifetime.value == "temporary"
    finished(model, [x, y], [z])  # nothing had changed


@pytest.mark.parametrize(
    ("inputs", "outputs", "message"),
    [
        ([0, 0], [2], r"x \(0\).* is input already, cannot be input"),
        ([0, 1], [2, 2], r"z \(2\).* is output already, cannot be output"),
        ([0, 1], [0], r"x \(0\).* is input already, cannot be output"),
        ([0, 3], [2], r"\(3\).* is constant already, cannot be input"),
        ([0, 4], [2], r"omitted \(4\).* is omitted already, cannot be input"),
        ([0, 5], [2], r"branch \(5\).* is model already, cannot be input"),
    ],
)
def test_rule_037_an_operand_has_one_role(inputs: list[int], outputs: list[int], message: str) -> None:
    model, *_ = open_sum()
    model.set_operand_value(model.add_operand(FLOATS, "omitted"), None)
    model.set_operand_value_from_model(model.add_operand(OperandType(OperandCode.MODEL), "branch"), finished_sum())
    with pytest.raises(BadDataError, match=message):
        model.identify_inputs_and_outputs(inputs, outputs)
    with pytest.raises(BadDataError, match=r"x \(0\).* is input already"):  # those before kept their role
        model.identify_inputs_and_outputs([0], [2])


def test_rule_038_a_closed_graph_needs_neither_inputs_nor_outputs() -> None:
    model, x, y, _ = open_sum()
    model.set_operand_value(x, ZEROS)
    model.set_operand_value(y, ZEROS)
    model.finish()
    assert on_reference(model).run() == []


def test_rule_039_a_value_for_a_model_input_is_refused_at_finish() -> None:
    for operand in ("x", "z"):
        model, x, y, z = open_sum()
        model.identify_inputs_and_outputs([x, y], [z])
        model.set_operand_value({"x": x, "z": z}[operand], ZEROS)
        refuse_finish(model, rf"{operand} \(\d\).* is constant")


def test_rule_040_no_operand_no_operation() -> None:
    refuse_finish(Model(), "the model has no operand")
    model = Model()
    model.set_operand_value(model.add_operand(FLOATS), ZEROS)
    refuse_finish(model, "the model has no operation")


def test_rule_040_a_cycle() -> None:
    model, x, y, z = open_sum()
    add(model, z, x, y)
    model.identify_inputs_and_outputs([x], [z])
    refuse_finish(model, r"ADD \(#0\), ADD \(#1\) can never run: the model has a cycle")


def test_rule_040_an_operand_that_nothing_writes() -> None:
    model, x, y, z = open_sum()
    model.identify_inputs_and_outputs([x], [z])
    refuse_finish(model, rf"y \({y}\).* is neither a model input nor a constant, and no operation writes it")
    model, x, y, z = open_sum()
    model.add_operand(FLOATS, "unused")
    model.identify_inputs_and_outputs([x, y], [z])
    refuse_finish(model, r"unused \(4\).* is neither a model input nor a constant")


def test_rule_040_an_operation_writes_what_it_may_not() -> None:
    for value in (ZEROS, None):
        model, x, y, z = open_sum()
        taken = model.add_operand(FLOATS, "taken")
        add(model, x, y, taken)
        model.set_operand_value(taken, value)
        model.identify_inputs_and_outputs([x, y], [z])
        refuse_finish(
            model, rf"ADD \(#1\) writes taken \({taken}\).*, which is {'omitted' if value is None else 'const'}"
        )
    model, x, y, z = open_sum()
    add(model, x, y, y)
    model.identify_inputs_and_outputs([x, y], [z])
    refuse_finish(model, rf"ADD \(#1\) writes y \({y}\).*, which is input")
    model, x, y, z = open_sum()
    add(model, y, x, z)
    model.identify_inputs_and_outputs([x, y], [z])
    refuse_finish(model, rf"ADD \(#1\) writes z \({z}\).*, as ADD \(#0\) does")


def test_rule_040_a_role_without_membership_in_the_list() -> None:
    model, x, y, z = open_sum()
    other = model.add_operand(FLOATS, "other")
    add(model, x, y, other)
    model.identify_inputs_and_outputs([x, y], [z])
    late = model.add_operand(FLOATS)
    model.identify_inputs_and_outputs([late], [other])
    refuse_finish(model, r"x \(0\).* is input, but listed otherwise")


def test_rule_040_an_operation_that_no_longer_validates() -> None:
    model = Model()
    condition, branch, x, z = (
        model.add_operand(type) for type in (tensor("bool8", (1,)), OperandType(OperandCode.MODEL), FLOATS, FLOATS)
    )
    model.set_operand_value_from_model(branch, sum_with(ZEROS))
    model.add_operation(OperationCode.IF, [condition, branch, branch, x], [z])
    model.set_operand_value_from_model(branch, finished_sum())
    model.identify_inputs_and_outputs([condition, x], [z])
    refuse_finish(model, r"IF \(#0\): then_model has 2 inputs, must have 1")


def test_rule_040_memory_of_constants(tmp_path: Path) -> None:
    file = tmp_path / "weights"
    file.write_bytes(bytes(16))
    with file.open("rb") as weights:
        odd = Memory.from_fd(16, mmap.PROT_READ | 8, weights.fileno())
    model, x, y, z = open_sum()
    model.set_operand_value_from_memory(y, odd, 0, 16)
    model.identify_inputs_and_outputs([x], [z])
    refuse_finish(model, rf"y \({y}\).* lives in a memory with protection 9")


def test_rule_041_unused_inputs_and_constants_are_legal_and_outputs_may_be_read() -> None:
    model, x, y, z = open_sum()
    unused, more = model.add_operand(FLOATS), model.add_operand(FLOATS)
    model.set_operand_value(model.add_operand(tensor("float16", (1,))), np.zeros(1, np.float16))
    add(model, z, x, more)
    finished(model, [x, unused, y], [z, more])
    ones = ZEROS + 1
    results = on_reference(model).run(ones, ZEROS, ones)
    assert [float(array[0, 0]) for array in results] == [2, 3]


@pytest.mark.parametrize(
    ("type", "level", "reason"),
    [
        (FLOATS, 1, "ADD"),
        (tensor("float16", (2,)), 3, "is TENSOR_FLOAT16"),
        (tensor("quant8_asymm_signed", (2,), 1.0), 4, "is TENSOR_QUANT8_ASYMM_SIGNED"),
        (tensor("int32", (2,)), 4, "is TENSOR_INT32"),
        (tensor("float32"), 3, "is of unknown rank"),
        (tensor("float32", (0, 2)), 1, "ADD"),
    ],
)
def test_rule_042_levels_of_operands(type: OperandType, level: int, reason: str) -> None:
    model = finished_sum(type)
    assert model.feature_level == level
    assert any(reason in facet.reason for facet in model.facets if facet.level == level)


def test_rule_042_levels_of_operations_and_of_models_referred_to() -> None:
    model = Model()
    x, z = model.add_operand(FLOATS), model.add_operand(FLOATS)
    model.add_operation(OperationCode.RSQRT, [x], [z])
    model.relax_computation_float32_to_float16(True)
    branch = finished(model, [x], [z])
    assert branch.feature_level == 3
    model = Model()
    condition, reference, x, z = (
        model.add_operand(type) for type in (tensor("bool8", (1,)), OperandType(OperandCode.MODEL), FLOATS, FLOATS)
    )
    model.set_operand_value_from_model(reference, branch)
    model.add_operation(OperationCode.IF, [condition, reference, reference, x], [z])
    finished(model, [condition, x], [z])
    assert model.feature_level == 4
    assert any(facet.level == 3 and "→ RSQRT (#0)" in facet.reason for facet in model.facets)


def test_rule_042_relaxed_precision_does_not_count() -> None:
    model, x, y, z = open_sum()
    model.relax_computation_float32_to_float16(True)
    assert finished(model, [x, y], [z]).feature_level == 1


def trailing(code: OperationCode, out: OperandType, *scalars: tuple[OperandType, Any]) -> Model:
    """One operation on a 4-dimensional image, then (for convolutions) constants, then scalars."""
    model = Model()
    indices = [model.add_operand(tensor("float32", (1, 2, 2, 1)))]
    if code in (OperationCode.CONV_2D, OperationCode.DEPTHWISE_CONV_2D):
        for dimensions in ((1, 1, 1, 1), (1,)):
            indices.append(model.add_operand(tensor("float32", dimensions)))
            model.set_operand_value(indices[-1], np.ones(dimensions, np.float32))
    for type, value in scalars:
        indices.append(model.add_operand(type))
        if isinstance(value, Memory):
            model.set_operand_value_from_memory(indices[-1], value, 0, value.size)
        else:
            model.set_operand_value(indices[-1], np.asarray(value, type.dtype))
    model.add_operation(code, indices, [model.add_operand(out)])
    return finished(model, indices[:1], [model.operations[0].outputs[0]])


POOL = [(INT, 1)] * 5 + [(INT, 0)]
CONV = [(INT, 1)] * 3 + [(INT, 0)]
DEPTHWISE = [(INT, 1)] * 4 + [(INT, 0)]
IMAGE = tensor("float32", (1, 2, 2, 1))


@pytest.mark.parametrize(
    ("code", "scalars", "kept", "level"),
    [
        (OperationCode.SOFTMAX, [(FLOAT, 1), (INT, -1)], 2, 1),
        (OperationCode.SOFTMAX, [(FLOAT, 1), (INT, 3)], 3, 3),
        (OperationCode.L2_NORMALIZATION, [(INT, -1)], 1, 1),
        (OperationCode.LOCAL_RESPONSE_NORMALIZATION, [(INT, 1), (FLOAT, 1), (FLOAT, 1), (FLOAT, 1), (INT, -1)], 5, 1),
        (OperationCode.MAX_POOL_2D, [*POOL, (BOOL, False)], 7, 1),
        (OperationCode.AVERAGE_POOL_2D, [*POOL, (BOOL, False)], 7, 1),
        (OperationCode.L2_POOL_2D, [*POOL, (BOOL, True)], 8, 3),
        (OperationCode.CONV_2D, [*CONV, (BOOL, False)], 7, 1),
        (OperationCode.CONV_2D, [*CONV, (BOOL, False), (INT, 1), (INT, 1)], 7, 1),
        (OperationCode.CONV_2D, [*CONV, (BOOL, True), (INT, 1), (INT, 1)], 8, 3),
        (OperationCode.CONV_2D, [*CONV, (BOOL, False), (INT, 2), (INT, 1)], 10, 3),
        (OperationCode.CONV_2D, [*CONV, (BOOL, False), (INT, 1), (INT, 2)], 10, 3),
        (OperationCode.DEPTHWISE_CONV_2D, [*DEPTHWISE, (BOOL, False), (INT, 1), (INT, 1)], 8, 1),
        (OperationCode.DEPTH_TO_SPACE, [(INT, 1), (BOOL, False)], 2, 1),
        (OperationCode.SPACE_TO_DEPTH, [(INT, 1), (BOOL, False)], 2, 1),
        (OperationCode.RESIZE_BILINEAR, [(INT, 2), (INT, 2)] + [(BOOL, False)] * 3, 3, 1),
        (OperationCode.RESIZE_BILINEAR, [(INT, 2), (INT, 2), (BOOL, True), (BOOL, False), (BOOL, False)], 4, 3),
        (OperationCode.RESIZE_NEAREST_NEIGHBOR, [(INT, 2), (INT, 2)] + [(BOOL, False)] * 3, 4, 3),
    ],
)
def test_rule_043_trailing_defaults_are_dropped(
    code: OperationCode, scalars: list[tuple[OperandType, Any]], kept: int, level: int
) -> None:
    model = trailing(code, IMAGE, *scalars)
    assert len(model.operations[0].inputs) == kept
    assert model.feature_level == level


def test_rule_043_values_in_a_memory_are_not_looked_at() -> None:
    flag = Memory.from_array(np.zeros(1, np.uint8))
    model = trailing(OperationCode.SPACE_TO_DEPTH, IMAGE, (INT, 1), (BOOL, flag))
    assert len(model.operations[0].inputs) == 3
    assert model.feature_level == 3


def test_rule_044_devices_that_are_asked() -> None:
    model, reference = finished_sum(), device("nnapi-reference")
    with pytest.raises(BadDataError, match="no devices are listed"):
        open_sum()[0].supported_operations([])
    with pytest.raises(BadStateError, match="the model is building, not finished"):
        open_sum()[0].supported_operations([NONE])
    with pytest.raises(UnexpectedNullError, match="a device is None"):
        model.supported_operations([reference, NONE])
    with pytest.raises(BadDataError, match="nnapi-reference is listed twice"):
        model.supported_operations([reference, reference])


def test_rule_045_the_reference_claims_what_validates_and_nothing_of_others() -> None:
    model, x, y, z = open_sum()
    oem, foreign = model.add_operand(FLOATS), model.add_operand(FLOATS)
    model.add_operation(OEM_OPERATION, [x], [oem])
    model.add_operation(model.extension_operation_type("com.example.rules", 3), [x, y], [foreign])
    finished(model, [x, y], [z, oem, foreign])
    assert model.supported_operations([device("nnapi-reference")]) == [True, False, False]


def test_rule_046_numbers_of_extensions() -> None:
    model = finished_sum()
    first = model.extension_operand_type("com.example.rules", 0)
    assert first >> 16 > 0
    assert model.extension_operation_type("com.example.rules", 9) == first + 9
    assert Model().extension_operand_type("No legal name", 1) >> 16 != first >> 16
    with pytest.raises(BadDataError, match="code 65536 within com.example.rules is not in 0..65535"):
        model.extension_operand_type("com.example.rules", 65536)


def test_rule_046_prefixes_run_out() -> None:
    extensions = Extensions()
    extensions._names = [f"com.example.n{i}" for i in range(MAX_PREFIX)]
    assert extensions.type("com.example.n65534", 2) == 0xFFFF << 16 | 2
    with pytest.raises(BadDataError, match="no prefix is left for the extension com.example.one.more"):
        extensions.type("com.example.one.more", 0)


def test_rule_169_an_ill_formed_name_is_refused_at_finish() -> None:
    for name in ("nodots", "com.Example"):
        model, x, y, z = open_sum()
        more = model.add_operand(FLOATS)
        model.add_operation(model.extension_operation_type(name, 1), [x], [more])
        model.identify_inputs_and_outputs([x, y], [z, more])
        refuse_finish(model, rf"operation 1 of {name} \(#1\): an extension's name")
