"""Sizes that depend on data, beside ONNX's reference; shapes with dynamic dimensions are never read as constants."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode  # noqa: E402
from tests.importers.onnx.sized_cases import make_sized  # noqa: E402

RNG = np.random.default_rng(5)
X = RNG.standard_normal((6, 4)).astype(np.float32)
node = helper.make_node


def compare(nodes: list[Any], inputs: dict[str, Any], outputs: str, *others: dict[str, Any], **constants: Any) -> None:
    """Compare the results on the reference and on the default devices with those of ONNX's evaluator."""
    proto = make_sized(nodes, inputs, outputs.split(), **constants)
    model = nnapi.load(proto.SerializeToString())
    for each in (inputs, *others):
        expected = ReferenceEvaluator(proto).run(None, each)
        given = [array.astype(np.int32) if array.dtype == np.int64 else array for array in each.values()]
        for device in (["nnapi-reference"], None):
            found = nnapi.compile(model, device).run(*[array.reshape(array.shape or (1,)) for array in given])
            for ours, theirs in zip(found, expected, strict=True):
                assert ours.shape == (theirs.shape or (1,))
                np.testing.assert_allclose(ours, theirs.reshape(ours.shape), 1e-5)


POSITIVE = [
    node("Greater", ["x", "low"], ["g"]),
    node("NonZero", ["g"], ["positions"]),
    node("Transpose", ["positions"], ["pairs"], perm=[1, 0]),
    node("GatherND", ["x", "pairs"], ["found"]),
    node("Shape", ["found"], ["shape"]),
]
"""The positive elements of x, and their number."""
NONE = {"x": -np.abs(X)}
LOW = np.float32(0)


def test_arithmetic_with_a_computed_size() -> None:
    nodes = [
        *POSITIVE,
        node("Cast", ["shape"], ["count"], to=1),
        node("ReduceSum", ["found"], ["sum"], keepdims=1),
        node("Div", ["sum", "count"], ["mean"]),
    ]
    compare(nodes, {"x": X}, "mean", low=LOW)


def test_the_size_of_a_result_without_elements() -> None:
    nodes = [*POSITIVE, node("Mul", ["shape", "two"], ["y"]), node("Exp", ["found"], ["z"])]
    compare(nodes, {"x": X}, "y z", NONE, low=LOW, two=[2])


ROWS = [
    *POSITIVE,
    node("Slice", ["positions", "zero", "one"], ["row"]),
    node("Squeeze", ["row", "zero"], ["rows"]),
    node("Gather", ["x", "rows"], ["r"], axis=0),
]
"""A row of x for each positive element."""


def test_a_shape_partly_known_keeps_the_rest_known() -> None:
    """The last dimension is known, so that a product by the transposed rows has a known number of columns."""
    nodes = [
        *ROWS,
        node("Shape", ["r"], ["s"]),
        node("Gather", ["s", "one"], ["columns"]),
        node("Concat", ["minus", "columns", "one"], ["wanted"], axis=0),
        node("Reshape", ["r", "wanted"], ["y"]),
    ]
    compare(nodes, {"x": X}, "y", low=LOW, zero=[0], one=[1], minus=[-1])


def test_tensors_of_a_computed_size() -> None:
    nodes = [
        *POSITIVE,
        node("ConstantOfShape", ["shape"], ["sevens"], value=numpy_helper.from_array(np.array([7], np.int64))),
        node("ConstantOfShape", ["shape"], ["flags"], value=numpy_helper.from_array(np.array([True]))),
        node("Concat", ["shape", "three"], ["wide"], axis=0),
        node("Unsqueeze", ["found", "one"], ["column"]),
        node("Expand", ["column", "wide"], ["repeated"]),
        node("Squeeze", ["shape"], ["n"]),
        node("Range", ["start", "n", "step"], ["numbers"]),
        node("Concat", ["sevens", "numbers", "sevens"], ["joined"], axis=0),
    ]
    scalars = {"start": np.int64(0), "step": np.int64(2)}
    compare(nodes, {"x": X}, "sevens flags repeated numbers joined", NONE, low=LOW, three=[3], one=[1], **scalars)


def test_a_concatenation_of_known_and_computed_columns_has_a_known_number() -> None:
    """The engines and the patterns of importers need at least the rank."""
    nodes = [
        *POSITIVE,
        node("Min", ["shape", "four"], ["columns"]),
        node("Slice", ["x", "zero", "columns", "one"], ["part"]),
        node("Concat", ["part", "x"], ["y"], axis=0),
    ]
    proto = make_sized(nodes, {"x": X}, "y", low=LOW, four=[4], zero=[0], one=[1])
    model = nnapi.load(proto.SerializeToString())
    assert model.operands[model.outputs[0]].type.dimensions == (12, 4)
    compare(nodes, {"x": X}, "y", low=LOW, four=[4], zero=[0], one=[1])


def test_integers_beyond_a_float_are_concatenated_exactly() -> None:
    nodes = [
        *POSITIVE,
        node("ConstantOfShape", ["shape"], ["a"], value=numpy_helper.from_array(np.array([2**31 - 1], np.int64))),
        node("ConstantOfShape", ["shape"], ["b"], value=numpy_helper.from_array(np.array([-(2**31) + 1], np.int64))),
        node("Concat", ["a", "b"], ["y"], axis=0),
    ]
    proto = make_sized(nodes, {"x": X}, "y", low=LOW)
    (found,) = nnapi.compile(nnapi.load(proto.SerializeToString())).run(X)
    expected: Any = ReferenceEvaluator(proto).run(None, {"x": X})
    np.testing.assert_array_equal(found, expected[0])


@pytest.mark.parametrize(
    ("start", "end", "step"), [(0, 5, 1), (-3, 2**62, 1), (2, -1, 2), (-1, -(2**62), -1), (7, 1, -2)]
)
def test_slices_of_a_computed_size(start: int, end: int, step: int) -> None:
    nodes = [*POSITIVE, node("Slice", ["found", "start", "end", "axis", "step"], ["y"])]
    compare(nodes, {"x": X}, "y", low=LOW, start=[start], end=[end], axis=[0], step=[step])


def test_slices_between_computed_bounds() -> None:
    nodes = [
        *POSITIVE,
        node("Div", ["shape", "two"], ["half"]),
        node("Neg", ["half"], ["from_end"]),
        node("Slice", ["found", "zero", "half"], ["first"]),
        node("Slice", ["found", "from_end", "huge"], ["last"]),
        node("Slice", ["x", "half", "shape", "zero"], ["rows"]),
    ]
    compare(nodes, {"x": X}, "first last rows", low=LOW, two=[2], zero=[0], huge=[2**62])


def test_top_k_of_a_computed_k() -> None:
    nodes = [
        *POSITIVE,
        node("Min", ["shape", "most"], ["k"]),
        node("TopK", ["found", "k"], ["values", "indices"]),
    ]
    compare(nodes, {"x": X}, "values indices", {"x": np.maximum(X, -X)}, low=LOW, most=[15])


def test_reshapes_of_several_unknown_dimensions() -> None:
    nodes = [
        *ROWS,
        node("Transpose", ["r"], ["t"]),
        node("Squeeze", ["shape"], ["n"]),
        node("Min", ["n", "four"], ["m"]),
        node("Range", ["start", "m", "step"], ["order"]),
        node("Gather", ["t", "order"], ["a"], axis=0),
        node("Unsqueeze", ["a", "two"], ["u"]),
        node("Flatten", ["u"], ["f"], axis=2),
        node("Squeeze", ["u", "two"], ["s"]),
        node("Reshape", ["a", "keep"], ["k"]),
    ]
    scalars = {"start": np.int64(0), "step": np.int64(1), "four": np.int64(4)}
    compare(nodes, {"x": X}, "u f s k", low=LOW, zero=[0], one=[1], two=[2], keep=[0, -1], **scalars)


def test_padding_to_a_fixed_size() -> None:
    nodes = [
        *POSITIVE,
        node("Sub", ["whole", "shape"], ["missing"]),
        node("Concat", ["zero", "missing"], ["pads"], axis=0),
        node("Pad", ["found", "pads", "number"], ["y"]),
    ]
    compare(nodes, {"x": X}, "y", NONE, low=LOW, whole=[30], zero=[0], number=np.float32(-1))


def test_a_branch_for_results_without_elements() -> None:
    empty = helper.make_graph(
        [],
        "none",
        [],
        [helper.make_tensor_value_info("nothing", 7, None)],
        [numpy_helper.from_array(np.zeros(0, np.int64), "nothing")],
    )
    order = helper.make_graph(
        [node("Shape", ["found"], ["n"]), node("TopK", ["found", "n"], ["v", "all"])],
        "order",
        [],
        [helper.make_tensor_value_info("all", 7, None)],
    )
    nodes = [
        *POSITIVE,
        node("ReduceProd", ["shape"], ["count"], keepdims=0),
        node("Equal", ["count", "none"], ["is_empty"]),
        node("If", ["is_empty"], ["kept"], then_branch=empty, else_branch=order),
        node("Gather", ["found", "kept"], ["y"]),
    ]
    compare(nodes, {"x": X}, "kept y", NONE, low=LOW, none=np.int64(0))


def test_a_branch_reads_a_shape_of_the_outer_graph() -> None:
    branches = {
        name: helper.make_graph(
            [node("Cast", ["shape"], ["f"], to=1), node(kind, ["f", "f"], ["y_" + name])],
            name,
            [],
            [helper.make_tensor_value_info("y_" + name, 1, None)],
        )
        for name, kind in (("then_branch", "Add"), ("else_branch", "Mul"))
    }
    nodes = [*POSITIVE, node("Greater", ["shape", "ten"], ["many"]), node("If", ["many"], ["y"], **branches)]
    compare(nodes, {"x": X}, "y", NONE, low=LOW, ten=[10])


def test_scatter_and_gather_of_a_computed_number_of_rows() -> None:
    nodes = [
        *POSITIVE,
        node("ConstantOfShape", ["shape"], ["zeros"]),
        node("TopK", ["found", "k"], ["best", "at"]),
        node("ScatterElements", ["zeros", "at", "best"], ["a"], axis=0),
        node("GatherElements", ["a", "at"], ["b"], axis=0),
        node("Unsqueeze", ["at", "one"], ["rows"]),
        node("ScatterND", ["zeros", "rows", "best"], ["c"]),
    ]
    compare(nodes, {"x": X}, "a b c", low=LOW, k=[3], one=[1])


@pytest.mark.parametrize(("kind", "expected"), [("Mul", [[8.0] * 3] * 4), ("Gather", 4.0)])
def test_a_dynamic_batch_is_not_a_constant(kind: str, expected: Any) -> None:
    """-1 stands for a dynamic dimension in a shape; it was once multiplied, and taken as an index."""
    nodes = [node("Shape", ["x"], ["s"]), node("Gather", ["s", "zero"], ["n"])]
    if kind == "Mul":
        nodes += [node("Cast", ["n"], ["f"], to=1), node("Mul", ["x", "f"], ["y"])]
    else:
        nodes.append(node("Gather", ["table", "n"], ["y"]))
    proto = make_sized(nodes, {"x": X[:4, :3]}, "y", zero=np.int64(0), table=np.arange(9, dtype=np.float32))
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "batch"
    (found,) = nnapi.compile(nnapi.load(proto.SerializeToString())).run(np.full((4, 3), 2, np.float32))
    np.testing.assert_array_equal(found.reshape(np.shape(expected)), expected)


def test_a_slice_without_elements_of_a_computed_number_of_rows_is_dropped_by_a_concatenation() -> None:
    """As in YOLO's exports, where boxes have no further columns. Its shape still has the number of rows."""
    nodes = [
        *ROWS,
        node("Slice", ["r", "four", "huge", "one"], ["further"]),
        node("Concat", ["r", "further"], ["y"], axis=1),
        node("Shape", ["further"], ["s"]),
    ]
    inputs, constants = {"x": X}, {"zero": [0], "one": [1], "four": [4], "huge": [2**62]}
    compare(nodes, inputs, "y s", NONE, low=LOW, **constants)
    model = nnapi.load(make_sized(nodes, inputs, ["y"], low=LOW, **constants).SerializeToString())
    assert OperationCode.CONCATENATION not in {call.code for call in model.operations}
