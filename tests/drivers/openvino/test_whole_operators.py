"""Operations that the engine computes by one kernel, as files have them."""

from typing import Any

import numpy as np
import pytest

from nnapi import Builder, tensor
from nnapi.compiling import compile
from nnapi.model.model import Model
from nnapi.runtime.device import Device, device

pytest.importorskip("nnapi.drivers.openvino.api", reason="OpenVINO is an extra: nnapi[openvino]")


from nnapi.drivers.openvino import OpenVinoDriver
from nnapi.drivers.openvino.engine import core, lower_model
from tests.drivers.transformer_cases import GELUS, NODE, X, normalize, read

pytestmark = pytest.mark.engine

ENGINE, REFERENCE = Device(OpenVinoDriver(threads=1)), device("nnapi-reference")


def kinds_of(model: Model) -> list[str]:
    return [node.get_type_name() for node in lower_model(model).graph().get_ordered_ops()]


def layers_of(model: Model) -> list[str]:
    """Return the kinds of the engine's own layers."""
    compiled = core().compile_model(lower_model(model).graph(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    found = [node.get_rt_info()["layerType"] for node in compiled.get_runtime_model().get_ops()]
    return [str(getattr(each, "value", each)) for each in found]


def need_same(model: Model, x: Any) -> None:
    ours, expected = (compile(model, [which]).run(x)[0] for which in (ENGINE, REFERENCE))
    np.testing.assert_allclose(ours, expected, 1e-5, 1e-5)


@pytest.mark.parametrize("nodes", GELUS.values(), ids=GELUS)
def test_gelu_is_one_operator(nodes: Any) -> None:
    model = read(nodes, X)
    kinds = kinds_of(model)
    assert "Gelu" in kinds
    assert {"Erf", "Tanh"}.isdisjoint(kinds)
    need_same(model, X)


def test_a_square_of_integers_is_a_product() -> None:
    b, x = Builder(), np.array([[1, -3, 46341], [2**31 - 1, -(2**31), 0]], np.int32)
    given = b.input(tensor("int32", x.shape))
    b.output(b.mul(given, given))
    model = b.finish()
    ours, expected = (compile(model, [which]).run(x)[0] for which in (ENGINE, REFERENCE))
    np.testing.assert_array_equal(ours, expected)


def test_a_layer_normalization_is_one_operator() -> None:
    model = normalize(X)
    assert "MVN" in layers_of(model)
    need_same(model, X)


def test_a_normalization_by_root_mean_squares_is_one_operator() -> None:
    nodes = [
        NODE("Mul", ["x", "x"], ["square"]),
        NODE("ReduceMean", ["square", "axes"], ["mean"]),
        NODE("Add", ["mean", "epsilon"], ["total"]),
        NODE("Sqrt", ["total"], ["deviation"]),
        NODE("Div", ["x", "deviation"], ["normal"]),
        NODE("Mul", ["scale", "normal"], ["y"]),
    ]
    scale = np.arange(1, 17, dtype=np.float32)
    model = read(nodes, X, axes=np.array([-1]), epsilon=np.float32(1e-6), scale=scale)
    assert "RMS" in layers_of(model)
    need_same(model, X)


def test_a_rotary_embedding_is_one_operator() -> None:
    heads = np.arange(48, dtype=np.float32).reshape(1, 2, 3, 8) / 8
    angles = np.arange(24, dtype=np.float32).reshape(1, 1, 3, 8) / 5
    model = read(
        [
            NODE("Slice", ["x", "half", "end", "axis"], ["second"]),
            NODE("Slice", ["x", "none", "half", "axis"], ["first"]),
            NODE("Neg", ["second"], ["negative"]),
            NODE("Concat", ["negative", "first"], ["turned"], axis=-1),
            NODE("Mul", ["x", "cosine"], ["straight"]),
            NODE("Mul", ["turned", "sine"], ["across"]),
            NODE("Add", ["straight", "across"], ["y"]),
        ],
        heads,
        **{name: np.array([value], np.int64) for name, value in {"none": 0, "half": 4, "end": 8, "axis": 3}.items()},
        cosine=np.cos(angles),
        sine=np.sin(angles),
    )
    assert "RoPE" in layers_of(model)
    need_same(model, heads)


def test_attention_over_batches_and_heads_is_one_operator() -> None:
    heads = np.arange(96, dtype=np.float32).reshape(2, 3, 4, 4) / 50
    model = read(
        [
            NODE("Transpose", ["x"], ["keys"], perm=[0, 1, 3, 2]),
            NODE("MatMul", ["x", "keys"], ["scores"]),
            NODE("Add", ["scores", "mask"], ["masked"]),
            NODE("Softmax", ["masked"], ["weights"]),
            NODE("MatMul", ["weights", "x"], ["y"]),
        ],
        heads,
        mask=np.array([[0, -9, 0, 0], [-9, 0, 0, -9]], np.float32).reshape(2, 1, 1, 4),
    )
    assert {"MatMul", "Softmax"}.isdisjoint(layers_of(model))
    need_same(model, heads)


def test_float16_is_not_fused() -> None:
    """The engine's groups of operators with rounding to float16 ended the process, for both of these models."""
    random = np.random.default_rng(3)

    def need_alike(*shapes: tuple[int, ...], make: Any) -> None:
        b, inputs = Builder(), [random.normal(size=shape).astype(np.float16) for shape in shapes]
        b.output(*make(b, *(b.input(tensor("float16", shape)) for shape in shapes)))
        model = b.finish()
        results = (compile(model, [which]).run(*inputs) for which in (ENGINE, REFERENCE))
        for ours, expected in zip(*results, strict=True):
            np.testing.assert_allclose(ours, expected, 2e-2, 2e-2)

    def attend(b: Any, q: Any, k: Any, v: Any, least: Any, y: Any) -> Any:
        x = b.attention(q, k, v, None, 0.3)
        return x, b.batch_matmul(b.maximum(x, least), y, True, False)

    need_alike(
        (33, 2, 31, 2), (1, 1, 1, 1), make=lambda b, x, factor: [b.mul(b.group_norm(x, None, None, 1, 1e-3), factor, 0)]
    )
    need_alike((7, 16, 15, 16), (7, 16, 7, 16), (7, 16, 7, 31), (1, 16, 15, 1), (7, 16, 15, 1), make=attend)


def multiply_packed(bits: int, size: int, width: int = 512, has_points: bool = False) -> Model:
    """Return a product of a row by 96 packed weights of each column."""
    random, blocks = np.random.default_rng(6), -(-width // size)
    b = Builder()

    def bytes_of(*shape: int) -> Any:
        return b.constant(random.integers(0, 256, shape, np.uint8), tensor("uint8", shape, 1.0, 0))

    x, weights = b.input(tensor("float32", (1, width))), bytes_of(96, blocks, -(-size * bits // 8))
    scales = random.uniform(0.1, 1, (96, blocks)).astype(np.float32)
    points = bytes_of(96, -(-blocks * bits // 8)) if has_points else None
    b.output(b.blockwise_fully_connected(x, weights, scales, points, None, bits, size))
    return b.finish()


def need_close(model: Model, width: int) -> None:
    """The sums are of terms that may be far larger."""
    x = np.random.default_rng(7).normal(size=(1, width)).astype(np.float32)
    ours, expected = (compile(model, [which]).run(x)[0] for which in (ENGINE, REFERENCE))
    np.testing.assert_allclose(ours, expected, 0, 1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("has_points", [False, True])
@pytest.mark.parametrize("bits", [4, 8])
def test_packed_weights_stay_packed(bits: int, has_points: bool) -> None:
    """The engine's product reads the bytes of the file. It does not quantize the row, as it does by default."""
    model = multiply_packed(bits, 32, has_points=has_points)
    compiled = core().compile_model(lower_model(model).graph(), "CPU", {"INFERENCE_PRECISION_HINT": "f32"})
    (product,) = [
        each
        for each in compiled.get_runtime_model().get_ops()
        if "FullyConnected" in str(each.get_rt_info()["layerType"].value)
    ]
    weights = product.input_value(1).get_node()
    assert weights.get_rt_info()["outputPrecisions"].value == f"u{bits}"
    need_close(model, 512)


def test_the_graph_shares_the_memory_of_packed_weights() -> None:
    model = multiply_packed(4, 32, 4096)
    given = model.operands[model.operations[0].inputs[1]].value
    constants = [each for each in lower_model(model).graph().get_ordered_ops() if each.get_type_name() == "Constant"]
    (packed,) = [each for each in constants if each.get_element_type().get_type_name() == "u4"]
    assert packed.get_tensor_view().data.ctypes.data == given.ctypes.data


@pytest.mark.parametrize(
    ("bits", "size", "width", "has_points"),
    [(2, 32, 64, False), (4, 3, 9, False), (4, 32, 40, False), (4, 32, 96, True)],
)
def test_other_packed_weights_are_decomposed(bits: int, size: int, width: int, has_points: bool) -> None:
    model = multiply_packed(bits, size, width, has_points)
    (verdict,) = lower_model(model).verdicts
    assert verdict.supported
    assert verdict.parts
    need_close(model, width)
