"""The importer's messages about files that it refuses, and the operands of files that it imports."""

import re
from pathlib import Path

import numpy as np
import pytest
import tflite

import nnapi
from nnapi.codes import OperandCode
from nnapi.errors import BadDataError
from nnapi.formats.tflite.reader import File
from nnapi.importers import load
from nnapi.importers.refusals import Refusal, UnsupportedOperationsError
from nnapi.importers.tflite.convert import Import
from nnapi.importers.tflite.rules import RULES
from nnapi.importers.tflite.rules.inexpressible import REASONS
from nnapi.model.model import Lifetime
from tests.importers.tflite.against_litert import case, loaded, run
from tests.tflite_writer import Graph, T, const, f32, flags, i32, s8, single, u8, write


def named(name: str, *shape: int, type: str = "FLOAT32") -> T:
    return T(type, shape or (2,), name=name)


def _suppress(limit: T, overlap: T, *sigma: T) -> bytes:
    kind = "NON_MAX_SUPPRESSION_V5" if sigma else "NON_MAX_SUPPRESSION_V4"
    outputs = [i32(3), *(f32(3) for _ in sigma), i32()]
    return single(kind, [f32(5, 4), f32(5), limit, overlap, const(0.0, "FLOAT32"), *sigma], outputs)


def test_every_operation_is_listed_with_count_names_and_reason(tmp_path: Path) -> None:
    x, a, b, c, d, e = (named(name) for name in "xabcde")
    graph = Graph().operator("CUSTOM:Foo", [x], [a]).operator("ABS", [a], [b]).operator("CUSTOM:Foo", [b], [c])
    graph.operator("ATAN2", [c, b], [d]).operator("UNIQUE", [d], [e])
    path = tmp_path / "digits.tflite"
    path.write_bytes(write(graph.between([x], [e])))
    with pytest.raises(UnsupportedOperationsError) as caught:
        load(path)
    assert str(caught.value) == (
        "digits.tflite uses operations that NNAPI cannot express: "
        "CUSTOM:Foo ×2 (a, c: NNAPI has no such operation), "
        "ATAN2 ×1 (d: NNAPI has no inverse trigonometric function), "
        "UNIQUE ×1 (e: the dimensions of its result depend on the data)"
    )
    assert caught.value.refusals[0] == Refusal("CUSTOM:Foo", "a", "NNAPI has no such operation")
    assert caught.value.code == nnapi.ResultCode.BAD_DATA


def test_a_refused_operation_is_named_by_its_output_though_that_is_tensor_0(tmp_path: Path) -> None:
    x, y, graph = named("x"), named("y"), Graph()
    graph.add(y)
    with pytest.raises(UnsupportedOperationsError, match=r"UNIQUE ×1 \(y: "):
        loaded(write(graph.operator("UNIQUE", [x], [y]).between([x], [y])), tmp_path)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (single("ABS", [T("FLOAT64", (2,))], T("FLOAT64", (2,))), "is of type FLOAT64, which NNAPI does not have"),
        (single("ABS", [T("INT16", (2,))], T("INT16", (2,))), "INT16 without a scale"),
        (
            single("ADD", [T("INT16", (2,), 0.1), T("INT16", (2,), 0.1)], T("INT16", (2,), 0.1), "AddOptions"),
            "ADD: lhs is TENSOR_QUANT16_SYMM, must be",
        ),
        (single("RESHAPE", [f32(6), const([4, 2])], f32(4, 2), "ReshapeOptions"), r"shape \[4, 2\] holds 8 elements"),
        (
            single("CONV_2D", [f32(1, 4, 4, 2), f32(3, 2, 2, 2)], f32(1, 4, 4, 3), "Conv2DOptions", Padding=2),
            "padding scheme is 2, must be 0",
        ),
        (
            single("CONV_2D", [f32(1, 4, 4, 2), f32(3, 2, 2, 2)], f32(1, 4, 4, 3), "Conv2DOptions"),
            "stride_w is 0, must be above 0",
        ),
        (
            single("CONV_2D", [f32(1, 4, 4, 2), f32(3, 1, 2, 2, 2)], f32(1, 4, 4, 3), "Conv2DOptions"),
            "its input and filter are not of rank 4",
        ),
        (single("TOPK_V2", [f32(5), i32(2)], [f32(2), i32(2)], "TopKV2Options"), "is not one number"),
        (single("DIV", [f32(2), f32(3)], f32(2), "DivOptions"), "do not broadcast"),
        (single("GATHER", [f32(5), i32(2)], f32(2), "GatherOptions", Axis=3), "axis 3 is outside rank 1"),
        (
            single("ADD", [f32(2), f32(2)], f32(2), "AddOptions", FusedActivationFunction=5),
            "its fused activation 5 is not one of NNAPI's",
        ),
        (single("REDUCE_MAX", [f32(3), const([4])], f32(), "ReducerOptions"), "REDUCE_MAX"),
        (single("WHERE", [flags()], T("INT64", (0, 0))), "its input is a scalar"),
        (_suppress(const(0), const([0.5, 0.1], "FLOAT32")), "it keeps 0 boxes, must be at least 1"),
        (_suppress(i32(), const(0.5, "FLOAT32")), "is computed, NNAPI needs a constant"),
        (_suppress(const(3), const([0.5, 0.1], "FLOAT32")), "its thresholds are not one number each"),
        (
            _suppress(const(3), const(0.5, "FLOAT32"), const(0.5, "FLOAT32")),
            "it lowers scores by a soft suppression, NNAPI has none",
        ),
        (
            single("ONE_HOT", [i32(2), const(10**9), const(1), const(0)], i32(2, 1), "OneHotOptions"),
            "it would take 4000000000 bytes of constants",
        ),
        (single("TANH", [s8(2)], T("INT16", (2,), 0.1)), "NNAPI quantizes to 8 bits, t1 is TENSOR_QUANT16_SYMM"),
    ],
)
def test_reasons(content: bytes, reason: str, tmp_path: Path) -> None:
    with pytest.raises(nnapi.NnapiError, match=reason):
        loaded(content, tmp_path)


BUILT_IN = [kind for kind in vars(tflite.BuiltinOperator) if kind.isupper() and kind not in ("CUSTOM", "DELEGATE")]


@pytest.mark.parametrize("kind", [kind for kind in BUILT_IN if RULES.find(kind) is None])
def test_what_has_no_rule_has_a_reason(kind: str, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedOperationsError) as caught:
        loaded(single(kind, [f32(2)], f32(2)), tmp_path)
    assert [(refusal.operation, refusal.name) for refusal in caught.value.refusals] == [(kind, "t1")]


def test_reasons_are_of_operations_without_rule() -> None:
    assert all(kind in BUILT_IN and RULES.find(kind) is None for kind in REASONS)


def test_tensors_keep_their_names_types_and_dimensions(tmp_path: Path) -> None:
    x = T("UINT8", (1, 4), 0.5, 3, name="image", signature=(-1, 4))
    y = T("UINT8", (1, 4), 1 / 256, 0, name="chances", signature=(-1, 4))
    path = tmp_path / "net.tflite"
    path.write_bytes(single("SOFTMAX", [x], y, "SoftmaxOptions", Beta=1.0))
    model = load(path)
    assert model.name == "net"
    source, answer = model.operands[model.inputs[0]], model.operands[model.outputs[0]]
    assert (source.name, answer.name) == ("image", "chances")
    assert source.type == nnapi.tensor("uint8", (0, 4), 0.5, 3)
    assert answer.type == nnapi.tensor("uint8", (0, 4), 1 / 256, 0)
    assert run(model, [np.zeros((3, 4), np.uint8)])[0].shape == (3, 4)


def test_constants_are_views_of_the_mapped_file_and_shared(tmp_path: Path) -> None:
    weights = f32(3, 3).of(np.arange(9).reshape(3, 3))
    x, y, z = f32(2, 3), f32(2, 3), f32(2, 3)
    graph = Graph()
    for source, target in ((x, y), (y, z)):
        graph.operator("FULLY_CONNECTED", [source, weights, None], [target], "FullyConnectedOptions")
    model = loaded(write(graph.between([x], [z])), tmp_path)
    first, second = (model.operands[call.inputs[1]] for call in model.operations)
    assert first is second
    assert first.in_memory
    assert not first.value.flags.owndata
    assert not first.value.flags.writeable
    np.testing.assert_array_equal(first.value, weights.array)
    biases = {call.inputs[2] for call in model.operations}
    assert all(not model.operands[index].value.any() for index in biases)


def test_weights_stored_as_float16_are_folded(tmp_path: Path) -> None:
    half = T("FLOAT16", (3, 3), data=np.arange(9).reshape(3, 3) / 8)
    full, x, y = f32(3, 3), f32(2, 3), f32(2, 3)
    graph = Graph().operator("DEQUANTIZE", [half], [full])
    graph.operator("FULLY_CONNECTED", [x, full, None], [y], "FullyConnectedOptions")
    model = loaded(write(graph.between([x], [y])), tmp_path)
    (call,) = model.operations
    weights = model.operands[call.inputs[1]]
    assert weights.type.code == OperandCode.TENSOR_FLOAT32
    np.testing.assert_array_equal(weights.value, half.array.astype(np.float32))


def test_folded_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    half, full = T("FLOAT16", (3, 3), data=np.zeros((3, 3))), f32(9)
    with pytest.raises(UnsupportedOperationsError, match=r"CAST: out has shape \[9\], must have that of input"):
        loaded(write(Graph().operator("DEQUANTIZE", [half], [full]).between([f32(1)], [full])), tmp_path)


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_per_channel_that_is_no_scale(scale: float, tmp_path: Path) -> None:
    weights = s8(3, 2, scale=(0.5, scale, 0.5), zero_point=0).of(np.ones((3, 2)))
    dense = case("FULLY_CONNECTED", [s8(1, 2), weights], s8(1, 3), "FullyConnectedOptions")
    with pytest.raises(BadDataError, match="has a scale that is not above 0"):
        loaded(dense.content(), tmp_path)


def test_eight_bit_weights_of_a_float_operation_become_real_and_say_so(tmp_path: Path) -> None:
    weights = s8(2, 3, scale=(0.5, 0.25), zero_point=0).of([[1, 2, 3], [4, 5, 6]])
    dense = case("FULLY_CONNECTED", [f32(1, 3), weights], f32(1, 2), "FullyConnectedOptions")
    model = loaded(dense.content(), tmp_path)
    assert run(model, [np.ones((1, 3), np.float32)])[0].tolist() == [[3.0, 3.75]]
    assert any("8-bit weights of float operations" in note for note in model.notes)


def test_four_bit_weights_are_unpacked(tmp_path: Path) -> None:
    packed = T("INT4", (1, 4), 0.5, data=np.array([0x21, 0xF8], np.uint8))
    dense = case("FULLY_CONNECTED", [f32(1, 4), packed], f32(1, 1), "FullyConnectedOptions")
    model = loaded(dense.content(), tmp_path)
    x = np.array([[1, 10, 100, 1000]], np.float32)
    assert run(model, [x])[0].tolist() == [[0.5 * (1 + 20 - 800 - 1000)]]


def in_blocks(type: str, packed: list[int], scales: T, points: int = -1, size: int = 2) -> bytes:
    """FULLY_CONNECTED whose weights have the scales that tensor 3 holds."""
    data = np.array(packed, np.uint8 if type == "INT4" else np.int8)
    weights = T(type, (1, 4), data=data, name="w", blocks=(3, points, size))
    x, y = f32(1, 4), f32(1, 1)
    graph = Graph().operator("FULLY_CONNECTED", [x, weights], [y], "FullyConnectedOptions").between([x], [y])
    graph.add(scales)
    return write(graph)


@pytest.mark.parametrize(("type", "packed"), [("INT4", [0x21, 0xF8]), ("INT8", [1, 2, -8, -1])])
def test_weights_with_a_scale_for_each_block_stay_packed_and_say_so(
    type: str, packed: list[int], tmp_path: Path
) -> None:
    model = loaded(in_blocks(type, packed, T("FLOAT16", (1, 2), data=[[0.5, 3]])), tmp_path)
    x = np.array([[1, 10, 100, 1000]], np.float32)
    assert run(model, [x])[0].tolist() == [[0.5 * (1 + 20) - 3 * (800 + 1000)]]
    assert [call.name for call in model.operations] == ["BLOCKWISE_FULLY_CONNECTED"]
    assert model.operands[model.operations[0].inputs[1]].type.nbytes == len(packed)
    assert any("weights have a scale per block" in note for note in model.notes)


def test_blocks_of_half_a_byte_become_floats_and_say_so(tmp_path: Path) -> None:
    scales = T("FLOAT16", (1, 4), data=[[0.5, 1, 2, 3]])
    model = loaded(in_blocks("INT4", [0x21, 0xF8], scales, size=1), tmp_path)
    x = np.array([[1, 10, 100, 1000]], np.float32)
    assert run(model, [x])[0].tolist() == [[0.5 * 1 + 20 - 2 * 800 - 3 * 1000]]
    assert [call.name for call in model.operations] == ["FULLY_CONNECTED"]
    assert any("weights with a scale per block" in note for note in model.notes)


@pytest.mark.parametrize("keeps", [False, True])
def test_products_by_blocks_have_a_bias_and_an_activation(keeps: bool, tmp_path: Path) -> None:
    weights = T("INT8", (2, 4), data=np.arange(-4, 4, dtype=np.int8).reshape(2, 4), blocks=(3, -1, 2))
    x, bias, y = f32(1, 3, 4), T("FLOAT32", (2,), data=[10, -1]), f32(1, 3, 2) if keeps else f32(3, 2)
    graph = Graph().operator(
        *("FULLY_CONNECTED", [x, weights, bias], [y], "FullyConnectedOptions"),
        FusedActivationFunction=1,
        KeepNumDims=keeps,
    )
    graph = graph.between([x], [y])
    graph.tensors.insert(3, T("FLOAT16", (2, 2), data=[[0.5, 1], [2, 0.25]]))
    graph.outputs = [4]
    graph.operators[0]["outputs"] = [4]
    model = loaded(write(graph), tmp_path)
    given = np.arange(-6, 6, dtype=np.float32).reshape(1, 3, 4)
    matrix = np.array([[-2, -1.5, -2, -1], [0, 2, 0.5, 0.75]])
    expected = np.maximum(given @ matrix.T + [10, -1], 0)
    assert [call.name for call in model.operations][:1] == ["BLOCKWISE_FULLY_CONNECTED"]
    np.testing.assert_array_equal(run(model, [given])[0], expected if keeps else expected[0])


@pytest.mark.parametrize(
    ("scales", "points", "size", "reason"),
    [
        (T("FLOAT16", (1, 2), data=[[1, 1]]), -1, 3, r"w \[1, 4\] has \[1, 2\] scales, each for 3"),
        (T("FLOAT16", (1, 2), data=[[1, 1]]), 4, 2, "w refers to tensor 4, the subgraph has 4"),
        (T("FLOAT16", (1, 2), data=[[1, 1]]), 9, 2, "w refers to tensor 9, the subgraph has 4"),
        (T("FLOAT16", (1, 2), data=[[1, 1]]), -2, 2, "w refers to tensor -2, the subgraph has 4"),
        (T("FLOAT16", (1, 2), data=[[1, 1]]), 0, 2, r"w has its scales or zero points in .*, which holds none"),
        (T("FLOAT16", (1, 2), data=[[1, 1]]), 3, 2, "w has a zero point for each block"),
        (T("FLOAT32", (1, 2), name="computed"), -1, 2, "w has its scales or zero points in computed, which holds none"),
    ],
)
def test_blocks_that_are_none(scales: T, points: int, size: int, reason: str, tmp_path: Path) -> None:
    with pytest.raises(BadDataError, match=reason):
        loaded(in_blocks("INT8", [1, 2, 3, 4], scales, points, size), tmp_path)


def test_a_bias_takes_the_scale_that_nnapi_demands(tmp_path: Path) -> None:
    weights = u8(2, 3, scale=0.1).of(np.zeros((2, 3)))
    bias = T("INT32", (2,), 0.0501, data=[1, 2])  # off by more than NNAPI allows
    dense = case("FULLY_CONNECTED", [u8(1, 3, scale=0.5), weights, bias], u8(1, 2), "FullyConnectedOptions")
    model = loaded(dense.content(), tmp_path)
    found = model.operands[model.operations[0].inputs[2]].type
    assert found.scale == float(np.float32(np.float32(0.5) * np.float32(0.1)))
    run(model, [np.zeros((1, 3), np.uint8)])


def test_operations_whose_results_nobody_needs_are_left_out(tmp_path: Path) -> None:
    x, y, unused = f32(2), f32(2), f32(2)
    graph = Graph().operator("ABS", [x], [y]).operator("NEG", [x], [unused]).between([x], [y])
    assert len(loaded(write(graph), tmp_path).operations) == 1


def test_state_is_zero_and_says_so(tmp_path: Path) -> None:
    x, state, y = f32(1, 2), T("FLOAT32", (1, 2), variable=True), f32(1, 2)
    eye = const(np.eye(2), "FLOAT32")
    bias = const([1, 2], "FLOAT32")
    cell = case("RNN", [x, eye, eye, bias, state], y, "RNNOptions", FusedActivationFunction=1)
    model = loaded(cell.content(), tmp_path)
    assert run(model, [np.ones((1, 2), np.float32)])[0].tolist() == [[2, 3]]
    assert any("from zero" in note for note in model.notes)


def test_a_tensor_that_nothing_writes_is_named(tmp_path: Path) -> None:
    lost, y = named("lost"), named("y")
    content = write(Graph().operator("ABS", [lost], [y]).between([], [y]))
    with pytest.raises(nnapi.NnapiError, match=re.escape("ABS ×1 (y: lost is neither an input nor a constant")):
        loaded(content, tmp_path)


def test_state_without_a_new_value_is_a_refusal_of_the_output() -> None:
    x, state, y = f32(2), T("FLOAT32", (2,), name="state", variable=True), f32(2)
    content = write(Graph().operator("ADD", [x, state], [y], "AddOptions").between([x], [y]))
    with pytest.raises(UnsupportedOperationsError, match="model output ×1 .*state is state whose new value"):
        Import(File(memoryview(content)), "m", keeps_state=True).model()


def test_dimensions_that_the_file_leaves_out_are_computed(tmp_path: Path) -> None:
    x, cut, y = f32(1, 4, 4, 2), f32(), f32()
    graph = Graph().operator("MIRROR_PAD", [x, const([[0, 0], [1, 1], [0, 2], [0, 0]])], [cut], "MirrorPadOptions")
    model = loaded(write(graph.operator("ABS", [cut], [y]).between([x], [y])), tmp_path)
    assert [model.operands[index].type.dimensions for index in model.outputs] == [(1, 6, 6, 2)]


def test_nothing_is_left_temporary(tmp_path: Path) -> None:
    """A model may be handed on: every operand has a source."""
    model = loaded(case("SQUARED_DIFFERENCE", [s8(2, 3), s8(3)], s8(2, 3)).content(), tmp_path)
    assert model.is_finished
    written = {index for call in model.operations for index in call.outputs}
    computed = {operand.index for operand in model.operands if operand.lifetime == Lifetime.TEMPORARY}
    assert computed <= written
