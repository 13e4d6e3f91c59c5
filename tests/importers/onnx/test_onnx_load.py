"""Loading ONNX files: names, notes, constants in other files, open dimensions, refusals, damage."""

import contextlib
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from nnapi.importers.onnx.file_graph import FileNode  # noqa: E402
from nnapi.importers.onnx.functions import body_of  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402


def f32(name: Any, *shape: Any) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def made(nodes: Any, inputs: Any, outputs: Any, constants: Any = (), opset: int = 21) -> Any:
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants]
    graph = helper.make_graph(nodes, "g", inputs, outputs, tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=9)


def network(batch: Any = 1) -> Any:
    """A convolution, an activation, a pool, a matrix."""
    rng = np.random.default_rng(4)
    nodes = [
        helper.make_node("Conv", ["x", "w", "b"], ["c"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("GlobalAveragePool", ["r"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "m"], ["y"], transB=1),
    ]
    constants = [
        ("w", rng.standard_normal((4, 3, 3, 3)).astype(np.float32)),
        ("b", rng.standard_normal(4).astype(np.float32)),
        ("m", rng.standard_normal((5, 4)).astype(np.float32)),
    ]
    return made(nodes, [f32("x", batch, 3, 8, 8)], [f32("y", batch, 5)], constants)


def theirs(model: Any, *inputs: Any) -> Any:
    """Return ONNX Runtime's results."""
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    return session.run(None, {info.name: array for info, array in zip(session.get_inputs(), inputs, strict=True)})


def codes(model: Any) -> Any:
    return [call.code for call in model.operations]


def test_a_network_computes_what_onnx_runtime_does(tmp_path: Path) -> None:
    proto = network()
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    model = nnapi.load(tmp_path / "net.onnx")
    x = np.random.default_rng(1).standard_normal((1, 3, 8, 8)).astype(np.float32)
    ours = nnapi.compile(model, "nnapi-reference").run(x)[0]
    np.testing.assert_allclose(ours, theirs(proto, x)[0], 1e-5, 1e-6)
    assert [model.operands[i].name for i in (*model.inputs, *model.outputs)] == ["x", "y"]
    names = {operand.name for operand in model.operands}
    assert {"r", "p"} <= names  # the convolution computes what the file calls r
    assert "c" not in names
    assert model.name == "net"


def test_an_image_is_turned_once() -> None:
    assert codes(nnapi.load(network().SerializeToString())).count(OperationCode.TRANSPOSE) == 1


def test_an_open_batch_stays_open_and_can_be_fixed() -> None:
    content = network("batch").SerializeToString()
    x = np.random.default_rng(1).standard_normal((3, 3, 8, 8)).astype(np.float32)
    want = theirs(network("batch"), x)[0]
    model = nnapi.load(content)
    assert model.operands[model.inputs[0]].type.dimensions == (0, 3, 8, 8)
    fixed = nnapi.load(content, shapes={"x": (3, 3, 8, 8)})
    assert fixed.operands[fixed.outputs[0]].type.dimensions == (3, 5)
    for each in (model, fixed):
        np.testing.assert_allclose(nnapi.compile(each, "nnapi-reference").run(x)[0], want, 1e-5, 1e-6)


@pytest.mark.parametrize(
    ("shapes", "message"),
    [
        ({"y": (1,)}, "it has no input y; its inputs are x"),
        ({"x": (1, 4, 8, 8)}, "input x is [?, 3, 8, 8], not [1, 4, 8, 8]"),
        ({"x": (-1, 3, 8, 8)}, "input x cannot be [-1, 3, 8, 8]"),
    ],
)
def test_shapes_that_do_not_fit(shapes: Any, message: Any) -> None:
    with pytest.raises(BadDataError, match=re.escape(message)):
        nnapi.load(network("batch").SerializeToString(), shapes=shapes)


def test_every_node_that_cannot_be_expressed_is_listed() -> None:
    nodes = [
        helper.make_node("RandomUniformLike", ["x"], ["a"], name="first"),
        helper.make_node("RandomUniformLike", ["x"], ["b"]),
        helper.make_node("Det", ["x"], ["c"], name="third"),
        helper.make_node("Relu", ["c"], ["d"]),
    ]
    with pytest.raises(UnsupportedOperationsError) as caught:
        nnapi.load(made(nodes, [f32("x", 2, 2)], [f32("d")]).SerializeToString())
    assert [(each.operation, each.name) for each in caught.value.refusals] == [
        ("RandomUniformLike", "first"),
        ("RandomUniformLike", "b"),
        ("Det", "third"),
    ]
    assert "RandomUniformLike ×2 (first, b: NNAPI's only random operation is RANDOM_MULTINOMIAL)" in str(caught.value)


def test_a_type_outside_onnx_is_shown_by_its_number() -> None:
    given = helper.make_tensor_value_info("x", -1, (2,))
    with pytest.raises(nnapi.NnapiError, match="x is of type number -1, which NNAPI does not have"):
        nnapi.load(made([helper.make_node("Relu", ["x"], ["y"])], [given], [f32("y")]).SerializeToString())


def test_int64_is_narrowed_with_a_note() -> None:
    nodes = [helper.make_node("Add", ["x", "c"], ["y"])]
    info = [helper.make_tensor_value_info(name, TensorProto.INT64, (2,)) for name in "xy"]
    model = nnapi.load(made(nodes, info[:1], info[1:], [("c", np.array([1, 2]))]).SerializeToString())
    assert model.notes == ("int64 tensors are TENSOR_INT32",)
    assert nnapi.compile(model, "nnapi-reference").run(np.array([5, 6], np.int32))[0].tolist() == [6, 8]
    with pytest.raises(BadDataError, match="c holds integers beyond int32"):
        nnapi.load(made(nodes, info[:1], info[1:], [("c", np.array([1, 2**40]))]).SerializeToString())


def saved_outside(folder: Any, location: str = "weights.bin") -> Any:
    model = network()
    onnx.save_model(
        model,
        folder / "net.onnx",
        save_as_external_data=True,
        location=location,
        size_threshold=0,
        convert_attribute=False,
    )
    return onnx.load_model(folder / "net.onnx", load_external_data=False)


def test_constants_in_another_file_are_mapped(tmp_path: Path) -> None:
    saved_outside(tmp_path)
    model = nnapi.load(tmp_path / "net.onnx")
    x = np.ones((1, 3, 8, 8), np.float32)
    np.testing.assert_allclose(nnapi.compile(model, "nnapi-reference").run(x)[0], theirs(network(), x)[0], 1e-5, 1e-6)
    assert pickle.loads(pickle.dumps(model)).operations[0].code == model.operations[0].code
    (tmp_path / "weights.bin").write_bytes(b"changed")
    with pytest.raises(BadDataError, match="weights.bin has changed"):
        nnapi.compile(model, "nnapi-reference")


def test_a_constant_whose_type_changes_is_no_view_of_its_file(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "f"], ["y"]), helper.make_node("Add", ["i", "n"], ["z"])]
    info = [helper.make_tensor_value_info(name, TensorProto.INT64, (2,)) for name in "iz"]
    constants = [("f", np.ones(2, np.float32)), ("n", np.array([1, 2]))]
    proto = made(nodes, [f32("x", 2), info[0]], [f32("y", 2), info[1]], constants)
    onnx.save_model(proto, tmp_path / "net.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    model = nnapi.load(tmp_path / "net.onnx")
    assert [operand.name for operand in model.operands if operand.in_memory] == ["f"]


@pytest.mark.parametrize(
    "location", ["../weights.bin", "/etc/hostname", "", "sub/../../weights.bin", "missing", "a\0b"]
)
def test_constants_outside_the_folder_are_refused(tmp_path: Path, location: Any) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "weights.bin").write_bytes(bytes(10000))
    proto = saved_outside(folder)
    for entry in proto.graph.initializer[0].external_data:
        if entry.key == "location":
            entry.value = location
    (folder / "net.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(BadDataError, match="outside the model's folder|which does not exist"):
        nnapi.load(folder / "net.onnx")


def test_a_link_out_of_the_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    saved_outside(folder)
    (folder / "weights.bin").rename(tmp_path / "weights.bin")
    (folder / "weights.bin").symlink_to(tmp_path / "weights.bin")
    with pytest.raises(BadDataError, match="outside the model's folder"):
        nnapi.load(folder / "net.onnx")


def test_constants_in_another_file_need_a_path(tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match="load the model by its path"):
        nnapi.load(saved_outside(tmp_path).SerializeToString())


def test_constants_beyond_the_end_of_their_file(tmp_path: Path) -> None:
    saved_outside(tmp_path)
    (tmp_path / "weights.bin").write_bytes(bytes(10))
    with pytest.raises(BadDataError, match="takes bytes .* of weights.bin, which has 10"):
        nnapi.load(tmp_path / "net.onnx")


@pytest.mark.parametrize("opset", [6, 7, 9, 11, 13, 17, 21])
def test_opsets(opset: Any) -> None:
    nodes = [helper.make_node("Softmax", ["x"], ["s"], axis=1), helper.make_node("Sum", ["s", "x"], ["y"])]
    model = made(nodes, [f32("x", 2, 3, 4)], [f32("y", 2, 3, 4)], opset=opset)
    x = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    ours = nnapi.compile(nnapi.load(model.SerializeToString()), "nnapi-reference").run(x)[0]
    np.testing.assert_allclose(ours, theirs(model, x)[0], 1e-5, 1e-6)


def test_an_opset_that_is_too_old() -> None:
    model = made([helper.make_node("Relu", ["x"], ["y"])], [f32("x", 2)], [f32("y", 2)], opset=5)
    with pytest.raises(BadDataError, match="it is of opset 5; files are read from opset 6 on"):
        nnapi.load(model.SerializeToString())


def test_functions_of_the_file() -> None:
    twice = helper.make_function(
        "mine",
        "Twice",
        ["a"],
        ["b"],
        [helper.make_node("Add", ["a", "a"], ["t"]), helper.make_node("LeakyRelu", ["t"], ["b"])],
        [helper.make_opsetid("", 21)],
        ["alpha"],
    )
    twice.node[1].attribute.append(
        onnx.AttributeProto(name="alpha", ref_attr_name="alpha", type=onnx.AttributeProto.FLOAT)
    )
    model = made([helper.make_node("Twice", ["x"], ["y"], domain="mine", alpha=0.5)], [f32("x", 2)], [f32("y", 2)])
    model.functions.append(twice)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    loaded = nnapi.load(model.SerializeToString())
    assert nnapi.compile(loaded, "nnapi-reference").run(np.array([1, -1], np.float32))[0].tolist() == [2, -1]


@pytest.mark.parametrize(("opset", "expected"), [(13, 13), (17, 13), (18, 18), (21, 18)])
def test_a_function_is_that_of_the_opset_or_the_newest_before(opset: int, expected: int) -> None:
    node = FileNode(helper.make_node("MeanVarianceNormalization", ["x"], ["y"]))
    body = body_of(node, {"": opset}, [])
    assert body is not None
    assert body.opsets == {"": expected}


def test_dimensions_that_only_a_run_knows_pass_through() -> None:
    """As torch writes x.view(x.size(0), -1)."""
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        helper.make_node("Gather", ["s", "zero"], ["n"]),
        helper.make_node("Unsqueeze", ["n", "axes"], ["u"]),
        helper.make_node("Concat", ["u", "rest"], ["shape"], axis=0),
        helper.make_node("Reshape", ["x", "shape"], ["y"]),
    ]
    constants = [("zero", np.array(0)), ("axes", np.array([0])), ("rest", np.array([12]))]
    model = made(nodes, [f32("x", "n", 3, 4)], [f32("y", "n", 12)], constants)
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    ours = nnapi.compile(nnapi.load(model.SerializeToString()), "nnapi-reference").run(x)[0]
    np.testing.assert_array_equal(ours, x.reshape(2, 12))


def test_damaged_files() -> None:
    content = bytearray(network().SerializeToString())
    with pytest.raises(BadDataError, match="cannot be parsed"):
        nnapi.load(bytes(content[:40]))
    rng = np.random.default_rng(3)
    for _ in range(150):
        changed = bytearray(content)
        for place in rng.integers(0, min(len(content), 600), 3):
            changed[place] = rng.integers(256)
        with contextlib.suppress(nnapi.NnapiError):
            nnapi.load(bytes(changed))


def test_names_that_are_no_utf8() -> None:
    content = made([helper.make_node("RandomUniformLike", ["x"], ["yy"], name="node")], [f32("x", 2)], [f32("yy")])
    for name in (b"node", b"yy"):
        with pytest.raises(BadDataError, match="it is damaged|cannot be parsed|cannot express"):
            nnapi.load(content.SerializeToString().replace(name, b"\xff" * len(name)))


def test_what_onnx_is_needed_for(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    content = network().SerializeToString()
    defined = made([helper.make_node("MeanVarianceNormalization", ["x"], ["y"])], [f32("x", 1, 2, 3, 3)], [f32("y")])
    monkeypatch.setitem(sys.modules, "onnx", None)
    assert nnapi.load(content).operations
    with pytest.raises(nnapi.BadDataError, match="it needs the library onnx: pip install 'nnapi\\[onnx\\]'"):
        nnapi.load(defined.SerializeToString())


@pytest.mark.parametrize("offset", [None, 8, 64])
def test_constants_without_a_length_reach_to_the_end_of_their_file(offset: int | None, tmp_path: Path) -> None:
    proto = made([helper.make_node("Add", ["x", "w"], ["y"])], [f32("x", 2)], [f32("y", 2)], [("w", np.ones(2, "f4"))])
    onnx.save_model(proto, tmp_path / "net.onnx", save_as_external_data=True, location="weights.bin", size_threshold=0)
    proto = onnx.load_model(tmp_path / "net.onnx", load_external_data=False)
    (tmp_path / "weights.bin").write_bytes(bytes(offset or 0) + np.array([5, 7], np.float32).tobytes())
    del proto.graph.initializer[0].external_data[:]
    entries = {"location": "weights.bin"} | ({} if offset is None else {"offset": str(offset)})
    for key, value in entries.items():
        proto.graph.initializer[0].external_data.add(key=key, value=value)
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    model = nnapi.load(tmp_path / "net.onnx")
    assert nnapi.compile(model, "nnapi-reference").run(np.zeros(2, np.float32))[0].tolist() == [5, 7]


@pytest.mark.parametrize(("key", "value"), [("offset", "-1"), ("length", "4.0"), ("length", "1" * 20), ("offset", "x")])
def test_an_extent_of_external_constants_that_is_not_a_number(key: str, value: str, tmp_path: Path) -> None:
    proto = saved_outside(tmp_path)
    for entry in proto.graph.initializer[0].external_data:
        if entry.key == key:
            entry.value = value
    (tmp_path / "net.onnx").write_bytes(proto.SerializeToString())
    with pytest.raises(BadDataError, match=f"has the {key} '{value}' in its external data"):
        nnapi.load(tmp_path / "net.onnx")


@pytest.mark.parametrize("padding", range(4))
def test_constants_of_a_model_are_aligned(padding: int, tmp_path: Path) -> None:
    """Beside a file that holds them at any offset."""
    weights = np.arange(6, dtype=np.float32).reshape(2, 3)
    proto = made([helper.make_node("Add", ["x", "w"], ["y"])], [f32("x", 2, 3)], [f32("y", 2, 3)], [("w", weights)])
    proto.producer_name = "p" * padding
    model = nnapi.load(proto.SerializeToString())
    (constant,) = [each.value for each in model.operands if each.value is not None and each.type.rank == 2]
    assert isinstance(constant, np.ndarray)
    assert constant.flags.aligned
    assert constant.tolist() == weights.tolist()
