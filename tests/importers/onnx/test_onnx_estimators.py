"""Classical estimators of ai.onnx.ml beside plain Python, and beside ONNX Runtime where that is installed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi.importers.refusals import UnsupportedOperationsError

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402

from nnapi.importers.onnx.map_and_text_outputs import list_map_keys  # noqa: E402
from nnapi.importers.onnx.scan_distances import compute_distances  # noqa: E402, F401  # tested through Scan
from tests.importers.onnx.estimator_cases import FLOAT, INT64, X, check, graph, made, rng  # noqa: E402

# Indexing and encoding


@pytest.mark.parametrize("x", [X, X[0], rng.normal(size=(2, 4, 3)).astype(np.float32)])
def test_features_are_gathered_along_the_last_axis(x: Any) -> None:
    node = helper.make_node("ArrayFeatureExtractor", ["x", "i"], ["y"], domain="ai.onnx.ml")
    content = graph([node], x, ["y"], [helper.make_tensor("i", INT64, [2], [2, 0])])
    check(content, x, [np.atleast_2d(x)[..., [2, 0]]])


def test_computed_indices_of_features() -> None:
    nodes = [
        helper.make_node("ArgMax", ["x"], ["i"], axis=1, keepdims=0),
        helper.make_node("ArrayFeatureExtractor", ["c", "i"], ["y"], domain="ai.onnx.ml"),
    ]
    content = graph(nodes, X, ["y"], [helper.make_tensor("c", FLOAT, [1, 3], [0.5, 7, -2])])
    check(content, X, [np.array([[0.5, 7, -2]], np.float32)[:, X.argmax(1)]])


@pytest.mark.parametrize(
    ("keys", "values", "expected"),
    [
        ({"keys_int64s": [3, 1]}, {"values_floats": [0.5, 2.5], "default_float": 9.0}, [2.5, 9, 0.5, 9]),
        ({"keys_int64s": [3, 1]}, {"values_int64s": [-4, 6]}, [6, -1, -4, -1]),
    ],
)
def test_labels_are_encoded_as_numbers(keys: Any, values: Any, expected: Any) -> None:
    x = np.array([1, 2, 3, 4], np.int64)
    content = made("LabelEncoder", x, **keys, **values)
    found = nnapi.compile(nnapi.load(content), "nnapi-reference").run(x.astype(np.int32))
    np.testing.assert_array_equal(found[0], np.array(expected))


def test_labels_that_are_texts() -> None:
    with pytest.raises(UnsupportedOperationsError, match="its values are texts, which NNAPI does not have"):
        nnapi.load(made("LabelEncoder", np.array([1, 2], np.int64), keys_int64s=[1], values_strings=["one"]))


def test_zip_map_passes_through_the_values_and_the_file_has_the_keys() -> None:
    content = made("ZipMap", X, classlabels_int64s=[4, 5, 6])
    np.testing.assert_array_equal(nnapi.compile(nnapi.load(content), "nnapi-reference").run(X)[0], X)
    assert list_map_keys(onnx.load_from_string(content).graph) == {"y": [4, 5, 6]}
    texts = onnx.load_from_string(made("ZipMap", X, classlabels_strings=["a", "b", "c"]))
    assert list_map_keys(texts.graph) == {"y": ["a", "b", "c"]}


# Trees


def tree(number: int, modes: Sequence[str], features: Sequence[int], values: Sequence[float]) -> dict[str, Any]:
    """A tree of two levels: node 0 leads to node 1 if true and to leaf 4 if false, node 1 to leaves 2 and 3."""
    return {
        "nodes_treeids": [number] * 5,
        "nodes_nodeids": [0, 1, 2, 3, 4],
        "nodes_featureids": [*features, 0, 0, 0],
        "nodes_values": [*values, 0.0, 0.0, 0.0],
        "nodes_modes": [*modes, "LEAF", "LEAF", "LEAF"],
        "nodes_truenodeids": [1, 2, 0, 0, 0],
        "nodes_falsenodeids": [4, 3, 0, 0, 0],
    }


def joined(*trees: dict[str, Any]) -> dict[str, Any]:
    return {name: [each for one in trees for each in one[name]] for name in trees[0]}


def leaf(
    row: Any, modes: str, features: Sequence[int], values: Sequence[float], missing: Sequence[int] = (0, 0)
) -> int:
    """The position of the reached leaf among leaves 2, 3 and 4."""
    compare = {
        "LEQ": np.less_equal,
        "LT": np.less,
        "GTE": np.greater_equal,
        "GT": np.greater,
        "EQ": np.equal,
        "NEQ": np.not_equal,
    }[modes]

    def goes(k: int) -> bool:
        value = row[features[k]]
        return bool(compare(value, np.float32(values[k]))) or bool(missing[k] and np.isnan(value))

    return (0 if goes(1) else 1) if goes(0) else 2


LEAVES = np.array([[0.5, -1, 2], [1.5, 0.25, -3]], np.float32)
"""The weights of the three leaves of two trees."""
SPLITS = ((0, 1), (0.1, -0.2)), ((2, 0), (0.3, 0.4))
"""Features and thresholds of two trees."""


def targets(name: str, numbers: Sequence[int] = (0,)) -> dict[str, Any]:
    """The weights of both trees' leaves, which are scaled by 1, 2, … for the output ``numbers``."""
    rows = [
        (t, n, out, float(LEAVES[t, n - 2] * (k + 1)))
        for t in (0, 1)
        for n in (2, 3, 4)
        for k, out in enumerate(numbers)
    ]
    columns = zip(*rows, strict=True)
    return {
        f"{name}_{key}": list(column)
        for key, column in zip(("treeids", "nodeids", "ids", "weights"), columns, strict=True)
    }


def sums(x: Any, modes: str = "LEQ", missing: Sequence[int] = (0, 0)) -> Any:
    return np.array([[sum(LEAVES[t, leaf(row, modes, *SPLITS[t], missing)] for t in (0, 1))] for row in x], np.float32)


def forest(modes: str = "LEQ", **more: Any) -> dict[str, Any]:
    return joined(*(tree(t, [f"BRANCH_{modes}"] * 2, *SPLITS[t]) for t in (0, 1))) | more


@pytest.mark.parametrize("modes", ["LEQ", "LT", "GTE", "GT", "EQ", "NEQ"])
def test_trees_of_every_comparison(modes: str) -> None:
    x = X.copy()
    x[:2] = np.array([[0.1, -0.2, 0.3], [0.4, 0, 0.3]], np.float32)  # values at the thresholds
    check(made("TreeEnsembleRegressor", x, n_targets=1, **forest(modes), **targets("target")), x, [sums(x, modes)])


@pytest.mark.parametrize("dynamic", [False, True])
def test_means_of_trees_with_several_targets_and_base_values(dynamic: bool) -> None:
    attributes = forest(aggregate_function="AVERAGE", n_targets=2, base_values=[10.0, 20.0])
    content = made("TreeEnsembleRegressor", X, dynamic=dynamic, **attributes, **targets("target", (0, 1)))
    check(content, X, [sums(X) / 2 * np.array([1, 2], np.float32) + np.array([10, 20], np.float32)])


@pytest.mark.parametrize("modes", ["LEQ", "NEQ"])
@pytest.mark.parametrize("missing", [(0, 0), (1, 0), (0, 1), (1, 1)])
def test_missing_values_go_where_the_node_says(missing: Sequence[int], modes: str) -> None:
    x = X.copy()
    x[::2, 0] = np.nan
    x[1::3, 1:] = np.nan
    content = made(
        "TreeEnsembleRegressor",
        x,
        n_targets=1,
        nodes_missing_value_tracks_true=[*missing, 0, 0, 0] * 2,
        **forest(modes),
        **targets("target"),
    )
    check(content, x, [sums(x, modes, missing)])


def test_trees_of_different_depths() -> None:
    stump = {
        "nodes_treeids": [1],
        "nodes_nodeids": [0],
        "nodes_featureids": [0],
        "nodes_values": [0.0],
        "nodes_modes": ["LEAF"],
        "nodes_truenodeids": [0],
        "nodes_falsenodeids": [0],
    }
    attributes = joined(tree(0, ["BRANCH_LEQ"] * 2, *SPLITS[0]), stump)
    weights: dict[str, Any] = {
        "target_treeids": [0, 0, 0, 1],
        "target_nodeids": [2, 3, 4, 0],
        "target_ids": [0] * 4,
        "target_weights": [*LEAVES[0].tolist(), 100.0],
    }
    expected = np.array([[LEAVES[0, leaf(row, "LEQ", *SPLITS[0])] + 100] for row in X], np.float32)
    check(made("TreeEnsembleRegressor", X, n_targets=1, **attributes, **weights), X, [expected])


def test_a_classifier_of_three_classes() -> None:
    attributes = forest(classlabels_int64s=[7, 5, 9], post_transform="SOFTMAX")
    content = made("TreeEnsembleClassifier", X, ("label", "scores"), **attributes, **targets("class", (0, 1, 2)))
    scores = sums(X) * np.array([1, 2, 3], np.float32)
    powers = np.exp(scores - scores.max(1, keepdims=True))
    check(content, X, [np.array([7, 5, 9])[scores.argmax(1)], powers / powers.sum(1, keepdims=True)])


@pytest.mark.parametrize("transform", ["NONE", "LOGISTIC"])
def test_a_classifier_of_one_score_with_negative_weights(transform: str) -> None:
    attributes = forest(classlabels_int64s=[3, 8], post_transform=transform, base_values=[0.25])
    content = made("TreeEnsembleClassifier", X, ("label", "scores"), **attributes, **targets("class"))
    score = sums(X) + np.float32(0.25)
    both = np.concatenate([-score, score], 1)
    both = 1 / (1 + np.exp(-both)) if transform == "LOGISTIC" else both
    check(content, X, [np.where(score[:, 0] > 0, 8, 3), both])


def test_a_classifier_of_one_probability() -> None:
    weights: dict[str, Any] = targets("class")
    weights["class_weights"] = [0.1, 0.2, 0.4, 0.05, 0.3, 0.5]
    content = made("TreeEnsembleClassifier", X, ("label", "scores"), **forest(classlabels_int64s=[0, 1]), **weights)
    table = np.float32(weights["class_weights"]).reshape(2, 3)
    score = np.array([[sum(table[t, leaf(row, "LEQ", *SPLITS[t])] for t in (0, 1))] for row in X], np.float32)
    check(content, X, [np.where(score[:, 0] > 0.5, 1, 0), np.concatenate([1 - score, score], 1)])


def test_float64_thresholds_are_rounded_to_the_side_that_keeps_comparisons() -> None:
    exact = np.array([0.1, -0.2, 0, 0, 0, 0.3, 0.4, 0, 0, 0], np.float64)
    attributes = forest()
    del attributes["nodes_values"]
    attributes["nodes_values_as_tensor"] = helper.make_tensor("v", onnx.TensorProto.DOUBLE, exact.shape, exact)
    x = np.tile(np.array([[0.1, -0.2, 0.3]], np.float32), (3, 1)).astype(np.float32)
    x[1], x[2] = np.nextafter(x[1], np.float32(-9)), np.nextafter(x[2], np.float32(9))
    content = made("TreeEnsembleRegressor", x, n_targets=1, **attributes, **targets("target"))
    found = nnapi.compile(nnapi.load(content), "nnapi-reference").run(x)[0]

    def reached(row: Any, t: int) -> int:
        (a, b), (c, d) = SPLITS[t][0], exact[5 * t : 5 * t + 2]
        return (0 if float(row[b]) <= d else 1) if float(row[a]) <= c else 2

    expected = [sum(LEAVES[t, reached(row, t)] for t in (0, 1)) for row in x]
    np.testing.assert_allclose(found[:, 0], expected)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"aggregate_function": "MAX"}, "its aggregate_function is MAX"),
        ({"nodes_truenodeids": [0, 2, 0, 0, 0, 1, 2, 0, 0, 0]}, "in a circle"),
        ({"nodes_truenodeids": [1, 1, 0, 0, 0, 1, 2, 0, 0, 0]}, "its 2 trees have other roots"),
        ({"nodes_truenodeids": [1, 4, 0, 0, 0, 1, 2, 0, 0, 0]}, "its 2 trees have other roots"),
        ({"nodes_featureids": [5, 1, 0, 0, 0, 0, 1, 0, 0, 0]}, "more than the 3 features of a row"),
        ({"nodes_nodeids": [0, 1, 2, 3, 3, 0, 1, 2, 3, 4]}, "a node is listed twice"),
        (
            {"nodes_modes": ["BRANCH_LEQ", "BRANCH_GT", "LEAF", "LEAF", "LEAF"] * 2},
            "its nodes compare in several ways: BRANCH_GT, BRANCH_LEQ",
        ),
    ],
)
def test_trees_that_are_refused(change: dict[str, Any], reason: str) -> None:
    attributes = forest(n_targets=1) | change
    with pytest.raises(UnsupportedOperationsError, match=reason):
        nnapi.load(made("TreeEnsembleRegressor", X, **attributes, **targets("target")))


# Distances


@pytest.mark.parametrize("is_state_first", [True, False])
@pytest.mark.parametrize("kind", ["square", "absolute"])
def test_distances_to_more_rows_than_are_unrolled(kind: str, is_state_first: bool) -> None:
    known = rng.normal(size=(300, 3)).astype(np.float32)
    pair = ["state", "row"] if is_state_first else ["row", "state"]
    reduce = [helper.make_node("ReduceSumSquare", ["d"], ["r"], axes=[1], keepdims=0)]
    if kind == "absolute":
        reduce = [
            helper.make_node("Abs", ["d"], ["a"]),
            helper.make_node("ReduceSum", ["a", "axes"], ["r"], keepdims=0),
        ]
    body = helper.make_graph(
        [
            helper.make_node("Identity", ["state"], ["kept"]),
            helper.make_node("Sub", pair, ["d"]),
            *reduce,
            helper.make_node("Identity", ["r"], ["out"]),
        ],
        "body",
        [helper.make_tensor_value_info(name, FLOAT, None) for name in ("state", "row")],
        [helper.make_tensor_value_info(name, FLOAT, None) for name in ("kept", "out")],
        [helper.make_tensor("axes", INT64, [1], [1])],
    )
    scan = helper.make_node("Scan", ["x", "known"], ["unused", "y"], body=body, num_scan_inputs=1)
    content = graph([scan], X, ["y"], [helper.make_tensor("known", FLOAT, known.shape, known.reshape(-1))])
    differences = known[:, None] - X[None]
    check(content, X, [(differences**2 if kind == "square" else np.abs(differences)).sum(2)])


def split_forest(**more: Any) -> dict[str, Any]:
    """The trees of :func:`forest` for TreeEnsemble, which lists inner nodes and leaves apart."""
    number, splits = onnx.TensorProto.UINT8, [value for _, values in SPLITS for value in values]
    attributes = {
        "n_targets": 1,
        "tree_roots": [0, 2],
        "nodes_featureids": [feature for features, _ in SPLITS for feature in features],
        "nodes_splits": helper.make_tensor("splits", FLOAT, [4], splits),
        "nodes_modes": helper.make_tensor("modes", number, [4], [0] * 4),
        "nodes_truenodeids": [1, 0, 3, 3],
        "nodes_trueleafs": [0, 1, 0, 1],
        "nodes_falsenodeids": [2, 1, 5, 4],
        "nodes_falseleafs": [1, 1, 1, 1],
        "leaf_targetids": [0] * 6,
        "leaf_weights": helper.make_tensor("weights", FLOAT, [6], LEAVES.reshape(-1)),
    }
    return attributes | more


@pytest.mark.parametrize("missing", [(0, 0), (0, 1)])
def test_ensembles_whose_leaves_are_listed_apart(missing: Sequence[int]) -> None:
    x = X.copy()
    x[::2, 1] = np.nan
    attributes = split_forest(nodes_missing_value_tracks_true=[*missing] * 2)
    check(made("TreeEnsemble", x, **attributes), x, [sums(x, missing=missing)])


def test_a_single_mean_is_not_transformed() -> None:
    check(made("TreeEnsemble", X, **split_forest(aggregate_function=0, post_transform=2)), X, [sums(X) / 2])


@pytest.mark.parametrize("count", [1, 2])
def test_several_sums_of_trees_are_transformed(count: int) -> None:
    attributes = {"n_targets": count, "post_transform": "LOGISTIC", **targets("target", tuple(range(count)))}
    raw = sums(X) * np.arange(1, count + 1)
    expected = raw if count == 1 else 1 / (1 + np.exp(-raw))
    check(made("TreeEnsembleRegressor", X, **forest(), **attributes), X, [expected])


def test_sets_of_members_are_refused() -> None:
    modes = helper.make_tensor("modes", onnx.TensorProto.UINT8, [4], [6] * 4)
    with pytest.raises(UnsupportedOperationsError, match="compare in several ways: BRANCH_MEMBER"):
        nnapi.load(made("TreeEnsemble", X, **split_forest(nodes_modes=modes)))
