"""Convolutions, fully connected layers, pooling and resizing, against LiteRT."""

from pathlib import Path

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperationCode
from tests.importers.tflite.against_litert import Case, case, check, loaded, run
from tests.tflite_writer import Graph, T, const, f32, s8, u8, write

rng = np.random.default_rng(1)
SAME, VALID = 0, 1
RELU, RELU1, RELU6, TANH = 1, 2, 3, 4


def weights(*shape: int) -> T:
    return f32(*shape).of(rng.uniform(-1, 1, shape))


def codes(tensor: T) -> T:
    limits = np.iinfo(tensor.type.lower())
    return tensor.of(rng.integers(limits.min, limits.max + 1, tensor.shape))


def biases(n: int, scale: float = 0.0) -> T:
    return T("INT32", (n,), scale or None, data=rng.integers(-500, 500, n))


CHANNELS = tuple(0.01 * (i + 1) for i in range(4))
x = f32(1, 7, 6, 3)
ux, sx = u8(1, 7, 6, 3), s8(1, 7, 6, 3)


def conv(inputs: list[T | None], out: T, **fields: object) -> Case:
    return case("CONV_2D", inputs, out, "Conv2DOptions", **{"StrideW": 1, "StrideH": 1, **fields})


def depthwise(inputs: list[T | None], out: T, **fields: object) -> Case:
    given = {"StrideW": 1, "StrideH": 1, "DepthMultiplier": 2, **fields}
    return case("DEPTHWISE_CONV_2D", inputs, out, "DepthwiseConv2DOptions", **given)


FILTER, SLIM, CODES = weights(4, 2, 2, 3), weights(1, 3, 2, 3), codes(u8(4, 3, 2, 3, scale=0.02))

CONVOLUTIONS = [
    conv([x, weights(4, 3, 2, 3), weights(4)], f32(1, 7, 6, 4), Padding=SAME),
    conv([x, weights(4, 3, 2, 3), weights(4)], f32(1, 3, 3, 4), Padding=VALID, StrideH=2, StrideW=2, label="stride"),
    conv(
        [x, FILTER],
        f32(1, 7, 6, 4),
        Padding=SAME,
        FusedActivationFunction=RELU6,
        label="no bias",
        theirs=[x, FILTER, const(np.zeros(4), "FLOAT32")],
    ),
    conv(
        [x, FILTER, weights(4)], f32(1, 5, 3, 4), Padding=VALID, DilationHFactor=2, DilationWFactor=3, label="dilated"
    ),
    conv(
        [f32(1, 5, 5, 4), weights(6, 3, 3, 2), weights(6)],
        f32(1, 5, 5, 6),
        FusedActivationFunction=RELU,
        label="groups",
    ),
    conv([ux, codes(u8(4, 3, 2, 3, scale=0.02)), biases(4, 0.001)], u8(1, 7, 6, 4, scale=0.3), Padding=SAME),
    conv(
        [ux, CODES],
        u8(1, 7, 6, 4, scale=0.3),
        Padding=SAME,
        label="no bias",
        FusedActivationFunction=RELU,
        theirs=[ux, CODES, T("INT32", (4,), 0.001, data=np.zeros(4))],
    ),
    conv(
        [sx, codes(s8(4, 3, 2, 3, scale=CHANNELS, zero_point=0)), biases(4)],
        s8(1, 7, 6, 4, scale=0.3),
        Padding=SAME,
        FusedActivationFunction=RELU1,
        label="per channel",
    ),
    conv(
        [sx, codes(s8(4, 3, 2, 3, scale=0.02, zero_point=0)), biases(4)], s8(1, 7, 6, 4, scale=0.3), label="one scale"
    ),
    depthwise([x, weights(1, 3, 3, 6), weights(6)], f32(1, 7, 6, 6)),
    depthwise(
        [x, SLIM],
        f32(1, 3, 3, 3),
        Padding=VALID,
        StrideH=2,
        StrideW=2,
        DepthMultiplier=1,
        label="no bias",
        FusedActivationFunction=RELU,
        theirs=[x, SLIM, const(np.zeros(3), "FLOAT32")],
    ),
    depthwise(
        [x, weights(1, 2, 2, 6), weights(6)], f32(1, 7, 6, 6), DilationHFactor=2, DilationWFactor=2, label="dilated"
    ),
    depthwise([ux, codes(u8(1, 3, 3, 6, scale=0.02)), biases(6, 0.001)], u8(1, 7, 6, 6, scale=0.2)),
    depthwise(
        [s8(1, 7, 6, 2), codes(s8(1, 3, 3, 4, scale=CHANNELS, zero_point=0, axis=3)), biases(4)],
        s8(1, 7, 6, 4, scale=0.2),
        label="per channel",
    ),
]


def transposed(inputs: list[T | None], out: T, **fields: object) -> Case:
    return case("TRANSPOSE_CONV", inputs, out, "TransposeConvOptions", **{"StrideW": 2, "StrideH": 2, **fields})


TRANSPOSED = [
    transposed([const([1, 8, 6, 4]), weights(4, 3, 3, 2), f32(1, 4, 3, 2)], f32(1, 8, 6, 4), Padding=SAME),
    transposed(
        [const([1, 9, 7, 4]), weights(4, 3, 3, 2), f32(1, 4, 3, 2), weights(4)],
        f32(1, 9, 7, 4),
        Padding=VALID,
        FusedActivationFunction=RELU,
    ),
    transposed(
        [const([1, 12, 9, 4]), weights(4, 2, 2, 2), f32(1, 4, 3, 2), weights(4)],
        f32(1, 12, 9, 4),
        Padding=VALID,
        StrideH=3,
        StrideW=3,
        label="longer by rows and columns that no filter reaches",
    ),
    transposed(
        [const([1, 9, 8, 4]), codes(s8(4, 3, 3, 2, scale=CHANNELS, zero_point=0)), s8(1, 4, 3, 2), biases(4)],
        s8(1, 9, 8, 4, scale=0.2),
        Padding=VALID,
        label="longer by a column",
    ),
    transposed([const([1, 8, 6, 4]), codes(u8(4, 3, 3, 2, scale=0.02)), u8(1, 4, 3, 2)], u8(1, 8, 6, 4, scale=0.2)),
    transposed(
        [const([1, 8, 6, 4]), codes(s8(4, 3, 3, 2, scale=CHANNELS, zero_point=0)), s8(1, 4, 3, 2), biases(4)],
        s8(1, 8, 6, 4, scale=0.2),
    ),
    transposed(
        [const([1, 8, 6, 4]), weights(4, 3, 3, 2), f32(1, 4, 3, 2), weights(1, 1, 1, 4)],
        f32(1, 8, 6, 4),
        label="bias of rank 4",
    ),
]


def dense(inputs: list[T | None], out: T, **fields: object) -> Case:
    return case("FULLY_CONNECTED", inputs, out, "FullyConnectedOptions", **fields)


FULLY_CONNECTED = [
    dense([f32(3, 5), weights(4, 5), weights(4)], f32(3, 4)),
    dense([f32(3, 5), weights(4, 5), None], f32(3, 4), FusedActivationFunction=RELU, label="no bias"),
    dense([f32(2, 3, 5), weights(4, 5), weights(4)], f32(2, 3, 4), KeepNumDims=True, label="keeps dims"),
    dense([f32(2, 3, 5), weights(4, 15), weights(4)], f32(2, 4), label="flattens"),
    dense([f32(5), weights(4, 5), weights(4)], f32(1, 4), label="rank 1"),
    dense([f32(3, 5), weights(4, 5), weights(1, 4)], f32(3, 4), label="bias of rank 2"),
    dense([f32(3, 5), f32(4, 5), weights(4)], f32(3, 4), label="computed weights"),
    dense([u8(3, 5), codes(u8(4, 5, scale=0.02)), biases(4, 0.001)], u8(3, 4, scale=0.2)),
    dense([s8(3, 5), codes(s8(4, 5, scale=0.02, zero_point=0)), biases(4)], s8(3, 4, scale=0.2)),
    dense(
        [s8(3, 5), codes(s8(4, 5, scale=CHANNELS, zero_point=0)), biases(4)], s8(3, 4, scale=0.2), label="per channel"
    ),
    dense(
        [s8(2, 3, 5), codes(s8(4, 5, scale=CHANNELS, zero_point=0)), None],
        s8(2, 3, 4, scale=0.2),
        KeepNumDims=True,
        FusedActivationFunction=RELU,
        label="per channel, keeps dims",
    ),
]


def pool(kind: str, image: T, out: T, **fields: object) -> Case:
    sizes = {"StrideW": 2, "StrideH": 1, "FilterWidth": 3, "FilterHeight": 2}
    return case(kind, [image], out, "Pool2DOptions", **{**sizes, **fields})


IMAGES = [
    *(pool(kind, x, f32(1, 7, 3, 3), Padding=SAME) for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D")),
    *(pool(kind, ux, u8(1, 6, 2, 3), Padding=VALID) for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")),
    *(
        pool(kind, sx, s8(1, 6, 2, 3), Padding=VALID, FusedActivationFunction=RELU)
        for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")
    ),
    case("L2_NORMALIZATION", [f32(2, 5)], f32(2, 5), "L2NormOptions"),
    case("L2_NORMALIZATION", [s8(2, 5, zero_point=0)], s8(2, 5, scale=1 / 128, zero_point=0), "L2NormOptions"),
    case(
        "LOCAL_RESPONSE_NORMALIZATION",
        [x],
        f32(1, 7, 6, 3),
        "LocalResponseNormalizationOptions",
        Radius=1,
        Bias=1.5,
        Alpha=0.3,
        Beta=0.75,
    ),
    *(
        case("RESIZE_BILINEAR", [image, const([5, 11])], out, "ResizeBilinearOptions", label=label, **flags)
        for label, flags in (("", {}), ("corners", {"AlignCorners": True}), ("centers", {"HalfPixelCenters": True}))
        for image, out in ((x, f32(1, 5, 11, 3)), (sx, s8(1, 5, 11, 3)))
    ),
    *(
        case(
            "RESIZE_NEAREST_NEIGHBOR",
            [image, const([5, 11])],
            out,
            "ResizeNearestNeighborOptions",
            label=label,
            **flags,
        )
        for label, flags in (("", {}), ("corners", {"AlignCorners": True}), ("centers", {"HalfPixelCenters": True}))
        for image, out in ((x, f32(1, 5, 11, 3)), (ux, u8(1, 5, 11, 3)))
    ),
    case("SPACE_TO_DEPTH", [f32(1, 4, 6, 2)], f32(1, 2, 3, 8), "SpaceToDepthOptions", BlockSize=2),
    case("DEPTH_TO_SPACE", [s8(1, 2, 3, 8)], s8(1, 4, 6, 2), "DepthToSpaceOptions", BlockSize=2),
    case("SPACE_TO_BATCH_ND", [f32(1, 3, 4, 2), const([2, 2]), const([[1, 0], [1, 1]])], f32(4, 2, 3, 2)),
    case("SPACE_TO_BATCH_ND", [f32(1, 5, 2), const([3]), const([[1, 0]])], f32(3, 2, 2), label="rank 3"),
    case("BATCH_TO_SPACE_ND", [f32(4, 2, 3, 2), const([2, 2]), const([[0, 0], [0, 0]])], f32(1, 4, 6, 2)),
    case(
        "BATCH_TO_SPACE_ND", [u8(4, 2, 3, 2), const([2, 2]), const([[1, 0], [2, 1]])], u8(1, 3, 3, 2), label="cropped"
    ),
    case("BATCH_TO_SPACE_ND", [f32(3, 2, 2), const([3]), const([[1, 0]])], f32(1, 5, 2), label="rank 3"),
]


@pytest.mark.engine
@pytest.mark.parametrize("case", CONVOLUTIONS + TRANSPOSED + FULLY_CONNECTED + IMAGES, ids=str)
def test_agrees_with_litert(case: Case, tmp_path: Path) -> None:
    check(case, tmp_path)


def operations(model: object) -> list[OperationCode]:
    return [call.code for call in model.operations]  # type: ignore[attr-defined]


def test_one_operation_becomes_one(tmp_path: Path) -> None:
    assert operations(check(CONVOLUTIONS[0], tmp_path)) == [OperationCode.CONV_2D]


def test_fused_tanh_follows_as_an_operation(tmp_path: Path) -> None:
    """LiteRT's own kernels ignore it without a word."""
    image = rng.uniform(-1, 1, x.shape).astype(np.float32)
    filters = weights(4, 1, 1, 3)
    plain, squashed = (
        loaded(conv([x, filters], f32(1, 7, 6, 4), FusedActivationFunction=code).content(), tmp_path)
        for code in (0, TANH)
    )
    assert operations(squashed) == [OperationCode.CONV_2D, OperationCode.TANH]
    np.testing.assert_allclose(run(squashed, [image])[0], np.tanh(run(plain, [image])[0]), atol=1e-6)


def test_groups_are_taken_from_the_depths(tmp_path: Path) -> None:
    grouped = next(case for case in CONVOLUTIONS if case.label == "groups")
    assert operations(check(grouped, tmp_path)) == [OperationCode.GROUPED_CONV_2D]


def test_a_scale_per_unit_makes_a_pointwise_convolution(tmp_path: Path) -> None:
    found = next(case for case in FULLY_CONNECTED if case.label == "per channel")
    steps = [OperationCode.RESHAPE, OperationCode.CONV_2D, OperationCode.RESHAPE]
    assert operations(check(found, tmp_path)) == steps


def test_average_of_another_scale_goes_through_real_numbers(tmp_path: Path) -> None:
    sizes = {"StrideW": 1, "StrideH": 1, "FilterWidth": 2, "FilterHeight": 2}
    pooled = case("AVERAGE_POOL_2D", [ux], u8(1, 7, 6, 3, scale=0.1), "Pool2DOptions", **sizes)
    model = loaded(pooled.content(), tmp_path)
    steps = [OperationCode.DEQUANTIZE, OperationCode.AVERAGE_POOL_2D, OperationCode.QUANTIZE]
    assert operations(model) == steps


@pytest.mark.parametrize(("scheme", "out"), [(SAME, (1, 9, 6, 4)), (VALID, (1, 8, 7, 4)), (VALID, (1, 11, 7, 4))])
def test_a_transposed_convolution_of_another_size_is_refused(scheme: int, out: tuple[int, ...], tmp_path: Path) -> None:
    """LiteRT refuses them, too."""
    inputs = [const(out), weights(4, 3, 3, 2), f32(1, 4, 3, 2)]
    with pytest.raises(nnapi.NnapiError, match=r"its output shape \[.*\] does not fit the input \[1, 4, 3, 2\]"):
        loaded(transposed(inputs, f32(*out), Padding=scheme).content(), tmp_path)


def with_bias(scheme: int, out: T, parameters: bytes | None = None) -> bytes:
    """MediaPipe's transposed convolution of a 4 × 3 image with a filter of 3 × 2, at strides of 2 up and 1 across."""
    image, filter, bias = f32(1, 4, 3, 2), weights(5, 3, 2, 2), weights(5)
    custom = np.array([scheme, 1, 2], "<i4").tobytes() if parameters is None else parameters
    graph = Graph().operator("CUSTOM:Convolution2DTransposeBias", [image, filter, bias], [out], custom=custom)
    return write(graph.between([image], [out]))


@pytest.mark.parametrize(("scheme", "out"), [(1, (1, 8, 3, 5)), (2, (1, 9, 4, 5))])
def test_mediapipes_transposed_convolution_scatters_the_filter(
    scheme: int, out: tuple[int, ...], tmp_path: Path
) -> None:
    model = loaded(with_bias(scheme, f32(*out)), tmp_path)
    filter, bias = (model.operands[index].value for index in model.operations[0].inputs[1:3])
    image = rng.uniform(-1, 1, (1, 4, 3, 2)).astype(np.float32)
    whole = np.zeros((9, 4, 5))
    for row, column in np.ndindex(4, 3):
        whole[2 * row : 2 * row + 3, column : column + 2] += np.moveaxis(filter @ image[0, row, column], 0, 2)
    expected = whole[: out[1], : out[2]] + bias  # SAME cuts what is too much off the end, an odd rest
    np.testing.assert_allclose(run(model, [image])[0][0], expected, atol=1e-5)


def test_mediapipes_transposed_convolution_has_a_stride_for_each_cell(tmp_path: Path) -> None:
    """With a stride of 4 up, no filter reaches the last row."""
    parameters = np.array([2, 1, 4], "<i4").tobytes()
    model = loaded(with_bias(2, f32(1, 16, 4, 5), parameters), tmp_path)
    bias = model.operands[model.operations[0].inputs[2]].value
    y = run(model, [rng.uniform(-1, 1, (1, 4, 3, 2)).astype(np.float32)])[0]
    assert y.shape == (1, 16, 4, 5)
    np.testing.assert_array_equal(y[0, 15], np.broadcast_to(bias, (4, 5)))


@pytest.mark.parametrize("parameters", [b"", np.array([0, 1, 2], "<i4").tobytes()])
def test_mediapipes_transposed_convolution_names_bad_parameters(parameters: bytes, tmp_path: Path) -> None:
    with pytest.raises(nnapi.NnapiError, match="parameters take 0 bytes|padding scheme is 0, must be 1"):
        loaded(with_bias(1, f32(1, 8, 3, 5), parameters), tmp_path)
