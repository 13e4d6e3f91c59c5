"""Which of equal elements comes first, in NNAPI and in files: TOPK_V2 and ARGMAX."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
import onnx
from onnx.reference import ReferenceEvaluator

import nnapi
from nnapi.formats.tflite.reader import File
from tests.engines import DEVICES, find_device
from tests.exporters.exported_cases import run_litert
from tests.importers.onnx.literal_cases import file_of, node
from tests.tflite_writer import const, f32, i32, s8, single

X = np.array([[3, 7, 7, 1, 7, 3], [2, 2, 2, 2, 2, 2]], np.float32)
FIRST, LAST = [[1, 2, 4, 0], [0, 1, 2, 3]], [[4, 2, 1, 5], [5, 4, 3, 2]]
"""The indices of the four largest if the first of equal elements comes first, as in files, or the last, as in NNAPI."""


def built(kind: str) -> nnapi.Model:
    net = nnapi.Builder()
    quantization = (0.5, 3) if kind == "int8" else (0.0, 0)
    net.output(*net.topk_v2(net.input(nnapi.tensor(kind, X.shape, *quantization)), 4))
    return net.finish()


def write(model: nnapi.Model, format: str, folder: Path) -> Path:
    path = folder / f"model.{format}"
    nnapi.export(model, path)
    return path


def kinds(path: Path) -> list[str]:
    if path.suffix == ".onnx":
        return [node.op_type for node in onnx.load(path).graph.node]
    return [each.kind for each in File(memoryview(path.read_bytes())).subgraph(0).operators]


@pytest.mark.parametrize("kind", ["float32", "int32", "int8", "float16"])
def test_an_exported_model_keeps_nnapi_s_order(kind: str, tmp_path: Path) -> None:
    model, x = built(kind), X.astype(kind)
    assert nnapi.compile(model, "nnapi-reference").run(x)[1].tolist() == LAST
    for format in ("onnx", "tflite"):
        again = nnapi.load(write(model, format, tmp_path))
        assert nnapi.compile(again, "nnapi-reference").run(x)[1].tolist() == LAST
    evaluator: Any = ReferenceEvaluator(onnx.load(tmp_path / "model.onnx"))
    (name,) = evaluator.input_names
    assert evaluator.run(None, {name: x})[1].tolist() == LAST


@pytest.mark.engine
@pytest.mark.parametrize("kind", ["float32", "int32", "int8"])
def test_litert_reads_nnapi_s_order(kind: str, tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    assert run_litert(write(built(kind), "tflite", tmp_path), [X.astype(kind)])[1].tolist() == LAST


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("largest", [1, 0])
def test_a_file_s_order_is_kept(device: str, largest: int, tmp_path: Path) -> None:
    content = file_of([node("TopK", "x k", "v i", largest=largest)], {"x": X}, {"k": np.array([4])}, "v i")
    values, indices = nnapi.compile(nnapi.load(content), find_device(device), cache=False).run(X)
    expected = FIRST if largest else [[3, 0, 5, 1], [0, 1, 2, 3]]
    assert indices.tolist() == expected
    assert values.tolist() == np.take_along_axis(X, np.array(expected), 1).tolist()
    for tensor, kind in ((f32(2, 6), "float32"), (s8(2, 6, scale=0.5), "int8")) if largest else ():
        out = type(tensor)(tensor.type, (2, 4), tensor.scale, tensor.zero_point)
        content = single("TOPK_V2", [tensor, const(4)], [out, i32(2, 4)], "TopKV2Options")
        path = tmp_path / f"{kind}.tflite"
        path.write_bytes(content)
        found = nnapi.compile(nnapi.load(path), find_device(device), cache=False).run(X.astype(kind))
        assert found[1].tolist() == FIRST


@pytest.mark.parametrize("axis", [0, 1])
def test_a_file_s_order_is_exported_without_reversals(axis: int, tmp_path: Path) -> None:
    top = node("TopK", "x k", "v i", axis=axis)
    model = nnapi.load(file_of([top], {"x": X}, {"k": np.array([2])}, "v i"))
    for format in ("onnx", "tflite"):
        found = kinds(write(model, format, tmp_path))
        assert not {"Slice", "Sub", "REVERSE_V2", "SUB"}.intersection(found)
        assert len({"TopK", "TOPK_V2"}.intersection(found)) == 1
        again = nnapi.load(tmp_path / f"model.{format}")
        for ours, theirs in zip(
            *(nnapi.compile(each, "nnapi-reference").run(X) for each in (model, again)), strict=True
        ):
            np.testing.assert_array_equal(ours, theirs)


@pytest.mark.engine
def test_engines_compute_a_file_s_order_without_reversals() -> None:
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    from nnapi.drivers.xnnpack.lowering import lower_model

    content = file_of([node("TopK", "x k", "v i")], {"x": X}, {"k": np.array([2])}, "v i")
    assert [each.kind for each in lower_model(nnapi.load(content)).graph.operators] == ["TOPK_V2"]
    assert [each.kind for each in lower_model(built("float32")).graph.operators] == ["REVERSE_V2", "TOPK_V2", "SUB"]


@pytest.mark.parametrize(
    ("dtype", "extremes"), [(np.uint8, (0, 255)), (np.int8, (-128, 127)), (np.int32, (-(2**31), 2**31 - 1))]
)
def test_the_smallest_integers_are_found(dtype: Any, extremes: tuple[int, int]) -> None:
    """The negative of the lowest integer would be itself."""
    x = np.array([5, extremes[1], extremes[0], 7], dtype)
    content = file_of([node("TopK", "x k", "v i", largest=0)], {"x": x}, {"k": np.array([4])}, "v i", opset=24)
    values, indices = nnapi.compile(nnapi.load(content), "nnapi-reference").run(x)
    assert indices.tolist() == [2, 0, 3, 1]
    assert values.tolist() == np.sort(x).tolist()


@pytest.mark.parametrize("device", DEVICES)
def test_the_first_of_equal_elements_is_the_largest(device: str) -> None:
    for kind, is_last, expected in (("ArgMax", 0, [1, 0]), ("ArgMin", 0, [3, 0]), ("ArgMax", 1, [4, 5])):
        content = file_of([node(kind, "x", axis=1, keepdims=0, select_last_index=is_last)], {"x": X})
        assert nnapi.compile(nnapi.load(content), find_device(device), cache=False).run(X)[0].tolist() == expected
