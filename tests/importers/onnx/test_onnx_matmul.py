"""Products of matrices: every shape, zero points of rows and columns, dynamic batches."""

from typing import Any

import numpy as np
import pytest

from tests.rows import each_row

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402
from nnapi.importers.onnx.rules.matmul import batch_product  # noqa: E402
from nnapi.importers.refusals import Refused  # noqa: E402
from tests.importers.onnx.operator_cases import (  # noqa: E402
    X,
    chain,
    compare,
    computed,
    loaded,
    made,
    single,
    step,
)


def test_an_integer_product_has_a_zero_point_for_each_row_and_column() -> None:
    x = np.array([[1, 2, 3], [4, 5, 6]], np.uint8)
    w = np.array([[1, 2], [3, 4], [5, 6]], np.uint8)
    node = helper.make_node("MatMulInteger", ["x", "w", "row", "column"], ["y"])
    for row, column, product in (
        ([1, 2], [1, 2], [[10, 10], [22, 22]]),
        ([1, 2], [0, 0], [[13, 16], [31, 40]]),
        ([1], [1, 2], [[10, 10], [28, 28]]),
        ([0], [0], [[22, 28], [49, 64]]),
    ):
        constants = {"w": w, "row": np.array(row, np.uint8), "column": np.array(column, np.uint8)}
        assert computed(loaded([node], constants, x=x), x).tolist() == product


@pytest.mark.parametrize(("left", "right"), [(("N", 2, 3), (5, 3, 4)), ((5, 2, 3), ("N", 3, 4))])
def test_a_dynamic_batch_is_stretched_when_it_is_known(left: tuple[Any, ...], right: tuple[Any, ...]) -> None:
    """NNAPI does not broadcast batches, so the model is imported for the dimensions of a run."""
    given = [helper.make_tensor_value_info(name, 1, shape) for name, shape in (("x", left), ("w", right))]
    found = helper.make_tensor_value_info("y", 1, ("M", 2, 4))
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", given, [found])
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    compiled = nnapi.compile(nnapi.load(proto.SerializeToString()), "nnapi-reference")
    for batch in (5, 1):
        shapes = [tuple(batch if each == "N" else each for each in shape) for shape in (left, right)]
        x, w = (np.arange(np.prod(shape), dtype=np.float32).reshape(shape) for shape in shapes)
        (y,) = compiled.run(x, w)
        assert y.tolist() == (x @ w).tolist()


@pytest.mark.parametrize(
    ("left", "right", "batches"),
    [
        ((0, 2, 3), (5, 3, 4), (5,)),
        ((5, 2, 3), (0, 3, 4), (5,)),
        ((0, 6, 2, 3), (1, 6, 3, 4), (0, 6)),
        ((0, 6, 2, 3), (5, 6, 3, 4), (5, 6)),
    ],
)
def test_dynamic_batches_that_differ_are_refused(
    left: tuple[int, ...], right: tuple[int, ...], batches: tuple[int, ...]
) -> None:
    """A dimension of 0 is dynamic."""
    with pytest.raises(Refused, match="its dynamic batches stretch; fix them by load"):
        batch_product(None, (None, left), (None, right), batches)


W = np.arange(-14, 16, dtype=np.float32).reshape(5, 6) / 8
BATCHED = np.arange(-90, 90, dtype=np.float32).reshape(1, 6, 5, 6) / 64
V, FLAT = W[:, 0], X[0, 0]
FC, BM = "FULLY_CONNECTED", "BATCH_MATMUL"
MATMULS: list[tuple[str, Any, Any]] = [
    (FC, FLAT, W),
    (f"RESHAPE {FC} RESHAPE", X, W),
    (f"RESHAPE {FC} RESHAPE", X, V),
    (f"RESHAPE {FC} RESHAPE", X[0, 0, 0], W),
    (f"RESHAPE {FC} RESHAPE", X[0, 0, 0], V),
    (BM, X, X[:, :, 0, :, None] * np.ones(7, np.float32)),
    (f"RESHAPE {BM} RESHAPE", X, X[1:, :, 0, :, None] * np.ones(7, np.float32)),
    (f"RESHAPE {BM} RESHAPE", X, X[1:, :1, 0, :, None] * np.ones(7, np.float32)),
    (f"RESHAPE {BM} RESHAPE", X, X[:, :1, 0, :, None] * np.ones(7, np.float32)),
    (f"RESHAPE TILE RESHAPE {BM} RESHAPE", X[0, 0, 0], X[0, :, 0, :, None]),
    (f"RESHAPE TILE RESHAPE {BM} RESHAPE", X[:1, :1], BATCHED),
]


@pytest.mark.parametrize(("operations", "x", "right"), MATMULS)
def test_a_constant_matrix_on_the_right(operations: str, x: Any, right: Any) -> None:
    compare(single("MatMul", x, right), x, operations, 1e-5)


@pytest.mark.parametrize(
    ("operations", "x", "left"),
    [
        (BM, FLAT, W[:, :4]),
        (f"RESHAPE {BM} RESHAPE", X, W[:, :4]),
        (f"RESHAPE {BM} RESHAPE", X[0, 0, :, 0], W[:, :4]),
        (f"RESHAPE TILE RESHAPE {BM} RESHAPE", X[:1, :1], BATCHED[..., :4]),
    ],
)
def test_a_constant_matrix_on_the_left(operations: str, x: Any, left: Any) -> None:
    node = helper.make_node("MatMul", ["w", "x"], ["y"])
    compare(made([node], {"w": left}, x), x, operations, 1e-5)


GEMMS: list[tuple[str, Any, Any, Any, dict[str, Any]]] = [
    (FC, FLAT, W, None, {}),
    (FC, FLAT, W, W[0], {}),
    (FC, FLAT, W, W[:1], {"alpha": 0.5, "beta": 3.0}),
    (FC, FLAT, W.T.copy(), W[0], {"transB": 1, "alpha": -2.0}),
    (FC, FLAT, W, np.float32(2.5), {}),
    (FC, FLAT, W, W[0, :1], {"beta": 0.0}),
    (f"TRANSPOSE {FC}", FLAT, W[:4], None, {"transA": 1}),
    (f"{FC} ADD", FLAT, W, W[:4], {}),
    (f"{FC} ADD", FLAT, W, W[:4, :1], {"beta": 2.0}),
    (f"{FC} ADD", FLAT, W, W[:4, :1], {"beta": 2.0, "alpha": 3.0}),
]


@pytest.mark.parametrize(("operations", "x", "b", "c", "options"), GEMMS)
def test_products_with_a_summand(operations: str, x: Any, b: Any, c: Any, options: Any) -> None:
    constants = (b,) if c is None else (b, c)
    compare(single("Gemm", x, *constants, **options), x, operations, 1e-5)


@pytest.mark.parametrize(
    ("operations", "options"),
    [
        (f"{BM} ADD", {"transB": 1}),
        (f"{BM} ADD", {"transA": 1}),
        (f"MUL {BM} MUL ADD", {"transB": 1, "alpha": 0.5, "beta": 2.0}),
        (BM, {"transB": 1, "beta": 0.0}),
    ],
)
def test_products_of_two_computed_matrices(operations: str, options: Any) -> None:
    x = FLAT[:, :4]
    compare(chain(x, step("Gemm", ".", ".", **options)), x, operations, 1e-5)


EINSUMS = [
    ("ij->ji", "TRANSPOSE"),
    ("ij", "CAST"),
    ("ba", "TRANSPOSE"),
    ("ij->i", "REDUCE_SUM"),
    ("ij->", "REDUCE_SUM"),
    ("ij,jk", f"RESHAPE {BM} RESHAPE"),
    ("ij,jk->ki", f"RESHAPE {BM} RESHAPE TRANSPOSE"),
    ("ij,jk->k", f"REDUCE_SUM RESHAPE {BM} RESHAPE"),
    ("ij,j->i", f"RESHAPE {BM} RESHAPE"),
    ("ij,j->ij", f"TRANSPOSE RESHAPE {BM} RESHAPE TRANSPOSE"),
    ("ij,ij->ij", "RESHAPE MUL RESHAPE"),
    ("ij,ji->ij", "RESHAPE MUL RESHAPE"),
    ("ij,ij->", f"RESHAPE {BM} RESHAPE"),
    ("ij,kj->ikj", f"TRANSPOSE RESHAPE {BM} TRANSPOSE"),
    ("i j , j k -> i k", f"RESHAPE {BM} RESHAPE"),
    ("bij,bjk->bik", BM),
]


@pytest.mark.parametrize(
    "equation", ["ij,jk,kl->il", "bi,bj,bk->bijk", "i,i,i->", "bij,bjk,bk->bi", "a,b,c,d->abcd", "ij,ij,ij->j"]
)
def test_sums_of_products_of_several_inputs(equation: str) -> None:
    sizes = {letter: 2 + i for i, letter in enumerate("abcdijkl")}
    x, *rest = [
        np.random.default_rng(len(term)).normal(size=[sizes[each] for each in term]).astype(np.float32)
        for term in equation.partition("->")[0].split(",")
    ]
    found = computed(nnapi.load(single("Einsum", x, *rest, equation=equation)), x)
    expected = np.einsum(equation, x, *rest)
    np.testing.assert_allclose(found.reshape(expected.shape), expected, 1e-4, 1e-4)


@each_row(("equation", "operations"), EINSUMS)
def test_sums_of_products(equation: str, operations: str) -> None:
    terms = equation.replace(" ", "").partition("->")[0].split(",")
    sizes = {letter: 4 + i for i, letter in enumerate(dict.fromkeys(equation.replace(",", "").replace("->", "")))}
    arrays = [
        np.arange(np.prod([sizes[each] for each in term])).reshape([sizes[each] for each in term]) for term in terms
    ]
    x, *rest = [(array % 7 - 3).astype(np.float32) for array in arrays]
    expected = np.einsum(equation.replace(" ", ""), x, *rest)
    compare(single("Einsum", x, *rest, equation=equation), x, operations, 1e-5, expected)


@pytest.mark.parametrize(
    ("kind", "x", "constants", "options", "reason"),
    [
        (
            "MatMul",
            X.astype(np.uint8),
            (W.astype(np.uint8),),
            {},
            "NNAPI multiplies no matrices of bytes without a scale",
        ),
        ("MatMul", X, (np.float32(2),), {}, "one of its inputs is a scalar"),
        ("MatMul", X, (W[:4],), {}, r"\[2, 3, 4, 5\] times \[4, 6\]"),
        ("MatMul", X, (np.zeros((5, 5, 6), np.float32),), {}, "do not stretch to each other"),
        ("Gemm", X, (W,), {}, "its matrices are not of rank 2"),
        ("Gemm", FLAT.astype(np.int32), (W.astype(np.int32),), {"alpha": 0.5}, "it multiplies integers by 0.5"),
        ("Einsum", X, (), {"equation": "...i->i"}, "its equation leaves out axes"),
        ("Einsum", X, (), {"equation": ""}, "its equation leaves out axes"),
        ("Einsum", FLAT, (), {"equation": "ij,jk->ik"}, "2 terms for 1 inputs"),
        ("Einsum", FLAT, (), {"equation": "ijk->i"}, r"ijk for \[4, 5\]"),
        ("Einsum", FLAT[:, :4], (), {"equation": "ii->i"}, "it takes a diagonal"),
        ("Einsum", FLAT, (), {"equation": "ij->ijk"}, "its equation ij->ijk repeats or lacks a letter of its inputs"),
        ("Einsum", X[..., None], (), {"equation": "abcde->a"}, "an input has rank 5, NNAPI reduces at most 4"),
    ],
)
def test_other_products_are_refused(kind: str, x: Any, constants: Any, options: Any, reason: str) -> None:
    with pytest.raises(BadDataError, match=reason):
        nnapi.load(single(kind, x, *constants, **options))
