"""Sessions whose outputs are maps, which ZipMap makes, or labels that are texts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.importers.onnx.map_and_text_outputs import list_texts  # noqa: E402
from tests.onnx.session_cases import session  # noqa: E402

X = np.array([[0.25, 0.75], [1, 0]], np.float32)


def zipped(rows: int | str, **keys: Any) -> bytes:
    kind = TensorProto.STRING if "classlabels_strings" in keys else TensorProto.INT64
    value = helper.make_tensor_type_proto(TensorProto.FLOAT, None)
    output = helper.make_value_info("maps", helper.make_sequence_type_proto(helper.make_map_type_proto(kind, value)))
    nodes = [
        helper.make_node("Relu", ["x"], ["y"]),
        helper.make_node("ZipMap", ["y"], ["maps"], domain="ai.onnx.ml", **keys),
    ]
    given = helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 2])
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, [rows, 2]), output]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    model = helper.make_model(helper.make_graph(nodes, "g", [given], outputs), opset_imports=opsets, ir_version=8)
    return bytes(model.SerializeToString())


@pytest.mark.parametrize("rows", [2, "rows"])
@pytest.mark.parametrize(
    ("keys", "labels", "type"),
    [({"classlabels_int64s": [5, -3]}, (5, -3), "int64"), ({"classlabels_strings": ["a", "é"]}, ("a", "é"), "string")],
)
def test_a_run_returns_a_dictionary_for_each_row(rows: Any, keys: Any, labels: Any, type: str) -> None:
    content = zipped(rows, **keys)
    ours = session(content)
    expected = [dict(zip(labels, row, strict=True)) for row in X.tolist()]
    array, maps = ours.run(None, {"x": X})
    np.testing.assert_array_equal(array, X)
    assert maps == expected
    assert ours.run(["maps"], {"x": X}) == [expected]
    assert ours.get_outputs()[1].type == f"seq(map({type},tensor(float)))"
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    theirs = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert theirs.run(["maps"], {"x": X}) == [expected]
    assert [list(row) for row in theirs.run(["maps"], {"x": X})[0]] == [list(row) for row in maps]
    assert [(each.type, each.shape) for each in theirs.get_outputs()][1] == (ours.get_outputs()[1].type, [])


def classifier(rows: int | str, is_named_again: bool) -> bytes:
    """A classifier of two labels that are texts, one for each column."""
    outputs = ["label" if is_named_again else "y", "scores"]
    given: dict[str, Any] = {
        "coefficients": [1.0, 0.0, 0.0, 1.0],
        "intercepts": [0.0, 0.0],
        "classlabels_strings": ["no", "yes"],
    }
    nodes = [helper.make_node("LinearClassifier", ["x"], outputs, domain="ai.onnx.ml", **given)]
    if is_named_again:
        nodes.append(helper.make_node("Identity", ["label"], ["y"]))
    ends = [
        helper.make_tensor_value_info("y", TensorProto.STRING, [rows]),
        helper.make_tensor_value_info("scores", TensorProto.FLOAT, [rows, 2]),
    ]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("x", TensorProto.FLOAT, [rows, 2])], ends)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 1)]
    return bytes(helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString())


@pytest.mark.parametrize("is_named_again", [False, True])
@pytest.mark.parametrize("rows", [2, "rows"])
def test_labels_that_are_texts(rows: Any, is_named_again: bool) -> None:
    content = classifier(rows, is_named_again)
    assert list_texts(onnx.load_from_string(content).graph) == {"y": ["no", "yes"]}
    ours = session(content)
    labels, scores = ours.run(None, {"x": X})
    assert (labels.dtype, labels.tolist(), ours.get_outputs()[0].type) == (object, ["yes", "no"], "tensor(string)")
    np.testing.assert_array_equal(scores, X)
    model = nnapi.load(content)
    numbers = nnapi.compile(model, "nnapi-reference").run(X)[0]
    assert numbers.tolist() == [1, 0]
    onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    theirs = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert theirs.run(["y"], {"x": X})[0].tolist() == ["yes", "no"]
