"""Conformance on Qualcomm's NPU: how results are judged and counted, on a device that only pretends."""

from collections.abc import Sequence

import numpy as np
import pytest

from benchmarks.htp import (
    EQUAL,
    FAILED,
    MORE,
    REFUSED,
    SOME,
    VALUES,
    WITHIN,
    Outcome,
    check,
    classify,
    has_wide_weights,
    is_copy,
    page,
)
from nnapi import Builder, Device, tensor
from nnapi.contract.driver import Outcome as RunOutcome
from nnapi.contract.driver import Prepared, Request, Verdict
from nnapi.errors import OpFailedError
from nnapi.model.model import Model
from nnapi.testing.corpus import Entry
from nnapi.testing.example import Example, ExampleGraph, OperandSource, OperandSpec, OperationSpec
from tests.cli.test_check import relu
from tests.runtime.device_cases import Scripted


class Npu(Scripted):
    """A device whose outputs are ``off`` by some steps; it refuses with a reason."""

    def __init__(self, off: int = 0, refuses: str = "", error: str = "") -> None:
        super().__init__(self.run)
        self.off, self.refuses, self.error = off, refuses, error

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return [Verdict(not self.refuses, f"{call}: {self.refuses}") for call in model.operations]

    def run(self, request: Request, inner: Prepared) -> RunOutcome:
        if self.error:
            raise OpFailedError(self.error)
        outcome = inner.execute(request)
        return outcome._replace(outputs=[(array + self.off).astype(array.dtype) for array in outcome.outputs])


def quantized() -> Example:
    """RELU of two quantized values."""
    operands = tuple(
        OperandSpec("TENSOR_QUANT8_ASYMM", (2,), 0.5, 100, lifetime)
        for lifetime in (OperandSource.SUBGRAPH_INPUT, OperandSource.SUBGRAPH_OUTPUT)
    )
    main = ExampleGraph(operands, (OperationSpec("RELU", (0,), (1,)),), (0,), (1,))
    return Example("relu_quant8", main, {0: np.array([90, 110], np.uint8)}, {1: np.array([100, 110], np.uint8)})


@pytest.mark.parametrize(
    ("npu", "column"),
    [
        (Npu(), EQUAL),
        (Npu(1), WITHIN),
        (Npu(3), SOME),
        (Npu(5), MORE),
        (Npu(refuses="no kernel"), REFUSED),
        (Npu(error="it broke"), FAILED),
    ],
)
def test_quantized_examples_are_judged(npu: Npu, column: str) -> None:
    found = check(quantized(), Device(npu))
    assert (found.name, classify(found), found.steps) == ("relu_quant8", column, npu.off)
    assert found.reason == (npu.refuses or npu.error) or npu.off > 1


def test_other_values_are_judged_by_the_tolerance() -> None:
    assert classify(check(relu("relu", 0, 2), Device(Npu(1)))) == VALUES


@pytest.mark.parametrize(("value", "is_wide"), [(227, False), (228, True)])
def test_wide_weights_are_recognized(value: int, is_wide: bool) -> None:
    net = Builder("weights")
    x = net.input(tensor("uint8", (1, 2), 0.5, 0))
    weights = net.constant(np.array([[100, value]], np.uint8), tensor("uint8", (1, 2), 0.5, 100))
    bias = net.constant(np.zeros(1, np.int32), tensor("int32", (1,), 0.25))
    net.output(net.fully_connected(x, weights, bias, scale=1.0, zero_point=0))
    assert has_wide_weights(net.finish()) is is_wide


def test_copies_are_recognized() -> None:
    names = ("relu_quant8", "relu_quant8_all_inputs_as_internal", "relu_quant8_all_tensors_as_inputs_2")
    assert [is_copy(Entry("f", name)) for name in names] == [False, True, True]


def test_the_page_counts() -> None:
    found = [
        Outcome("a", ("RELU",), "passed"),
        Outcome("b", ("RELU",), "passed", 1),
        Outcome("c", ("CONV_2D",), "beyond", 7, "differs", has_wide_weights=True),
        Outcome("d", ("ADD", "RELU"), "refused", reason="no | kernel"),
    ]
    text = page(found, "7", 4)
    assert "| 4 | 1 | 1 | 0 | 1 | 0 | 1 | 0 |\n" in text
    assert "| [RELU](operations.md#relu) | 1 | 1 |  |  |  | 1 |  | no \\| kernel |\n" in text
    assert "coarser scale | 1 | 7 steps | CONV_2D |\n" in text
    assert "onnxruntime-qnn 7" in text
    assert "| 4 of 9 | 1 |" in page(found, "7", 9)
