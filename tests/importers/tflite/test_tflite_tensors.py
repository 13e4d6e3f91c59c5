"""Tensors of a file as operands and constants, at the limits of their types; several subgraphs and refused results."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.codes import OperandCode, OperationCode
from nnapi.errors import BadDataError
from nnapi.formats.tflite.reader import File
from nnapi.importers.refusals import Refused, UnsupportedOperationsError
from nnapi.importers.tflite import read
from nnapi.importers.tflite.convert import Import
from nnapi.importers.tflite.tensors import as_real, operand_type, read_constant
from nnapi.importers.tflite.variables import list_variables
from nnapi.model.memory import Memory
from nnapi.model.model import DYNAMIC_RANGE
from nnapi.model.operand import ChannelQuantization
from tests.dynamic_range_cases import CASES
from tests.importers.tflite.against_litert import run
from tests.tflite_writer import Graph, T, const, f32, flags, i32, s8, single, u8, write


def file_of(*tensors: T) -> File:
    graph = Graph()
    for tensor in tensors:
        graph.add(tensor)
    return File(memoryview(write(graph)))


def parse(tensor: T) -> Any:
    return file_of(tensor).subgraph(0).tensors[0]


def read_back(tensor: T) -> tuple[Any, bool]:
    """Return a constant's values, and whether they are a view of the file."""
    file = file_of(tensor)
    return read_constant(file.subgraph(0).tensors[0], file.content)


@pytest.mark.parametrize(
    ("tensor", "type"),
    [
        (f32(), nnapi.tensor("float32", (1,))),
        (T("INT64", (2, 3)), nnapi.tensor("int32", (2, 3))),
        (T("UINT8", (4,)), nnapi.tensor("uint8", (4,), 1.0, 0)),
        (T("INT8", (4,)), nnapi.tensor("int8", (4,), 1.0, 0)),
        (T("INT8", (4,), 0.5, -7), nnapi.tensor("int8", (4,), 0.5, -7)),
        (T("INT4", (4,), 0.25, 0), nnapi.tensor("int8", (4,), 0.25, 0)),
    ],
)
def test_operand_types(tensor: T, type: object) -> None:
    assert operand_type(parse(tensor)) == type


def test_a_scale_for_each_channel_is_along_the_axis_of_the_file() -> None:
    found = operand_type(parse(s8(2, 3, scale=[0.5, 0.25, 2], zero_point=0, axis=1)))
    assert (found.code, found.dimensions) == (OperandCode.TENSOR_QUANT8_SYMM_PER_CHANNEL, (2, 3))
    assert found.channel == ChannelQuantization(1, (0.5, 0.25, 2))


@pytest.mark.parametrize(
    ("tensor", "error", "reason"),
    [
        (T("INT16", (2,)), Refused, "is of type INT16 without a scale"),
        (T("INT16", (2,), 0.5, 1), Refused, "is INT16 with zero point 1, must be 0"),
        (u8(2, scale=[0.5, 0.25], zero_point=0), Refused, "is UINT8 with one scale per channel"),
        (s8(2, scale=[0.5, 0.25], zero_point=1), Refused, "has a zero point per channel, NNAPI only scales"),
        (s8(2, 3, scale=[0.5, 0.25], zero_point=0, axis=1), BadDataError, r"has 2 scales, which do not fit axis 1 of"),
        (s8(2, 3, scale=[0.5, 0.25], zero_point=0, axis=2), BadDataError, r"has 2 scales, which do not fit axis 2 of"),
        (s8(2, 2, scale=[0.5, 0.25], zero_point=0, axis=-1), BadDataError, "which do not fit axis -1 of"),
        (T("INT8", (4,), blocks=(0, -1, 2)), Refused, "has a scale for each block of values"),
    ],
)
def test_tensors_that_no_operand_has(tensor: T, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        operand_type(parse(tensor))


@pytest.mark.parametrize(
    ("tensor", "expected", "is_view"),
    [
        (const([[1, 2], [3, 4]]), [[1, 2], [3, 4]], True),
        (const(5), [5], True),
        (T("INT64", (3,), data=[2**31 - 1, -(2**31), 0]), [2**31 - 1, -(2**31), 0], False),
        (T("INT4", (3,), 0.5, data=np.array([0x21, 0x08], np.uint8)), [1, 2, -8], False),
        (T("INT4", (2, 2), 0.5, data=np.array([0xF7, 0x9E], np.uint8)), [[7, -1], [-2, -7]], False),
    ],
)
def test_constants(tensor: T, expected: list[Any], is_view: bool) -> None:
    values, found = read_back(tensor)
    assert (values.tolist(), found) == (expected, is_view)


@pytest.mark.parametrize(
    ("tensor", "error", "reason"),
    [
        (T("INT64", (2,), data=[2**31, 0]), Refused, "holds integers beyond int32"),
        (T("INT64", (2,), data=[0, -(2**31) - 1]), Refused, "holds integers beyond int32"),
        (T("UINT32", (2,), data=[0, 2**31]), Refused, "holds integers beyond int32"),
        (T("INT4", (3,), 0.5, data=np.zeros(1, np.uint8)), BadDataError, "holds 1 bytes, its type and shape take 2"),
        (T("INT4", (2,), 0.5, data=np.zeros(2, np.uint8)), BadDataError, "holds 2 bytes, its type and shape take 1"),
        (T("INT32", (3,), data=[1, 2, 3, 4]), BadDataError, "holds 16 bytes, its type and shape take 12"),
        (f32(2), BadDataError, "is neither an input nor a constant"),
        (
            T("INT32", (1, 2), data=[1], sparsity=([0, 1], [], [1, ([0, 1], [1])])),
            Refused,
            "is stored sparsely as INT32",
        ),
    ],
)
def test_constants_that_cannot_be_read(tensor: T, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        read_back(tensor)


VALUES = np.array([[1, 2, 3], [4, 5, 6]])


@pytest.mark.parametrize(
    ("scale", "axis", "expected"),
    [
        (0.5, 0, [[0.5, 1, 1.5], [2, 2.5, 3]]),
        ([10, 100], 0, [[10, 20, 30], [400, 500, 600]]),
        ([10, 100, 1000], 1, [[10, 200, 3000], [40, 500, 6000]]),
    ],
)
def test_dequantizing_constants(scale: Any, axis: int, expected: list[list[float]]) -> None:
    assert as_real(VALUES, parse(T("INT16", (2, 3), scale, 0, axis=axis))).tolist() == expected


@pytest.mark.parametrize(
    ("tensor", "error", "reason"),
    [
        (T("INT16", (2, 3), 0.5, 1), Refused, "is INT16 with a zero point"),
        (T("INT16", (2, 3), [1, 2], 0, axis=1), BadDataError, r"has 2 scales, which do not fit axis 1 of \[2, 3\]"),
        (T("INT16", (2, 3), [1, 2], 0, axis=2), BadDataError, r"has 2 scales, which do not fit axis 2 of \[2, 3\]"),
    ],
)
def test_scales_that_do_not_fit(tensor: T, error: type[Exception], reason: str) -> None:
    with pytest.raises(error, match=reason):
        as_real(VALUES, parse(tensor))


def test_a_scalar_of_16_bits_is_one_float() -> None:
    scalar = T("INT16", (), 0.5, 0)
    model = nnapi.load(
        single("ADD", [T("INT16", (2,), 0.5, 0), scalar.of(3)], T("INT16", (2,), 0.5, 0), "AddOptions"),
        int16_as_float=True,
    )
    assert run(model, [np.array([1, 2], np.float32)])[0].tolist() == [2.5, 3.5]
    model = nnapi.load(single("ABS", [scalar], replace(scalar)), int16_as_float=True)
    assert run(model, [np.array([-2.5], np.float32)])[0].tolist() == [2.5]


@pytest.mark.parametrize(("type", "notes"), [("INT64", ("int64 tensors are TENSOR_INT32",)), ("INT32", ())])
def test_only_tensors_of_64_bits_are_noted(type: str, notes: tuple[str, ...]) -> None:
    assert nnapi.load(single("NEG", [T(type, (2,))], T(type, (2,)))).notes == notes


def test_weights_are_floats_unless_they_are_to_stay_quantized() -> None:
    content = np.frombuffer(CASES["dense"](), np.uint8)
    notes = [read(Memory.from_array(content), "m", dynamic_range=given).notes for given in (False, True)]
    assert [DYNAMIC_RANGE in each for each in notes] == [False, True]


# Subgraphs, and operators whose inputs were refused


def branches(*graphs: Graph) -> bytes:
    condition, x, y = flags(1), f32(2), f32(2)
    graph = Graph().operator("IF", [condition, x], [y], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    return write(graph.between([condition, x], [y]), *graphs)


def test_models_of_subgraphs_are_named_after_the_file_and_their_index() -> None:
    def branch(kind: str) -> Graph:
        x, y = f32(2), f32(2)
        return Graph().operator(kind, [x], [y]).between([x], [y])

    whole = Import(File(memoryview(branches(branch("ABS"), branch("NEG")))), "net.tflite")
    assert whole.model().name == "net"
    assert [getattr(whole.subgraph(index), "name", None) for index in (1, 2)] == ["net:1", "net:2"]


def call_chain(depth: int) -> bytes:
    graphs = []
    for number in range(1, depth + 1):
        x, y = f32(2), f32(2)
        graphs.append(Graph().operator("CALL", [x], [y], "CallOptions", Subgraph=number).between([x], [y]))
    x, y = f32(2), f32(2)
    return write(*graphs, Graph().operator("NEG", [x], [y]).between([x], [y]))


def test_calls_lie_at_most_50_deep_in_each_other() -> None:
    assert run(nnapi.load(call_chain(50)), [np.array([1, 2], np.float32)])[0].tolist() == [-1, -2]
    with pytest.raises(nnapi.NnapiError, match="calls of subgraphs lie more than 50 deep in each other"):
        nnapi.load(call_chain(51))


def test_a_subgraph_may_be_called_twice_in_a_row() -> None:
    x, between, y, a, b = f32(2), f32(2), f32(2), f32(2), f32(2)
    graph = Graph().operator("CALL", [x], [between], "CallOptions", Subgraph=1)
    graph.operator("CALL", [between], [y], "CallOptions", Subgraph=1).between([x], [y])
    called = Graph().operator("MUL", [a, const([3], "FLOAT32")], [b], "MulOptions").between([a], [b])
    assert run(nnapi.load(write(graph, called)), [np.array([1, 2], np.float32)])[0].tolist() == [9, 18]


def test_variables_that_operators_read_and_the_caller_does_not_give() -> None:
    state, given, unread = (T("FLOAT32", (2,), variable=True) for _ in range(3))
    x, y, z = f32(2), f32(2), f32(2)
    graph = Graph().operator("ADD", [x, state], [y], "AddOptions").operator("ADD", [given, y], [z], "AddOptions")
    graph.between([given, x], [z]).add(unread)
    file = File(memoryview(write(graph)))
    assert list_variables(file.subgraph(0)) == [graph.add(state)]


def refusals(*operators: tuple[str, list[T], list[T], str | None], inputs: list[T]) -> list[tuple[str, str]]:
    graph = Graph()
    for operator in operators:
        graph.operator(*operator)
    with pytest.raises(UnsupportedOperationsError) as caught:
        nnapi.load(write(graph.between(inputs, operators[-1][2])))
    return [(each.operation, each.name) for each in caught.value.refusals]


def test_operators_behind_a_refused_one_are_examined_on_its_declared_result() -> None:
    x, scalar, one = f32(4), T("FLOAT64", (), name="scalar"), f32(1)
    refused = ("UNIQUE", [x], [scalar], None)
    assert refusals(refused, ("RESHAPE", [scalar, const([1])], [one], "ReshapeOptions"), inputs=[x]) == [
        ("UNIQUE", "scalar")
    ]
    matrix, turned, other = T("FLOAT64", (2, 3), name="matrix"), f32(3, 2), T("FLOAT32", (9,), name="other")
    rows = ("UNIQUE", [x], [matrix], None)
    assert refusals(rows, ("TRANSPOSE", [matrix, const([1, 0])], [turned], None), inputs=[x]) == [("UNIQUE", "matrix")]
    assert refusals(rows, ("RESHAPE", [matrix, const([9])], [other], "ReshapeOptions"), inputs=[x]) == [
        ("UNIQUE", "matrix"),
        ("RESHAPE", "other"),
    ]


def test_a_refused_operator_without_an_output_is_listed() -> None:
    x, y = f32(4), f32(4)
    found = refusals(("UNIQUE", [x], [], None), ("ABS", [x], [y], None), inputs=[x])
    assert found == [("UNIQUE", "without output")]


@pytest.mark.parametrize(("type", "is_advised"), [("INT16", True), ("INT32", False)])
@pytest.mark.parametrize("is_input", [False, True])
def test_only_operators_of_16_bits_advise_floats(type: str, is_advised: bool, is_input: bool) -> None:
    x, y = T(type, (2,), 0.5, 0), T("FLOAT32", (2,))
    content = single("UNIQUE", [x] if is_input else [y], y if is_input else x)
    with pytest.raises(UnsupportedOperationsError) as caught:
        nnapi.load(content)
    assert ("int16_as_float=True (--int16-as-float)" in str(caught.value)) == is_advised


def test_a_shape_that_a_run_computes_is_refused_where_all_must_be_static() -> None:
    x, shape, y, z = f32(6), i32(2), f32(2, 3), f32(2, 3)
    graph = Graph().operator("RESHAPE", [x, shape], [y], "ReshapeOptions").operator("ABS", [y], [z])
    content = write(graph.between([x, shape], [z]))
    assert [call.code for call in nnapi.load(content).operations] == [OperationCode.RESHAPE, OperationCode.ABS]
    whole = Import(File(memoryview(content)), "m", static_shapes=True)
    with pytest.raises(UnsupportedOperationsError, match="the shape of its result is known only when it runs"):
        whole.model()
    assert [operator.kind for operator in whole.refused] == ["RESHAPE"]


@pytest.mark.parametrize(
    ("graph", "reason"),
    [
        (lambda x, y: Graph().operator("ABS", [x], [y]).between([x, x], [y]), "input x is listed twice"),
        (
            lambda x, y: Graph().operator("ABS", [x], [y]).operator("NEG", [x], [y]).between([x], [y]),
            "NEG ×1 .*y is written twice",
        ),
        (
            lambda x, y: Graph().operator("ABS", [x], [y]).operator("NEG", [y], [x]).between([x], [y]),
            "NEG ×1 .*x is written twice",
        ),
    ],
)
def test_tensors_that_come_from_two_places(graph: Callable[[T, T], Graph], reason: str) -> None:
    x, y = (T("FLOAT32", (2,), name=name) for name in "xy")
    with pytest.raises(nnapi.NnapiError, match=reason):
        nnapi.load(write(graph(x, y)))


def test_an_empty_list_of_dimensions_needs_no_bytes() -> None:
    x, y, empty = f32(1, 1), f32(), i32(0)
    content = write(Graph().operator("RESHAPE", [x, empty], [y], "ReshapeOptions").between([x], [y]))
    assert run(nnapi.load(content), [np.array([[3]], np.float32)])[0].tolist() == [3]


# Results of an operator


@pytest.mark.parametrize("scale", [0.5, 0.5 * (1 + 4e-7)])
def test_scales_that_differ_by_rounding_are_the_same(scale: float) -> None:
    x, y = u8(3, scale=0.5, zero_point=10), u8(3, scale=scale, zero_point=10)
    model = nnapi.load(single("REVERSE_V2", [x, const(np.zeros(0))], y))
    assert OperationCode.QUANTIZE not in [call.code for call in model.operations]
    assert run(model, [np.array([0, 5, 255], np.uint8)])[0].tolist() == [0, 5, 255]


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        (u8(3, scale=0.5, zero_point=12), [2, 12, 14]),
        (u8(3, scale=1.0, zero_point=10), [5, 10, 11]),
        (s8(3, scale=0.5, zero_point=10), [0, 10, 12]),
    ],
)
def test_a_result_of_another_quantization_is_quantized_again(y: T, expected: list[int]) -> None:
    content = single("REVERSE_V2", [u8(3, scale=0.5, zero_point=10), const(np.zeros(0))], y)
    assert run(nnapi.load(content), [np.array([0, 10, 12], np.uint8)])[0].tolist() == expected


def test_results_that_a_formula_computes_have_the_file_s_name() -> None:
    model = nnapi.load(single("MATRIX_DIAG", [f32(2)], T("FLOAT32", (2, 2), name="diagonal")))
    assert [model.operands[index].name for index in model.outputs] == ["diagonal"]


@pytest.mark.parametrize(
    ("make", "act", "codes", "expected"),
    [
        (f32, 0, ["ADD"], [-4, 2, 8]),
        (f32, 1, ["ADD"], [0, 2, 8]),
        (f32, 2, ["ADD"], [-1, 1, 1]),
        (f32, 3, ["ADD"], [0, 2, 6]),
        (f32, 4, ["ADD", "TANH"], np.tanh([-4, 2, 8]).tolist()),
        (i32, 1, ["ADD", "MAXIMUM"], [0, 2, 8]),
        (i32, 2, ["ADD", "MAXIMUM", "MINIMUM"], [-1, 1, 1]),
        (i32, 3, ["ADD", "MAXIMUM", "MINIMUM"], [0, 2, 6]),
    ],
)
def test_fused_activations(make: Callable[..., T], act: int, codes: list[str], expected: list[float]) -> None:
    model = nnapi.load(single("ADD", [make(3), make(3)], make(3), "AddOptions", FusedActivationFunction=act))
    assert [call.name for call in model.operations] == codes
    values = [np.array(each, np.float32 if make is f32 else np.int32) for each in ([-3, 1, 5], [-1, 1, 3])]
    np.testing.assert_allclose(run(model, values)[0], expected, 1e-6)


@pytest.mark.parametrize("act", [1, 2, 3, 4])
def test_activations_after_a_concatenation(act: int) -> None:
    content = single("CONCATENATION", [f32(2), f32(2)], f32(4), "ConcatenationOptions", FusedActivationFunction=act)
    x = np.array([-4, 0.5], np.float32), np.array([2, 8], np.float32)
    expected = {1: [0, 0.5, 2, 8], 2: [-1, 0.5, 1, 1], 3: [0, 0.5, 2, 6], 4: np.tanh([-4, 0.5, 2, 8]).tolist()}[act]
    np.testing.assert_allclose(run(nnapi.load(content), list(x))[0], expected, 1e-6)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        *(
            (
                single("CONCATENATION", [f32(2), f32(2)], f32(4), "ConcatenationOptions", FusedActivationFunction=act),
                f"its fused activation {act} is not one of NNAPI's",
            )
            for act in (5, -1)
        ),
        (
            single("ADD", [f32(2), f32(2)], f32(2), "AddOptions", FusedActivationFunction=-1),
            "its fused activation -1 is not one of NNAPI's",
        ),
        (
            single("ADD", [i32(2), i32(2)], i32(2), "AddOptions", FusedActivationFunction=4),
            "its fused TANH is quantized",
        ),
        (single("ADD", [s8(2), s8(2)], s8(2), "AddOptions", FusedActivationFunction=4), "its fused TANH is quantized"),
    ],
)
def test_activations_that_are_refused(content: bytes, reason: str) -> None:
    with pytest.raises(nnapi.NnapiError, match=reason):
        nnapi.load(content)
