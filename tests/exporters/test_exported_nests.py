"""Models within models as files: a model that several others refer to is written once, however deep the nest is."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi import Builder, Model, OperandCode, OperandType, OperationCode, compile, export, load, tensor
from nnapi.errors import BadDataError
from nnapi.exporters import nested
from nnapi.formats.tflite.reader import File
from tests.exporters.exported_cases import run_litert
from tests.nest_cases import DEEP, TRUTH, nest

TRUE, FALSE = np.array([1], np.uint8), np.array([0], np.uint8)
X = np.array([-1, 2], np.float32)


def count_subgraphs(path: Path) -> int:
    return len(File(memoryview(path.read_bytes()))._graphs)


def results(path: Path) -> list[list[float]]:
    with compile(load(path), "nnapi-reference") as compiled:
        return [compiled.run(flag, X)[0].tolist() for flag in (TRUE, FALSE)]


@pytest.mark.slow
@pytest.mark.parametrize("is_shared", [True, False])
def test_a_deep_nest_is_a_small_file(tmp_path: Path, is_shared: bool) -> None:
    """With shared models, each level refers to the next one twice: 2¹⁵⁰⁰ copies, or one subgraph for each level."""
    path = tmp_path / "nest.tflite"
    export(nest(DEEP, is_shared), path)
    assert count_subgraphs(path) == DEEP + (1 if is_shared else 2)
    assert results(path) == [[1, 2], [1, 2] if is_shared else [1, -2]]


@pytest.mark.engine
def test_litert_reads_shared_models(tmp_path: Path) -> None:
    pytest.importorskip("ai_edge_litert", reason="LiteRT is not installed")
    path = tmp_path / "nest.tflite"
    export(nest(8, is_shared=True), path)
    assert run_litert(path, [TRUE, X])[0].tolist() == [1, 2]


def unary(name: str, dimensions: tuple[int, ...] = (2,)) -> Model:
    b = Builder(name)
    b.output(getattr(b, name)(b.input(tensor("float32", dimensions))))
    return b.finish()


def is_small() -> Model:
    b = Builder("is small")
    x = b.input(tensor("float32", (2,)))
    b.output(b.reduce_any(b.less(x, np.array([4, 4], np.float32)), [0], True))
    return b.finish()


def double() -> Model:
    b = Builder("double")
    x = b.input(tensor("float32", (2,)))
    b.output(b.add(x, x))
    return b.finish()


def test_a_model_is_both_a_body_and_a_branch(tmp_path: Path) -> None:
    """Two subgraphs: a body also returns the states that NNAPI's does not. The condition is a third, the other branch
    a fourth."""
    made, twice, small = Model("both"), double(), is_small()
    pair = tensor("float32", (2,))
    flag, x, y, z = made.add_operand(TRUTH), *(made.add_operand(pair) for _ in range(3))
    models = [small, twice, twice, unary("neg")]
    references = [made.add_operand(OperandType(OperandCode.MODEL)) for _ in models]
    for reference, model in zip(references, models, strict=True):
        made.set_operand_value_from_model(reference, model)
    made.add_operation(OperationCode.WHILE, [*references[:2], x], [y])
    made.add_operation(OperationCode.IF, [flag, *references[2:], y], [z])
    made.identify_inputs_and_outputs([flag, x], [z])
    made.finish()
    path = tmp_path / "both.tflite"
    export(made, path)
    assert count_subgraphs(path) == 5
    with compile(load(path), "nnapi-reference") as compiled:
        for flag_value, sign in ((TRUE, 2), (FALSE, -1)):
            given = np.array([1, 3], np.float32)
            assert compiled.run(flag_value, given)[0].tolist() == [sign * 4, sign * 12]


def two_uses(first: tuple[int, ...], second: tuple[int, ...], name: str = "uses") -> Model:
    """Two operations that use the same branches for values of two shapes."""
    made, branches = Model(name), [unary("abs", (0,)), unary("neg", (0,))]
    flag = made.add_operand(TRUTH)
    inputs = [made.add_operand(tensor("float32", shape)) for shape in (first, second)]
    outputs = [made.add_operand(tensor("float32", shape)) for shape in (first, second)]
    references = [made.add_operand(OperandType(OperandCode.MODEL)) for _ in branches]
    for reference, branch in zip(references, branches, strict=True):
        made.set_operand_value_from_model(reference, branch)
    for source, result in zip(inputs, outputs, strict=True):
        made.add_operation(OperationCode.IF, [flag, *references, source], [result])
    made.identify_inputs_and_outputs([flag, *inputs], outputs)
    made.finish()
    return made


@pytest.mark.parametrize(
    ("first", "second", "count"),
    [((3,), (3,), 3), ((3,), (4,), 5), ((0,), (0,), 3), ((0,), (1,), 5), ((0,), (2,), 5), ((1,), (2,), 5)],
)
def test_uses_with_different_shapes_are_different_subgraphs(
    tmp_path: Path, first: tuple[int, ...], second: tuple[int, ...], count: int
) -> None:
    """Also where a dynamic dimension (0) would be 1 or 2, as the other one is."""
    path = tmp_path / "uses.tflite"
    export(two_uses(first, second), path)
    assert count_subgraphs(path) == count
    given = [np.arange(1, (size or 5) + 1, dtype=np.float32) for (size,) in (first, second)]
    with compile(load(path), "nnapi-reference") as compiled:
        outputs = compiled.run(FALSE, *given)
        assert [each.tolist() for each in outputs] == [(-each).tolist() for each in given]


def test_copies_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the two cases in which models are copied: for ONNX, and for shapes that would coincide."""
    monkeypatch.setattr(nested, "MOST_COPIES", 1)
    said = "with a copy of a nested model for each reference to it, it has more than 5 operations"
    for suffix in (".tflite", ".onnx"):
        with pytest.raises(BadDataError, match=f"^uses cannot be written as {suffix}: {said}$"):
            export(two_uses((0,), (1,)), tmp_path / f"uses{suffix}")
    assert list(tmp_path.iterdir()) == []
    monkeypatch.setattr(nested, "MOST_COPIES", 2)
    export(two_uses((0,), (1,)), tmp_path / "uses.tflite")


def test_shared_models_would_be_too_many_copies_in_onnx(tmp_path: Path) -> None:
    pytest.importorskip("onnx")
    with pytest.raises(BadDataError, match=r"cannot be written as \.onnx: with a copy .* more than 100021 operations"):
        export(nest(20, is_shared=True), tmp_path / "nest.onnx")


@pytest.mark.parametrize(("depth", "is_possible"), [(20, True), (21, False), (DEEP, False)])
def test_the_depth_of_a_nest_in_onnx(tmp_path: Path, depth: int, is_possible: bool) -> None:
    pytest.importorskip("onnx")
    path = tmp_path / "nest.onnx"
    if is_possible:
        export(nest(depth), path)
        assert results(path) == [[1, 2], [1, -2]]
    else:
        with pytest.raises(BadDataError, match=f"nested {depth} deep, at most 20 levels are possible"):
            export(nest(depth), path)


def test_the_reason_of_a_refusal_deep_inside_is_short(tmp_path: Path) -> None:
    """Each level would repeat it, with its own name before it."""
    b = Builder("leaf")
    _, x = b.input(TRUTH), b.input(tensor("float32", (2,)))
    b.output(b.add(x, np.array([1], np.float32)), b.random_multinomial(b.reshape(x, [1, 2]), 3, [1, 2]))
    inner = b.finish()
    for level in range(300):
        model = Model(f"level {level}" * 9)
        flag, given = model.add_operand(TRUTH), model.add_operand(tensor("float32", (2,)))
        results = [model.add_operand(inner.operands[index].type) for index in inner.outputs]
        reference = model.add_operand(OperandType(OperandCode.MODEL))
        model.set_operand_value_from_model(reference, inner)
        model.add_operation(OperationCode.IF, [flag, reference, reference, flag, given], results)
        model.identify_inputs_and_outputs([flag, given], results)
        model.finish()
        inner = model
    with pytest.raises(nnapi.NnapiError, match="RANDOM_MULTINOMIAL|…$") as caught:
        export(inner, tmp_path / "refused.tflite")
    assert len(str(caught.value)) < 3000
