"""Tensors without elements, files of constants only, and dimensions of 0, beside ONNX's reference."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from nnapi.runtime.device import device as named  # noqa: E402
from nnapi.testing.divergence import find_divergence  # noqa: E402

node = helper.make_node
X = np.arange(12, dtype=np.float32).reshape(4, 3)
Dims = tuple[int | str, ...]


def made(nodes: list[Any], inputs: Mapping[str, tuple[Any, Dims]], outputs: str = "y", **constants: Any) -> Any:
    """A file. ``outputs`` are single letters, floats unless they are in capitals, which are int64."""
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(np.dtype(dtype)), shape)
        for name, (dtype, shape) in inputs.items()
    ]
    ends = [helper.make_tensor_value_info(each, 7 if each.isupper() else 1, None) for each in outputs]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "empty", infos, ends, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def compare(proto: Any, *arrays: Any, **shapes: Any) -> nnapi.Model:
    names = [info.name for info in proto.graph.input]
    expected = ReferenceEvaluator(proto).run(None, dict(zip(names, arrays, strict=True)))
    model = nnapi.load(proto.SerializeToString(), shapes=shapes or None)
    for device in (["nnapi-reference"], None):
        for ours, theirs in zip(nnapi.compile(model, device).run(*arrays), expected, strict=True):
            np.testing.assert_array_equal(ours, theirs.reshape(theirs.shape or (1,)), strict=False)
            assert ours.shape == (theirs.shape or (1,))
    return model


FLOAT = np.float32


@pytest.mark.parametrize(
    "nodes",
    [
        [node("Relu", ["x"], ["y"])],
        [node("Add", ["x", "z"], ["y"])],
        [node("Mul", ["z", "x"], ["t"]), node("Exp", ["t"], ["y"])],
        [node("MatMul", ["x", "w"], ["y"])],
        [node("Transpose", ["x"], ["t"]), node("MatMul", ["t", "x"], ["y"])],
        [node("ReduceSum", ["x", "zero"], ["y"], keepdims=0)],
        [node("ReduceMax", ["x", "zero"], ["y"])],
        [node("Concat", ["x", "z"], ["y"], axis=0)],
        [node("Concat", ["x", "x"], ["y"], axis=1)],
        [node("Gather", ["z", "none"], ["y"])],
        [node("Where", ["no", "z", "one"], ["y"])],
        [node("ScatterElements", ["z", "nothing", "x"], ["y"])],
        [node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["y"])],
        [node("Softmax", ["x"], ["y"], axis=1)],
    ],
    ids=lambda nodes: nodes[-1].op_type,
)
def test_inputs_without_elements(nodes: list[Any]) -> None:
    constants = {
        "w": np.ones((3, 2), FLOAT),
        "zero": [0],
        "none": np.zeros(0, np.int64),
        "no": np.zeros((0, 1), bool),
        "one": np.ones(3, FLOAT),
        "nothing": np.zeros((0, 3), np.int64),
    }
    read = {name for each in nodes for name in each.input}
    inputs = {name: (FLOAT, shape) for name, shape in {"x": (0, 3), "z": (1, 3)}.items() if name in read}
    arrays = {"x": np.zeros((0, 3), FLOAT), "z": X[:1]}
    known: dict[str, Any] = {name: array for name, array in constants.items() if name in read}
    compare(made(nodes, inputs, **known), *(arrays[name] for name in inputs))


@pytest.mark.parametrize(
    ("nodes", "constants"),
    [
        ([node("Slice", ["x", "a", "a"], ["y"])], {"a": [1]}),
        ([node("Expand", ["z", "s"], ["y"])], {"s": [0, 3]}),
        ([node("Tile", ["x", "n"], ["y"])], {"n": [0, 2]}),
        ([node("Split", ["x", "n"], ["a", "y"], axis=1)], {"n": [3, 0]}),
    ],
    ids=["Slice", "Expand", "Tile", "Split"],
)
def test_results_without_elements(nodes: list[Any], constants: dict[str, Any]) -> None:
    name = nodes[0].input[0]
    x = X if name == "x" else X[:1]
    compare(made(nodes, {name: (FLOAT, x.shape)}, **constants), x)


BEHIND = {
    "Gather": [node("Squeeze", ["n", "zero"], ["i"]), node("Gather", ["x", "i"], ["y"])],
    "Reshape": [node("Cast", ["n"], ["f"], to=1), node("Reshape", ["f", "flat"], ["y"])],
    "Split": [
        node("Split", ["n"], ["a", "b"], axis=0, num_outputs=2),
        node("Add", ["a", "b"], ["c"]),
        node("Cast", ["c"], ["y"], to=1),
    ],
    "Split of several sizes": [
        node("Split", ["n", "sizes"], ["a", "b"], axis=0),
        node("Cast", ["b"], ["y"], to=1),
    ],
    "Concat": [node("Cast", ["n"], ["f"], to=1), node("Concat", ["f", "x"], ["y"], axis=1)],
    "ReduceSum": [node("Cast", ["n"], ["f"], to=1), node("ReduceSum", ["f", "one"], ["y"])],
    "ReduceMean": [node("Cast", ["n"], ["f"], to=1), node("ReduceMean", ["f", "one"], ["y"])],
    "ReduceMax": [node("Cast", ["n"], ["f"], to=1), node("ReduceMax", ["f", "one"], ["y"])],
    "MatMul": [
        node("Cast", ["n"], ["f"], to=1),
        node("Transpose", ["f"], ["t"]),
        node("MatMul", ["f", "t"], ["y"]),
    ],
    "Softmax": [node("Cast", ["n"], ["f"], to=1), node("Softmax", ["f"], ["y"], axis=0)],
    "Unsqueeze": [node("Cast", ["n"], ["f"], to=1), node("Unsqueeze", ["f", "zero"], ["y"])],
    "Expand": [node("Cast", ["n"], ["f"], to=1), node("Mul", ["f", "half"], ["g"]), node("Sub", ["g", "f"], ["y"])],
}
VALUES = {"zero": [0], "one": [1], "flat": [-1], "sizes": [1, 1], "half": FLOAT(0.5)}


@each_row("count", [0, 1, 3])
@each_row("kind", BEHIND)
def test_operations_behind_results_of_unknown_size(kind: str, count: int) -> None:
    """NonZero may find nothing."""
    rank = 1 if kind == "Gather" else 2
    nodes = [node("NonZero", ["x"], ["n"]), *BEHIND[kind]]
    x = np.zeros((2, 3)[-rank:], FLOAT)
    x.reshape(-1)[:count] = 1
    read = {name for each in nodes for name in each.input}
    known: dict[str, Any] = {name: value for name, value in VALUES.items() if name in read}
    with np.errstate(all="ignore"):
        if kind == "ReduceMean" and count == 0:
            (found,) = nnapi.compile(
                nnapi.load(made(nodes, {"x": (FLOAT, x.shape)}, **known).SerializeToString()), "nnapi-reference"
            ).run(x)
            assert found.shape == (2, 1)
            assert np.isnan(found).all()
            return
        compare(made(nodes, {"x": (FLOAT, x.shape)}, **known), x)


def test_files_of_constants_only() -> None:
    compare(made([node("Add", ["a", "b"], ["y"])], {}, a=X, b=X))
    compare(made([node("HannWindow", ["n"], ["y"])], {}, n=np.int64(8)))
    mel = node("MelWeightMatrix", ["bins", "length", "rate", "low", "high"], ["y"])
    bounds: dict[str, Any] = {"low": FLOAT(0), "high": FLOAT(4000)}
    compare(made([mel], {}, bins=np.int64(5), length=np.int64(64), rate=np.int64(8000), **bounds))
    model = compare(made([node("Add", ["a", "a"], ["y"])], {}, a=np.zeros((0, 3), FLOAT)))
    assert (model.inputs, len(model.outputs)) == ((), 1)


def test_an_input_declared_without_elements_takes_no_others() -> None:
    model = nnapi.load(made([node("Relu", ["x"], ["y"])], {"x": (FLOAT, (0, 3))}).SerializeToString())
    with pytest.raises(BadDataError, match=r"x \(0\), .* cannot take an array of shape \[2, 3\]"):
        nnapi.compile(model).run(X[:2])


@pytest.mark.parametrize("is_symbolic", [False, True])
def test_a_batch_of_0(is_symbolic: bool) -> None:
    """Both ways: where NNAPI keeps the dimension dynamic, and where the file is imported for the sizes of a run."""
    nodes = [node("Relu", ["x"], ["t"])]
    if is_symbolic:
        nodes += [node("Shape", ["x"], ["s"]), node("Add", ["s", "s"], ["d"]), node("Tile", ["t", "d"], ["y"])]
    else:
        nodes += [node("Add", ["t", "t"], ["y"])]
    proto = made(nodes, {"x": (FLOAT, ("batch", 3))})
    compiled = nnapi.compile(nnapi.load(proto.SerializeToString()), "nnapi-reference")
    for count in (2, 0, 4):
        expected: Any = ReferenceEvaluator(proto).run(None, {"x": X[:count]})
        np.testing.assert_array_equal(compiled.run(X[:count])[0], expected[0])
    compare(proto, X[:0], x=(0, 3))


def test_a_cached_file_keeps_its_empty_input(tmp_path: Path) -> None:
    path = tmp_path / "empty.onnx"
    path.write_bytes(made([node("Relu", ["x"], ["y"])], {"x": (FLOAT, (0, 3))}).SerializeToString())
    for _ in range(2):
        model = nnapi.load(path)
        compiled = nnapi.compile(model)
        assert compiled.run(X[:0])[0].shape == (0, 3)
        with pytest.raises(BadDataError, match="cannot take an array of shape"):
            compiled.run(X)


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_exported_files(suffix: str, tmp_path: Path) -> None:
    nodes = [node("Slice", ["x", "a", "a"], ["y"]), node("Add", ["x", "x"], ["z"])]
    model = nnapi.load(made(nodes, {"x": (FLOAT, X.shape)}, "yz", a=[1]).SerializeToString())
    path = tmp_path / f"empty{suffix}"
    nnapi.export(model, path)
    found = [nnapi.compile(nnapi.load(path), "nnapi-reference").run(X)]
    if suffix == ".onnx":
        onnxruntime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
        found.append(session.run(None, {session.get_inputs()[0].name: X}))
    for empty, doubled in found:
        assert empty.shape == (0, 3)
        np.testing.assert_array_equal(doubled, X + X)


def test_devices_are_compared() -> None:
    nodes = [node("Slice", ["x", "a", "a"], ["y"])]
    nodes += [node("NonZero", ["x"], ["n"]), node("Cast", ["n"], ["f"], to=1), node("Exp", ["f"], ["t"])]
    model = nnapi.load(made(nodes, {"x": (FLOAT, X.shape)}, "yt", a=[1]).SerializeToString())
    reference = named("nnapi-reference")
    found = find_divergence(model, [np.zeros_like(X)], reference, reference, lambda call: None)
    assert found.is_complete
    assert found.first is None


def test_the_drop_in_takes_and_gives_no_elements() -> None:
    import nnapi.onnx as ours

    proto = made([node("Add", ["x", "z"], ["y"]), node("Relu", ["z"], ["t"])],
                 {"x": (FLOAT, (0, 3)), "z": (FLOAT, (1, 3))}, "yt")  # fmt: skip
    session = ours.InferenceSession(proto.SerializeToString())
    found = session.run(None, {"x": X[:0], "z": X[:1]})
    assert found[0].shape == (0, 3)
    np.testing.assert_array_equal(found[1], X[:1])
    constant = ours.InferenceSession(made([node("Add", ["a", "a"], ["y"])], {}, a=X).SerializeToString())
    np.testing.assert_array_equal(constant.run(None, {})[0], X + X)
