"""Constants that NumPy computes, against ONNX's evaluator."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx.reference import ReferenceEvaluator  # noqa: E402

from nnapi.formats.onnx.messages import make_node  # noqa: E402
from nnapi.importers.onnx.numpy_folding import COMPUTED, fold_by_numpy  # noqa: E402

x = np.arange(-6, 6, dtype=np.float32).reshape(3, 4) / 4
i = np.arange(12, dtype=np.int64).reshape(3, 4)
flags = i % 2 == 0
many = [np.array(each, np.int64) for each in ([0, 1], [3, -1], [0, 1], [2, 1])]
CASES: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    *((kind, (x, x[:1] + 3), {}) for kind in ("Add", "Sub", "Mul", "Div", "Pow")),
    *((kind, (i, i[:, :1] + 1), {}) for kind in ("Add", "Sub", "Mul", "Div")),
    *((kind, (x,), {}) for kind in ("Neg", "Abs", "Floor", "Ceil", "Exp", "Sin", "Cos", "Identity")),
    *((kind, (x - 0.125,), {}) for kind in ("Tanh", "Reciprocal", "Round", "Sign")),
    ("Sign", (i - 5,), {}),
    *((kind, (np.abs(x) + 1,), {}) for kind in ("Sqrt", "Log")),
    *((kind, (i, np.int64(5)), {}) for kind in ("Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual")),
    *((kind, (flags, ~flags[:1]), {}) for kind in ("And", "Or")),
    ("Not", (flags,), {}),
    *((kind, (x, x[:1] + 1, np.float32(0)), {}) for kind in ("Max", "Min")),
    *((kind, (i,), {}) for kind in ("Max", "Min", "Shape", "Size")),
    ("Shape", (np.zeros((2, 3, 4), np.float32),), {"start": -2, "end": 2}),
    *(("Mod", (i - 5, np.int64(divisor)), {"fmod": fmod}) for divisor in (3, -3) for fmod in (0, 1)),
    ("Mod", (x, np.float32(0.4)), {"fmod": 1}),
    ("Pad", (x, np.array([1, 0, 0, 2])), {}),
    ("Pad", (i, np.array([0, 1, 1, 0]), np.int64(7)), {"mode": "constant"}),
    *(
        (kind, (values,), attributes)
        for kind in ("ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd")
        for values in (i + 1, x)
        for attributes in ({"axes": [0], "keepdims": 0}, {"axes": [-1]}, {"axes": [1, 0]}, {}, {"keepdims": 0})
    ),
    *(
        ("ReduceSum", (values, *axes), {"keepdims": keeps})
        for values in (i, x)
        for axes in ((np.array([0]),), (np.array([-1, 0]),), ())
        for keeps in (0, 1)
    ),
    ("MatMul", (x, x.T), {}),
    ("MatMul", (i, i[0]), {}),
    ("MatMul", (np.arange(24, dtype=np.float32).reshape(2, 3, 4), x.T), {}),
    ("Einsum", (x[0], x[1]), {"equation": "i,j->ij"}),
    ("Einsum", (i, i), {"equation": " ik, jk -> ij "}),
    ("ScatterND", (x, np.array([[[0, 1], [2, -1]]]), x[:1, :2]), {}),
    ("ScatterND", (i, np.array([[1], [0], [1]]), i[[2, 0, 0]]), {"reduction": "none"}),
    ("Slice", (x, np.array([-1]), np.array([-(2**63) + 1]), np.array([0]), np.array([-1])), {}),
    ("Slice", (x, np.array([3]), np.array([0]), np.array([1]), np.array([-2])), {}),
    ("Tile", (x, np.array([2, 3])), {}),
    ("Where", (flags, x, x + 1), {}),
    *(("Cast", (value,), {"to": to}) for value in (x, i, flags) for to in (1, 6, 7, 9, 10, 11)),
    ("Concat", (i, i[:1]), {"axis": 0}),
    ("Concat", (x, x), {"axis": -1}),
    ("ConstantOfShape", (np.array([2, 3]),), {}),
    ("Expand", (x[:1], np.array([2, 3, 1])), {}),
    ("Flatten", (x,), {}),
    ("Flatten", (np.zeros((2, 3, 4), np.float32),), {"axis": -1}),
    ("Gather", (x, np.array([[0, -1]])), {"axis": 1}),
    ("Gather", (i, np.int64(2)), {}),
    ("Gemm", (x, x.T), {}),
    ("Gemm", (x, x, x[0, :3]), {"transB": 1, "alpha": 0.5, "beta": 2.0}),
    ("Gemm", (x, x, x[:1]), {"transA": 1, "beta": 0.0}),
    ("Range", (np.int64(2), np.int64(9), np.int64(3)), {}),
    ("Range", (np.int64(9), np.int64(2), np.int64(-3)), {}),
    ("Range", (np.float32(0), np.float32(1), np.float32(0.1)), {}),
    ("Range", (np.float64(3), np.float64(-1), np.float64(-0.7)), {}),
    ("Reshape", (x, np.array([0, 2, -1])), {}),
    ("Slice", (x, many[0], many[1]), {}),
    ("Slice", (x, *many), {}),
    ("Slice", (x, *many[:3], -many[3]), {}),
    ("Slice", (x, np.array([1]), np.array([2**62]), np.array([-1])), {}),
    ("Squeeze", (x[:1],), {}),
    ("Squeeze", (x[None], np.array([0])), {}),
    ("Transpose", (x,), {}),
    ("Transpose", (np.zeros((2, 3, 4), np.float32),), {"perm": [2, 0, 1]}),
    ("Trilu", (x,), {}),
    ("Trilu", (x, np.int64(-1)), {"upper": 0}),
    ("Unsqueeze", (x, np.array([0, -1])), {}),
    *(("Constant", (), each) for each in ({"value_float": 0.5}, {"value_int": 3}, {"value_ints": [1, 2]})),
]


@each_row(("kind", "arrays", "attributes"), CASES)
def test_results_are_those_of_the_evaluator(kind: str, arrays: Any, attributes: dict[str, Any]) -> None:
    arrays = [np.asarray(each) for each in arrays]
    names = [f"x{n}" for n in range(len(arrays))]
    node = make_node(kind, names, ["y"], **attributes)
    ours = fold_by_numpy(node, 17, arrays)
    proto = onnx.NodeProto.FromString(node.SerializeToString())
    ends = [[onnx.helper.make_tensor_value_info(name, 0, None) for name in side] for side in (names, ["y"])]
    graph = onnx.helper.make_graph([proto], "g", *ends)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    theirs: Any = ReferenceEvaluator(model).run(None, dict(zip(names, arrays, strict=True)))[0]  # type: ignore[index]
    assert ours is not None
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
    np.testing.assert_array_equal(ours, theirs)


@each_row("kind", ["ReduceMax", "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum"])
def test_axes_are_an_input_in_later_opsets(kind: str) -> None:
    for axes in (None, np.array([1]), np.array([], np.int64)):
        node = make_node(kind, ["x", "axes" * (axes is not None)], ["y"])
        ours = fold_by_numpy(node, 18, [x, axes])
        expected = fold_by_numpy(
            make_node(kind, ["x"], ["y"], axes=[1] if axes is not None and axes.size else [0, 1]), 13, [x]
        )
        if kind == "ReduceSum":
            expected = x.sum(tuple(axes) if axes is not None and axes.size else None, keepdims=True)
        np.testing.assert_array_equal(ours, expected, strict=True)


def test_every_operator_is_compared() -> None:
    assert {kind for kind, _, _ in CASES} == set(COMPUTED)


@each_row(
    ("kind", "arrays", "attributes", "opset"),
    [
        ("Squeeze", (x[:1],), {"axes": [0]}, 11),  # an earlier definition
        ("Conv", (x, x), {}, 17),
        ("Add", (x, i), {}, 17),
        ("Add", (np.array(["a"]), np.array(["b"])), {}, 17),
        ("Div", (-i, i + 1), {}, 17),  # how to round is the evaluator's to say
        ("Pow", (i, i), {}, 17),
        ("Cast", (np.array([np.inf], np.float32),), {"to": 7}, 17),
        ("Cast", (x,), {"to": 8}, 17),
        ("Reshape", (x, np.array([0, -1])), {"allowzero": 1}, 17),
        ("Mod", (i, i), {}, 17),  # a divisor is 0
        ("Pad", (x, np.array([-1, 0, 0, 0])), {}, 17),
        ("Pad", (x, np.array([1, 0, 0, 0])), {"mode": "edge"}, 17),
        ("Pad", (x, np.array([1, 0]), np.float32(0), np.array([0])), {}, 18),
        ("Slice", (x, many[0], many[1], many[2], 0 * many[3]), {}, 17),
        ("Range", (np.float16(0), np.float16(1), np.float16(0.1)), {}, 17),
        ("ReduceMax", (x[:0],), {}, 17),
        ("ReduceMin", (flags,), {}, 18),
        ("ReduceSum", (x,), {"noop_with_empty_axes": 1}, 17),
        ("Reciprocal", (i,), {}, 17),
        ("ScatterND", (x, many[0][:, None], x[:2]), {"reduction": "add"}, 17),
        ("ScatterND", (x, np.array([[3]]), x[:1]), {}, 17),
        ("ScatterND", (x, many[0][:, None], x[:1]), {}, 17),
        ("ScatterND", (x, np.zeros((2, 0), np.int64), np.stack([x, x])), {}, 17),
        ("Einsum", (x, x), {"equation": "ij,ij->k"}, 17),
        ("Concat", (x, None), {"axis": 0}, 17),
        ("Reshape", (x, np.array([5, 5])), {}, 17),
        ("Concat", (x, x), {}, 17),
        ("Where", (flags, x, i), {}, 17),
        ("Constant", (), {"value_string": "a"}, 17),
    ],
)
def test_what_the_evaluator_must_compute(kind: str, arrays: Any, attributes: dict[str, Any], opset: int) -> None:
    names = [f"x{n}" for n in range(len(arrays))]
    given = [None if each is None else np.asarray(each) for each in arrays]
    assert fold_by_numpy(make_node(kind, names, ["y"], **attributes), opset, given) is None
