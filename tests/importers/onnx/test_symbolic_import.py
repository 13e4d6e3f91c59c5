"""One import for many sizes: a specialization is the model that a static import at these sizes gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.importers.onnx import dynamic_import, symbolic_folding  # noqa: E402
from nnapi.importers.symbolic_model import InputSymbols  # noqa: E402
from nnapi.model.content_hash import hash_content  # noqa: E402
from nnapi.model.dynamic_model import DynamicModel  # noqa: E402
from nnapi.model.model import constants  # noqa: E402

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
Shapes = dict[str, tuple[int, ...]]


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def make(nodes: list[Any], inputs: dict[str, Any], constants: dict[str, Any]) -> bytes:
    """Return a file that reads float inputs, or int64 where the name begins with ``ids`` or ``mask``."""
    ends = [
        helper.make_tensor_value_info(name, INT64 if name.startswith(("ids", "mask")) else FLOAT, shape)
        for name, shape in inputs.items()
    ]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", ends, [helper.make_tensor_value_info("y", FLOAT, None)], tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = proto.SerializeToString()
    return content


def weights(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def make_heads() -> bytes:
    """Rows split into three times two heads: a transpose of rank 5 by indices that depend on the sizes."""
    nodes = [
        node("MatMul", "x w", "q"),
        node("Shape", "x", "s", start=0, end=2),
        node("Concat", "s tail", "wanted", axis=0),
        node("Reshape", "q wanted", "h"),
        node("Transpose", "h", "t", perm=[2, 0, 3, 1, 4]),
        node("Gather", "t zero", "y", axis=0),
    ]
    values = {"w": weights(8, 24), "tail": np.array([3, 2, 4]), "zero": np.array(0)}
    return make(nodes, {"x": ["batch", "length", 8]}, values)


def make_positions() -> bytes:
    """A decoder's step: positions follow from the length of the past, and the causal mask from both lengths."""
    nodes = [
        node("Shape", "past", "p", start=2, end=3),
        node("Shape", "ids", "l", start=1, end=2),
        node("Add", "p l", "total"),
        node("Squeeze", "p", "begin"),
        node("Squeeze", "total", "end"),
        node("Range", "begin end one", "rows"),
        node("Range", "zero end one", "columns"),
        node("Unsqueeze", "rows last", "row"),
        node("LessOrEqual", "columns row", "causal"),
        node("Where", "causal nothing large", "bias"),
        node("Gather", "table ids", "e"),
        node("Gather", "places rows", "a"),
        node("Add", "e a", "x"),
        node("MatMul", "x k", "keys"),
        node("Unsqueeze", "keys head", "key"),
        node("Concat", "past key", "all", axis=2),
        node("Transpose", "all", "transposed", perm=[0, 1, 3, 2]),
        node("Unsqueeze", "x head", "queries"),
        node("MatMul", "queries transposed", "scores"),
        node("Add", "scores bias", "masked"),
        node("Softmax", "masked", "shares", axis=-1),
        node("MatMul", "shares all", "y"),
    ]
    values = {
        "one": np.array(1),
        "zero": np.array(0),
        "last": np.array([1]),
        "head": np.array([1]),
        "nothing": np.float32(0),
        "large": np.float32(-1e9),
        "table": weights(30, 8),
        "places": weights(64, 8),
        "k": weights(8, 8),
    }
    return make(nodes, {"ids": ["batch", "length"], "past": ["batch", 1, "past", 8]}, values)


def make_filled() -> bytes:
    """Constants of computed shapes: filled, expanded, sliced, tiled, and divided sizes."""
    nodes = [
        node("Shape", "x", "s"),
        node("ConstantOfShape", "s", "ones", value=numpy_helper.from_array(np.array([2], np.float32))),
        node("Gather", "s second", "n"),
        node("Div", "n two", "half"),
        node("Unsqueeze", "half first", "halves"),
        node("Slice", "table first halves first", "cut"),
        node("Tile", "single s", "tiled"),
        node("Expand", "tiled s", "wide"),
        node("Mul", "x ones", "a"),
        node("Add", "a wide", "b"),
        node("ReduceSum", "cut", "c", keepdims=0),
        node("Add", "b c", "y"),
    ]
    values = {
        "first": np.array([0]),
        "second": np.array(1),
        "two": np.array(2),
        "table": weights(64),
        "single": weights(1, 1),
    }
    return make(nodes, {"x": ["rows", "columns"]}, values)


def make_images() -> bytes:
    """Images of any size: strided windows, and a view of all pixels."""
    nodes = [
        node("Conv", "x w", "c", strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Relu", "c", "r"),
        node("Shape", "r", "s", start=0, end=2),
        node("Concat", "s rest", "wanted", axis=0),
        node("Reshape", "r wanted", "v"),
        node("ReduceMean", "v", "y", axes=[2]),
    ]
    return make(nodes, {"x": ["n", 3, "h", "w"]}, {"w": weights(4, 3, 3, 3), "rest": np.array([-1])})


def choose_heads(rng: Any) -> Shapes:
    return {"x": (int(rng.integers(2, 6)), int(rng.integers(9, 30)), 8)}


def choose_step(rng: Any) -> Shapes:
    """Choose one token behind a past of several."""
    return {"ids": (1, 1), "past": (1, 1, int(rng.integers(2, 40)), 8)}


def choose_prompt(rng: Any) -> Shapes:
    batch, length = int(rng.integers(2, 5)), int(rng.integers(9, 20))
    return {"ids": (batch, length), "past": (batch, 1, int(rng.integers(20, 40)), 8)}


def choose_filled(rng: Any) -> Shapes:
    return {"x": (int(rng.integers(2, 6)), int(rng.integers(4, 30)))}


def choose_image(rng: Any) -> Shapes:
    return {"x": (int(rng.integers(2, 5)), 3, int(rng.integers(8, 40)), int(rng.integers(8, 40)))}


CASES = {
    "heads": (make_heads, choose_heads),
    "step": (make_positions, choose_step),
    "prompt": (make_positions, choose_prompt),
    "filled": (make_filled, choose_filled),
    "images": (make_images, choose_image),
}


def load(content: bytes) -> DynamicModel:
    model = nnapi.load(content)
    assert isinstance(model, DynamicModel)
    return model


def specialize(model: DynamicModel, shapes: Shapes) -> nnapi.Model:
    return model.specialize(tuple(shapes[model.operands[index].name] for index in model.inputs))


@pytest.fixture
def imports(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The shapes of each import of a dynamic file."""
    made: list[Any] = []
    read: Any = vars(dynamic_import)["read_file"]

    def note(file: Any, path: str, shapes: Any, **named: Any) -> Any:
        made.append(shapes)
        return read(file, path, shapes, **named)

    monkeypatch.setattr(dynamic_import, "read_file", note)
    return made


@pytest.mark.parametrize("name", CASES)
def test_other_sizes_give_the_model_of_a_static_import(name: str, imports: list[Any]) -> None:
    make, choose = CASES[name]
    content, rng = make(), np.random.default_rng(7)
    model = load(content)
    first = specialize(model, choose(rng))
    begun = len(imports)
    for _ in range(20):
        shapes = choose(rng)
        found, static = specialize(model, shapes), nnapi.load(content, shapes=shapes)
        assert len(found.operations) == len(static.operations)
        assert hash_content(found) == hash_content(static)
        large = {id(array) for array in constants(first) if array.nbytes > 128}
        assert name != "step" or large & {id(array) for array in constants(found)}, "weights are not shared"
    assert len(imports) <= begun + 2, "a coincidence of sizes takes another import, not each size"


def test_results_are_those_of_the_static_import() -> None:
    content, rng = make_positions(), np.random.default_rng(3)
    model = load(content)
    for _ in range(4):
        shapes = choose_step(rng)
        ids, past = rng.integers(0, 30, shapes["ids"]).astype(np.int32), rng.normal(size=shapes["past"])
        ours, theirs = (
            nnapi.compile(each, "nnapi-reference").run(ids, past.astype(np.float32))[0]
            for each in (specialize(model, shapes), nnapi.load(content, shapes=shapes))
        )
        np.testing.assert_array_equal(ours, theirs)


def test_sizes_that_break_a_guard_are_imported_again_and_explained(imports: list[Any]) -> None:
    model = load(make_heads())
    specialize(model, {"x": (2, 3, 8)})
    begun = len(imports)
    found = specialize(model, {"x": (1, 3, 8)})  # a batch of 1 is dropped from the transpose
    assert len(imports) == begun + 1
    assert hash_content(found) == hash_content(nnapi.load(make_heads(), shapes={"x": (1, 3, 8)}))
    specialize(model, {"x": (1, 4, 8)})
    specialize(model, {"x": (3, 4, 8)})
    assert len(imports) == begun + 1
    with nnapi.compile(model, "nnapi-reference") as compiled:
        compiled.run(np.zeros((1, 3, 8), np.float32))
        reason = "the earlier import holds only where x[0] - 1 ≠ 0"
        assert f"imported again, because {reason}" in compiled.explain()


def test_a_file_that_symbols_cannot_express_is_imported_for_each_size(
    imports: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Any, *ends: Any) -> Any:
        raise nnapi.BadDataError("no symbols")

    monkeypatch.setattr(InputSymbols, "declare", refuse)
    model = load(make_heads())
    begun = len(imports)
    for length in (3, 4):
        shapes: Shapes = {"x": (2, length, 8)}
        assert hash_content(specialize(model, shapes)) == hash_content(nnapi.load(make_heads(), shapes=shapes))
    assert len(imports) > begun + 1


KERNELS: dict[str, tuple[str, Callable[..., Any], dict[str, Any]]] = {
    "Cast": ("x", lambda x: x.astype(np.float32), {"to": FLOAT}),
    "Transpose": ("x", np.transpose, {}),
    "ReduceProd": ("s", lambda s: s.prod(keepdims=True), {}),
    "Where": ("c s t", np.where, {}),
    "Div": ("s t", lambda s, t: s // t, {}),
    "Concat": ("x x", lambda *xs: np.concatenate(xs, 0), {"axis": 0}),
    "Size": ("x", np.size, {}),
    "Min": ("s t", np.minimum, {}),
}


@pytest.mark.parametrize("kind", KERNELS)
def test_constants_of_sizes_are_folded_as_onnx_defines(kind: str) -> None:
    from nnapi.importers.onnx.folding import compute_constants
    from nnapi.importers.onnx.tensors import constant
    from nnapi.shapes.array import as_integers, is_symbolic, number_elements
    from nnapi.shapes.symbols import Substitution

    names, expected, attributes = KERNELS[kind]
    symbols = InputSymbols()
    (n,) = symbols.declare("x", (0,), (5,))
    values: dict[str, Any] = {
        "x": number_elements((n, 2)),
        "s": as_integers([n, n * 2], np.int64),
        "t": np.array([3, 2]),
        "c": np.array([True, False]),
    }
    proto = helper.make_node(kind, names.split(), ["y"], **attributes)
    file: Any = None
    computed = compute_constants(file, proto, 17, [constant(name, values[name]) for name in names.split()])
    assert computed is not None
    found = computed[0]
    assert found is not None
    for size in (5, 6):
        sizes = Substitution([size])
        if symbols.find_broken(sizes):
            continue
        given = [sizes.array(values[name]) if is_symbolic(values[name]) else values[name] for name in names.split()]
        array = sizes.array(found.array) if is_symbolic(found.array) else found.array
        np.testing.assert_array_equal(array, expected(*given))
    assert is_symbolic(found.array)
    assert kind in (*symbolic_folding.KERNELS, *symbolic_folding.ELEMENTWISE)
