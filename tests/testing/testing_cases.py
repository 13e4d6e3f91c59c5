"""Small examples and devices that the tests of the test tools share."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import Capabilities, DeviceInfo, Outcome, PrepareOptions, Request, Verdict
from nnapi.model.model import Model
from nnapi.runtime.device import Device, device
from nnapi.testing.example import Example, ExampleGraph, Harness, OperandSource, OperandSpec, OperationSpec

EVERYTHING = Harness(
    dynamic_output_shape=True, quantization_coupling=True, device_memory=True, fenced=True, compliance=True
)
F32, Q8 = "TENSOR_FLOAT32", "TENSOR_QUANT8_ASYMM"


def tensor(type: str, *dimensions: int, **rest: Any) -> OperandSpec:
    return OperandSpec(type, dimensions, **rest)


def constant(type: str, value: Any, lifetime: OperandSource = OperandSource.CONSTANT_COPY, **rest: Any) -> OperandSpec:
    array = np.asarray(value)
    return OperandSpec(type, array.shape, lifetime=lifetime, data=array, **rest)


def taken(operand: OperandSpec) -> OperandSpec:
    return replace(operand, lifetime=OperandSource.SUBGRAPH_INPUT)


def given(operand: OperandSpec) -> OperandSpec:
    return replace(operand, lifetime=OperandSource.SUBGRAPH_OUTPUT)


def add(**changes: Any) -> Example:
    """[1, 2] + [10, 20] in float32."""
    operands = (
        taken(tensor(F32, 2, name="x")),
        constant(F32, np.array([10, 20], np.float32), name="y"),
        constant("INT32", np.int32(0)),
        given(tensor(F32, 2, name="sum")),
    )
    main = ExampleGraph(operands, (OperationSpec("ADD", (0, 1, 2), (3,)),), (0,), (3,))
    inputs, outputs = {0: np.array([1, 2], np.float32)}, {3: np.array([11, 22], np.float32)}
    known = {"spec": "add", "min_feature": "V1_0", "harness": replace(EVERYTHING, quantization_coupling=False)}
    return Example(**({"name": "add", "main": main, "inputs": inputs, "outputs": outputs} | known | changes))  # type: ignore[arg-type]


def relu(**changes: Any) -> Example:
    """The larger of each number and 0, in unsigned codes of scale 0.5 around 128."""
    spec = tensor(Q8, 3, scale=0.5, zero_point=128)
    main = ExampleGraph((taken(spec), given(spec)), (OperationSpec("RELU", (0,), (1,)),), (0,), (1,))
    inputs, outputs = {0: np.array([0, 128, 255], np.uint8)}, {1: np.array([128, 128, 255], np.uint8)}
    known = {"spec": "relu", "min_feature": "V1_0", "harness": EVERYTHING}
    return Example(**({"name": "relu", "main": main, "inputs": inputs, "outputs": outputs} | known | changes))  # type: ignore[arg-type]


def endless() -> Example:
    """A WHILE whose condition is its only, unchanging, state."""
    truth = tensor("TENSOR_BOOL8", 1)
    copy = OperationSpec("LOGICAL_OR", (0, 0), (1,))
    same = ExampleGraph((taken(truth), given(truth)), (copy,), (0,), (1,))
    models = [OperandSpec("SUBGRAPH", lifetime=OperandSource.SUBGRAPH, subgraph=0)] * 2
    main = ExampleGraph((*models, taken(truth), given(truth)), (OperationSpec("WHILE", (0, 1, 2), (3,)),), (2,), (3,))
    yes = np.array([True])
    harness = Harness(generated=False, infinite_loop_timeout=True)
    return Example("endless", main, {2: yes}, {3: yes}, (same,), expect_failure=True, harness=harness)


Spoil = Callable[[Any], Any]
"""A change of an output."""


class Borrowed:
    """A driver that leaves the work to the reference, and may spoil the results or refuse everything."""

    def __init__(self, spoil: Spoil = lambda output: output, refusal: str = "") -> None:
        self.info = DeviceInfo("borrowed", "1", DeviceTypeCode.DEVICE_CPU, 8)
        self.spoil, self.refusal = spoil, refusal
        self._driver = device("nnapi-reference").driver

    def capabilities(self) -> Capabilities:
        return self._driver.capabilities()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        return [Verdict(not self.refusal, self.refusal)] * len(model.operations)

    def prepare(self, model: Model, options: PrepareOptions) -> "Spoilt":
        return Spoilt(self._driver.prepare(model, options), self.spoil)


class Spoilt:
    """A prepared model whose outputs are changed."""

    def __init__(self, prepared: Any, spoil: Spoil) -> None:
        self._prepared, self._spoil = prepared, spoil

    def execute(self, request: Request) -> Outcome:
        outputs = self._prepared.execute(request).outputs
        return Outcome([self._spoil(output).astype(output.dtype) for output in outputs])

    def close(self) -> None:
        self._prepared.close()


REFERENCE = device("nnapi-reference")


def spoilt(by: float) -> Device:
    return changed(lambda output: output + np.asarray(by))


def changed(spoil: Spoil) -> Device:
    return Device(Borrowed(spoil))


def refusing(reason: str) -> Device:
    return Device(Borrowed(refusal=reason))
