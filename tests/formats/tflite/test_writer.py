"""Files written from graphs, read back with the published schema."""

from typing import Any

import numpy as np
import pytest
import tflite

from nnapi.formats.tflite import writer
from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.operators import OPERATORS, options_table
from nnapi.formats.tflite.schema import DETECTION, ELEMENTS
from nnapi.formats.tflite.writer import serialize
from tests.formats.tflite.published_schema import getter
from tests.rows import each_row


def small_graph() -> Graph:
    x = Tensor("i8", (1, 4, 4, 2), 0.5, -3)
    filter = Tensor(
        "i8",
        (3, 1, 1, 2),
        np.array([1, 2, 3], np.float32),
        axis=0,
        data=np.arange(6, dtype=np.int8).reshape(3, 1, 1, 2),
    )
    bias = Tensor("i32", (3,), np.ones(3, np.float32), data=np.array([7, 8, 9], np.int32))
    y, z = Tensor("i8", (1, 2, 2, 3), 2.0, 5), Tensor("i8", (1, 12), 2.0, 5)
    options = {"padding": 1, "stride_h": 2, "stride_w": 3, "dilation_h": 4, "dilation_w": 5, "activation": 1}
    operators = [Operator("CONV_2D", [x, filter, bias], [y], options), Operator("RESHAPE", [y, constant((1, 12))], [z])]
    return Graph(operators, [x], [z])


def read(graph: Graph) -> Any:
    return tflite.Model.GetRootAsModel(serialize(graph), 0)


def test_the_graph_is_as_it_was() -> None:
    model = read(small_graph())
    subgraph = model.Subgraphs(0)
    assert (model.Version(), model.SubgraphsLength(), subgraph.TensorsLength()) == (3, 1, 6)
    assert (subgraph.InputsAsNumpy().tolist(), subgraph.OutputsAsNumpy().tolist()) == ([0], [5])
    assert [subgraph.Operators(i).InputsAsNumpy().tolist() for i in range(2)] == [[0, 1, 2], [3, 4]]
    assert [model.OperatorCodes(i).BuiltinCode() for i in range(2)] == [3, 22]


def test_a_large_constant_of_several_tensors_is_written_once() -> None:
    rows = np.arange(1 << 15, dtype=np.float32).reshape(128, 256)
    x, shared = Tensor("f32", (128, 256)), [Tensor("f32", (128, 256), data=rows[:]) for _ in range(2)]
    turned = Tensor("f32", (256, 128), data=rows.T)
    steps = [Tensor("f32", (128, 256)) for _ in shared]
    last = Tensor("f32", (128, 128))
    operators = [Operator("ADD", [a, b], [y]) for a, b, y in zip([x, steps[0]], shared, steps, strict=True)]
    written = serialize(Graph([*operators, Operator("FULLY_CONNECTED", [steps[1], turned], [last])], [x], [last]))
    model = tflite.Model.GetRootAsModel(written, 0)
    tensors = [model.Subgraphs(0).Tensors(i) for i in range(model.Subgraphs(0).TensorsLength())]
    constants = [each for each in tensors if each.Buffer()]
    assert len({each.Buffer() for each in constants}) == len(constants) == 3
    for each in constants:
        found = model.Buffers(each.Buffer()).DataAsNumpy().view(np.float32).reshape(each.ShapeAsNumpy())
        assert np.array_equal(found, rows if found.shape == rows.shape else rows.T)
    assert 2 * rows.nbytes < len(written) < 3 * rows.nbytes


def test_tensors_keep_type_dimensions_and_quantization() -> None:
    subgraph = read(small_graph()).Subgraphs(0)
    x, filter, shape = (subgraph.Tensors(i) for i in (0, 1, 4))
    assert (x.Type(), x.ShapeAsNumpy().tolist(), x.Buffer()) == (ELEMENTS["i8"], [1, 4, 4, 2], 0)
    assert (x.Quantization().Scale(0), x.Quantization().ZeroPoint(0)) == (0.5, -3)
    assert filter.Quantization().ScaleAsNumpy().tolist() == [1, 2, 3]
    assert filter.Quantization().ZeroPointAsNumpy().tolist() == [0, 0, 0]
    assert filter.Quantization().QuantizedDimension() == 0
    assert (shape.Type(), shape.Quantization()) == (ELEMENTS["i32"], None)


def test_options_are_where_the_schema_has_them() -> None:
    operator = read(small_graph()).Subgraphs(0).Operators(0)
    options = tflite.Conv2DOptions()
    options.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
    assert operator.BuiltinOptionsType() == tflite.BuiltinOptions.Conv2DOptions
    assert (options.Padding(), options.StrideH(), options.StrideW()) == (1, 2, 3)
    assert (options.DilationHFactor(), options.DilationWFactor(), options.FusedActivationFunction()) == (4, 5, 1)


def test_constants_are_aligned_and_whole() -> None:
    content = serialize(small_graph())
    model = tflite.Model.GetRootAsModel(content, 0)
    for tensor, wanted in ((1, np.arange(6, dtype=np.int8)), (2, np.array([7, 8, 9], np.int32))):
        data = model.Buffers(model.Subgraphs(0).Tensors(tensor).Buffer()).DataAsNumpy()
        assert data.tobytes() == wanted.tobytes()
        assert content.index(wanted.tobytes()) % 16 == 0


def test_large_files_have_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    written = serialize(small_graph(), tail=b"tail")
    monkeypatch.setattr(writer, "LARGE", 0)
    assert serialize(small_graph(), tail=b"tail") == written
    graph = small_graph()
    filter = graph.operators[0].input(1)
    values, filter.data = filter.value, None
    filter.write = lambda memory: np.copyto(memory, values)
    assert serialize(graph, tail=b"tail") == written


def test_left_out_inputs_are_marked() -> None:
    x, y = Tensor("f32", (1, 2)), Tensor("f32", (1, 2))
    model = read(Graph([Operator("ADD", [x, None], [y], {"activation": 0})], [x], [y]))
    assert model.Subgraphs(0).Operators(0).InputsAsNumpy().tolist() == [0, -1]


def test_operators_with_a_name_of_their_own() -> None:
    x, y = Tensor("f32", (1, 2)), Tensor("f32", (1, 2))
    model = read(Graph([Operator(DETECTION, [x], [y], {"content": b"abc"})], [x], [y]))
    code = model.OperatorCodes(0)
    assert code.CustomCode() == b"TFLite_Detection_PostProcess"
    assert code.BuiltinCode() == tflite.BuiltinOperator.CUSTOM
    assert model.Subgraphs(0).Operators(0).CustomOptionsAsNumpy().tobytes() == b"abc"


PROBES = {"?": True, "b": 3, "i": -70000, "I": 70000, "f": 0.5}


def numbers(kind: Any) -> Any:
    """Fields of a table of parameters that the writer writes: numbers of up to 4 bytes."""
    fields = {} if options_table(kind).is_second else options_table(kind).fields
    return {n: field for n, field in fields.items() if n != "_" and field.code in PROBES and not field.is_vector}


@each_row("kind", [row.name for row in OPERATORS if numbers(row.name)])
def test_parameters_are_where_the_published_schema_has_them(kind: Any) -> None:
    """Each by itself; all others have their defaults."""
    table = options_table(kind).name
    x, y = Tensor("f32", (1, 2)), Tensor("f32", (1, 2))
    for name, field in numbers(kind).items():
        given = {name: PROBES[field.code]}
        operator = read(Graph([Operator(kind, [x], [y], given)], [x], [y])).Subgraphs(0).Operators(0)
        assert operator.BuiltinOptionsType() == getattr(tflite.BuiltinOptions, table)
        options = getattr(tflite, table)()
        options.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
        for other, each in numbers(kind).items():
            assert getter(options, table, other)() == given.get(other, each.default), other


def test_operators_have_the_numbers_of_the_published_schema() -> None:
    x, y = Tensor("f32", (1, 2)), Tensor("f32", (1, 2))
    kinds = [row.name for row in OPERATORS if row.name != "CUSTOM" and not row.options]
    model = read(Graph([Operator(kind, [x], [y]) for kind in kinds], [x], [y]))
    codes = [model.OperatorCodes(i) for i in range(model.OperatorCodesLength())]
    assert [code.BuiltinCode() for code in codes] == [getattr(tflite.BuiltinOperator, kind) for kind in kinds]
    assert all(code.DeprecatedBuiltinCode() == min(code.BuiltinCode(), 127) for code in codes)
