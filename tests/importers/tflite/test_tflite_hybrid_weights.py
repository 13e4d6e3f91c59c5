"""Float operators with 8-bit weights: LiteRT reads the bytes as signed, without a zero point."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode
from tests.importers.tflite.against_litert import Case, case, litert, loaded, random_array, run
from tests.importers.tflite.recurrent_cases import (
    BATCH,
    FEATURES,
    RELU,
    STEPS,
    TANH,
    UNITS,
    bidirectional,
    cell,
    lstm_options,
    sequence,
    simple,
    state,
    weights,
)
from tests.tflite_writer import T, const, f32, i32, single

SCALE, FARTHEST = 0.01, 0.03
"""The scale of weights, and LiteRT's largest difference, relative to the largest result: it quantizes the input too."""
BIAS = const(np.zeros(4), "FLOAT32")
WINDOW = {"StrideW": 1, "StrideH": 1}
PEEPHOLES = (9, 10, 11)


def recurrent(kind: str, options: str, inputs: Sequence[T], count: int = 1, activation: int = RELU) -> Case:
    shape = (BATCH, FEATURES) if kind == "RNN" else (BATCH, STEPS, FEATURES)
    outputs = [f32(*shape[:-1], UNITS) for _ in range(count)]
    rest = [None] * 3 if count > 1 else []
    return case(kind, [f32(*shape), *inputs, *rest], outputs, options, FusedActivationFunction=activation)


CASES = [
    case("FULLY_CONNECTED", [f32(2, 8), weights(4, 8), BIAS], f32(2, 4), "FullyConnectedOptions"),
    case("CONV_2D", [f32(1, 4, 4, 8), weights(4, 3, 3, 8), BIAS], f32(1, 4, 4, 4), "Conv2DOptions", **WINDOW),
    case("EMBEDDING_LOOKUP", [i32(3), weights(7, 5)], f32(3, 5), low=0, high=6),
    case(
        "SVDF",
        [f32(2, 8), weights(4, 8), weights(4, 3), BIAS, state(2, 12)],
        f32(2, 4),
        "SVDFOptions",
        Rank=1,
    ),
    recurrent("RNN", "RNNOptions", [*simple(), state(BATCH, UNITS)]),
    recurrent("UNIDIRECTIONAL_SEQUENCE_RNN", "SequenceRNNOptions", [*simple(), state(BATCH, UNITS)], activation=TANH),
    recurrent(
        "BIDIRECTIONAL_SEQUENCE_RNN",
        "BidirectionalSequenceRNNOptions",
        [*simple(), state(BATCH, UNITS), *simple(), state(BATCH, UNITS)],
        2,
    ),
    case(
        "LSTM",
        [f32(BATCH, FEATURES), *cell(), state(BATCH, UNITS), state(BATCH, UNITS)],
        f32(BATCH, UNITS),
        "LSTMOptions",
        **lstm_options(),
    ),
    sequence(f32(BATCH, STEPS, FEATURES), f32(BATCH, STEPS, 3), peephole=True, projection=3),
    bidirectional(merge=False),
]


def make_codes(tensor: T) -> Any:
    return np.clip(np.rint(tensor.array / SCALE), -127, 127).astype(np.int8)


def with_weights(case: Case, type: str, zero_point: int) -> Case:
    """The case with its weights as bytes of a type, or as the floats that these mean: matrices and peepholes."""

    def change(i: int, tensor: T | None) -> T | None:
        is_weight = tensor is not None and (len(tensor.shape) > 1 or (case.kind.endswith("LSTM") and i in PEEPHOLES))
        if tensor is None or tensor.data is None or not is_weight:
            return tensor
        codes = make_codes(tensor)
        if type == "FLOAT32":
            return replace(tensor, data=codes.astype(np.float32) * np.float32(SCALE))
        return T(type, tensor.shape, SCALE, zero_point, data=codes.view(np.uint8 if type == "UINT8" else np.int8))

    return replace(case, inputs=[change(*each) for each in enumerate(case.inputs)])


def draw(case: Case) -> list[Any]:
    random = np.random.default_rng(8)
    return [random_array(t, case, random) for t in case.inputs if t is not None and t.data is None and not t.variable]


@pytest.mark.parametrize("type", ["UINT8", "INT8"])
@pytest.mark.parametrize("case", CASES, ids=str)
def test_weights_are_signed_bytes(case: Case, type: str, tmp_path: Path) -> None:
    zero_point = 0 if case.kind == "EMBEDDING_LOOKUP" else 100
    ours, floats = (
        run(loaded(with_weights(case, *how).content(), tmp_path), draw(case))
        for how in ((type, zero_point), ("FLOAT32", 0))
    )
    for a, b in zip(ours, floats, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.engine
@pytest.mark.parametrize("case", CASES, ids=str)
def test_litert_reads_them_so(case: Case, tmp_path: Path) -> None:
    content, inputs = with_weights(case, "UINT8", 0).content(), draw(case)
    for ours, theirs in zip(run(loaded(content, tmp_path), inputs), litert(content, inputs), strict=True):
        np.testing.assert_allclose(ours, theirs, 0, FARTHEST * np.abs(theirs).max())


@pytest.mark.parametrize("type", ["UINT8", "INT8"])
def test_kept_weights_are_the_bytes_of_the_file(type: str, tmp_path: Path) -> None:
    dense = with_weights(CASES[0], type, 100)
    path = tmp_path / "dense.tflite"
    path.write_bytes(dense.content())
    model = nnapi.load(path, weights="dynamic-range")
    (kept,) = [operand for operand in model.operands if operand.type.code == OperandCode.TENSOR_QUANT8_ASYMM_SIGNED]
    assert (kept.type.scale, kept.type.zero_point) == (np.float32(SCALE), 0)
    np.testing.assert_array_equal(kept.value, make_codes(CASES[0].inputs[1]))
    assert not kept.value.flags.owndata


REFUSED = [
    case("DEPTHWISE_CONV_2D", [f32(1, 4, 4, 4), weights(1, 3, 3, 4), BIAS], f32(1, 4, 4, 4), "DepthwiseConv2DOptions"),
    case("TRANSPOSE_CONV", [const([1, 4, 4, 4]), weights(4, 1, 1, 8), f32(1, 4, 4, 8)], f32(1, 4, 4, 4)),
    case("BATCH_MATMUL", [f32(2, 8), weights(8, 4)], f32(2, 4), "BatchMatMulOptions"),
]


@pytest.mark.parametrize("case", REFUSED, ids=str)
def test_operators_that_litert_refuses_with_unsigned_weights(case: Case, tmp_path: Path) -> None:
    options = {"TRANSPOSE_CONV": "TransposeConvOptions"}.get(case.kind, case.options)
    fields = {} if case.kind == "BATCH_MATMUL" else WINDOW
    unsigned = replace(with_weights(case, "UINT8", 0), options=options, fields=fields)
    with pytest.raises(nnapi.NnapiError, match=f"LiteRT computes no {case.kind} of floats with UINT8 weights"):
        loaded(unsigned.content(), tmp_path)


def test_a_table_with_a_zero_point_is_refused(tmp_path: Path) -> None:
    (table,) = (case for case in CASES if case.kind == "EMBEDDING_LOOKUP")
    with pytest.raises(nnapi.NnapiError, match="has a zero point"):
        loaded(with_weights(table, "UINT8", 100).content(), tmp_path)


SCALES, POINTS = [0.01, 0.02, 0.03, 0.04], [3, -5, 0, 7]


def per_channel(*shape: int, points: Sequence[int] = POINTS, axis: int = 0) -> T:
    stored = np.random.default_rng(4).integers(-127, 128, shape)
    return T("INT8", shape, SCALES, points, stored, axis)


@pytest.mark.engine
@pytest.mark.parametrize(
    ("kind", "shapes", "options", "fields"),
    [
        ("CONV_2D", [(1, 4, 4, 8), (4, 3, 3, 8), (1, 4, 4, 4)], "Conv2DOptions", WINDOW),
        (
            "DEPTHWISE_CONV_2D",
            [(1, 4, 4, 4), (1, 3, 3, 4), (1, 4, 4, 4)],
            "DepthwiseConv2DOptions",
            {**WINDOW, "DepthMultiplier": 1},
        ),
        ("FULLY_CONNECTED", [(2, 8), (4, 8), (2, 4)], "FullyConnectedOptions", {}),
    ],
)
def test_zero_points_per_channel_are_ignored_beside_floats(
    kind: str, shapes: Any, options: str, fields: dict[str, Any], tmp_path: Path
) -> None:
    x = np.random.default_rng(7).uniform(-1, 1, shapes[0]).astype(np.float32)
    found = []
    for points in (POINTS, [0] * 4):
        stored = per_channel(*shapes[1], points=points, axis=3 if kind.startswith("DEPTHWISE") else 0)
        content = single(kind, [f32(*shapes[0]), stored, BIAS], f32(*shapes[2]), options, **fields)
        found += [run(loaded(content, tmp_path), [x])[0], litert(content, [x])[0]]
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])
    assert np.abs(found[0] - found[1]).max() <= FARTHEST * np.abs(found[1]).max()


def test_zero_points_per_channel_beside_codes_are_refused(tmp_path: Path) -> None:
    x, y = T("INT8", (2, 8), 0.05, 3), T("INT8", (2, 4), 0.5, 0)
    bias = T("INT32", (4,), [scale * 0.05 for scale in SCALES], data=np.zeros(4))
    content = single("FULLY_CONNECTED", [x, per_channel(4, 8), bias], y, "FullyConnectedOptions")
    with pytest.raises(nnapi.NnapiError, match="has a zero point per channel, NNAPI only scales"):
        loaded(content, tmp_path)


def test_computed_weights_with_a_zero_point_are_refused(tmp_path: Path) -> None:
    inputs = [f32(2, 8), T("INT8", (8, 4), SCALE, 3)]
    with pytest.raises(nnapi.NnapiError, match="computed weights of floats"):
        loaded(case("BATCH_MATMUL", inputs, f32(2, 4), "BatchMatMulOptions").content(), tmp_path)
