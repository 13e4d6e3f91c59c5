"""Agreed, refused, invalid or failed."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import NoReturn

import numpy as np
import pytest

from nnapi.codes import OperationCode
from nnapi.contract.driver import Verdict
from nnapi.errors import OpFailedError
from nnapi.model.model import Model
from nnapi.runtime.device import Device
from nnapi.testing.conformance import check
from nnapi.testing.example import (
    Example,
    ExampleGraph,
    OperandSource,
    OperandSpec,
    OperationSpec,
    with_unknown_dimensions,
)
from nnapi.testing.random import judging
from nnapi.testing.random.deviation import ROUNDS, Computation
from nnapi.testing.random.judging import Outcome, judge, judge_outputs
from nnapi.testing.random.session import replayable
from nnapi.testing.suite.result import Status
from nnapi.testing.variants import VARIANTS, Setting
from tests.testing.testing_cases import (
    F32,
    Q8,
    REFERENCE,
    Borrowed,
    add,
    changed,
    constant,
    endless,
    given,
    refusing,
    relu,
    spoilt,
    taken,
    tensor,
)


@pytest.mark.parametrize("example", [add(), relu()], ids=lambda example: example.name)
def test_the_reference_agrees_with_itself_in_every_form(example: Example) -> None:
    assert judge(example, REFERENCE).outcome == Outcome.AGREED


@pytest.mark.parametrize(("example", "by"), [(add(), 1e-3), (relu(), 2)], ids=["floats", "codes"])
def test_wrong_results_fail_and_replay(example: Example, by: float) -> None:
    device = spoilt(by)
    judgement = judge(replace(example, outputs={}), device)
    assert judgement.outcome == Outcome.FAILED
    assert judgement.operation == example.main.operations[0].type
    assert "expected" in judgement.reason
    again = replayable(judgement.example)
    assert check(again, VARIANTS["plain"], Setting((REFERENCE,))).status == Status.PASSED
    assert check(again, VARIANTS["plain"], Setting((device,))).status == Status.FAILED


def test_one_code_off_is_right() -> None:
    assert judge(relu(inputs={0: np.array([0, 128, 200], np.uint8)}), spoilt(1)).outcome == Outcome.AGREED


@pytest.mark.parametrize(("code", "outcome"), [(94, Outcome.AGREED), (92, Outcome.FAILED)])
def test_codes_rounded_twice_are_right(monkeypatch: pytest.MonkeyPatch, code: int, outcome: Outcome) -> None:
    """Between two cells lies code 172.5 of the input's scale: 172 is 94 in that of the result, 173 is 96."""
    fine = {"scale": 0.01281949, "zero_point": 32}
    image = tensor("TENSOR_QUANT8_ASYMM", 1, 2, 1, 1, scale=0.01818086, zero_point=128)
    operands = (
        taken(image),
        constant("INT32", np.int32(1)),
        constant("INT32", np.int32(4)),
        given(tensor("TENSOR_QUANT8_ASYMM", 1, 4, 1, 1, **fine)),
    )
    graph = ExampleGraph(operands, (OperationSpec("RESIZE_BILINEAR", (0, 1, 2), (3,)),), (0,), (3,))
    example = Example("between", graph, {0: np.array([172, 173], np.uint8).reshape(1, 2, 1, 1)}, {})
    computation = Computation(example, rounds=0)
    computation.run(0)
    right = computation.values[3]
    assert right is not None
    assert right.ravel().tolist() == [94, 96, 96, 96]
    shown = np.array([94, code, 96, 96], np.uint8).reshape(right.shape)
    monkeypatch.setattr(judging, "run_example", lambda example, device: [shown])
    assert judge(example, spoilt(0)).outcome == outcome


def test_refusals() -> None:
    judgement = judge(add(), refusing("not today"))
    assert (judgement.outcome, judgement.reason) == (Outcome.REFUSED, "not today")


def lookup(row: int) -> Example:
    operands = (
        taken(tensor("TENSOR_INT32", 1, name="lookups")),
        constant(F32, np.ones((2, 2), np.float32), name="values"),
        given(tensor(F32, 1, 2)),
    )
    graph = ExampleGraph(operands, (OperationSpec("EMBEDDING_LOOKUP", (0, 1), (2,)),), (0,), (2,))
    return Example("lookup", graph, {0: np.array([row], np.int32)}, {})


def test_data_that_the_reference_refuses_is_no_failure_of_who_refuses_it_too() -> None:
    assert judge(lookup(7), REFERENCE).outcome == Outcome.INVALID


def test_who_computes_what_the_reference_refuses_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judging, "run_example", lambda example, device: [np.zeros((1, 2), np.float32)])
    judgement = judge(lookup(7), REFERENCE)
    assert judgement.outcome == Outcome.FAILED
    assert "computes what the reference refuses" in judgement.reason
    assert replayable(judgement.example).harness.validation


def test_what_a_device_refuses_is_left_out_of_a_graph() -> None:
    """RELU(x + y) where only RELU is taken: the sum is an input then."""
    sum = replace(add().main.operands[3], lifetime=OperandSource.TEMPORARY_VARIABLE)
    operands = (*add().main.operands[:3], sum, given(tensor(F32, 2)))
    graph = ExampleGraph(operands, (*add().main.operations, OperationSpec("RELU", (3,), (4,))), (0,), (4,))

    example = Example("graph", graph, {0: np.array([1, -20], np.float32)}, {})
    judgement = judge(example, Device(OnlyRelu(lambda output: output + 5)))
    assert judgement.operation == "RELU"
    assert judgement.example.operations == ("RELU",)
    assert judgement.example.inputs[0].tolist() == [11, 0]


def test_what_is_left_of_a_graph_is_asked_about_again() -> None:
    """Without the sum RELU has an input of known dimensions, which this device refuses."""
    first, second, hidden = (tensor(F32, 0) for _ in range(3))
    operands = (
        taken(first),
        *add().main.operands[1:3],
        replace(second, lifetime=OperandSource.TEMPORARY_VARIABLE),
        given(hidden),
    )
    graph = ExampleGraph(operands, (*add().main.operations, OperationSpec("RELU", (3,), (4,))), (0,), (4,))
    example = Example("graph", graph, {0: np.array([1, -20], np.float32)}, {})
    judgement = judge(example, Device(OnlyOpenRelu()))
    assert (judgement.outcome, judgement.operation) == (Outcome.REFUSED, "RELU")


class OnlyOpenRelu(Borrowed):
    """Takes RELU of dimensions that the model leaves open, and nothing else."""

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return [
            Verdict(call.code == OperationCode.RELU and not model.operands[call.inputs[0]].type.is_known, "known")
            for call in model.operations
        ]


def test_what_few_other_last_places_do_not_show_is_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    rounds = []

    def compared(example: Example, device: Device, outputs: object, computation: Computation) -> judging.Judgement:
        rounds.append(len(computation.others))
        return judging.Judgement(Outcome.FAILED if len(rounds) == 1 else Outcome.AGREED)

    monkeypatch.setattr(judging, "_compare", compared)
    assert judge(add(), spoilt(0)).outcome == Outcome.AGREED
    assert rounds == [ROUNDS, judging.CAREFUL]


class OnlyRelu(Borrowed):
    """Takes nothing else."""

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return [Verdict(call.code == OperationCode.RELU, "only RELU") for call in model.operations]


def pooled(mean: float, scale: float) -> Example:
    """The average of two codes, in another scale."""
    codes = np.array([128, 128 + int(2 * mean)], np.uint8).reshape(1, 2, 1, 1)
    image = taken(tensor("TENSOR_QUANT8_ASYMM", 1, 2, 1, 1, scale=1.0, zero_point=128))
    numbers = [constant("INT32", np.int32(n)) for n in (0, 0, 0, 0, 1, 1, 1, 2, 0)]
    out = given(tensor("TENSOR_QUANT8_ASYMM", 1, 1, 1, 1, scale=scale, zero_point=128))
    call = OperationSpec("AVERAGE_POOL_2D", tuple(range(10)), (10,))
    return Example("pooled", ExampleGraph((image, *numbers, out), (call,), (0,), (10,)), {0: codes}, {})


def test_an_average_may_be_rounded_to_the_scale_of_its_input_first() -> None:
    assert judge(pooled(7.5, 0.1), REFERENCE).outcome == Outcome.AGREED


def test_a_mean_may_be_rounded_down_to_the_scale_of_its_input_first() -> None:
    """2.4 codes of 2.5 are 2 of them, or 6 in numbers."""
    codes = np.array([[12, 0, 0, 0, 0]], np.uint8)
    operands = (
        taken(tensor("TENSOR_QUANT8_ASYMM", 1, 5, scale=2.5, zero_point=0)),
        constant("TENSOR_INT32", np.array([1], np.int32)),
        constant("INT32", np.int32(1)),
        given(tensor("TENSOR_QUANT8_ASYMM", 1, 1, scale=0.16, zero_point=128)),
    )
    mean = Example(
        "mean", ExampleGraph(operands, (OperationSpec("MEAN", (0, 1, 2), (3,)),), (0,), (3,)), {0: codes}, {}
    )
    assert judge(mean, REFERENCE).outcome == Outcome.AGREED


@pytest.mark.parametrize("name", ["RELU1", "RELU6"])
def test_a_limit_may_be_rounded_to_the_scale_of_its_input_first(name: str) -> None:
    """The result has the scale of the input: 6 in steps of 10.4 is 1 of them, whatever it is kept in."""
    operands = (
        taken(tensor("TENSOR_QUANT8_ASYMM", 1, 2, scale=10.4 if name == "RELU6" else 1.7, zero_point=128)),
        given(tensor("TENSOR_QUANT8_ASYMM", 1, 2, scale=0.345, zero_point=128)),
    )
    codes = np.array([[72, 200]], np.uint8)
    limited = Example("limited", ExampleGraph(operands, (OperationSpec(name, (0,), (1,)),), (0,), (1,)), {0: codes}, {})
    assert judge(limited, REFERENCE).outcome == Outcome.AGREED


def limited_boxes(scale: float) -> Example:
    """A box with score 12, which a Gaussian weakens by a better one that overlaps it by half, in another scale."""
    boxes = np.array([[0, 0, 8, 8] * 2, [0, 0, 8, 16] * 2], np.uint16)
    operands = (
        taken(tensor(Q8, 2, 2, scale=2.0, zero_point=0)),
        constant("TENSOR_QUANT16_ASYMM", boxes, scale=0.125),
        constant("TENSOR_INT32", np.zeros(2, np.int32)),
        constant("FLOAT32", np.float32(1)),
        constant("INT32", np.int32(-1)),
        constant("INT32", np.int32(2)),
        *(constant("FLOAT32", np.float32(n)) for n in (0.5, 0.5, 0.1)),
        given(tensor(Q8, 0, scale=scale, zero_point=0)),
        given(tensor("TENSOR_QUANT16_ASYMM", 0, 4, scale=0.125)),
        given(tensor("TENSOR_INT32", 0)),
        given(tensor("TENSOR_INT32", 0)),
    )
    call = OperationSpec("BOX_WITH_NMS_LIMIT", tuple(range(9)), (9, 10, 11, 12))
    scores = np.array([[0, 10], [0, 6]], np.uint8)
    return Example("boxes", ExampleGraph(operands, (call,), (0,), call.outputs), {0: scores}, {})


def test_a_weakened_score_may_be_rounded_to_the_scale_of_the_scores_first() -> None:
    """12 · exp(−0.5) is 7.28, in steps of 2 nearly 8."""
    assert judge(limited_boxes(0.1), REFERENCE).outcome == Outcome.AGREED


def test_data_for_other_dimensions_than_declared_is_invalid() -> None:
    example = limited_boxes(2.0)
    operands = list(example.main.operands)
    for index, shape in zip(example.main.outputs, ((3,), (3, 4), (3,), (3,)), strict=True):
        operands[index] = replace(operands[index], dimensions=shape)
    judgement = judge(replace(example, main=replace(example.main, operands=tuple(operands))), REFERENCE)
    assert judgement.outcome == Outcome.INVALID
    assert "BOX_WITH_NMS_LIMIT gives #9 other dimensions than [3]" in judgement.reason


def test_float_sums_may_lose_steps_of_a_fine_result() -> None:
    """Products of 7e6 steps cancel: float32 leaves some of them, integers leave 0."""
    signed = "TENSOR_QUANT8_ASYMM_SIGNED"
    row = np.array([[-44, 108, -21, 37]], np.int8)
    factors = np.array([[108, 44, 37, 21]], np.int8)
    operands = (
        taken(tensor(signed, 1, 4, scale=7.562410354614258)),
        constant(signed, factors, scale=1.1),
        constant("TENSOR_INT32", np.zeros(1, np.int32), scale=float(np.float32(7.562410354614258) * np.float32(1.1))),
        constant("INT32", np.int32(0)),
        given(tensor(signed, 1, 1, scale=2.0**-16)),
    )
    call = OperationSpec("FULLY_CONNECTED", (0, 1, 2, 3), (4,))
    judgement = judge(Example("cancelled", ExampleGraph(operands, (call,), (0,), (4,)), {0: row}, {}), REFERENCE)
    assert judgement.outcome == Outcome.AGREED, judgement.reason


@pytest.mark.parametrize(("other", "same"), [([np.nan, 2], True), ([np.inf, 3], False)])
def test_variants_are_not_judged_where_the_result_is_infinite(
    monkeypatch: pytest.MonkeyPatch, other: list[float], same: bool
) -> None:
    """−0 is 0 to a fused RELU, and 1 / 0 and 1 / −0 differ."""
    example = add()
    monkeypatch.setattr(judging, "run_example", lambda example, device: [np.array(other, np.float32)])
    change = judging._find_change(example, {3: np.array([np.inf, 2], np.float32)}, REFERENCE)
    assert (change is None) == same


def test_control_flow_is_judged_as_a_whole() -> None:
    example = replace(endless(), inputs={2: np.array([False])})
    assert judge(example, REFERENCE).outcome == Outcome.AGREED


def fail(output: object) -> NoReturn:
    raise OpFailedError("index out of bounds")


@pytest.mark.parametrize(("most", "outcome"), [(1, Outcome.REFUSED), (1000, Outcome.FAILED)])
def test_a_device_may_refuse_dimensions_that_a_model_leaves_unspecified(most: int, outcome: Outcome) -> None:
    class Small(Borrowed):
        def verdicts(self, model: Model) -> Sequence[Verdict]:
            is_small = all(math.prod(operand.type.dimensions) <= most for operand in model.operands)
            return [Verdict(is_small, "too large")] * len(model.operations)

    judgement = judge(with_unknown_dimensions(relu()), Device(Small(fail)))
    assert judgement.outcome == outcome, judgement.reason


def test_an_index_that_depends_on_nan_may_be_refused() -> None:
    """The smallest of NaN and 0 is undefined: the engine's index may lie beyond the table."""
    operands = (
        taken(tensor(F32, 3)),
        constant("INT32", np.int32(0)),
        tensor("TENSOR_INT32", 1, lifetime=OperandSource.TEMPORARY_VARIABLE),
        taken(tensor(F32, 3, 1)),
        given(tensor(F32, 1, 1)),
    )
    calls = (OperationSpec("ARGMIN", (0, 1), (2,)), OperationSpec("EMBEDDING_LOOKUP", (2, 3), (4,)))
    table = np.ones((3, 1), np.float32)
    for last, outcome in ((np.nan, Outcome.INVALID), (1.0, Outcome.FAILED)):
        data = {0: np.array([0, 1, last], np.float32), 3: table}
        example = Example("lookup", ExampleGraph(operands, calls, (0, 3), (4,)), data, {})
        judgement = judge(example, changed(fail))
        assert judgement.outcome == outcome, judgement.reason


@pytest.mark.parametrize(
    ("operation", "divisor", "outcome"),
    [("DIV", 0, Outcome.INVALID), ("DIV", 2, Outcome.FAILED), ("MOD", 0, Outcome.FAILED)],
)
def test_a_device_may_refuse_to_divide_an_integer_by_0(operation: str, divisor: int, outcome: Outcome) -> None:
    """The remainder is defined."""
    integers = "TENSOR_INT32"
    operands = (
        taken(tensor(integers, 1)),
        taken(tensor(integers, 1)),
        constant("INT32", np.int32(0)) if operation == "DIV" else constant("BOOL", np.bool_(False)),
        given(tensor(integers, 1)),
    )
    graph = ExampleGraph(operands, (OperationSpec(operation, (0, 1, 2), (3,)),), (0, 1), (3,))
    numbers = {0: np.array([6], np.int32), 1: np.array([divisor], np.int32)}
    assert judge(Example("division", graph, numbers, {}), changed(fail)).outcome == outcome


def positive_positions(*, shown: bool) -> Example:
    """The positions of the sines of 0, 1 and 2 that are not 0."""
    kept = OperandSource.SUBGRAPH_OUTPUT if shown else OperandSource.TEMPORARY_VARIABLE
    operands = (taken(tensor(F32, 3)), replace(tensor(F32, 3), lifetime=kept), given(tensor("TENSOR_INT32", 1, 0)))
    calls = (OperationSpec("SIN", (0,), (1,)), OperationSpec("NONZERO", (1,), (2,)))
    graph = ExampleGraph(operands, calls, (0,), (1, 2) if shown else (2,))
    return Example("positions", graph, {0: np.arange(3, dtype=np.float32)}, {})


@pytest.mark.parametrize(
    ("positions", "shown", "outcome"),
    [
        ([[0, 1, 2]], False, Outcome.AGREED),
        ([[0, 1, 2]], True, Outcome.FAILED),
        ([[1, 2]], True, Outcome.AGREED),
        ([[0, 1, 2], [0, 0, 0]], False, Outcome.FAILED),
    ],
    ids=["inexact", "exact", "right", "rank"],
)
def test_a_number_of_results_that_depends_on_inexact_values_may_differ(
    positions: list[list[int]], shown: bool, outcome: Outcome
) -> None:
    """A device whose SIN(0) is not quite 0 finds three positions; it may not find them in a 0 that it shows."""
    sines = {1: np.sin(np.arange(3, dtype=np.float32))} if shown else {}
    outputs = sines | {2: np.array(positions, np.int32)}
    assert judge_outputs(positive_positions(shown=shown), spoilt(0), outputs).outcome == outcome


@pytest.mark.parametrize(("x", "outcome"), [(-36.914, Outcome.AGREED), (2.0, Outcome.FAILED)])
def test_only_a_hidden_number_near_zero_may_be_converted_to_false(x: float, outcome: Outcome) -> None:
    hidden = replace(tensor(F32, 1), lifetime=OperandSource.TEMPORARY_VARIABLE)
    operands = (taken(tensor(F32, 1)), hidden, given(tensor("TENSOR_BOOL8", 1)))
    calls = (OperationSpec("MISH", (0,), (1,)), OperationSpec("CONVERT", (1,), (2,)))
    example = Example("bool", ExampleGraph(operands, calls, (0,), (2,)), {0: np.array([x], np.float32)}, {})
    assert judge_outputs(example, spoilt(0), {2: np.zeros(1, bool)}).outcome == outcome


def kept_state(steps: int) -> Example:
    """A GRU whose update gate is 1 to the last place, so that its state stays 1."""
    zeros, one = np.zeros((3, 1), np.float32), np.ones((1, 1), np.float32)
    arrays = [zeros, zeros, np.array([30, 0, 0], np.float32), np.zeros(3, np.float32), one]
    operands = (
        taken(tensor(F32, steps, 1, 1)),
        *(constant(F32, array) for array in arrays),
        OperandSpec("TENSOR_INT32", (1,), lifetime=OperandSource.NO_VALUE),
        *(constant("INT32", np.int32(code)) for code in (6, 4)),
        constant("FLOAT32", np.float32(0)),
        *(constant("BOOL", np.bool_(value)) for value in (False, False, True)),
        given(tensor(F32, steps, 1, 1)),
        given(tensor(F32, 1, 1)),
    )
    call = OperationSpec("GRU", tuple(range(13)), (13, 14))
    data = {0: np.ones((steps, 1, 1), np.float32)}
    return Example("kept", ExampleGraph(operands, (call,), (0,), (13, 14)), data, {})


@pytest.mark.parametrize(("steps", "outcome"), [(1000, Outcome.AGREED), (2, Outcome.FAILED)])
def test_a_state_may_lose_the_last_place_of_its_gate_in_each_step(steps: int, outcome: Outcome) -> None:
    """0.99994 is right after a thousand steps, and wrong after two."""
    state = np.array([[1 - 1000 * 2.0**-24]], np.float32)
    outputs = {13: np.linspace(1, state[0, 0], steps, dtype=np.float32).reshape(steps, 1, 1), 14: state}
    assert judge_outputs(kept_state(steps), spoilt(0), outputs).outcome == outcome
