"""One import for many sizes: a specialization is the model that a static import at these sizes gives."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper

import nnapi
from nnapi.importers.onnx import dynamic_import, symbolic_folding
from nnapi.importers.symbolic_model import InputSymbols
from nnapi.model.content_hash import hash_content
from nnapi.model.dynamic_model import DynamicModel
from nnapi.model.model import constants
from tests.importers.onnx.symbolic_cases import (
    CASES,
    Shapes,
    choose_step,
    make,
    make_heads,
    make_positions,
    node,
)


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


def test_all_sizes_share_the_import_of_the_first(imports: list[Any]) -> None:
    """A batch of 1 makes no transpose of tokens and heads simpler. A length of 1 does, for its own specialization."""
    nodes = [
        node("Shape", "x", "s", start=0, end=2),
        node("Concat", "s tail", "wanted", axis=0),
        node("Reshape", "x wanted", "h"),
        node("Transpose", "h", "y", perm=[0, 2, 1, 3]),
    ]
    model = load(make(nodes, {"x": ["batch", "length", 8]}, {"tail": np.array([2, 4])}))
    specialize(model, {"x": (1, 9, 8)})
    begun = len(imports)
    sized = model.describe_sized(((3, 7, 8),))
    assert sized is not None
    assert len(imports) == begun
    assert sized.find_broken(((2, 1, 8),)) == ""
    for length in (1, 1, 9, 1):
        assert hash_content(specialize(model, {"x": (2, length, 8)})) == hash_content(
            nnapi.load(make(nodes, {"x": [2, length, 8]}, {"tail": np.array([2, 4])}))
        )
    assert len(imports) == begun + 1
    assert model.reimports == ["the earlier import holds only where x[1] - 1 ≠ 0"]
    assert model.describe_sized(((3, 1, 8),)) is not None
    assert len(imports) == begun + 1


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


def test_constants_whose_sizes_are_fixed_keep_their_values() -> None:
    content = make([node("LpNormalization", "x", "y", p=1, axis=-1)], {"x": ["a", "b", "c"]}, {})
    model = load(content)
    for sizes in ((4, 4, 6), (4, 4, 3), (4, 5, 3)):
        shapes: Shapes = {"x": sizes}
        assert hash_content(specialize(model, shapes)) == hash_content(nnapi.load(content, shapes=shapes))


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


def test_sizes_that_depend_on_data_are_not_constants() -> None:
    """The shape of a comparison of all positions up to the largest value with rows: one size is known, one is not."""
    nodes = [
        node("ReduceMax", "ids", "most", keepdims=0),
        node("Range", "zero most one", "columns"),
        node("Less", "columns ids", "under"),
        node("Shape", "under", "s"),
        node("Gather", "s last", "n"),
        node("Range", "zero n one", "all"),
        node("Cast", "all", "y", to=TensorProto.FLOAT),
    ]
    content = make(nodes, {"ids": ["rows", 1]}, {"zero": np.array(0), "one": np.array(1), "last": np.array(1)})
    model, shapes = load(content), Shapes(ids=(3, 1))
    found, static = specialize(model, shapes), nnapi.load(content, shapes=shapes)
    assert hash_content(found) == hash_content(static)
    (result,) = nnapi.compile(found, "nnapi-reference").run(np.array([[2], [5], [3]], np.int32))
    assert result.tolist() == [0, 1, 2, 3, 4]


KERNELS: dict[str, tuple[str, Callable[..., Any], dict[str, Any]]] = {
    "Cast": ("x", lambda x: x.astype(np.float32), {"to": TensorProto.FLOAT}),
    "Transpose": ("x", np.transpose, {}),
    "ReduceProd": ("s", lambda s: s.prod(keepdims=True), {}),
    "Where": ("c s t", np.where, {}),
    "Div": ("s t", lambda s, t: s // t, {}),
    "Flatten": ("x", lambda x: x.reshape(1, -1), {"axis": 0}),
    "Pad": ("x p", lambda x, p: np.pad(x, [(0, p[2]), (p[1], 0)]), {}),
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
        "p": as_integers([0, 1, n * 2, 0], np.int64),
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
