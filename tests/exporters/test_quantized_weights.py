"""Weights that stay quantized beside floats are written as such; LiteRT computes with them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.exporters.tflite.convert import use_quantized_weights
from nnapi.formats.tflite.graph import Graph, Operator, Tensor
from tests.tflite_writer import T, f32, single

rng = np.random.default_rng(5)
SCALES = tuple(rng.uniform(0.005, 0.02, 5).tolist())
PER_CHANNEL = T("INT8", (5, 8), scale=SCALES, zero_point=0)


def weights(**change: Any) -> Tensor:
    fields: dict[str, Any] = {"scale": 0.01, "data": rng.integers(-127, 128, (5, 8), np.int8)}
    return Tensor("i8", (5, 8), **fields | change)


def graph_of(kind: str, quantized: Tensor) -> Graph:
    x, real = Tensor("f32", (2, 8)), Tensor("f32", quantized.shape)
    y = Tensor("f32", (2, 5))
    return Graph([Operator("DEQUANTIZE", [quantized], [real]), Operator(kind, [x, real, None], [y])], [x], [y])


def test_a_scale_for_the_whole_matrix_is_repeated_for_each_unit() -> None:
    quantized = weights()
    (product,) = use_quantized_weights(graph_of("FULLY_CONNECTED", quantized)).operators
    np.testing.assert_array_equal(product.input(1).scale, np.full(5, 0.01, np.float32))
    assert product.input(1).value is quantized.value


@pytest.mark.parametrize(
    ("kind", "quantized"),
    [
        ("FULLY_CONNECTED", weights(zero_point=3)),
        ("FULLY_CONNECTED", weights(scale=np.ones(8, np.float32), axis=1)),
        ("FULLY_CONNECTED", weights(data=None)),
        ("BATCH_MATMUL", weights()),
    ],
)
def test_other_weights_are_dequantized_at_run_time(kind: str, quantized: Tensor) -> None:
    operators = use_quantized_weights(graph_of(kind, quantized)).operators
    assert [each.kind for each in operators] == ["DEQUANTIZE", kind]


@pytest.mark.parametrize("kept", [True, False])
def test_litert_computes_the_exported_file_as_the_given_one(kept: bool, tmp_path: Path) -> None:
    litert = pytest.importorskip("ai_edge_litert.interpreter")
    matrix = PER_CHANNEL.of(rng.integers(-127, 128, (5, 8), np.int8))
    given = single("FULLY_CONNECTED", [f32(2, 8), matrix, None], f32(2, 5), "FullyConnectedOptions")
    nnapi.export(nnapi.load(given, weights="dynamic-range" if kept else None), tmp_path / "written.tflite")
    x = rng.normal(size=(2, 8)).astype(np.float32)
    results, kinds = [], []
    for content in (given, (tmp_path / "written.tflite").read_bytes()):
        interpreter = litert.Interpreter(model_content=content)
        kinds.append([each["op_name"] for each in interpreter._get_ops_details()])
        interpreter.allocate_tensors()
        interpreter.set_tensor(interpreter.get_input_details()[0]["index"], x)
        interpreter.invoke()
        results.append(interpreter.get_tensor(interpreter.get_output_details()[0]["index"]))
    assert all("DEQUANTIZE" not in each for each in kinds)
    assert np.array_equal(*results) is kept
    np.testing.assert_allclose(results[1], results[0], atol=0.05)
