"""Integers of operations: they are those of the formula, and TFLite Micro differs where they say so."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi.errors import OpFailedError
from nnapi.exporters.tflite import write
from nnapi.model.builder import Builder
from nnapi.model.model import Model
from nnapi.model.operand import Array, tensor
from nnapi.ops.fixed_point import scale_integers
from nnapi.testing.golden import arithmetic
from nnapi.testing.golden.arithmetic import Arithmetic
from nnapi.testing.golden.recording import Golden, record
from tests.testing.golden.golden_cases import CASES, ROW, SIGNED, UNSIGNED, draw, fully_connected, one_call

LOUD = ("conv_2d as NCHW", "sub", "fully_connected")
"""Cases in which some halves below 0 occur."""


@dataclass(frozen=True)
class Only:
    """The recording of a model of one operation."""

    golden: Golden

    @property
    def arithmetic(self) -> Arithmetic:
        return self.golden.operations[0].arithmetic

    def array(self, name: str) -> Array:
        operation = self.golden.operations[0]
        index = operation.outputs[0] if name == "out" else operation.inputs[name][0]
        return next(tensor.array for tensor in self.golden.tensors if tensor.index == index).astype(np.int64)


def run(model: Model, seed: int = 7) -> Only:
    return Only(record(model, [draw(model.operands[index].type, seed) for index in model.inputs]))


def test_multipliers_are_the_scales_of_each_channel() -> None:
    found = run(CASES["conv_2d"]).arithmetic.integers
    for channel, (mantissa, shift) in enumerate(zip(found["multiplier"], found["shift"], strict=True)):
        scale = float(np.float32(0.003 * (1 + channel)))
        factor = Fraction(float(np.float32(0.05))) * Fraction(scale) / Fraction(float(np.float32(0.11)))
        assert 2**30 <= mantissa < 2**31
        assert abs(Fraction(int(mantissa), 2**31) * Fraction(2) ** int(shift) / factor - 1) < 2**-30
    assert (found["input_zero_point"], found["filter_zero_point"], found["out_zero_point"]) == (7, 0, -5)
    assert (found["low"], found["high"]) == (-128, 127)


def test_the_range_of_the_sums_of_each_channel() -> None:
    only = run(CASES["conv_2d"])
    image = np.pad(only.array("input") - 7, ((0, 0), (1, 1), (0, 1), (0, 0)))
    filter, bias = only.array("filter"), only.array("bias")
    sums = np.array(
        [
            [
                [int((image[0, y : y + 3, x : x + 2] * filter[c]).sum()) + int(bias[c]) for c in range(4)]
                for x in range(6)
            ]
            for y in (0, 2, 4)
        ]
    ).reshape(-1, 4)
    found = only.arithmetic.integers
    assert found["accumulator_low"].tolist() == sums.min(0).tolist()
    assert found["accumulator_high"].tolist() == sums.max(0).tolist()
    widest = max(max(sums.max(), 0), -sums.min() - 1)
    assert 2 ** (found["accumulator_bits"] - 2) <= widest < 2 ** (found["accumulator_bits"] - 1)


@pytest.mark.parametrize(
    ("low", "high", "bits"), [(0, 0, 1), (-1, 0, 1), (0, 1, 2), (-2, 1, 2), (-128, 5, 8), (-3, 127, 8)]
)
def test_bits_are_those_of_a_signed_integer(low: int, high: int, bits: int) -> None:
    only = Only(record(fully_connected(1.0, [low, high]), [np.array([[1]], np.int8)]))
    assert only.arithmetic.integers["accumulator_bits"] == bits


def test_halves_below_zero_are_rounded_up() -> None:
    """-4/8 and -12/8 are halves: NNAPI's kernel gives 0 and -1, TFLite Micro's -1 and -2."""
    model = fully_connected(1 / 8, [-4, 4, -12, 2])
    only = Only(record(model, [np.array([[1]], np.int8)]))
    assert only.array("out").tolist() == [[0, 1, -1, 0]]
    assert only.arithmetic.micro == 2
    assert only.arithmetic.reason == "TFLite Micro rounds halves below 0 down"


def test_the_sum_of_two_scales() -> None:
    only = run(CASES["sub"])
    found = only.arithmetic.integers
    scales = [float(np.float32(scale)) for scale in (0.05, 0.07, 0.2)]
    wanted = (scales[0] / (2 * scales[1]), 0.5, 2 * scales[1] / (2**20 * scales[2]))
    named = [(found["lhs_multiplier"], found["lhs_shift"]), (found["rhs_multiplier"], found["rhs_shift"])]
    for (mantissa, shift), factor in zip([*named, (found["multiplier"][0], found["shift"][0])], wanted, strict=True):
        assert float(mantissa) / 2**31 * 2.0 ** float(shift) == pytest.approx(factor, rel=2**-30)
    assert (found["left_shift"], found["sign"]) == (20, -1)
    assert run(CASES["add"]).arithmetic.integers["sign"] == 1


def test_sums_that_are_divided() -> None:
    mean = run(CASES["mean"])
    sums = mean.array("input").sum((1, 2))
    found = mean.arithmetic.integers
    assert (found["axes"].tolist(), found["count"]) == ([1, 2], 30)
    assert (found["accumulator_low"].item(), found["accumulator_high"].item()) == (sums.min(), sums.max())
    average = run(CASES["average_pool_2d as NCHW"])
    image = average.array("input")  # [1, 5, 6, 3] read as NCHW
    sums = image[..., :-1, :-1] + image[..., 1:, :-1] + image[..., :-1, 1:] + image[..., 1:, 1:]
    found = average.arithmetic.integers
    assert (found["accumulator_low"].item(), found["accumulator_high"].item()) == (sums.min(), sums.max())


def test_clamps_are_those_of_the_activation() -> None:
    found = run(CASES["average_pool_2d"]).arithmetic.integers
    assert (found["low"], found["high"]) == (7, 127)  # 6 / 0.05 is above the range
    assert run(CASES["max_pool_2d"]).arithmetic.integers == {"low": 7, "high": 127}


@pytest.mark.parametrize("kind", [SIGNED, UNSIGNED])
def test_tables_begin_at_the_lowest_value(kind: str) -> None:
    only = run(one_call("relu6", tensor(kind, (3, 40), 0.1, 4)))
    table, lowest = only.arithmetic.integers["table"], only.arithmetic.integers["lowest"]
    assert lowest == (0 if kind == UNSIGNED else -128)
    assert table.tolist() == np.clip(np.arange(lowest, lowest + 256), 4, 64).tolist()
    both = run(CASES["concatenation"])
    assert sorted(both.arithmetic.integers) == ["lowest", "table_0", "table_1"]
    assert (
        both.arithmetic.integers["table_0"][both.array("inputs") + 128].tolist() == both.array("out")[:, :40].tolist()
    )


def test_softmax_reads_its_exponentials() -> None:
    found = run(CASES["softmax"]).arithmetic.integers
    for distance in (0, 1, 20, 255):
        right = np.exp(-float(np.float32(0.7)) * distance * ROW.scale)
        assert found["table"][distance] / 2**30 == pytest.approx(right, abs=2**-29)


def test_integers_that_do_not_give_the_result_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "halve_up", lambda x, by: scale_integers(x, by) + 1)
    with pytest.raises(OpFailedError, match=r"^CONV_2D: its integers do not give \d+ of 72 elements$"):
        run(CASES["conv_2d"])


def test_a_softmax_that_needs_floats_has_no_integers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arithmetic, "EXPONENT_BITS", 4)
    assert run(CASES["softmax"]).arithmetic.rule == "float"


def test_floats_and_other_kinds() -> None:
    floats, row = tensor("float32", (2, 3)), tensor(SIGNED, (2, 40), 0.09, 3)
    for name in ("average_pool_2d", "max_pool_2d"):
        assert run(one_call(name, tensor("float32", (1, 3, 3, 1)), 0, 0, 0, 0, 1, 1, 2, 2)).arithmetic.rule == "float"
    for name, others in (("softmax", [1.0]), ("add", [floats]), ("mean", [np.array([0], np.int32), 0])):
        found = run(one_call(name, floats, *others)).arithmetic
        assert (found.rule, found.integers, found.micro, found.reason) == ("float", {}, None, "not compared")
    assert run(one_call("argmax", row, 1)).arithmetic.rule == "stored"
    assert run(one_call("cast", floats, out=tensor("int32", (2, 3)))).arithmetic.rule == "exact"
    assert run(one_call("reshape", row, np.array([80], np.int32))).arithmetic == Arithmetic("move", micro=0, reason="")
    same = Builder("concatenation")
    same.output(same.concatenation(same.input(ROW), same.input(ROW), axis=0, scale=ROW.scale, zero_point=3))
    assert run(same.finish()).arithmetic.rule == "move"


@pytest.mark.parametrize("name", CASES)
def test_tflite_micro_differs_where_it_is_said(name: str, tmp_path: Path) -> None:
    runtime: Any = pytest.importorskip(
        "tflite_micro.python.tflite_micro.runtime", reason="tflite-micro is not installed"
    )
    only = run(CASES[name])
    if only.arithmetic.micro is None:
        pytest.skip(f"not compared: {only.arithmetic.reason}")
    write(CASES[name], tmp_path / "m.tflite")
    interpreter = runtime.Interpreter.from_file(str(tmp_path / "m.tflite"))
    model = CASES[name]
    interpreter.set_input(draw(model.operands[model.inputs[0]].type, 7), 0)
    interpreter.invoke()
    found, right = interpreter.get_output(0), only.golden.tensors[-1].array
    assert (found != right).sum() == only.arithmetic.micro
    assert (only.arithmetic.micro > 0) is (name in LOUD)
