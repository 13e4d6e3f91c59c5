"""Files with dynamic dimensions that NNAPI cannot express: imported for the shapes of each run."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from nnapi.importers.import_cache import Origin  # noqa: E402
from nnapi.importers.input_shapes import GUESSES  # noqa: E402
from nnapi.importers.onnx.dynamic_import import cache_further  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402
from nnapi.model.dynamic_model import DynamicModel  # noqa: E402
from nnapi.onnx import InferenceSession  # noqa: E402
from nnapi.runtime.dynamic_compilation import DynamicCompilation  # noqa: E402


def described(ends: dict[str, Any]) -> list[Any]:
    return [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in ends.items()]


def made(nodes: list[Any], inputs: dict[str, Any], outputs: dict[str, Any], constants: dict[str, Any]) -> bytes:
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", described(inputs), described(outputs), tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = proto.SerializeToString()
    return content


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def heads() -> bytes:
    """Rows split into heads, from [batch, length, 8] to [batch, 2, length, 4], by a shape that the file computes."""
    nodes = [
        node("Shape", "x", "s", start=0, end=2),
        node("Concat", "s tail", "wanted", axis=0),
        node("Reshape", "x wanted", "h"),
        node("Transpose", "h", "y", perm=[0, 2, 1, 3]),
    ]
    ends = {"x": ["batch", "length", 8]}, {"y": ["batch", 2, "length", 4]}
    return made(nodes, *ends, {"tail": np.array([2, 4])})


def split(x: Any) -> Any:
    return x.reshape(*x.shape[:2], 2, 4).transpose(0, 2, 1, 3)


def test_a_file_is_specialized_for_the_shapes_of_each_run() -> None:
    model = nnapi.load(heads())
    assert isinstance(model, DynamicModel)
    assert [model.operands[index].type.dimensions for index in model.inputs] == [(0, 0, 8)]
    assert [model.operands[index].name for index in model.outputs] == ["y"]
    with nnapi.compile(model, "nnapi-reference") as compiled:
        assert isinstance(compiled, DynamicCompilation)
        assert "at the first run of each shape" in compiled.explain()
        for shape in ((1, 3, 8), (2, 5, 8), (1, 3, 8)):
            x = np.random.default_rng(0).normal(size=shape).astype(np.float32)
            np.testing.assert_array_equal(compiled.run(x)[0], split(x))
            np.testing.assert_array_equal(compiled.start(x).result()[0], split(x))
        assert "inputs [1, 3, 8]: compiled in" in compiled.explain()
        assert compiled.at(((1, 3, 8),)).plan.devices == ("nnapi-reference",)
        with pytest.raises(BadDataError, match="cannot take an array of shape"):
            compiled.run(np.zeros((1, 3, 9), np.float32))
    with pytest.raises(nnapi.BadStateError):
        compiled.run(x)


def test_a_file_names_its_model_and_each_import(tmp_path: Any) -> None:
    (tmp_path / "split.heads.onnx").write_bytes(heads())
    model = nnapi.load(tmp_path / "split.heads.onnx")
    assert isinstance(model, DynamicModel)
    assert model.name == "split.heads"
    with nnapi.compile(model, "nnapi-reference") as compiled:
        x = np.ones((1, 3, 8), np.float32)
        np.testing.assert_array_equal(compiled.run(x)[0], split(x))


def test_what_needs_the_operations_says_how_to_fix_dimensions(tmp_path: Any) -> None:
    model = nnapi.load(heads())
    for ask in (lambda: model.operations, lambda: nnapi.export(model, tmp_path / "m.onnx")):
        with pytest.raises(BadDataError, match=r"load\(shapes=…\) or --shape: x \[\?, \?, 8\]"):
            ask()
    fixed = nnapi.load(heads(), shapes={"x": (1, 3, 8)})
    assert not isinstance(fixed, DynamicModel)
    with pytest.raises(BadDataError, match=r"ask at\(shapes\), or fix its dimensions"):
        _ = nnapi.compile(model, "nnapi-reference").plan


def test_what_no_sizes_make_expressible_is_refused_at_once() -> None:
    nodes = [node("Shape", "x", "s"), node("ConstantOfShape", "s", "o"), node("Det", "x", "d"), node("Add", "o d", "y")]
    content = made(nodes, {"x": ["n", "n"]}, {"y": ["n", "n"]}, {})
    with pytest.raises(UnsupportedOperationsError, match=r"which load\(shapes=…\) fixes: x \[\?, \?\]") as caught:
        nnapi.load(content)
    assert [each.operation for each in caught.value.refusals] == ["Det"]


def test_a_guess_that_contradicts_the_file_says_nothing() -> None:
    """All guesses are of other sizes than the file can take."""
    assert 12 not in GUESSES
    nodes = [node("Reshape", "x wanted", "r"), node("Shape", "x", "s"), node("Expand", "r s", "y")]
    content = made(nodes, {"x": ["n"]}, {"y": ["n"]}, {"wanted": np.array([12])})
    x = np.arange(12, dtype=np.float32)
    np.testing.assert_array_equal(nnapi.compile(nnapi.load(content), "nnapi-reference").run(x)[0], x)


def decoder() -> bytes:
    """One step of attention: the new key and value behind those of the past, which a mask may exclude."""
    nodes = [
        node("Concat", "past x", "keys", axis=2),
        node("Transpose", "keys", "transposed", perm=[0, 1, 3, 2]),
        node("MatMul", "x transposed", "scores"),
        node("Cast", "mask", "kept", to=TensorProto.FLOAT),
        node("Sub", "kept one", "outside"),
        node("Mul", "outside large", "bias"),
        node("Shape", "scores", "wide"),
        node("Expand", "bias wide", "biases"),
        node("Add", "scores biases", "masked"),
        node("Softmax", "masked", "weights", axis=-1),
        node("MatMul", "weights keys", "y"),
        node("Identity", "keys", "present"),
    ]
    inputs = {"x": [1, 2, 1, 4], "past": [1, 2, "past", 4], "mask": [1, "total"]}
    outputs = {"y": [1, 2, 1, 4], "present": [1, 2, "total", 4]}
    content = onnx.load_from_string(made(nodes, inputs, outputs, {"one": np.float32(1), "large": np.float32(1e9)}))
    content.graph.input[2].type.tensor_type.elem_type = TensorProto.INT64
    found: bytes = content.SerializeToString()
    return found


def attend(x: Any, past: Any) -> Any:
    keys = np.concatenate([past, x], 2)
    scores = x @ keys.swapaxes(2, 3)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True) @ keys, keys


def test_a_decoder_compiles_twice_for_64_tokens() -> None:
    compiled, rng = nnapi.compile(nnapi.load(decoder()), "nnapi-reference"), np.random.default_rng(1)
    past = rng.normal(size=(1, 2, 1, 4)).astype(np.float32)
    for length in range(1, 65):
        x = rng.normal(size=(1, 2, 1, 4)).astype(np.float32)
        found = compiled.run(x, past, np.ones((1, length + 1), np.int32))
        for ours, exact in zip(found, attend(x, past), strict=True):
            np.testing.assert_allclose(ours, exact, 1e-4, 1e-5)
        past = found[1]
    assert compiled.explain().count("compiled in") == 2
    assert "padded from any length up to 64" in compiled.explain()


def masked(*, uses_mask: bool = True) -> bytes:
    """The mean of rows [1, length, 4] by a mask [1, length] of integers, in a shape that the file computes."""
    nodes = [
        node("Shape", "mask", "s"),
        node("Concat", "s one", "wanted", axis=0),
        node("Cast", "mask", "floats", to=TensorProto.FLOAT),
        node("Reshape", "floats wanted", "column"),
        node("Mul" if uses_mask else "Add", "x column", "rows"),
        node("ReduceSum", "rows axes", "total", keepdims=0),
        node("ReduceSum", "column axes", "count", keepdims=0),
        node("Div", "total count", "y"),
    ]
    ends = {"x": [1, "length", 4], "mask": [1, "length"]}, {"y": [1, 4]}
    proto = onnx.load_from_string(made(nodes, *ends, {"one": np.array([1]), "axes": np.array([1])}))
    proto.graph.input[1].type.tensor_type.elem_type = TensorProto.INT32
    content: bytes = proto.SerializeToString()
    return content


def test_lengths_are_padded_to_buckets_where_a_mask_makes_that_exact() -> None:
    session = InferenceSession(masked(), dynamic="bucket")
    with nnapi.compile(nnapi.load(masked()), "nnapi-reference", dynamic="bucket") as compiled:
        for length in (5, 64, 40, 70, 3):
            x = np.random.default_rng(length).normal(size=(1, length, 4)).astype(np.float32)
            mask = np.ones((1, length), np.int32)
            for (found,) in (compiled.run(x, mask), session.run(None, {"x": x, "mask": mask})):
                np.testing.assert_allclose(found, x.mean(1), 1e-5, 1e-6)
        for explained in (compiled.explain(), session.explain()):
            assert explained.count("compiled in") == 3
            assert "padded from any length up to 128" in explained


def test_buckets_without_a_mask_are_refused() -> None:
    x, mask = np.ones((1, 5, 4), np.float32), np.ones((1, 5), np.int32)
    with (
        nnapi.compile(nnapi.load(masked(uses_mask=False)), "nnapi-reference", dynamic="bucket") as compiled,
        pytest.raises(BadDataError, match="no input masks the padding"),
    ):
        compiled.run(x, mask)
    with pytest.raises(BadDataError, match="dynamic is 'open', must be 'bucket' or None"):
        nnapi.compile(nnapi.load(masked()), dynamic="open")  # type: ignore[arg-type]


def test_imports_for_several_shapes_share_weights() -> None:
    """Those of a matrix product are transposed once."""
    weights = np.arange(4 * 1024, dtype=np.float32).reshape(4, 1024)
    nodes = [node("MatMul", "x w", "p"), node("Shape", "p", "s"), node("Reshape", "p s", "y")]
    session = InferenceSession(made(nodes, {"x": [1, "length", 4]}, {"y": [1, "length", 1024]}, {"w": weights}))
    models = [session._file.model(((1, length, 4),)) for length in (2, 3)]
    first, second = ([each.value for each in model.operands if each.type.dimensions == (1024, 4)] for model in models)
    assert len(first) == 1
    assert np.shares_memory(first[0], second[0])
    assert not first[0].flags.writeable
    x = np.ones((1, 2, 4), np.float32)
    np.testing.assert_allclose(session.run(None, {"x": x})[0], x @ weights)


@pytest.mark.parametrize("kind", ["Sign", "Round"])
def test_constants_that_are_repeated_along_dynamic_dimensions(kind: str) -> None:
    content = made([node(kind, "x", "y")], {"x": ["n", 3]}, {"y": ["n", 3]}, {})
    x = np.array([[-1.5, 0, 2.5], [0.5, -0.5, 1.5]], np.float32)
    with nnapi.compile(nnapi.load(content), "nnapi-reference") as compiled:
        np.testing.assert_array_equal(compiled.run(x)[0], {"Sign": np.sign, "Round": np.rint}[kind](x))


@pytest.mark.parametrize("to", [1, 6, 2])
def test_booleans_of_dynamic_dimensions_are_cast(to: int) -> None:
    nodes = [node("Greater", "x zero", "b"), node("Cast", "b", "y", to=to)]
    content = made(nodes, {"x": ["n", 3]}, {"y": ["n", 3]}, {"zero": np.zeros((), np.float32)})
    x, model = np.array([[-1.5, 0, 2.5], [0.5, -0.5, 1.5]], np.float32), nnapi.load(content)
    assert not isinstance(model, DynamicModel)
    with nnapi.compile(model, "nnapi-reference") as compiled:
        np.testing.assert_array_equal(compiled.run(x)[0], x > 0)


def test_an_output_without_a_type() -> None:
    proto = onnx.ModelProto.FromString(made([node("ThresholdedRelu", "x", "y")], {"x": ["n"]}, {"y": ["n"]}, {}))
    proto.graph.output[0].ClearField("type")
    with pytest.raises(BadDataError, match="y has no type"):
        nnapi.load(proto.SerializeToString())


def make_counting_decoder() -> bytes:
    """The decoder above, whose input is the token's position, which follows from the length of the past."""
    proto = onnx.load_from_string(decoder())
    for each in proto.graph.node:
        each.input[:] = ["placed" if name == "x" else name for name in each.input]
    places = [
        node("Shape", "past", "p", start=2, end=3),
        node("Gather", "table p", "place", axis=0),
        node("Add", "x place", "placed"),
    ]
    table = np.random.default_rng(2).normal(size=(200, 4)).astype(np.float32)
    proto.graph.initializer.append(numpy_helper.from_array(table, "table"))
    nodes = [*places, *proto.graph.node]
    del proto.graph.node[:]
    proto.graph.node.extend(nodes)
    content: bytes = proto.SerializeToString()
    return content


def decode(compiled: Any, tokens: int) -> None:
    """Run a text and compare each token with the formula."""
    rng = np.random.default_rng(1)
    table = np.random.default_rng(2).normal(size=(200, 4)).astype(np.float32)
    past = rng.normal(size=(1, 2, 3, 4)).astype(np.float32)
    for length in range(3, tokens + 3):
        x = rng.normal(size=(1, 2, 1, 4)).astype(np.float32)
        found = compiled.run(x, past, np.ones((1, length + 1), np.int32))
        for ours, exact in zip(found, attend(x + table[length], past), strict=True):
            np.testing.assert_allclose(ours, exact, 1e-4, 1e-5)
        past = found[1]


def test_positions_from_the_length_of_the_past_are_not_padded() -> None:
    compiled = nnapi.compile(nnapi.load(make_counting_decoder()), "nnapi-reference")
    decode(compiled, 60)
    assert compiled.explain().count("compiled in") == 2
    decode(compiled, 60)
    assert compiled.explain().count("compiled in") == 2


def test_the_cache_entry_of_some_sizes_is_not_that_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first run's import serves others, whose compilations would replace its entry."""
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "cache"))
    path = tmp_path / "model.onnx"
    nodes = [node("Shape", "x", "s"), node("Expand", "one s", "y")]
    path.write_bytes(made(nodes, {"x": [1, "n"]}, {"y": [1, "n"]}, {"one": np.float32(1)}))
    for _ in range(2):
        session = InferenceSession(str(path))
        first, other = session._file.model(((1, 3),)), session._file.model(((1, 5),), is_cached=False)
        assert isinstance(first.origin, Origin)
        assert not isinstance(other.origin, Origin)


def test_constants_of_recurring_lengths_are_computed_once() -> None:
    """The first of many lengths are forgotten once they take much memory."""
    asked: list[Any] = []

    def find(shapes: Any) -> list[Any]:
        asked.append(shapes)
        return [np.zeros(shapes[0], np.float32)]

    find_cached, lengths = cache_further(find), [((1 << 18, length),) for length in range(1, 9)]
    for _ in range(2):
        for shapes in lengths[:5]:
            assert find_cached(shapes)[0].shape == shapes[0]
    assert asked == lengths[:5]
    for shapes in (*lengths[5:], lengths[7], lengths[0]):
        find_cached(shapes)
    assert asked == [*lengths, lengths[0]]


def make_decoder_by_distance(*, is_near: bool) -> bytes:
    """One step of attention to the past, which no input masks: scores get a bias by distance, or none."""
    nodes = [
        node("Concat", "past x", "keys", axis=2),
        node("Transpose", "keys", "transposed", perm=[0, 1, 3, 2]),
        node("MatMul", "x transposed", "scores"),
        node("Shape", "past", "p", start=2, end=3),
        node("Squeeze", "p", "last"),
        node("Add", "last one", "total"),
        node("Range", "zero total one", "places"),
        node("Sub", "last places", "distances"),
        node("Gather", "table distances" if is_near else "table none", "bias", axis=0),
        *([] if is_near else [node("Add", "p ones", "totals"), node("Expand", "bias totals", "biases")]),
        node("Add", "scores bias" if is_near else "scores biases", "biased"),
        node("Softmax", "biased", "weights", axis=-1),
        node("MatMul", "weights keys", "y"),
        node("Identity", "keys", "present"),
    ]
    inputs = {"x": [1, 2, 1, 4], "past": [1, 2, "past", 4]}
    outputs = {"y": [1, 2, 1, 4], "present": [1, 2, "total", 4]}
    table = -np.arange(200, dtype=np.float32) / 8
    values = {"one": np.array(1), "zero": np.array(0), "none": np.array([0]), "ones": np.array([1]), "table": table}
    return made(nodes, inputs, outputs, values)


@pytest.mark.parametrize("is_near", [True, False], ids=["bias by distance", "no bias"])
def test_what_a_file_adds_to_scores_masks_the_padding(is_near: bool) -> None:
    compiled = nnapi.compile(nnapi.load(make_decoder_by_distance(is_near=is_near)), "nnapi-reference")
    for text in range(2):
        rng = np.random.default_rng(text)
        past = rng.normal(size=(1, 2, 3, 4)).astype(np.float32)
        for length in range(3, 40):
            x = rng.normal(size=(1, 2, 1, 4)).astype(np.float32)
            keys = np.concatenate([past, x], 2)
            scores = x @ keys.swapaxes(2, 3) + is_near * (np.arange(length + 1) - length) / 8
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            found, past = compiled.run(x, past)
            np.testing.assert_allclose(found, weights / weights.sum(-1, keepdims=True) @ keys, 1e-4, 1e-5)
            np.testing.assert_array_equal(past, keys)
    assert compiled.explain().count("compiled in") == 2
    assert "padded from any length up to 128" in compiled.explain()


def test_a_text_that_outgrows_its_capacity_doubles_it() -> None:
    compiled = nnapi.compile(nnapi.load(make_counting_decoder()), "nnapi-reference")
    decode(compiled, 150)
    assert compiled.explain().count("compiled in") == 4
