"""Tree ensembles of ai.onnx.ml: each step gathers the nodes that all trees are at, and compares their features."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nnapi.codes import OperationCode
from nnapi.importers.graph import INT32, Value
from nnapi.importers.onnx.node import OnnxNode
from nnapi.importers.onnx.operators import Result, rule
from nnapi.importers.onnx.rule_results import compose
from nnapi.importers.onnx.rules.estimators import as_float, choose_label, floats, integer_labels, transform
from nnapi.importers.onnx.tensors import FLOAT, INT64, OnnxTensor
from nnapi.importers.refusals import expressible
from nnapi.importers.terms import Term
from nnapi.model.operand import Array, OperandType

COMPARISONS = {
    "BRANCH_LEQ": OperationCode.LESS_EQUAL,
    "BRANCH_LT": OperationCode.LESS,
    "BRANCH_GTE": OperationCode.GREATER_EQUAL,
    "BRANCH_GT": OperationCode.GREATER,
    "BRANCH_EQ": OperationCode.EQUAL,
    "BRANCH_NEQ": OperationCode.NOT_EQUAL,
}
LEAF = "LEAF"
AGGREGATES = ("AVERAGE", "SUM", "MIN", "MAX")
TRANSFORMS = ("NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO", "PROBIT")
"""The names of values that TreeEnsemble numbers; its comparisons are numbered in the order of COMPARISONS."""
DOWNWARD = ("BRANCH_LEQ", "BRANCH_GT")
"""The comparisons that stay the same for float32 inputs if a float64 threshold is rounded down."""


@dataclass(frozen=True)
class Forest:
    """Trees whose nodes are numbered together. ``yes`` and ``no`` are the next nodes; a leaf's are itself. ``missing``
    is the next node of a NaN, None if comparisons with NaN lead there: all are false, except NOT_EQUAL."""

    roots: Array
    depth: int
    comparison: OperationCode
    features: Array
    thresholds: Array
    yes: Array
    no: Array
    missing: Array | None
    weights: Array
    """Of each node, for each output; zero unless it is a leaf."""


@rule("ai.onnx.ml:TreeEnsembleRegressor")
def tree_ensemble_regressor(node: OnnxNode) -> Result:
    forest = _read_forest(node, "target", int(node.attribute("n_targets", 1)))
    found = _aggregate(node, forest, str(node.attribute("aggregate_function", "SUM")))
    return _transform(node, _add_base(node, found), str(node.attribute("post_transform", "NONE")))


@rule("ai.onnx.ml:TreeEnsemble")
def tree_ensemble(node: OnnxNode) -> Result:
    """Lower TreeEnsemble, whose attributes number what names choose in older operators."""
    forest = _read_split_forest(node, int(node.attribute("n_targets", 1)))
    found = _aggregate(node, forest, AGGREGATES[int(node.attribute("aggregate_function", 1))])
    return _transform(node, found, TRANSFORMS[int(node.attribute("post_transform", 0))])


def _transform(node: OnnxNode, found: OnnxTensor, way: str) -> OnnxTensor:
    """Transform the targets of a regression. ONNX Runtime leaves a single one as it is."""
    return transform(node, found, "NONE" if found.dims[1] == 1 and way in ("LOGISTIC", "SOFTMAX") else way)


def _aggregate(node: OnnxNode, forest: Forest, way: str) -> OnnxTensor:
    expressible(way in ("SUM", "AVERAGE"), f"its aggregate_function is {way}, must be SUM or AVERAGE")
    found = _evaluate(node, forest)
    return compose(node, "Div", found, float(len(forest.roots))) if way == "AVERAGE" else found


@rule("ai.onnx.ml:TreeEnsembleClassifier")
def tree_ensemble_classifier(node: OnnxNode) -> Sequence[Result | None]:
    labels = integer_labels(node, "classlabels_int64s")
    given = node.attribute("class_ids") or []
    if len(labels) == 2 and len(set(given)) == 1:
        return _classify_by_one_score(node, labels, given[0])
    scores = _add_base(node, _evaluate(node, _read_forest(node, "class", len(labels))))
    return [choose_label(node, labels, scores), transform(node, scores)]


def _classify_by_one_score(node: OnnxNode, labels: Sequence[int], number: int) -> Sequence[Result | None]:
    """Choose between two classes by one score, as ONNX Runtime does: a probability if no weight is negative."""
    forest = _read_forest(node, "class", 2)
    score = compose(node, "Gather", _evaluate(node, forest), [number], axis=1)
    base = floats(node, "base_values")
    score = compose(node, "Add", score, base[-1:]) if base.size else score
    is_probability = bool((forest.weights >= 0).all())
    above = compose(node, "Cast", compose(node, "Greater", score, 0.5 if is_probability else 0.0), to=INT64)
    label = compose(node, "Gather", labels, compose(node, "Reshape", above, [-1]), axis=0)
    if is_probability:
        return [label, compose(node, "Concat", compose(node, "Sub", np.ones(1, np.float32), score), score, axis=1)]
    return [label, transform(node, compose(node, "Concat", compose(node, "Neg", score), score, axis=1))]


def _add_base(node: OnnxNode, scores: OnnxTensor) -> OnnxTensor:
    base = floats(node, "base_values")
    return compose(node, "Add", scores, base) if base.any() else scores


# Reading


def _read_forest(node: OnnxNode, kind: str, outputs: int) -> Forest:
    """Read the nodes of all trees, and the weights of leaves that attributes named after ``kind`` list."""
    trees, numbers = ([*map(int, node.attribute(f"nodes_{name}") or [])] for name in ("treeids", "nodeids"))
    position = {key: i for i, key in enumerate(zip(trees, numbers, strict=True))}
    expressible(len(position) == len(trees), "a node is listed twice")
    modes = [each.decode() for each in node.attribute("nodes_modes")]
    is_leaf = np.array([mode == LEAF for mode in modes])
    own = np.arange(len(trees), dtype=np.int32)
    yes, no = (_follow(node, name, trees, position, is_leaf, own) for name in ("truenodeids", "falsenodeids"))
    used = sorted({mode for mode in modes if mode != LEAF}) or ["BRANCH_LEQ"]
    expressible(len(used) == 1 and used[0] in COMPARISONS, f"its nodes compare in several ways: {', '.join(used)}")
    roots = np.setdiff1d(own, np.concatenate([yes[~is_leaf], no[~is_leaf]]))
    count = len(set(trees))
    expressible(len({trees[root] for root in roots}) == len(roots) == count, f"its {count} trees have other roots")
    tracked = np.array(node.attribute("nodes_missing_value_tracks_true") or [0] * len(own), bool) & ~is_leaf
    features = np.where(is_leaf, 0, node.attribute("nodes_featureids"))
    thresholds = _read_thresholds(node, "nodes_values", used[0])
    weights = _read_weights(node, kind, outputs, position)
    return _make_forest(roots, is_leaf, used[0], features, thresholds, yes, no, tracked, weights)


def _read_split_forest(node: OnnxNode, outputs: int) -> Forest:
    """Read a TreeEnsemble, which lists inner nodes and leaves apart; leaves are numbered behind inner nodes."""
    features, leaves = np.array(node.attribute("nodes_featureids")), np.array(node.attribute("leaf_targetids"))
    inner, total = len(features), len(features) + len(leaves)
    modes = sorted(set(node.conversion.state.file.array(node.attribute("nodes_modes"))[0].tolist()))
    names = [[*COMPARISONS, "BRANCH_MEMBER"][mode] for mode in modes]
    expressible(len(names) == 1 and names[0] in COMPARISONS, f"its nodes compare in several ways: {', '.join(names)}")
    own = np.arange(total, dtype=np.int32)
    following = [own.copy(), own.copy()]
    for table, branch in zip(following, ("true", "false"), strict=True):
        numbers, is_leaf = (np.array(node.attribute(f"nodes_{branch}{name}")) for name in ("nodeids", "leafs"))
        table[:inner] = numbers + inner * is_leaf
    weights = np.zeros((total, outputs), np.float32)
    weights[own[inner:], leaves] = floats(node, "leaf_weights", node.attribute("leaf_weights"))
    tracked = np.zeros(total, bool)
    tracked[:inner] = node.attribute("nodes_missing_value_tracks_true") or [0] * inner
    thresholds = np.zeros(total, np.float32)
    thresholds[:inner] = _read_thresholds(node, "nodes_splits", names[0])
    padded = np.concatenate([features, np.zeros(len(leaves), int)])
    roots = np.array(node.attribute("tree_roots"))
    return _make_forest(roots, own >= inner, names[0], padded, thresholds, following[0], following[1], tracked, weights)


def _make_forest(
    roots: Array,
    is_leaf: Array,
    mode: str,
    features: Array,
    thresholds: Array,
    yes: Array,
    no: Array,
    tracked: Array,
    weights: Array,
) -> Forest:
    """``tracked``: nodes that a NaN leaves by the true branch, whatever the comparison gives."""
    tracked &= mode != "BRANCH_NEQ"  # a NaN differs from each threshold: the comparison is true
    return Forest(
        roots.astype(np.int32),
        _measure_depth(roots, yes, no, is_leaf),
        COMPARISONS[mode],
        features.astype(np.int32),
        thresholds,
        yes,
        no,
        np.where(tracked, yes, no) if tracked.any() else None,
        weights,
    )


def _follow(
    node: OnnxNode, name: str, trees: Sequence[int], position: dict[tuple[int, int], int], is_leaf: Array, own: Array
) -> Array:
    following = node.attribute(f"nodes_{name}")
    return np.array(
        [
            i if leaf else position[tree, number]
            for i, leaf, tree, number in zip(own, is_leaf, trees, following, strict=True)
        ],
        np.int32,
    )


def _read_thresholds(node: OnnxNode, name: str, mode: str) -> Array:
    """Return thresholds in float32, rounded so that comparisons with float32 values give the same results. Other inputs
    are rounded to the nearest float32, and so are thresholds beside them."""
    given = node.attribute(f"{name}_as_tensor") if name == "nodes_values" else node.attribute(name)
    if given is None:
        return floats(node, name)
    exact = np.asarray(node.conversion.state.file.array(given)[0], np.float64)
    near = exact.astype(np.float32)
    if node.tensor(0).elem != FLOAT:
        return near
    is_down = mode in DOWNWARD
    return np.where(
        near > exact if is_down else near < exact, np.nextafter(near, np.float32(-np.inf if is_down else np.inf)), near
    )


def _read_weights(node: OnnxNode, kind: str, outputs: int, position: dict[tuple[int, int], int]) -> Array:
    values = floats(node, f"{kind}_weights")
    names = [node.attribute(f"{kind}_{name}") or [] for name in ("treeids", "nodeids", "ids")]
    node.graph.reserve(4 * outputs * len(position))
    weights = np.zeros((len(position), outputs), np.float32)
    for tree, number, output, value in zip(*names, values, strict=True):
        weights[position[tree, number], output] += value
    return weights


def _measure_depth(roots: Array, yes: Array, no: Array, is_leaf: Array) -> int:
    """Return the number of steps to the deepest leaf; raise Refused if nodes lead to each other in a circle."""
    level, depth, reached = roots, 0, len(roots)
    while not is_leaf[level].all():
        inner = level[~is_leaf[level]]
        level, depth = np.concatenate([yes[inner], no[inner]]), depth + 1
        reached += len(level)
        expressible(reached <= len(yes), "several of its nodes lead to one")
    expressible(reached == len(yes), "its nodes lead to each other in a circle")
    return depth


# Evaluation


def _evaluate(node: OnnxNode, forest: Forest) -> OnnxTensor:
    """Return the sum of the weights of the leaves that each row reaches in all trees."""
    x = as_float(node)
    rows, features = (1, *node.static_shape(0))[-2:]
    count, outputs = len(forest.roots), forest.weights.shape[1]
    expressible(int(forest.features.max(initial=0)) < features, f"it reads more than the {features} features of a row")
    flat = compose(node, "Reshape", x, [rows * features]).materialize()
    leaves = _descend(node, forest, flat, rows, features)
    found = _gather(node, forest.weights, leaves)
    spread = node.view(found, (rows, count, outputs))
    total = node.apply(OperationCode.REDUCE_SUM, spread, node.graph.ints([1]), node.flag(False))
    return node.result(total, (rows, outputs), elem=FLOAT)


def _descend(node: OnnxNode, forest: Forest, flat: Value, rows: int, features: int) -> Value:
    """Return the leaves that the rows of ``flat`` reach, tree by tree within a row."""
    count = rows * len(forest.roots)
    node.graph.reserve(8 * count)
    current: Value | Array = np.tile(forest.roots, rows)
    begins = Term(node, node.graph.ints(np.repeat(np.arange(rows, dtype=np.int32) * features, len(forest.roots))))
    for _ in range(forest.depth):
        positions = Term(node, _gather(node, forest.features, current)) + begins
        value = Term(node, node.apply(OperationCode.GATHER, flat, node.i32(0), positions.value))
        threshold = Term(node, _gather(node, forest.thresholds, current))
        is_true = value.compare(forest.comparison, threshold).value
        yes, no = (_gather(node, table, current) for table in (forest.yes, forest.no))
        following = node.apply(OperationCode.SELECT, is_true, yes, no, type=OperandType(INT32))
        if forest.missing is not None:
            is_nan = value.compare(OperationCode.NOT_EQUAL, value).value
            missing = _gather(node, forest.missing, current)
            following = node.apply(OperationCode.SELECT, is_nan, missing, following, type=OperandType(INT32))
        current = following
    return current if isinstance(current, Value) else node.graph.ints(current)


def _gather(node: OnnxNode, table: Array, indices: Value | Array) -> Value:
    """Return the rows of a constant table; constant indices give a constant."""
    if not isinstance(indices, Value):
        found = np.ascontiguousarray(table[indices])
        node.graph.reserve(found.nbytes)
        return node.graph.constant(found)
    return node.apply(OperationCode.GATHER, node.graph.constant(table), node.i32(0), indices)
