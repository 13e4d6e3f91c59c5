"""Composites of indices and casts in exported files: ONNX's own operators, and TensorFlow Lite's where it has them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
import onnx
from onnx.reference import ReferenceEvaluator

import nnapi
from nnapi.formats.tflite.reader import File
from nnapi.model.builder import Builder
from nnapi.model.model import Model
from nnapi.model.operand import OperandType, tensor
from nnapi.ops.coordinates import Reduction
from nnapi.ops.grid_sample import Mode, Padding
from tests.exporters.exported_cases import run_litert
from tests.ops.composite_cases import model_of

RANDOM = np.random.default_rng(11)
X = RANDOM.normal(size=(3, 4, 2)).astype(np.float32)
IMAGE = RANDOM.normal(size=(1, 3, 4, 2)).astype(np.float32)
FLOATS = np.array([300.7, -1.9, 0, 0.4], np.float32)
Case = tuple[Callable[..., Any], list[Any], list[str], list[str]]
"""A function that makes the operation, its inputs, and the kinds of operators in an ONNX and a .tflite file; no kinds
where the file has the decomposition."""


def int32(values: Any) -> Any:
    return np.array(values, np.int32)


def quantized(dtype: str) -> OperandType:
    return tensor(dtype, (4,), 0.5, 3)


COORDINATES = int32([[2, 1], [0, 3]])
CASES: dict[str, Case] = {
    "TAKE": (lambda b, x, i: b.take(x, 1, i), [X, int32([3, -4, 0])], ["Gather"], ["LESS", "ADD", "SELECT", "GATHER"]),
    "GATHER_ELEMENTS": (
        lambda b, x, i: b.gather_elements(x, 0, i, True),
        [X, RANDOM.integers(-3, 3, (2, 4, 2)).astype(np.int32)],
        ["GatherElements"],
        [],
    ),
    "GATHER_ND": (
        lambda b, x, i: b.gather_nd(x, i, 0, False),
        [X, COORDINATES],
        ["Cast", "GatherND"],
        ["GATHER_ND"],
    ),
    "GATHER_ND in batches": (
        lambda b, x, i: b.gather_nd(x, i, 1, False),
        [X, int32([[3], [0], [1]])],
        ["Cast", "GatherND"],
        ["RESHAPE", "GATHER"],
    ),
    "SCATTER_ELEMENTS": (
        lambda b, x, i, u: b.scatter_elements(x, 1, i, u, Reduction.MAX, True),
        [X, RANDOM.integers(-4, 4, (3, 2, 2)).astype(np.int32), RANDOM.normal(size=(3, 2, 2)).astype(np.float32)],
        ["ScatterElements"],
        [],
    ),
    "SCATTER_ND": (
        lambda b, x, i, u: b.scatter_nd(x, i, u, Reduction.NONE, False),
        [X, COORDINATES, X[0, :2]],
        ["Cast", "ScatterND"],
        [],
    ),
    "SCATTER_ND that adds": (
        lambda b, x, i, u: b.scatter_nd(x, i, u, Reduction.ADD, False),
        [X, int32([[2, 1], [2, 1]]), X[0, :2]],
        ["Cast", "ScatterND"],
        ["SCATTER_ND", "ADD"],
    ),
    "GRID_SAMPLE": (
        lambda b, x, g: b.grid_sample(x, g, Mode.LINEAR, Padding.BORDER, True),
        [IMAGE, RANDOM.uniform(-1.2, 1.2, (1, 2, 3, 2)).astype(np.float32)],
        ["Transpose", "GridSample", "Transpose"],
        [],
    ),
    "TOP_K": (
        lambda b, x: b.top_k(x, -1, 2, True),
        [np.array([[1, 5, 5, 0]], np.float32)],
        ["TopK", "Cast"],
        ["TOPK_V2"],
    ),
    "TOP_K along another axis": (
        lambda b, x: b.top_k(x, 0, 2, False),
        [X],
        ["TopK", "Cast"],
        [],
    ),
    "CONVERT to bytes": (
        lambda b, x: b.convert(x, out=tensor("quant8_asymm_signed", (4,), 1.0, 0)),
        [int32([300, -1, 128, 5])],
        ["Cast"],
        ["CAST"],
    ),
    "CONVERT from floats": (
        lambda b, x: b.convert(x, out=tensor("quant8_asymm", (4,), 1.0, 0)),
        [FLOATS],
        ["Clip", "Cast"],
        ["CAST"],
    ),
    "CONVERT to booleans": (lambda b, x: b.convert(x, out=tensor("bool8", (4,))), [FLOATS], ["Cast"], ["CAST"]),
    "QUANTIZE_TO_EVEN": (
        lambda b, x: b.quantize_to_even(x, out=quantized("quant8_asymm")),
        [np.array([0.25, 0.75, -1.25, 9], np.float32)],
        ["QuantizeLinear"],
        ["DIV", "ADD", "SUB", "MUL", "QUANTIZE"],
    ),
}


def build(case: Case) -> tuple[Model, list[Any]]:
    make, arrays, *_ = case

    def with_inputs(b: Builder) -> Any:
        kinds = ("int32" if each.dtype == np.int32 else "float32" for each in arrays)
        return make(b, *(b.input(tensor(kind, each.shape)) for kind, each in zip(kinds, arrays, strict=True)))

    model = model_of(with_inputs)
    return model, list(nnapi.compile(model, "nnapi-reference", cache=False).run(*arrays))


def assert_same(found: Any, expected: Any) -> None:
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_allclose(np.asarray(ours, np.float64), np.asarray(theirs, np.float64), 1e-5, 1e-6)


@pytest.mark.parametrize("name", CASES)
def test_onnx_files_have_onnx_s_own_operators(name: str, tmp_path: Path) -> None:
    model, expected = build(CASES[name])
    nnapi.export(model, tmp_path / "model.onnx")
    file = onnx.load(tmp_path / "model.onnx")
    assert [node.op_type for node in file.graph.node] == CASES[name][2]
    evaluator: Any = ReferenceEvaluator(file)
    assert_same(evaluator.run(None, dict(zip(evaluator.input_names, CASES[name][1], strict=True))), expected)
    again = nnapi.load(tmp_path / "model.onnx")
    assert_same(nnapi.compile(again, "nnapi-reference", cache=False).run(*CASES[name][1]), expected)


@pytest.mark.parametrize("name", CASES)
def test_tflite_files_have_operators_that_mean_the_same(name: str, tmp_path: Path) -> None:
    model, expected = build(CASES[name])
    nnapi.export(model, tmp_path / "model.tflite")
    operators = File(memoryview((tmp_path / "model.tflite").read_bytes())).subgraph(0).operators
    if CASES[name][3]:
        assert [each.kind for each in operators] == CASES[name][3]
    again = nnapi.load(tmp_path / "model.tflite")
    assert_same(nnapi.compile(again, "nnapi-reference", cache=False).run(*CASES[name][1]), expected)


@pytest.mark.engine
@pytest.mark.parametrize("name", CASES)
def test_litert_runs_exported_files(name: str, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    model, expected = build(CASES[name])
    nnapi.export(model, tmp_path / "model.tflite")
    assert_same(run_litert(tmp_path / "model.tflite", CASES[name][1]), expected)
