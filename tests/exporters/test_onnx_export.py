"""Models written as .onnx: how they look, what the importer reads back, what is refused."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

import nnapi  # noqa: E402
from nnapi.codes import OperationCode  # noqa: E402
from nnapi.errors import BadDataError, OpFailedError  # noqa: E402
from nnapi.exporters.onnx import writer  # noqa: E402
from nnapi.exporters.onnx.context import RULES  # noqa: E402
from nnapi.model.operand import ChannelQuantization  # noqa: E402

FLOAT32 = nnapi.tensor("float32", (1, 6, 6, 2))


def network(quantized: bool = False, batch: int = 1, element: str = "float32") -> nnapi.Model:
    """Two convolutions and a sum, as one finds them in networks."""
    builder = nnapi.Builder()
    rng = np.random.default_rng(0)
    if quantized:
        type = nnapi.tensor("int8", (batch, 6, 6, 2), 0.05, 3)
        filter_type = nnapi.tensor(
            "quant8_symm_per_channel", (2, 3, 3, 2), channel=ChannelQuantization(0, (0.02, 0.03))
        )
        codes = rng.integers(-127, 128, (2, 3, 3, 2)).astype(np.int8)
        filter = builder.constant(codes, filter_type)
        bias = builder.constant(np.array([5, -7], np.int32), nnapi.tensor("int32", (2,)))
    else:
        type = nnapi.tensor(element, (batch, 6, 6, 2))
        filter = builder.constant(rng.standard_normal((2, 3, 3, 2)).astype(type.dtype))
        bias = builder.constant(np.array([0.5, -0.25], type.dtype))
    x = builder.input(type, "image")
    options = {"padding_scheme": 1, "stride_w": 1, "stride_h": 1}
    results = {"scale": 0.07, "zero_point": -4} if quantized else {}
    first = builder.conv_2d(x, filter, bias, activation=1, **options, **results)  # type: ignore[call-overload]
    second = builder.conv_2d(first, filter, bias, **options, **results)  # type: ignore[call-overload]
    builder.output(builder.add(first, second, **results))  # type: ignore[arg-type]
    return builder.finish()


def written(model: nnapi.Model, folder: Path) -> tuple[Any, nnapi.Model]:
    """The file as its library sees it, and the model that is read back."""
    path = folder / "written.onnx"
    nnapi.export(model, path)
    return onnx.load(path), nnapi.load(path)


def same(model: nnapi.Model, again: nnapi.Model, within: float, **inputs: Any) -> None:
    for a, b in zip(
        *(nnapi.compile(each, "nnapi-reference").run(*inputs.values()) for each in (model, again)), strict=True
    ):
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), 0, within)


def random(model: nnapi.Model) -> Any:
    type = model.operands[model.inputs[0]].type
    rng = np.random.default_rng(1)
    shape = [size or 1 for size in type.dimensions]
    return (
        rng.integers(-128, 128, shape).astype(np.int8)
        if type.is_quantized
        else rng.standard_normal(shape).astype(type.dtype)
    )


@pytest.mark.parametrize(
    ("quantized", "element", "within"), [(False, "float32", 1e-5), (False, "float16", 0.02), (True, "", 1)]
)
def test_a_network_is_turned_once_at_each_end(quantized: bool, element: str, within: float, tmp_path: Path) -> None:
    model = network(quantized, element=element)
    file, again = written(model, tmp_path)
    kinds = Counter(node.op_type for node in file.graph.node)
    assert (kinds["Conv"], kinds["Add"], kinds["Transpose"]) == (2, 1, 2)
    assert [each.name for each in file.graph.input] == ["image"]
    same(model, again, within, x=random(model))


def test_filters_keep_their_scales_per_channel_and_biases_have_the_product(tmp_path: Path) -> None:
    file, _ = written(network(quantized=True), tmp_path)
    constants = {each.name: onnx.numpy_helper.to_array(each) for each in file.graph.initializer}
    convolution = next(node for node in file.graph.node if node.op_type == "Conv")
    makers = {node.output[0]: node for node in file.graph.node}
    filter, bias = (makers[name] for name in convolution.input[1:])
    np.testing.assert_array_equal(constants[filter.input[1]], np.array([0.02, 0.03], np.float32))
    np.testing.assert_allclose(constants[bias.input[1]], np.array([0.02, 0.03]) * np.float32(0.05), 1e-6)
    assert constants[bias.input[0]].dtype == np.int32


def test_a_cast_keeps_stored_values_in_another_scale(tmp_path: Path) -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("int8", (4,), 0.5), "x")
    cast = builder.cast(x, out=nnapi.tensor("int8", (4,), 0.25, 3))
    builder.output(builder.dequantize(cast, out=nnapi.tensor("float32", (4,))))
    model = builder.finish()
    stored = np.array([1, 2, 3, -4], np.int8)
    same(model, written(model, tmp_path)[1], 0, x=stored)
    (real,) = nnapi.compile(model, "nnapi-reference").run(stored)
    assert real.tolist() == [-0.5, -0.25, 0, -1.75]


def test_an_open_batch_is_a_symbol(tmp_path: Path) -> None:
    file, again = written(network(batch=0), tmp_path)
    (image,) = file.graph.input
    assert [each.dim_param or each.dim_value for each in image.type.tensor_type.shape.dim] == ["image_0", 6, 6, 2]
    assert again.operands[again.inputs[0]].type.dimensions == (0, 6, 6, 2)


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_what_is_written_holds_for_every_batch(suffix: str, tmp_path: Path) -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (0, 2, 1, 3)), "x")
    flat = builder.squeeze(x, np.array([2], np.int32))
    weights = np.arange(24, dtype=np.float32).reshape(4, 6)
    dense = builder.fully_connected(flat, builder.constant(weights), builder.constant(np.ones(4, np.float32)))
    builder.output(dense)
    model = builder.finish()
    nnapi.export(model, tmp_path / f"open{suffix}")
    again = nnapi.load(tmp_path / f"open{suffix}")
    for batch in (1, 3):
        same(model, again, 1e-5, x=np.random.default_rng(1).random((batch, 2, 1, 3), np.float32))


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_what_depends_on_open_dimensions_is_refused(suffix: str, tmp_path: Path) -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor("float32", (1, 0, 0, 4)), "x")
    builder.output(builder.channel_shuffle(x, 2, 3))
    with pytest.raises(BadDataError, match="a constant of R.* depends on dynamic dimensions"):
        nnapi.export(builder.finish(), tmp_path / f"open{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("suffix", "reason"), [(".onnx", "the ONNX exporter has no"), (".tflite", "the TFLite exporter has no")]
)
def test_everything_that_cannot_be_written_is_listed(suffix: str, reason: str, tmp_path: Path) -> None:
    model = nnapi.Model("mine")
    x, y, z = (model.add_operand(nnapi.tensor("float32", (2, 3)), name) for name in "xyz")
    rank = model.add_operand(nnapi.OperandType(nnapi.OperandCode.INT32))
    model.add_operation(OperationCode.RELU, [x], [y])
    model.add_operation(OperationCode.RANK, [y], [rank])
    model.add_operation(OperationCode.TANH, [y], [z])
    model.identify_inputs_and_outputs([x], [z, rank])
    model.finish()
    with pytest.raises(BadDataError, match=rf"mine cannot be written as {suffix}: RANK \(#1\): {reason}"):
        nnapi.export(model, tmp_path / f"rank{suffix}")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("suffix", [".onnx", ".tflite"])
def test_a_reason_is_said_once(suffix: str, tmp_path: Path) -> None:
    model = nnapi.Model("mine")
    x = model.add_operand(nnapi.tensor("float32", (2, 3)), "x")
    y = model.add_operand(nnapi.tensor("float32", (2, 3)), "y")
    ranks = [model.add_operand(nnapi.OperandType(nnapi.OperandCode.INT32)) for _ in range(4)]
    for rank in ranks[:3]:
        model.add_operation(OperationCode.RANK, [x], [rank])
    model.add_operation(OperationCode.RELU, [x], [y])
    model.add_operation(OperationCode.RANK, [x], ranks[3:])
    model.identify_inputs_and_outputs([x], [*ranks, y])
    model.finish()
    with pytest.raises(BadDataError, match=r": RANK ×4 \(#0–#2, #4\): [^;]*no rule for it$"):
        nnapi.export(model, tmp_path / f"ranks{suffix}")


ROW = nnapi.tensor("float32", (2, 4))
COARSE = nnapi.tensor("quant8_asymm", (2, 4), 0.5, 3)
FLOORED = "Div Add Floor Add ReduceSum Div Floor Sub Mul"
DECOMPOSED: list[tuple[Callable[..., Any], nnapi.OperandType, str]] = [
    (lambda b, x: b.channel_shuffle(x, 2, 1), ROW, "Reshape Transpose Reshape"),
    (lambda b, x: b.mirror_pad(x, [[0, 0], [1, 1]], 1), ROW, "Gather"),
    (lambda b, x: b.embedding_lookup(np.array([1, 0], np.int32), x), ROW, "Gather"),
    (lambda b, x: b.not_equal(x, b.abs(x)), ROW, "Abs Equal Not"),
    (lambda b, x: b.l2_normalization(x), ROW, "Mul ReduceSum Sqrt Max Div"),
    (
        lambda b, x: b.mean(x, [1], 0),
        COARSE,
        "DequantizeLinear Div Add Floor Add ReduceSum Div Floor Sub Mul QuantizeLinear",
    ),
]


@pytest.mark.parametrize(("build", "type", "kinds"), DECOMPOSED, ids=lambda each: each if isinstance(each, str) else "")
def test_an_operation_without_a_rule_is_decomposed(
    build: Callable[..., Any], type: nnapi.OperandType, kinds: str, tmp_path: Path
) -> None:
    builder = nnapi.Builder()
    builder.output(build(builder, builder.input(type, "x")))
    model = builder.finish()
    file, again = written(model, tmp_path)
    assert [node.op_type for node in file.graph.node] == kinds.split()
    same(model, again, 0 if type.is_quantized else 1e-6, x=np.arange(1, 9).reshape(2, 4).astype(type.dtype))


def test_a_reciprocal_root_is_written_for_any_rank(tmp_path: Path) -> None:
    builder = nnapi.Builder()
    builder.output(builder.rsqrt(builder.input(nnapi.tensor("float32", (1, 1, 1, 2, 2)), "x")))
    nnapi.export(builder.finish(), tmp_path / "written.onnx")
    assert [node.op_type for node in onnx.load(tmp_path / "written.onnx").graph.node] == ["Sqrt", "Reciprocal"]


@pytest.mark.parametrize(
    ("type", "build"),
    [
        ("bool8", lambda b, x: b.less(x, b.constant(np.array([[True], [False]])))),
        ("float32", lambda b, x: b.slice(x, [0, 0], [2, 3])),
        ("float32", lambda b, x: b.strided_slice(x, [1, 1], [1, 1], [-1, 1], 3, 3, 0)),
        ("float32", lambda b, x: b.strided_slice(x, [0, 2], [2, 0], [1, -1], 0, 2, 0)),
    ],
    ids=["bools in order", "a whole slice", "both masks", "a mask of a step back"],
)
def test_rare_arguments_are_written(type: str, build: Callable[..., Any], tmp_path: Path) -> None:
    builder = nnapi.Builder()
    x = builder.input(nnapi.tensor(type, (2, 3)), "x")
    builder.output(build(builder, x))
    model = builder.finish()
    _, again = written(model, tmp_path)
    same(model, again, 0, x=np.arange(6).reshape(2, 3).astype(model.operands[model.inputs[0]].type.dtype))


def test_a_missing_library_is_one_clear_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "onnx"]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, writer.__name__)
    with pytest.raises(OpFailedError, match=r"writing ONNX needs the library onnx: pip install 'nnapi\[onnx\]'"):
        nnapi.export(network(), tmp_path / "out.onnx")
    assert not list(tmp_path.iterdir())


def test_what_the_checker_refuses_is_not_written(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert OperationCode.ADD in RULES
    monkeypatch.setitem(
        RULES.own, OperationCode.ADD, lambda context, **values: context.move("NoOperator", values.values())
    )
    with pytest.raises(BadDataError, match="ONNX's checker refuses what would be written: .*NoOperator"):
        nnapi.export(network(), tmp_path / "out.onnx")
    assert not list(tmp_path.iterdir())


def test_constants_of_large_models_lie_beside_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(writer, "LARGEST", 0)
    monkeypatch.setattr(writer, "SMALL", 100)
    model = network()
    _, again = written(model, tmp_path)
    assert (tmp_path / "written.onnx.data").stat().st_size == 144
    same(model, again, 1e-5, x=random(model))


def countdown() -> nnapi.Model:
    """x doubled until it is not below 10."""

    def part(fill: Callable[[nnapi.Builder, Any], Any]) -> nnapi.Model:
        builder = nnapi.Builder()
        builder.output(fill(builder, builder.input(nnapi.tensor("float32", (1,)), "state")))
        return builder.finish()

    model = nnapi.Model("loop")
    type = nnapi.tensor("float32", (1,))
    models = [
        part(lambda b, x: b.less(x, b.constant(np.array([10], np.float32)))),
        part(lambda b, x: b.add(x, x)),
    ]
    references = [model.add_operand(nnapi.OperandType(nnapi.OperandCode.MODEL)) for _ in models]
    for index, each in zip(references, models, strict=True):
        model.set_operand_value_from_model(index, each)
    x, y = model.add_operand(type, "x"), model.add_operand(type, "y")
    model.add_operation(OperationCode.WHILE, [*references, x], [y])
    model.identify_inputs_and_outputs([x], [y])
    model.finish()
    return model


def test_a_while_is_a_loop(tmp_path: Path) -> None:
    model = countdown()
    file, _ = written(model, tmp_path)
    assert "Loop" in [node.op_type for node in file.graph.node]
    from onnx.reference import ReferenceEvaluator

    for start, end in ((3, 12), (11, 11)):
        (found,) = ReferenceEvaluator(file).run(None, {"x": np.array([start], np.float32)})
        assert found == [end]
        assert nnapi.compile(model, "nnapi-reference").run(np.array([start], np.float32))[0] == [end]


@pytest.mark.parametrize(("alpha", "kinds"), [(0.5, {"Elu"}), (-2.0, {"Exp", "Sub", "Mul", "Relu", "Min", "Add"})])
def test_an_elu_without_a_positive_alpha_is_another_function_in_onnx(
    alpha: float, kinds: set[str], tmp_path: Path
) -> None:
    net = nnapi.Builder()
    net.output(net.elu(net.input(nnapi.tensor("float32", (5,)), "x"), alpha))
    model = net.finish()
    file, again = written(model, tmp_path)
    assert {node.op_type for node in file.graph.node} == kinds
    same(model, again, 1e-5, x=np.array([-2, -0.5, 0, 0.5, 2], np.float32))
