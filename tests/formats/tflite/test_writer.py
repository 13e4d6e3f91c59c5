"""Files written from graphs, read back with the published schema."""

import numpy as np
import tflite

from nnapi.formats.tflite.graph import Graph, Operator, Tensor, constant
from nnapi.formats.tflite.writer import serialised
from nnapi.formats.tflite.writer_schema import CUSTOM, DETECTION, OPERATORS, TYPES


def small_graph():
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


def read(graph):
    return tflite.Model.GetRootAsModel(serialised(graph), 0)


def test_the_graph_is_as_it_was():
    model = read(small_graph())
    subgraph = model.Subgraphs(0)
    assert (model.Version(), model.SubgraphsLength(), subgraph.TensorsLength()) == (3, 1, 6)
    assert (subgraph.InputsAsNumpy().tolist(), subgraph.OutputsAsNumpy().tolist()) == ([0], [5])
    assert [subgraph.Operators(i).InputsAsNumpy().tolist() for i in range(2)] == [[0, 1, 2], [3, 4]]
    assert [model.OperatorCodes(i).BuiltinCode() for i in range(2)] == [3, 22]


def test_tensors_keep_type_extents_and_quantisation():
    subgraph = read(small_graph()).Subgraphs(0)
    x, filter, shape = (subgraph.Tensors(i) for i in (0, 1, 4))
    assert (x.Type(), x.ShapeAsNumpy().tolist(), x.Buffer()) == (TYPES["i8"], [1, 4, 4, 2], 0)
    assert (x.Quantization().Scale(0), x.Quantization().ZeroPoint(0)) == (0.5, -3)
    assert filter.Quantization().ScaleAsNumpy().tolist() == [1, 2, 3]
    assert filter.Quantization().ZeroPointAsNumpy().tolist() == [0, 0, 0]
    assert filter.Quantization().QuantizedDimension() == 0
    assert (shape.Type(), shape.Quantization()) == (TYPES["i32"], None)


def test_options_are_where_the_schema_has_them():
    operator = read(small_graph()).Subgraphs(0).Operators(0)
    options = tflite.Conv2DOptions()
    options.Init(operator.BuiltinOptions().Bytes, operator.BuiltinOptions().Pos)
    assert operator.BuiltinOptionsType() == tflite.BuiltinOptions.Conv2DOptions
    assert (options.Padding(), options.StrideH(), options.StrideW()) == (1, 2, 3)
    assert (options.DilationHFactor(), options.DilationWFactor(), options.FusedActivationFunction()) == (4, 5, 1)


def test_constants_are_aligned_and_whole():
    content = serialised(small_graph())
    model = tflite.Model.GetRootAsModel(content, 0)
    for tensor, wanted in ((1, np.arange(6, dtype=np.int8)), (2, np.array([7, 8, 9], np.int32))):
        data = model.Buffers(model.Subgraphs(0).Tensors(tensor).Buffer()).DataAsNumpy()
        assert data.tobytes() == wanted.tobytes()
        assert content.index(wanted.tobytes()) % 16 == 0


def test_left_out_inputs_are_marked():
    x, y = Tensor("f32", (1, 2)), Tensor("f32", (1, 2))
    model = read(Graph([Operator("ADD", [x, None], [y], {"activation": 0})], [x], [y]))
    assert model.Subgraphs(0).Operators(0).InputsAsNumpy().tolist() == [0, -1]


def test_numbers_are_those_of_the_schema():
    numbers = {kind: number for kind, (number, _, _) in OPERATORS.items() if number != CUSTOM}
    names = {number: name for name, number in vars(tflite.BuiltinOperator).items() if not name.startswith("_")}
    assert {kind: names[number] for kind, number in numbers.items()} == {kind: kind for kind in numbers}


def test_operators_with_a_name_of_their_own():
    x, y = Tensor("f32", (1, 2)), Tensor("f32", (1, 2))
    model = read(Graph([Operator(DETECTION, [x], [y], {"content": b"abc"})], [x], [y]))
    assert (model.OperatorCodes(0).CustomCode(), model.OperatorCodes(0).BuiltinCode()) == (DETECTION.encode(), CUSTOM)
    assert model.Subgraphs(0).Operators(0).CustomOptionsAsNumpy().tobytes() == b"abc"


def test_option_tables_are_those_of_the_schema():
    tables = {number: name for name, number in vars(tflite.BuiltinOptions).items() if not name.startswith("_")}
    for kind, (_, table, fields) in OPERATORS.items():
        assert bool(fields) == bool(table), kind
        if kind in ("ADD", "SUB", "MUL", "DIV"):
            assert tables[table] == f"{kind.title()}Options"
        elif fields:
            assert hasattr(tflite, tables[table]), kind
