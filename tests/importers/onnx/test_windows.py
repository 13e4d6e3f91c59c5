"""Conv and ConvTranspose beside plain loops: strides, dilations, pads and groups that differ along the axes."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperandCode  # noqa: E402
from nnapi.codes import OperationCode as O  # noqa: E402
from nnapi.model.dynamic_model import DynamicModel  # noqa: E402
from tests.importers.onnx.literal_cases import check_made_up, file_of, node, reasons, results  # noqa: E402

RANDOM = np.random.default_rng(8)


def whole(*shape: int) -> Any:
    """Whole numbers, whose sums are exact."""
    return RANDOM.integers(-4, 5, shape).astype(np.float32)


def plane(x: Any) -> Any:
    """A tensor of rank 3 as an image of one row."""
    return x[:, :, None] if x.ndim == 3 else x


def pairs(values: Any, axes: int, missing: int) -> list[int]:
    given = list(values or [missing] * axes)
    return [missing] * (2 - axes) + given


def convolved(x: Any, w: Any, bias: Any, strides: Any, dilations: Any, pads: Any, group: int) -> Any:
    """Return the convolution that the formula gives; pads are those of ONNX, all starts before all ends."""
    axes = x.ndim - 2
    before, behind = pairs(pads[:axes], axes, 0), pairs(pads[axes : 2 * axes], axes, 0)
    padded = np.pad(plane(x), [(0, 0), (0, 0), *zip(before, behind, strict=True)])
    filters, stride, dilation = plane(w), pairs(strides, axes, 1), pairs(dilations, axes, 1)
    units, depth, *kernel = filters.shape
    size = [(padded.shape[2 + i] - (kernel[i] - 1) * dilation[i] - 1) // stride[i] + 1 for i in range(2)]
    found = np.zeros((len(x), units, *size), np.float32)
    for n, unit, row, column in np.ndindex(*found.shape):
        first = unit // (units // group) * depth
        for channel, i, j in np.ndindex(depth, *kernel):
            at = row * stride[0] + i * dilation[0], column * stride[1] + j * dilation[1]
            found[n, unit, row, column] += padded[n, first + channel, at[0], at[1]] * filters[unit, channel, i, j]
    found = found + bias.reshape(-1, 1, 1)
    return found[:, :, 0] if axes == 1 else found


WHOLE, DEPTHWISE, GROUPED, PARTS = O.CONV_2D, O.DEPTHWISE_CONV_2D, O.GROUPED_CONV_2D, O.CONCATENATION
CASES: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], list[int] | None, O]] = [
    ((2, 3, 5, 7), (4, 3, 2, 3), {}, None, WHOLE),
    ((1, 2, 5, 7), (3, 2, 3, 4), {"strides": [2, 1], "pads": [1, 0, 2, 3]}, None, WHOLE),
    ((1, 2, 6, 9), (3, 2, 2, 3), {"strides": [1, 3], "dilations": [3, 2], "pads": [0, 2, 1, 0]}, None, WHOLE),
    ((1, 2, 6, 5), (3, 2, 3, 2), {"dilations": [2, 1]}, None, WHOLE),
    ((1, 2, 5, 6), (3, 2, 2, 3), {"dilations": [1, 2]}, None, WHOLE),
    ((1, 2, 5, 7), (2, 2, 2, 3), {"auto_pad": "SAME_UPPER", "strides": [2, 3]}, [0, 1, 1, 1], WHOLE),
    ((1, 2, 5, 8), (2, 2, 2, 4), {"auto_pad": "SAME_UPPER", "dilations": [3, 1]}, [1, 1, 2, 2], WHOLE),
    ((1, 2, 5, 8), (2, 2, 2, 4), {"auto_pad": "SAME_LOWER", "dilations": [3, 1]}, [2, 2, 1, 1], WHOLE),
    ((1, 2, 4, 9), (2, 2, 2, 3), {"auto_pad": "SAME_UPPER", "strides": [4, 4]}, [0, 1, 0, 1], WHOLE),
    ((1, 2, 4, 9), (2, 2, 2, 3), {"auto_pad": "VALID", "pads": [1, 1, 1, 1]}, [0] * 4, WHOLE),
    ((1, 2, 4, 9), (2, 2, 2, 3), {"auto_pad": "NOTSET", "pads": [1, 0, 0, 0]}, None, WHOLE),
    ((1, 3, 5, 7), (6, 1, 3, 2), {"group": 3, "strides": [2, 1], "pads": [0, 1, 2, 0]}, None, DEPTHWISE),
    ((1, 3, 6, 7), (3, 1, 2, 3), {"group": 3, "dilations": [1, 2]}, None, DEPTHWISE),
    ((1, 4, 5, 6), (6, 2, 2, 3), {"group": 2, "strides": [1, 2], "pads": [1, 0, 0, 2]}, None, GROUPED),
    ((1, 4, 6, 6), (6, 2, 2, 3), {"group": 2, "dilations": [2, 1], "pads": [1, 0, 0, 2]}, None, PARTS),
    ((2, 3, 9), (4, 3, 2), {"strides": [2], "dilations": [3], "pads": [1, 2]}, None, WHOLE),
    ((1, 2, 9), (4, 1, 3), {"group": 2, "auto_pad": "SAME_LOWER", "strides": [2]}, [1, 1], DEPTHWISE),
    ((1, 4, 9), (4, 2, 3), {"group": 2, "pads": [0, 1]}, None, GROUPED),
    ((1, 4, 9), (4, 2, 3), {"group": 2, "pads": [0, 1], "dilations": [2]}, None, PARTS),
    ((1, 2, 4, 5), (3, 2, 1, 1), {"pads": [1, 2, 0, 3]}, None, WHOLE),
    ((1, 3, 4, 5), (3, 1, 2, 2), {"group": 3, "pads": [3, 0, 1, 2]}, None, DEPTHWISE),
    ((1, 4, 9), (4, 2, 1), {"group": 2, "pads": [2, 1]}, None, GROUPED),
]


@each_row(("shape", "filter", "options", "computed_pads", "code"), CASES)
@each_row("computed", ["", "w", "b", "w b"])
def test_a_convolution(shape: Any, filter: Any, options: Any, computed_pads: Any, code: O, computed: str) -> None:
    x, arrays = whole(*shape), {"w": whole(*filter), "b": whole(filter[0])}
    inputs = {"x": x, **{name: arrays[name] for name in computed.split()}}
    constants = {name: array for name, array in arrays.items() if name not in inputs}
    pads = computed_pads or options.get("pads", [0] * 4)
    settings = (options.get("strides"), options.get("dilations"), pads, options.get("group", 1))
    expected = convolved(x, arrays["w"], arrays["b"], *settings)
    assert results([node("Conv", "x w b", **options)], inputs, constants) == [expected.tolist()]
    if not computed:
        model = nnapi.load(file_of([node("Conv", "x w", **options)], inputs, {"w": arrays["w"]}))
        assert [call.code for call in model.operations if call.code not in (O.TRANSPOSE, O.RESHAPE)][-1] == code
        (found,) = nnapi.compile(model, "nnapi-reference").run(x)
        assert found.tolist() == convolved(x, arrays["w"], np.zeros(filter[0]), *settings).tolist()


X, W = np.ones((1, 4, 5, 6), np.float32), np.ones((6, 4, 2, 3), np.float32)
UNFIT = "its strides or pads do not fit"
ABOVE = "a stride, dilation or size is not above 0"


@each_row(
    ("filter", "options", "reason"),
    [
        ((6, 4, 2, 3), {"strides": [1]}, UNFIT),
        ((6, 4, 2, 3), {"strides": [1, 1, 1]}, UNFIT),
        ((6, 4, 2, 3), {"dilations": [1]}, UNFIT),
        ((6, 4, 2, 3), {"strides": [1, 1, 1], "dilations": [1, 1, 1]}, UNFIT),
        ((6, 4, 2, 3), {"pads": [1, 1]}, UNFIT),
        ((6, 4, 2, 3), {"pads": [1] * 6}, UNFIT),
        ((6, 4, 2, 3), {"strides": [0, 1]}, ABOVE),
        ((6, 4, 2, 3), {"strides": [1, -1]}, ABOVE),
        ((6, 4, 2, 3), {"dilations": [1, 0]}, ABOVE),
        ((6, 4, 2, 3), {"pads": [0, -1, 1, 1]}, "pads holds negative values"),
        ((6, 4, 2, 3), {"pads": [0, 0, 0, -1]}, "pads holds negative values"),
        ((6, 4, 1, 2, 3), {}, "NNAPI has images of two dimensions, its filter is of rank 5"),
        ((6, 4), {}, "NNAPI has images of two dimensions, its filter is of rank 2"),
        ((8, 2, 2, 3), {"group": 4}, "its filter takes 2 channels for each group of one"),
        ((6, 1, 2, 3), {"group": 3, "dilations": [2, 1]}, "3 groups"),
        ((5, 2, 2, 3), {"group": 2, "dilations": [1, 2]}, "2 groups"),
        ((6, 2, 2, 3), {"group": -2, "dilations": [1, 2]}, "-2 groups"),
        ((6, 2, 2, 3), {"group": 0, "dilations": [1, 2]}, "0 groups"),
    ],
)  # fmt: skip
def test_convolutions_that_do_not_fit(filter: Any, options: Any, reason: str) -> None:
    assert reasons([node("Conv", "x w", **options)], {"x": X}, {"w": np.ones(filter, np.float32)}) == [reason]


@pytest.mark.parametrize("kind", ["Conv", "ConvTranspose"])
def test_images_have_one_to_three_dimensions(kind: str) -> None:
    for shape in ((1, 4), (1, 4, 2, 2, 5, 6)):
        found = reasons([node(kind, "x w")], {"x": np.ones(shape, np.float32)}, {"w": W[:4]})
        assert found == [f"NNAPI has images of two dimensions, the input is of rank {len(shape)}"]
    found = reasons([node(kind, "x w")], {"x": np.ones((1, 4, 2, 5, 6), np.float32)}, {"w": W[:4]})
    assert found == ["its windows have 2 dimensions, its image 3"]


def test_the_activation_after_a_convolution_is_fused() -> None:
    nodes = [node("Conv", "x w", "c", group=2), node("Relu", "c")]
    x, filters = whole(1, 4, 3, 3), whole(4, 2, 2, 2)
    content = file_of(nodes, {"x": x}, {"w": filters})
    assert [call.code for call in nnapi.load(content).operations] == [O.TRANSPOSE, O.GROUPED_CONV_2D, O.TRANSPOSE]
    expected = np.maximum(convolved(x, filters, np.zeros(4), None, None, [0] * 4, 2), 0)
    assert results(nodes, {"x": x}, {"w": filters}) == [expected.tolist()]


# Quantized


@pytest.mark.parametrize(
    ("image", "filter", "group"),
    [
        ((1, 3, 4, 5), (2, 3, 2, 3), 1),
        ((1, 3, 4, 5), (6, 1, 2, 3), 3),
        ((1, 3, 6), (2, 3, 2), 1),
        ((1, 3, 6), (3, 1, 4), 3),
    ],
)
@pytest.mark.parametrize("result", [np.uint8, np.int8])
def test_a_quantized_convolution_is_one_operation(image: Any, filter: Any, group: int, result: Any) -> None:
    """If the result has the type of the input; otherwise it is computed as floats. All scales are powers of 2."""
    x, w, b = RANDOM.integers(0, 256, image), RANDOM.integers(-9, 9, filter), RANDOM.integers(-50, 50, filter[0])
    constants: dict[str, Any] = {
        "w": w.astype(np.int8), "b": b.astype(np.int32), "xs": np.float32(0.25), "xz": np.uint8(120),
        "ws": np.float32(0.5), "wz": np.int8(0), "bs": np.float32(0.125), "ys": np.float32(8), "yz": result(7),
    }  # fmt: skip
    nodes = [
        node("DequantizeLinear", "x xs xz", "a"),
        node("DequantizeLinear", "w ws wz", "v"),
        node("DequantizeLinear", "b bs", "c"),
        node("Conv", "a v c", "r", group=group),
        node("QuantizeLinear", "r ys yz"),
    ]
    model = nnapi.load(file_of(nodes, {"x": x.astype(np.uint8)}, constants))
    calls = [call for call in model.operations if call.code in (O.CONV_2D, O.DEPTHWISE_CONV_2D)]
    is_quantized = model.operands[calls[0].inputs[0]].type.code == OperandCode.TENSOR_QUANT8_ASYMM
    assert is_quantized is (result == np.uint8)
    real = convolved((x - 120) * 0.25, w * 0.5, b * 0.125, None, None, [0] * 4, group)
    limits = np.iinfo(result)
    expected = np.clip(np.rint(real / 8) + 7, limits.min, limits.max)
    (found,) = nnapi.compile(model, "nnapi-reference").run(x.astype(np.uint8))
    assert np.abs(found.astype(int) - expected).max() <= 1
    assert len(np.unique(expected)) >= 5


@pytest.mark.parametrize(
    ("dtype", "point", "filter", "is_stored"),
    [
        (np.int8, 0, (6, 4, 2, 3), True),
        (np.int8, 0, (6, 4, 3), True),
        (np.int8, 2, (6, 4, 2, 3), False),
        (np.uint8, 0, (6, 4, 2, 3), False),
        (np.uint8, 3, (6, 4, 3), False),
    ],
)
def test_a_dynamically_quantized_convolution_without_attributes(
    dtype: Any, point: int, filter: Any, is_stored: bool
) -> None:
    """The filter stays quantized if it is signed and symmetric."""
    nodes = [
        node("DynamicQuantizeLinear", "x", "q s z"),
        node("ConvInteger", "q w z p", "i"),
        node("Cast", "i", "f", to=TensorProto.FLOAT),
        node("Mul", "s k", "ks"),
        node("Mul", "f ks"),
    ]
    x, w = whole(1, 4, *((5, 6) if len(filter) == 4 else (6,))), RANDOM.integers(0, 9, filter).astype(dtype)
    model = nnapi.load(file_of(nodes, {"x": x}, {"w": w, "p": dtype(point), "k": np.float32(0.5)}))
    assert (O.DEQUANTIZE in [call.code for call in model.operations]) is is_stored
    expected = convolved(x, (w.astype(int) - point) * 0.5, np.zeros(6), None, None, [0] * 4, 1)
    (found,) = nnapi.compile(model, "nnapi-reference").run(x)
    assert found.tolist() == expected.tolist()


# Transposed


def spread(x: Any, w: Any, bias: Any, options: dict[str, Any], pads: list[int]) -> Any:
    """Return the transposed convolution that the formula gives; negative pads leave zeros, plus the bias."""
    axes, group = x.ndim - 2, options.get("group", 1)
    image, filters = plane(x), plane(w)
    stride, dilation = (pairs(options.get(name), axes, 1) for name in ("strides", "dilations"))
    added = pairs(options.get("output_padding"), axes, 0)
    depth, units, *kernel = filters.shape
    size = [(image.shape[2 + i] - 1) * stride[i] + (kernel[i] - 1) * dilation[i] + 1 + added[i] for i in range(2)]
    found = np.zeros((len(x), units * group, *size), np.float32)
    for n, channel, row, column in np.ndindex(*image.shape):
        first = channel // (depth // group) * units
        for unit, i, j in np.ndindex(units, *kernel):
            at = row * stride[0] + i * dilation[0], column * stride[1] + j * dilation[1]
            found[n, first + unit, at[0], at[1]] += image[n, channel, row, column] * filters[channel, unit, i, j]
    for axis, (low, high) in enumerate(zip(pairs(pads[:axes], axes, 0), pairs(pads[axes:], axes, 0), strict=True), 2):
        found = np.pad(found, [(max(-low, 0), max(-high, 0)) if k == axis else (0, 0) for k in range(4)])
        found = np.take(found, range(max(low, 0), found.shape[axis] - max(high, 0)), axis)
    found = found + bias.reshape(-1, 1, 1)
    return found[:, :, 0] if axes == 1 else found


TRANSPOSED: list[tuple[tuple[int, ...], tuple[int, ...], dict[str, Any], list[int]]] = [
    ((2, 3, 3, 4), (3, 2, 2, 3), {}, [0] * 4),
    ((1, 2, 3, 4), (2, 3, 2, 3), {"strides": [3, 2], "pads": [1, 0, 0, 2]}, [1, 0, 0, 2]),
    ((1, 2, 3, 4), (2, 3, 2, 3), {"strides": [3, 2], "pads": [1, 1, 1, 1], "output_padding": [1, 0]}, [1, 1, 1, 1]),
    ((1, 2, 3, 4), (2, 3, 2, 3), {"strides": [3, 2], "output_padding": [2, 1]}, [0] * 4),
    ((1, 2, 3, 4), (2, 3, 3, 2), {"dilations": [2, 3], "pads": [0, 1, 2, 0]}, [0, 1, 2, 0]),
    ((1, 2, 3, 4), (2, 3, 3, 2), {"dilations": [1, 2]}, [0] * 4),
    ((1, 2, 3, 4), (2, 3, 3, 2), {"dilations": [2, 1]}, [0] * 4),
    ((1, 4, 3, 4), (4, 3, 2, 3), {"group": 2, "strides": [1, 2]}, [0] * 4),
    ((1, 2, 3, 4), (2, 3, 2, 3), {"strides": [2, 2], "auto_pad": "SAME_UPPER"}, [0, 0, 0, 1]),
    ((1, 2, 3, 4), (2, 3, 3, 4), {"strides": [1, 1], "auto_pad": "SAME_UPPER"}, [1, 1, 1, 2]),
    ((1, 2, 3, 4), (2, 3, 3, 4), {"strides": [2, 1], "auto_pad": "SAME_LOWER"}, [1, 2, 0, 1]),
    ((1, 2, 3, 4), (2, 3, 2, 3), {"strides": [2, 2], "auto_pad": "VALID"}, [0] * 4),
    ((1, 2, 3, 4), (2, 3, 3, 3), {"strides": [3, 2], "output_shape": [8, 6]}, [1, 2, 0, 1]),
    ((1, 2, 3, 4), (2, 3, 3, 3), {"strides": [3, 2], "output_shape": [1, 3, 8, 6]}, [1, 2, 0, 1]),
    ((1, 2, 3, 4), (2, 3, 3, 3), {"strides": [3, 2], "output_shape": [10, 10]}, [0, 0, -1, -1]),
    ((1, 2, 3, 4), (2, 3, 3, 3), {"output_shape": [4, 5], "output_padding": [1, 0], "strides": [2, 1]}, [2, 1, 2, 0]),
    ((1, 2, 5), (2, 3, 3), {"strides": [2], "pads": [1, 0], "dilations": [2], "output_padding": [1]}, [1, 0]),
    ((1, 4, 5), (4, 1, 3), {"strides": [3], "group": 2}, [0, 0]),
]


@each_row(("shape", "filter", "options", "pads"), TRANSPOSED)
@each_row("bias", ["-", "b"])
def test_a_transposed_convolution(shape: Any, filter: Any, options: Any, pads: Any, bias: str) -> None:
    units = filter[1] * options.get("group", 1)
    x, w, b = whole(*shape), whole(*filter), whole(units) if bias == "b" else np.zeros(units, np.float32)
    constants = {"w": w, "b": b} if bias == "b" else {"w": w}
    found = results([node("ConvTranspose", f"x w {bias}", **options)], {"x": x}, constants)
    assert found == [spread(x, w, b, options, pads).tolist()]


@pytest.mark.parametrize(
    ("filter", "options", "reason"),
    [
        ((4, 3, 2, 2), {"group": 3}, "group is 3, must divide the 4 input channels"),
        ((4, 3, 2, 2), {"group": 0}, "group is 0, must divide the 4 input channels"),
        ((4, 3, 2, 2), {"group": -2}, "group is -2, must divide the 4 input channels"),
        ((4, 3, 1, 2, 2), {}, "its windows have 3 dimensions, its image 2"),
        ((4, 3), {}, "its windows have 0 dimensions, its image 2"),
        ((4, 3, 2, 2), {"pads": [0, 0]}, UNFIT),
        ((4, 3, 2, 2), {"dilations": [0, 1]}, ABOVE),
    ],
)
def test_transposed_convolutions_that_do_not_fit(filter: Any, options: Any, reason: str) -> None:
    found = reasons([node("ConvTranspose", "x w", **options)], {"x": X}, {"w": np.ones(filter, np.float32)})
    assert found == [reason]


@pytest.mark.parametrize(
    ("kind", "options", "is_static"),
    [
        ("Conv", {"auto_pad": "SAME_UPPER"}, False),
        ("Conv", {"auto_pad": "VALID"}, True),
        ("ConvTranspose", {"auto_pad": "SAME_LOWER"}, False),
        ("ConvTranspose", {"output_shape": [6, 7]}, False),
        ("ConvTranspose", {"auto_pad": "VALID"}, True),
    ],
)
def test_pads_follow_from_static_sizes(kind: str, options: Any, is_static: bool) -> None:
    proto = onnx.load_from_string(file_of([node(kind, "x w", **options)], {"x": X}, {"w": W[:4]}))
    proto.graph.input[0].CopyFrom(helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4, "h", 6]))
    proto.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", TensorProto.FLOAT, None))
    model = nnapi.load(proto.SerializeToString())
    assert isinstance(model, DynamicModel) is not is_static
    height = {"SAME_UPPER": 5, "SAME_LOWER": 5, "VALID": 4 if kind == "Conv" else 6, None: 6}[options.get("auto_pad")]
    assert nnapi.compile(model, "nnapi-reference").run(X)[0].shape[2] == height


def test_the_filter_of_a_transposed_convolution_is_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its dilated copy, then that of each group, in NNAPI's order; and a bias of zeros, whole and in parts."""
    filters = np.ones((4, 1, 2, 2), np.float32)
    content = file_of([node("ConvTranspose", "x w", dilations=[2, 1], group=2)], {"x": X}, {"w": filters})
    count = 4 * (4 * 3 * 2 + 2 * (2 * 3 * 2) + 2 + 2)
    check_made_up(content, count, monkeypatch)
