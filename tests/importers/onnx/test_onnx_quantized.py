"""Networks that ONNX Runtime's quantizer made, in both styles: the codes are ONNX Runtime's, within one."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
quantization = pytest.importorskip("onnxruntime.quantization", reason="onnxruntime's quantizer is not installed")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode  # noqa: E402
from nnapi.operation_codes import CompositeCode  # noqa: E402
from tests.importers.onnx.operator_cases import computed, loaded  # noqa: E402

U8, S8 = quantization.QuantType.QUInt8, quantization.QuantType.QInt8
QDQ, QOPERATOR = quantization.QuantFormat.QDQ, quantization.QuantFormat.QOperator
STYLES = [
    (QDQ, U8, U8, False),
    (QDQ, U8, S8, False),
    (QDQ, U8, S8, True),
    (QDQ, S8, S8, False),
    (QDQ, S8, S8, True),
    (QOPERATOR, U8, U8, False),
    (QOPERATOR, S8, S8, True),
]
X = np.random.default_rng(5).uniform(-1, 1, (8, 1, 3, 8, 8)).astype(np.float32)


class Samples(quantization.CalibrationDataReader):  # type: ignore[name-defined,misc]
    def __init__(self) -> None:
        self.left = iter(X)

    def get_next(self) -> dict[str, Any] | None:
        x = next(self.left, None)
        return None if x is None else {"x": x}


def tensor(name: str, *shape: int) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def network(nodes: list[Any], outputs: tuple[int, ...], constants: dict[str, Any]) -> Any:
    tensors = [numpy_helper.from_array(np.asarray(array, np.float32), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", [tensor("x", 1, 3, 8, 8)], [tensor("y", *outputs)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


def chain() -> Any:
    """A convolution that is rectified, one of single channels, a pool, a matrix."""
    rng = np.random.default_rng(2)
    nodes = [
        helper.make_node("Conv", ["x", "w1", "b1"], ["c1"], pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c1"], ["r1"]),
        helper.make_node("Conv", ["r1", "w2", "b2"], ["c2"], pads=[1, 1, 1, 1], group=8),
        helper.make_node("Add", ["c2", "r1"], ["s"]),
        helper.make_node("MaxPool", ["s"], ["m"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("GlobalAveragePool", ["m"], ["p"]),
        helper.make_node("Flatten", ["p"], ["f"]),
        helper.make_node("Gemm", ["f", "w3", "b3"], ["y"], transB=1),
    ]
    shapes = {"w1": (8, 3, 3, 3), "b1": (8,), "w2": (8, 1, 3, 3), "b2": (8,), "w3": (5, 8), "b3": (5,)}
    return network(nodes, (1, 5), {name: rng.standard_normal(shape) * 0.4 for name, shape in shapes.items()})


def quantized(model: Any, folder: Path, style: Any, activations: Any, weights: Any, per_channel: bool) -> Path:
    onnx.save_model(model, folder / "float.onnx")
    options = {"WeightSymmetric": weights == S8}
    quantization.quantize_static(
        folder / "float.onnx",
        folder / "quantized.onnx",
        Samples(),
        quant_format=style,
        activation_type=activations,
        weight_type=weights,
        per_channel=per_channel,
        extra_options=options,
    )
    return folder / "quantized.onnx"


def session(path: Path) -> Any:
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    return ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def last_scale(path: Path) -> float:
    """The scale of the last quantization in a file, in which results are counted."""
    model = onnx.load_model(path)
    constants = {each.name: numpy_helper.to_array(each) for each in model.graph.initializer}
    scales = [constants[node.input[1]] for node in model.graph.node if node.op_type == "DequantizeLinear"]
    return float(np.max(scales[-1])) if scales else 1e-6


@pytest.mark.parametrize("style", STYLES, ids=lambda style: "-".join(str(each) for each in style))
def test_a_network_within_a_few_codes(style: Any, tmp_path: Path) -> None:
    path = quantized(chain(), tmp_path, *style)
    model = nnapi.load(path)
    compiled, theirs = nnapi.compile(model, "nnapi-reference"), session(path)
    for x in X:
        (ours,) = compiled.run(x)
        np.testing.assert_allclose(ours, theirs.run(None, {"x": x})[0], 0, 3 * last_scale(path))


@pytest.mark.parametrize("style", STYLES, ids=lambda style: "-".join(str(each) for each in style))
def test_pairs_disappear_in_operations_on_codes(style: Any, tmp_path: Path) -> None:
    model = nnapi.load(quantized(chain(), tmp_path, *style))
    codes = [call.code for call in model.operations]
    pool = int(OperationCode.MEAN in codes)  # whose codes are of another scale than what it reads
    assert codes.count(OperationCode.QUANTIZE) + codes.count(CompositeCode.QUANTIZE_TO_EVEN) == 1 + pool
    assert codes.count(OperationCode.DEQUANTIZE) == 1 + pool
    assert OperationCode.RELU not in codes


@pytest.mark.parametrize("style", STYLES[:5:2], ids=lambda style: "-".join(str(each) for each in style))
def test_pairs_disappear_where_the_number_of_images_is_open(style: Any, tmp_path: Path) -> None:
    static = quantized(chain(), tmp_path, *style)
    model = onnx.load_model(static)
    for each in (*model.graph.input, *model.graph.output):
        each.type.tensor_type.shape.dim[0].dim_param = "n"
    del model.graph.value_info[:]
    known, open = nnapi.load(static), nnapi.load(model.SerializeToString())
    codes = [[call.code for call in each.operations] for each in (known, open)]
    assert codes[1].count(OperationCode.DEQUANTIZE) == codes[0].count(OperationCode.DEQUANTIZE)
    ours = nnapi.compile(open, "nnapi-reference").run(X[:3, 0])[0]
    single = nnapi.compile(known, "nnapi-reference")
    assert np.array_equal(ours, np.concatenate([single.run(x)[0] for x in X[:3]]))


@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_weights_may_have_the_other_signedness(dtype: Any) -> None:
    other = np.int8 if dtype is np.uint8 else np.uint8
    constants = {"s": np.float32(0.5), "z": dtype(3), "u": np.float32(0.25), "v": other(7)}
    constants["w"] = np.array([[9, 3], [7, 100]], other)
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["r"]),
        helper.make_node("DequantizeLinear", ["w", "u", "v"], ["f"]),
        helper.make_node("MatMul", ["r", "f"], ["m"]),
        helper.make_node("QuantizeLinear", ["m", "s", "z"], ["y"]),
    ]
    x = np.array([[5, 7]], dtype)  # 1 and 2, times [[0.5, -1], [0, 23.25]]
    model = loaded(nodes, constants, x=x)
    assert OperationCode.QUANTIZE not in [call.code for call in model.operations]
    assert computed(model, x).tolist() == [[3 + 1, 3 + 91]]


def test_a_loop_carries_quantized_values() -> None:
    infos = [helper.make_tensor_value_info("i", TensorProto.INT64, []), helper.make_tensor_value_info("on", 9, [])]
    outputs = [helper.make_tensor_value_info(name, 2, [3]) for name in ("q", "next")]
    nodes = [
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["r"]),
        helper.make_node("Add", ["r", "r"], ["d"]),
        helper.make_node("QuantizeLinear", ["d", "s", "z"], ["next"]),
        helper.make_node("Identity", ["on"], ["goes on"]),
    ]
    body = helper.make_graph(
        nodes, "body", [*infos, outputs[0]], [helper.make_tensor_value_info("goes on", 9, []), outputs[1]]
    )
    nodes = [
        helper.make_node("Cast", ["x"], ["f"], to=TensorProto.FLOAT),
        helper.make_node("ReduceMin", ["f"], ["m"], keepdims=0),
        helper.make_node("Cast", ["m"], ["n"], to=TensorProto.INT64),
        helper.make_node("Loop", ["n", "", "x"], ["y"], body=body),
    ]
    x = np.array([3, 5, 10], np.uint8)
    assert computed(loaded(nodes, {"s": np.float32(0.5), "z": np.uint8(3)}, x=x), x).tolist() == [
        3,
        3 + 8 * 2,
        3 + 8 * 7,
    ]


SINGLE: dict[str, tuple[list[Any], tuple[int, ...], dict[str, tuple[int, ...]]]] = {
    "Conv": ([helper.make_node("Conv", ["x", "w"], ["y"], strides=[2, 2])], (1, 4, 3, 3), {"w": (4, 3, 3, 3)}),
    "Relu6": (
        [helper.make_node("Conv", ["x", "w"], ["c"]), helper.make_node("Relu", ["c"], ["y"])],
        (1, 4, 6, 6),
        {"w": (4, 3, 3, 3)},
    ),
    "MatMul": ([helper.make_node("MatMul", ["x", "w"], ["y"])], (1, 3, 8, 5), {"w": (8, 5)}),
    "Mul": ([helper.make_node("Mul", ["x", "w"], ["y"])], (1, 3, 8, 8), {"w": (1, 3, 1, 1)}),
    "Add": ([helper.make_node("Add", ["x", "w"], ["y"])], (1, 3, 8, 8), {"w": (3, 8, 8)}),
    "Sigmoid": ([helper.make_node("Sigmoid", ["x"], ["y"])], (1, 3, 8, 8), {}),
    "AveragePool": (
        [helper.make_node("AveragePool", ["x"], ["y"], kernel_shape=[2, 2], strides=[2, 2])],
        (1, 3, 4, 4),
        {},
    ),
    "Concat": ([helper.make_node("Concat", ["x", "w"], ["y"], axis=1)], (1, 5, 8, 8), {"w": (1, 2, 8, 8)}),
    "Softmax": ([helper.make_node("Softmax", ["x"], ["y"], axis=-1)], (1, 3, 8, 8), {}),
}


@pytest.mark.parametrize("style", STYLES[:6], ids=lambda style: "-".join(str(each) for each in style))
@pytest.mark.parametrize("name", SINGLE)
def test_one_operation_within_one_code(name: str, style: Any, tmp_path: Path) -> None:
    nodes, shape, constants = SINGLE[name]
    rng = np.random.default_rng(7)
    proto = network(nodes, shape, {key: rng.standard_normal(each) * 0.5 for key, each in constants.items()})
    path = quantized(proto, tmp_path, *style)
    compiled, theirs = nnapi.compile(nnapi.load(path), "nnapi-reference"), session(path)
    for x in X[:3]:
        (ours,) = compiled.run(x)
        np.testing.assert_allclose(ours, theirs.run(None, {"x": x})[0], 0, 1.01 * last_scale(path))


def test_a_convolution_whose_sums_are_not_quantized_is_one_of_floats() -> None:
    constants: dict[str, Any] = {"s": np.float32(0.5), "z": np.uint8(3), "u": np.float32(0.25), "v": np.int8(0)}
    constants["w"] = np.array([9, -3], np.int8).reshape(1, 2, 1, 1)
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["r"]),
        helper.make_node("DequantizeLinear", ["w", "u", "v"], ["f"]),
        helper.make_node("Conv", ["r", "f"], ["y"]),
    ]
    x = np.array([5, 7], np.uint8).reshape(1, 2, 1, 1)  # 1 and 2, times 2.25 and -0.75
    assert computed(loaded(nodes, constants, x=x), x).reshape(-1).tolist() == [2.25 - 1.5]
