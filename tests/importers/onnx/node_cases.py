"""ONNX's own tests of single operators, and what becomes of one."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

import nnapi  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402

PARAMETERS = {
    "CenterCropPad": (1,),
    "Clip": (1, 2),
    "ConstantOfShape": (0,),
    "CumSum": (1,),
    "Dropout": (1, 2),
    "Expand": (1,),
    "GatherND": (1,),
    "Loop": (0, 1),
    "OneHot": (1, 2),
    "Pad": (1, 2, 3),
    "Range": (0, 1, 2),
    "ReduceL1": (1,),
    "ReduceL2": (1,),
    "ReduceLogSum": (1,),
    "ReduceLogSumExp": (1,),
    "ReduceMax": (1,),
    "ReduceMean": (1,),
    "ReduceMin": (1,),
    "ReduceProd": (1,),
    "ReduceSum": (1,),
    "ReduceSumSquare": (1,),
    "Reshape": (1,),
    "Resize": (1, 2, 3),
    "ReverseSequence": (1,),
    "Slice": (1, 2, 3, 4),
    "Split": (1,),
    "Squeeze": (1,),
    "Tile": (1,),
    "TopK": (1,),
    "Trilu": (1,),
    "Unsqueeze": (1,),
    "Upsample": (1,),
    "BlackmanWindow": (0,),
    "HammingWindow": (0,),
    "HannWindow": (0,),
    "ConvTranspose": (1,),
    "QuantizeLinear": (1, 2),
    "DequantizeLinear": (1, 2),
    "QLinearConv": (1, 2, 3, 4, 5, 6, 7, 8),
    "QLinearMatMul": (1, 2, 4, 5, 6, 7),
    "LSTM": (1, 2, 3, 4, 7),
    "GRU": (1, 2, 3, 4),
    "RNN": (1, 2, 3, 4),
}
"""Inputs that say how an operator computes, which networks have as constants; the tests give them at every run."""


class NodeCase(NamedTuple):
    name: str
    content: bytes
    inputs: list[Any]
    outputs: list[Any]
    relative: float
    absolute: float

    @property
    def operator(self) -> str:
        """The operator that is tested."""
        nodes = onnx.ModelProto.FromString(self.content).graph.node
        return self.name.removeprefix("test_").split("_")[0] if len(nodes) != 1 else str(nodes[0].op_type)


class Outcome(NamedTuple):
    """``kind`` is passed, frozen (passed with parameters as constants), refused, wrong or failed."""

    kind: str
    reason: str = ""


@cache
def node_cases() -> list[NodeCase]:
    from onnx.backend.test.loader import load_model_tests

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # they overflow on purpose
        tests = load_model_tests(kind="node")
    found = []
    for test in tests:
        inputs, outputs = ([_array(each) for each in side] for side in test.data_sets[0])
        found.append(NodeCase(test.name, test.model.SerializeToString(), inputs, outputs, test.rtol, test.atol))
    return found


def _array(value: Any) -> Any:
    return onnx.numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value


def outcome(case: NodeCase, device: str | None = None) -> Outcome:
    """What becomes of a case: first as it is, and where that is refused, with its parameters as constants."""
    found = _tried(case.content, case.inputs, case, device)
    if found.kind != "refused":
        return found
    content, inputs = frozen(case)
    if len(inputs) == len(case.inputs) or not inputs:
        return found
    again = _tried(content, inputs, case, device)
    return Outcome("frozen") if again.kind == "passed" else again


def frozen(case: NodeCase) -> tuple[bytes, list[Any]]:
    """The case with its parameters as constants, and the inputs that are left."""
    model = onnx.ModelProto.FromString(case.content)
    users: dict[str, set[bool]] = {}
    for node in model.graph.node:
        for i, name in enumerate(node.input):
            users.setdefault(name, set()).add(i in PARAMETERS.get(node.op_type, ()))
    left = []
    for info, array in zip(list(model.graph.input), case.inputs, strict=True):
        is_integers = getattr(array, "dtype", None) == np.int64 and array.ndim < 2
        if users.get(info.name) == {True} or (is_integers and "expanded" in case.name):
            model.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(array), info.name))
            model.graph.input.remove(info)
        else:
            left.append(array)
    return model.SerializeToString(), left


def _tried(content: bytes, inputs: Sequence[Any], case: NodeCase, device: str | None) -> Outcome:
    try:
        model = nnapi.load(content)
    except UnsupportedOperationsError as error:
        return Outcome("refused", "; ".join(f"{each.operation}: {each.reason}" for each in error.refusals))
    except nnapi.BadDataError as error:
        return Outcome("refused", error.message)
    try:
        compiled = nnapi.compile(model, device) if device else nnapi.compile(model)
        results = compiled.run(*(fitted(array, model, i) for i, array in enumerate(inputs)))
    except nnapi.NnapiError as error:
        return Outcome("failed", str(error))
    for ours, theirs in zip(list(results), case.outputs, strict=True):
        try:
            agree(np.asarray(ours), np.asarray(theirs), case)
        except AssertionError as error:
            return Outcome("wrong", " ".join(str(error).split())[:300])
    return Outcome("passed")


def fitted(array: Any, model: nnapi.Model, i: int) -> Any:
    """An input in the type that the model has for it."""
    type = model.operands[model.inputs[i]].type
    array = np.asarray(array)
    return array.astype(np.bool_ if type.name == "BOOL8" else type.dtype).reshape(array.shape or (1,))


def agree(ours: Any, theirs: Any, case: NodeCase) -> None:
    """Floats to the test's own tolerance, float16 to two units of the last place. Which of equal elements TopK takes
    first is the device's choice."""
    assert ours.shape == (theirs.shape or (1,)), f"shape {ours.shape}, not {theirs.shape}"
    theirs = theirs.reshape(ours.shape)
    if theirs.dtype.kind == "f":
        relative = max(case.relative, 2e-3) if theirs.dtype == np.float16 else case.relative
        wide, other = ours.astype(np.float64), theirs.astype(np.float64)
        np.testing.assert_allclose(wide, other, relative, max(case.absolute, 1e-6))
    elif "top_k_same_values" in case.name:
        assert theirs.dtype == np.int64
    else:
        np.testing.assert_array_equal(ours.astype(theirs.dtype), theirs)
