"""Operators in forms that ONNX's own tests of nodes do not have: old opsets, pieces without elements, coarse codes."""

import math
from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.codes import OperationCode  # noqa: E402
from nnapi.importers.refusals import UnsupportedOperationsError  # noqa: E402
from tests.importers.onnx.literal_cases import check_made_up  # noqa: E402
from tests.importers.onnx.operator_cases import X, computed, loaded, made  # noqa: E402


@each_row(("shape", "axis"), [((3, 4), 1), ((3,), 1), ((3, 4), -3), ((2, 3), 0), ((4, 1), 2)])
@each_row(("kind", "function"), [("Add", np.add), ("Sub", np.subtract), ("Pow", np.power)])
def test_before_opset_7_a_second_input_lies_along_an_axis(kind: str, function: Any, shape: Any, axis: int) -> None:
    x, c = np.abs(X) + 0.1, np.random.default_rng(1).uniform(0.5, 1.5, shape).astype(np.float32)
    node = helper.make_node(kind, ["x", "c"], ["y"], broadcast=1, axis=axis)
    first = axis % 4
    wide = c.reshape((1,) * first + shape + (1,) * (4 - first - len(shape)))
    np.testing.assert_allclose(computed(loaded([node], {"c": c}, opset=6), x), function(x, wide), 1e-5)


def test_a_computed_input_lies_along_an_axis_too() -> None:
    nodes = [
        helper.make_node("ReduceMax", ["x"], ["m"], axes=[0, 2, 3], keepdims=0),
        helper.make_node("Sub", ["x", "m"], ["y"], broadcast=1, axis=1),
    ]
    np.testing.assert_allclose(computed(loaded(nodes, opset=6)), X - X.max((0, 2, 3))[:, None, None], 1e-6)


def test_slopes_before_opset_7_are_of_channels() -> None:
    slopes = np.array([0.1, 0.2, 0.3], np.float32)
    model = loaded([helper.make_node("PRelu", ["x", "s"], ["y"])], {"s": slopes}, opset=6)
    np.testing.assert_allclose(computed(model), np.where(X < 0, X * slopes[:, None, None], X), 1e-6)


@pytest.mark.parametrize("opset", [9, 17, 22])
def test_functions_are_read_in_opsets_before_they_were_written(opset: int) -> None:
    model = loaded([helper.make_node("HardSigmoid", ["x"], ["y"], alpha=0.25, beta=0.4)], opset=opset)
    np.testing.assert_allclose(computed(model), np.clip(0.25 * X + 0.4, 0, 1), 1e-6)
    model = loaded([helper.make_node("Shrink", ["x"], ["y"], lambd=1.0, bias=0.5)], opset=opset)
    np.testing.assert_allclose(computed(model), np.where(X < -1, X + 0.5, np.where(X > 1, X - 0.5, 0)), 1e-6)


def test_pieces_without_elements_are_left_out() -> None:
    nodes = [
        helper.make_node("Split", ["x", "sizes"], ["a", "b", "c"], axis=3),
        helper.make_node("Concat", ["c", "b", "a"], ["y"], axis=3),
    ]
    sizes = np.array([2, 0, 3], np.int64)
    found = computed(loaded(nodes, {"sizes": sizes}))
    np.testing.assert_array_equal(found, np.concatenate([X[..., 2:], X[..., :2]], 3))


def test_a_mean_into_finer_codes_is_computed_in_real_numbers() -> None:
    x = np.random.default_rng(2).integers(0, 256, (1, 8, 6), np.uint8)
    constants = {"s": np.float32(0.1), "z": np.uint8(128), "t": np.float32(0.01), "u": np.uint8(130)}
    constants |= {"v": np.float32(0.2)}
    nodes = [
        helper.make_node("DequantizeLinear", ["x", "s", "z"], ["r"]),
        helper.make_node("ReduceMean", ["r"], ["m"], axes=[1], keepdims=0),
        helper.make_node("QuantizeLinear", ["m", "t", "u"], ["y"]),
    ]
    mean = ((x.astype(np.float64) - 128) * 0.1).mean(1)
    found = computed(loaded(nodes, constants, x=x), x)
    assert np.abs(found - np.clip(np.rint(mean / 0.01) + 130, 0, 255)).max() <= 1
    nodes[2] = helper.make_node("QuantizeLinear", ["m", "v", "u"], ["y"])
    coarse = loaded(nodes, constants, x=x)
    assert OperationCode.MEAN in [call.code for call in coarse.operations]
    assert np.abs(computed(coarse, x) - np.clip(np.rint(mean / 0.2) + 130, 0, 255)).max() <= 1


def test_what_follows_a_refused_node_is_not_refused_for_being_known() -> None:
    nodes = [
        helper.make_node("RandomUniformLike", ["x"], ["n"]),
        helper.make_node("Shape", ["n"], ["s"]),
        helper.make_node("Cast", ["s"], ["y"], to=TensorProto.FLOAT),
    ]
    with pytest.raises(UnsupportedOperationsError) as caught:
        loaded(nodes)
    assert [each.operation for each in caught.value.refusals] == ["RandomUniformLike"]


def test_constants_that_a_file_asks_to_be_made() -> None:
    """As tests of whole networks have them, whose weights are all of one number."""
    nodes = [helper.make_node("ConstantOfShape", ["n"], ["w"]), helper.make_node("Add", ["x", "w"], ["y"])]
    assert np.array_equal(computed(loaded(nodes, {"n": np.array(X.shape)})), X)
    with pytest.raises(UnsupportedOperationsError, match="bytes of constants that are not in the file"):
        loaded(nodes, {"n": np.array([1 << 16, 1 << 16])})


def test_a_third_matrix_may_have_an_empty_name() -> None:
    a, w = X[0, 0, :2, :3], X[1, 0, :3, :4]
    nodes = [helper.make_node("Gemm", ["a", "w", ""], ["g"]), helper.make_node("Gemm", ["x", "w", ""], ["y"])]
    np.testing.assert_allclose(computed(loaded(nodes[1:], {"w": w}, x=a), a), a @ w, 1e-6)
    nodes[1] = helper.make_node("Add", ["x", "g"], ["y"])
    np.testing.assert_allclose(computed(loaded(nodes, {"a": a, "w": w}, x=a[:, :1]), a[:, :1]), a[:, :1] + a @ w, 1e-6)


def test_the_largest_of_the_last_axis_are_found_where_none_is_named() -> None:
    model = loaded([helper.make_node("TopK", ["x", "k"], ["y", "i"])], {"k": np.array([2], np.int64)})
    np.testing.assert_array_equal(computed(model), -np.sort(-X, -1)[..., :2])


@pytest.mark.parametrize("wanted", [[0, 12, 5], [0, 0, -1], [-1, 0, 20]])
def test_a_dimension_of_0_is_the_input_s(wanted: list[int]) -> None:
    model = loaded([helper.make_node("Reshape", ["x", "s"], ["y"])], {"s": np.array(wanted)})
    known = [X.shape[axis] if size == 0 else size for axis, size in enumerate(wanted)]
    np.testing.assert_array_equal(computed(model), X.reshape(known))


@pytest.mark.parametrize(("low", "high", "names"), [(-1, 1, ["RELU1"]), (-1, 0, ["MAXIMUM", "MINIMUM"])])
def test_limits_of_an_activation_are_one_operation(low: int, high: int, names: list[str]) -> None:
    bounds = {"low": np.float32(low), "high": np.float32(high)}
    model = loaded([helper.make_node("Clip", ["x", "low", "high"], ["y"])], bounds)
    assert [call.name for call in model.operations] == names
    np.testing.assert_array_equal(computed(model), np.clip(X, low, high))


PADS = {"pads": np.array([0, 0, 1, 1, 0, 0, 1, 1])}
BARE: dict[str, tuple[list[str], dict[str, Any], dict[str, Any]]] = {
    "Pad": (["q", "pads"], {}, PADS),
    "Pad with a byte": (["q", "pads", "seven"], {}, PADS),
    "SpaceToDepth": (["q"], {"blocksize": 2}, {}),
    "DepthToSpace": (["q"], {"blocksize": 2}, {}),
    "Concat": (["q", "other"], {"axis": 1}, {}),
    "Max": (["q", "seven"], {}, {}),
    "Where": (["mask", "q", "seven"], {}, {"mask": np.array([True, False, True, False])}),
    "Add": (["q", "seven"], {}, {}),
    "Cast": (["q"], {"to": TensorProto.INT32}, {}),
    "Cast to floats": (["q"], {"to": TensorProto.FLOAT}, {}),
    "MatMulInteger": (["q", "other"], {}, {}),
}


@each_row("dtype", [np.uint8, np.int8])
@each_row("case", BARE)
def test_codes_without_a_scale_are_the_bytes_that_they_are(case: str, dtype: Any) -> None:
    """Results of QuantizeLinear, read by operators that ignore its scale."""
    from onnx.reference import ReferenceEvaluator

    inputs, attributes, constants = BARE[case]
    x = np.random.default_rng(4).uniform(-4, 4, (1, 4, 4, 4)).astype(np.float32)
    constants = constants | {"scale": np.float32(0.05), "zero": dtype(9), "seven": np.array([7], dtype)}
    constants["other"] = np.random.default_rng(5).integers(0, 120, x.shape).astype(dtype)
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        helper.make_node(case.split()[0], inputs, ["y"], **attributes),
    ]
    wanted = {name: constants[name] for node in nodes for name in node.input if name in constants}
    elem = attributes.get("to") or (
        TensorProto.INT32 if "Integer" in case else helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    )
    content = made(nodes, wanted, x, elem)
    (theirs,) = ReferenceEvaluator(onnx.load_from_string(content)).run(None, {"x": x})
    ours = computed(nnapi.load(content), x)
    assert ours.dtype == np.asarray(theirs).dtype
    np.testing.assert_array_equal(ours, theirs)


def test_codes_may_be_read_by_another_scale_than_they_were_written_by() -> None:
    x = np.linspace(-4, 4, 12).astype(np.float32)
    constants = {"s": np.float32(0.05), "z": np.int8(9), "t": np.float32(0.07)}
    nodes = [helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"])]
    nodes += [helper.make_node("DequantizeLinear", ["q", "t", "z"], ["y"])]
    np.testing.assert_allclose(computed(loaded(nodes, constants, x=x), x), np.rint(x / np.float32(0.05)) * 0.07, 1e-6)


def test_the_error_function_everywhere() -> None:
    x = np.concatenate([np.linspace(-6, 6, 4001), [1e-3, -1e-5, 1e-30, 1e4, -np.inf, np.inf]]).astype(np.float32)
    wanted = [math.erf(number) for number in x.tolist()]
    found = computed(loaded([helper.make_node("Erf", ["x"], ["y"])], x=x), x)
    np.testing.assert_allclose(found, wanted, 1e-6, 1e-9)


@pytest.mark.parametrize("reduction", ["none", "add", "mul", "max", "min"])
@pytest.mark.parametrize("dtype", [np.float32, np.int32])
def test_elements_are_written_to_known_places(reduction: str, dtype: Any) -> None:
    x = (10 * X).astype(dtype)
    u = np.arange(1, 25).reshape(2, 3, 4, 1).astype(dtype)
    places = np.array([0, 4, -1] * 8).reshape(u.shape) - np.arange(2).reshape(2, 1, 1, 1)
    node = helper.make_node("ScatterElements", ["x", "i", "u"], ["y"], axis=-1, reduction=reduction)
    expected = x.copy()
    ways: dict[str, Any] = {
        "none": lambda _, new: new,
        "add": np.add,
        "mul": np.multiply,
        "max": np.maximum,
        "min": np.minimum,
    }
    for at in np.ndindex(*u.shape):
        to = (*at[:3], int(places[at]))
        expected[to] = ways[reduction](expected[to], u[at])
    found = computed(loaded([node], {"i": places, "u": u}, opset=18, x=x), x)
    np.testing.assert_array_equal(found, expected)


def test_rows_are_written_one_after_another_where_they_are_combined() -> None:
    u = np.arange(60).reshape(3, 4, 5).astype(np.float32)
    places = np.array([[1, 2], [0, 0], [1, -1]])
    node = helper.make_node("ScatterND", ["x", "i", "u"], ["y"], reduction="add")
    expected = X.copy()
    np.add.at(expected, tuple(places.T), u)
    np.testing.assert_allclose(computed(loaded([node], {"i": places, "u": u}, opset=18)), expected, 1e-6)
    with pytest.raises(UnsupportedOperationsError, match="an index is outside 2"):
        loaded([node], {"i": places + 2, "u": u}, opset=18)


def test_tensors_of_rank_5_are_repeated() -> None:
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["five"]),
        helper.make_node("Tile", ["five", "counts"], ["tiles"]),
        helper.make_node("Reshape", ["tiles", "row"], ["y"]),
    ]
    constants = {"shape": np.array([2, 3, 4, 5, 1]), "counts": np.array([1, 2, 1, 1, 3]), "row": np.array([-1])}
    assert np.array_equal(computed(loaded(nodes, constants)), np.tile(X[..., None], (1, 2, 1, 1, 3)).reshape(-1))


def test_operands_of_rank_6_broadcast_along_axes_of_one_element() -> None:
    b = np.array([10, 20, 30, 40], np.float32).reshape(2, 1, 1, 1, 2, 1)
    nodes = [
        helper.make_node("Reshape", ["x", "shape"], ["six"]),
        helper.make_node("Add", ["six", "b"], ["sum"]),
        helper.make_node("Reshape", ["sum", "row"], ["y"]),
    ]
    constants = {"shape": np.array([2, 3, 1, 2, 2, 5]), "b": b, "row": np.array([-1])}
    assert np.array_equal(computed(loaded(nodes, constants)), (X.reshape(2, 3, 1, 2, 2, 5) + b).reshape(-1))


def test_the_first_matrix_is_transposed() -> None:
    x, b = np.arange(6, dtype=np.float32).reshape(2, 3), np.array([[1, 0], [0, 2]], np.float32)
    node = helper.make_node("Gemm", ["x", "b"], ["y"], transA=1)
    assert computed(loaded([node], {"b": b}, x=x), x).tolist() == [[0, 6], [1, 8], [2, 10]]


def test_a_scan_reads_several_inputs() -> None:
    infos = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2]) for name in ("s", "a", "b", "t")]
    nodes = [helper.make_node("Mul", ["a", "b"], ["ab"]), helper.make_node("Add", ["s", "ab"], ["t"])]
    body = helper.make_graph(nodes, "body", infos[:3], infos[3:])
    scan = helper.make_node("Scan", ["zero", "x", "w"], ["y"], body=body, num_scan_inputs=2)
    x, w = (np.array(rows, np.float32) for rows in ([[1, 2], [3, 4], [5, 6]], [[1, 0], [10, 1], [100, 2]]))
    model = loaded([scan], {"zero": np.zeros(2, np.float32), "w": w}, x=x)
    assert computed(model, x).tolist() == [1 + 30 + 500, 0 + 4 + 12]


@pytest.mark.parametrize(
    ("kind", "inputs", "count"),
    [
        ("ScatterElements", ["x", "i", "u"], 4 * 6),
        ("GatherElements", ["x", "i"], 4 * 6),
    ],
)
def test_constants_that_an_operator_makes_are_counted(
    kind: str, inputs: list[str], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    constants = {"i": np.zeros((1, 2, 3, 1), np.int64), "u": np.ones((1, 2, 3, 1), np.float32), "a": np.array(3)}
    content = made([helper.make_node(kind, inputs, ["y"])], {name: constants[name] for name in inputs[1:]}, X)
    check_made_up(content, count, monkeypatch)


@pytest.mark.parametrize(("exclusive", "reverse"), [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_products_of_all_before(exclusive: int, reverse: int) -> None:
    from onnx.reference import ReferenceEvaluator

    node = helper.make_node("CumProd", ["x", "a"], ["y"], exclusive=exclusive, reverse=reverse)
    for axis in (0, -1):
        content = made([node], {"a": np.array(axis)}, X, opset=26)
        (theirs,) = ReferenceEvaluator(onnx.load_from_string(content)).run(None, {"x": X})
        np.testing.assert_allclose(computed(nnapi.load(content)), np.asarray(theirs), 1e-5)


@pytest.mark.engine
@pytest.mark.parametrize("mode", ["nearest", "bilinear", "bicubic"])
@pytest.mark.parametrize("padding", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("is_aligned", [0, 1])
def test_images_are_sampled_at_computed_places_as_onnx_runtime_does(mode: str, padding: str, is_aligned: int) -> None:
    """Several images of several channels, also of one row, at places far outside too."""
    ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")
    node = helper.make_node("GridSample", ["i", "x"], ["y"], mode=mode, padding_mode=padding, align_corners=is_aligned)
    grid = np.random.default_rng(6).uniform(-2.6, 2.6, (2, 6, 7, 2)).astype(np.float32)
    for image in (X, X[:, :, :1]) if padding != "reflection" else (X,):
        content = made([node], {"i": image}, grid, TensorProto.FLOAT, opset=16)
        (theirs,) = ort.InferenceSession(content, providers=["CPUExecutionProvider"]).run(None, {"x": grid})
        np.testing.assert_allclose(computed(nnapi.load(content), grid), theirs, 1e-4, 2e-5)


@pytest.mark.parametrize("is_aligned", [0, 1])
def test_an_image_of_one_row_is_reflected_along_the_row(is_aligned: int) -> None:
    image = np.array([0, 1], np.float32).reshape(1, 1, 1, 2)
    grid = np.array([[-1, 0.7], [0, -3], [1, 9], [2, 0]], np.float32).reshape(1, 1, 4, 2)
    node = helper.make_node("GridSample", ["i", "x"], ["y"], padding_mode="reflection", align_corners=is_aligned)
    assert computed(loaded([node], {"i": image}, 20, grid), grid).flatten().tolist() == [0, 0.5, 1, 0.5]


@pytest.mark.parametrize("axis", [0, 2, 3])
def test_integers_of_four_axes_are_padded_and_joined(axis: int) -> None:
    x, pads = (10 * X).astype(np.int32), np.zeros((2, 4), np.int64)
    pads[:, axis] = 1, 2
    node = helper.make_node("Pad", ["x", "p"], ["y"])
    found = computed(loaded([node], {"p": pads.reshape(-1)}, x=x), x)
    np.testing.assert_array_equal(found, np.pad(x, pads.T))


def test_what_is_sampled_is_an_image_of_numbers_that_mix() -> None:
    node = helper.make_node("GridSample", ["x", "g"], ["y"], mode="bilinear")
    for x, why in ((X[..., None, None], "rank 6"), (X.astype(np.int32), "mixes no integers")):
        grid = np.zeros((2, 6, 7, 2), np.float32)
        with pytest.raises(UnsupportedOperationsError, match=why):
            loaded([node], {"g": grid}, x=x)


@pytest.mark.parametrize(("time", "batch"), [(0, 1), (1, 0)])
def test_the_first_elements_of_each_row_are_reversed(time: int, batch: int) -> None:
    lengths = np.array([2, 1, 2] if batch == 1 else [3, 2], np.int64)
    node = helper.make_node("ReverseSequence", ["x", "n"], ["y"], time_axis=time, batch_axis=batch)
    expected = X.copy()
    for row, length in enumerate(lengths):
        line = np.moveaxis(expected, batch, 0)[row]
        line[:length] = line[:length][::-1].copy()
    np.testing.assert_array_equal(computed(loaded([node], {"n": lengths})), expected)


def test_an_image_of_the_file_is_resized_by_one_operation() -> None:
    node = helper.make_node("Resize", ["x", "", "scales"], ["y"], mode="linear")
    model = loaded([node], {"scales": np.array([1, 1, 2, 2], np.float32)})
    assert OperationCode.RESIZE_BILINEAR in [call.code for call in model.operations]
    assert computed(model).shape == (2, 3, 8, 10)


def test_rank_5_is_padded_rank_7_is_refused() -> None:
    node = helper.make_node("Pad", ["x", "widths"], ["y"])
    widths = np.array([0, 0, 0, 1, 0, 0, 0, 0], np.int64)
    np.testing.assert_array_equal(computed(loaded([node], {"widths": widths})), np.pad(X, [(0, 0)] * 3 + [(1, 0)]))
    widths = np.array([0, 0, 0, 0, 1] + [0] * 5, np.int64)
    deep = computed(loaded([node], {"widths": widths}, x=X[None]), X[None])
    np.testing.assert_array_equal(deep, np.pad(X[None], [(0, 0)] * 4 + [(1, 0)]))
    with pytest.raises(UnsupportedOperationsError, match="it pads a tensor of rank 7, operations at most 6"):
        loaded([node], {"widths": np.array([1] + [0] * 13, np.int64)}, x=X[None, None, None])


@pytest.mark.parametrize(
    "equation", ["bghid,bghjd->bghij", "bghij,bghjd->bihgd", "abcde,abcde->edcba", "abcde,ed->abc", "ab,cde->edcba"]
)
def test_einsum_of_more_axes_than_nnapi_has(equation: str) -> None:
    """MaxViT's windows have five; what reads the result reshapes it."""
    given = equation.partition("->")[0]
    sizes = dict(zip("abcdeghij", (2, 3, 2, 3, 4, 3, 2, 3, 2), strict=True))
    random = np.random.default_rng(0)
    arrays = [random.normal(size=[sizes[each] for each in term]).astype(np.float32) for term in given.split(",")]
    nodes = [helper.make_node("Reshape", [f"f{i}", f"s{i}"], [f"x{i}"]) for i in range(2)]
    nodes.append(helper.make_node("Einsum", ["x0", "x1"], ["z"], equation=equation))
    nodes.append(helper.make_node("Reshape", ["z", "flat"], ["y"]))
    constants = [
        helper.make_tensor(f"s{i}", TensorProto.INT64, [array.ndim], array.shape) for i, array in enumerate(arrays)
    ]
    constants.append(helper.make_tensor("flat", TensorProto.INT64, [1], [-1]))
    inputs = [helper.make_tensor_value_info(f"f{i}", TensorProto.FLOAT, [array.size]) for i, array in enumerate(arrays)]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "einsum", inputs, [output], constants)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    found = nnapi.compile(nnapi.load(proto.SerializeToString())).run(*(array.reshape(-1) for array in arrays))[0]
    np.testing.assert_allclose(found, np.einsum(equation, *arrays).reshape(-1), 1e-4, 1e-5)


@pytest.mark.parametrize(("positive", "negative"), [(1, 1), (1, 0), (0, 1), (0, 0)])
def test_infinities_of_either_sign_may_be_left_out(positive: int, negative: int) -> None:
    x = np.array([np.inf, -np.inf, 3e38, -3e38, np.nan], np.float32)
    node = helper.make_node("IsInf", ["x"], ["y"], detect_positive=positive, detect_negative=negative)
    expected = [bool(positive), bool(negative), False, False, False]
    assert computed(loaded([node], x=x, opset=20), x).tolist() == expected
