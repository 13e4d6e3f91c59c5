"""Files that the writer makes, read by the schema's own classes."""

import numpy as np
import tflite

from tests.tflite_writer import Graph, T, const, f32, s8, single, u8, write


def test_a_single_operator() -> None:
    x, w = s8(2, 3), s8(4, 3, scale=(0.5, 1, 2, 4), zero_point=0).of(np.arange(12).reshape(4, 3))
    content = single("FULLY_CONNECTED", [x, w, None], s8(2, 4), "FullyConnectedOptions", KeepNumDims=True)
    assert content[4:8] == b"TFL3"
    model = tflite.Model.GetRootAs(content)
    assert model.OperatorCodes(0).BuiltinCode() == tflite.BuiltinOperator.FULLY_CONNECTED
    graph = model.Subgraphs(0)
    assert (graph.InputsAsNumpy().tolist(), graph.OutputsAsNumpy().tolist()) == ([0], [2])
    assert graph.Operators(0).InputsAsNumpy().tolist() == [0, 1, -1]
    weights = graph.Tensors(1)
    assert weights.ShapeAsNumpy().tolist() == [4, 3]
    assert weights.Quantization().ScaleAsNumpy().tolist() == [0.5, 1, 2, 4]
    assert model.Buffers(weights.Buffer()).DataAsNumpy().tolist() == list(range(12))
    options = tflite.FullyConnectedOptions()
    table = graph.Operators(0).BuiltinOptions()
    options.Init(table.Bytes, table.Pos)
    assert options.KeepNumDims()


def test_graphs_share_codes_and_buffers() -> None:
    x, shape, y = f32(2, 3), const([3, 2]), f32(3, 2)
    first = Graph().operator("RESHAPE", [x, shape], [y]).between([x], [y])
    second = Graph().operator("CUSTOM:Mine", [u8(1)], [T("UINT8", (1,), variable=True)], custom=b"abc")
    model = tflite.Model.GetRootAs(write(first, second))
    assert model.SubgraphsLength() == 2
    assert [model.OperatorCodes(i).CustomCode() for i in range(model.OperatorCodesLength())] == [b"Mine", None]
    custom = model.Subgraphs(1).Operators(0)
    assert model.OperatorCodes(custom.OpcodeIndex()).CustomCode() == b"Mine"
    assert custom.CustomOptionsAsNumpy().tobytes() == b"abc"
    assert model.Subgraphs(1).Tensors(1).IsVariable()
    assert model.BuffersLength() == 2
