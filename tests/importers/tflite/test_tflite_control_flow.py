"""IF, WHILE, composites and the custom operation of detectors."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from flatbuffers import flexbuffers

import nnapi
from nnapi.codes import OperationCode
from tests.importers.tflite.against_litert import litert, loaded, run
from tests.tflite_writer import Graph, T, const, f32, flags, i32, write


def branch(kind: str, number: float) -> Graph:
    x, y = f32(2), f32(2)
    return Graph().operator(kind, [x, const([number], "FLOAT32")], [y], f"{kind.title()}Options").between([x], [y])


def chooser(then: Graph, other: Graph) -> bytes:
    condition, x, y = flags(1), f32(2), f32(2)
    graph = Graph().operator("IF", [condition, x], [y], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    return write(graph.between([condition, x], [y]), then, other)


@pytest.mark.engine
@pytest.mark.parametrize("condition", [True, False])
def test_if(condition: bool, tmp_path: Path) -> None:
    content = chooser(branch("ADD", 1), branch("MUL", 10))
    given = [np.array([condition]), np.array([3, 4], np.float32)]
    ours = run(loaded(content, tmp_path), given)[0]
    assert ours.tolist() == ([4, 5] if condition else [30, 40])
    np.testing.assert_array_equal(ours, litert(content, given)[0])


def test_a_branch_may_give_its_input_or_a_constant(tmp_path: Path) -> None:
    """NNAPI's models cannot: their outputs are copies."""
    x, unused, fixed = f32(2), f32(2), const([7, 8], "FLOAT32")
    same, constant = Graph().between([x], [x]), Graph().between([unused], [fixed])
    model = loaded(chooser(same, constant), tmp_path)
    value = np.array([3, 4], np.float32)
    assert run(model, [np.array([True]), value])[0].tolist() == [3, 4]
    assert run(model, [np.array([False]), value])[0].tolist() == [7, 8]


def doubling() -> bytes:
    """Double x while it is below 100, and count how often."""
    x, n = f32(1), i32(1)
    below = flags(1)
    condition = Graph().operator("LESS", [x, const([100], "FLOAT32")], [below]).between([x, n], [below])
    y, m, doubled, counted = f32(1), i32(1), f32(1), i32(1)
    body = (
        Graph()
        .operator("ADD", [y, y], [doubled], "AddOptions")
        .operator("ADD", [m, const([1])], [counted], "AddOptions")
    )
    body.between([y, m], [doubled, counted])
    first, start, last, count = f32(1), i32(1), f32(1), i32(1)
    loop = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    graph = Graph().operator("WHILE", [first, start], [last, count], "WhileOptions", **loop)  # type: ignore[arg-type]
    return write(graph.between([first, start], [last, count]), condition, body)


@pytest.mark.engine
@pytest.mark.parametrize("start", [3.0, 200.0])
def test_while(start: float, tmp_path: Path) -> None:
    given = [np.array([start], np.float32), np.array([0], np.int32)]
    content = doubling()
    for ours, theirs in zip(run(loaded(content, tmp_path), given), litert(content, given), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_what_a_branch_cannot_express_is_listed_with_the_rest(tmp_path: Path) -> None:
    x, y = f32(2), f32(2)
    odd = Graph().operator("ATAN2", [x, x], [y]).between([x], [y])
    with pytest.raises(nnapi.NnapiError) as caught:
        loaded(chooser(branch("ADD", 1), odd), tmp_path)
    assert [refusal.operation for refusal in caught.value.refusals] == ["ATAN2"]  # type: ignore[attr-defined]


def test_a_subgraph_that_refers_to_itself_is_refused(tmp_path: Path) -> None:
    condition, x, y = flags(1), f32(2), f32(2)
    graph = Graph().operator("IF", [condition, x], [y], "IfOptions", ThenSubgraphIndex=0, ElseSubgraphIndex=0)
    with pytest.raises(nnapi.NnapiError, match="IF ×1 .*subgraph 0 refers to itself"):
        loaded(write(graph.between([condition, x], [y])), tmp_path)


@pytest.mark.parametrize("index", [5, -1])
def test_a_subgraph_that_does_not_exist_is_refused(index: int, tmp_path: Path) -> None:
    condition, x, y = flags(1), f32(2), f32(2)
    graph = Graph().operator("IF", [condition, x], [y], "IfOptions", ThenSubgraphIndex=index, ElseSubgraphIndex=1)
    with pytest.raises(nnapi.NnapiError, match=f"there is no subgraph {index}"):
        loaded(write(graph.between([condition, x], [y]), branch("ADD", 1)), tmp_path)


@pytest.mark.parametrize(
    ("kind", "options", "field"),
    [
        ("STABLEHLO_COMPOSITE", "StableHLOCompositeOptions", "DecompositionSubgraphIndex"),
        ("CALL", "CallOptions", "Subgraph"),
    ],
)
def test_a_composite_is_replaced_by_what_it_is_composed_of(kind: str, options: str, field: str, tmp_path: Path) -> None:
    x, y = f32(2), f32(2)
    graph = Graph().operator(kind, [x], [y], options, **{field: 1})  # type: ignore[arg-type]
    model = loaded(write(graph.between([x], [y]), branch("MUL", 3)), tmp_path)
    assert [call.code for call in model.operations] == [OperationCode.MUL]
    assert run(model, [np.array([1, 2], np.float32)])[0].tolist() == [3, 6]


PARAMETERS = {
    "max_detections": 3,
    "max_classes_per_detection": 1,
    "detections_per_class": 2,
    "nms_score_threshold": 0.05,
    "nms_iou_threshold": 0.5,
    "num_classes": 2,
    "y_scale": 10.0,
    "x_scale": 10.0,
    "h_scale": 5.0,
    "w_scale": 5.0,
}
ANCHORS = [[0.2, 0.2, 0.2, 0.2], [0.25, 0.2, 0.2, 0.2], [0.7, 0.7, 0.3, 0.2], [0.5, 0.5, 1.0, 1.0]]


def detector(**parameters: object) -> bytes:
    boxes, scores, anchors = f32(1, 4, 4), f32(1, 4, 3), const(ANCHORS, "FLOAT32")
    outputs = [f32() for _ in range(4)]
    custom = bytes(flexbuffers.Dumps({**PARAMETERS, **parameters}))
    graph = Graph().operator("CUSTOM:TFLite_Detection_PostProcess", [boxes, scores, anchors], outputs, custom=custom)
    return write(graph.between([boxes, scores], outputs))


@pytest.mark.engine
@pytest.mark.parametrize("classes", [2, 3], ids=["background", "no background"])
@pytest.mark.parametrize("regular", [False, True])
def test_detection(regular: bool, classes: int, tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    given = [rng.uniform(-1, 1, (1, 4, 4)).astype(np.float32), rng.uniform(0, 1, (1, 4, 3)).astype(np.float32)]
    content = detector(use_regular_nms=regular, num_classes=classes)
    for ours, theirs in zip(run(loaded(content, tmp_path), given), litert(content, given), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)


@pytest.mark.engine
@pytest.mark.parametrize("threshold", [-1.0, -1e-8])
def test_detection_with_a_threshold_below_zero(threshold: float, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    given = [rng.uniform(-1, 1, (1, 4, 4)).astype(np.float32), rng.uniform(0, 1, (1, 4, 3)).astype(np.float32)]
    content = detector(nms_score_threshold=threshold)
    model = loaded(content, tmp_path)
    for ours, theirs in zip(run(model, given), litert(content, given), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
    assert any("score threshold below zero" in note for note in model.notes)


def test_parameters_that_are_missing_or_no_numbers_are_named(tmp_path: Path) -> None:
    with pytest.raises(nnapi.NnapiError, match="its parameter y_scale is 'ten'"):
        loaded(detector(y_scale="ten"), tmp_path)
    boxes, out = f32(1, 4, 4), f32()
    custom = bytes(flexbuffers.Dumps({"num_classes": 2}))
    graph = Graph().operator("CUSTOM:TFLite_Detection_PostProcess", [boxes] * 3, [out], custom=custom)
    with pytest.raises(nnapi.NnapiError, match="TFLite_Detection_PostProcess ×1"):
        loaded(write(graph.between([boxes], [out])), tmp_path)


def test_the_same_output_twice_and_an_input_as_output(tmp_path: Path) -> None:
    x, y = T("FLOAT32", (2,), name="x"), T("FLOAT32", (2,), name="y")
    graph = Graph().operator("ABS", [x], [y]).between([x], [y, x, y])
    found = run(loaded(write(graph), tmp_path), [np.array([-1, 2], np.float32)])
    assert [array.tolist() for array in found] == [[1, 2], [-1, 2], [1, 2]]


DEEP = 1200
"""Deeper than calls of Python go."""


@pytest.mark.slow
def test_branches_within_branches_are_read_at_any_depth(tmp_path: Path) -> None:
    graphs = []
    for number in range(1, DEEP + 1):
        condition, x, y = flags(1), f32(2), f32(2)
        branches = {"ThenSubgraphIndex": number, "ElseSubgraphIndex": DEEP + 1}
        graphs.append(Graph().operator("IF", [condition, condition, x], [y], "IfOptions", **branches))  # type: ignore[arg-type]
        graphs[-1].between([condition, x], [y])
    for kind, value in (("ADD", 1), ("MUL", 10)):
        unused, x, y = flags(1), f32(2), f32(2)
        graph = Graph().operator(kind, [x, const([value], "FLOAT32")], [y], f"{kind.title()}Options")
        graphs.append(graph.between([unused, x], [y]))
    model = loaded(write(*graphs), tmp_path)
    value = np.array([3, 4], np.float32)  # type: ignore[assignment]
    assert run(model, [np.array([True]), value])[0].tolist() == [4, 5]  # type: ignore[list-item]
    assert run(model, [np.array([False]), value])[0].tolist() == [30, 40]  # type: ignore[list-item]


def calls(count: int, times: int) -> bytes:
    """Subgraphs of which each calls the next one so often."""
    graphs = []
    for number in range(1, count + 1):
        values = [f32(2) for _ in range(times + 1)]
        graph = Graph()
        for x, y in pairwise(values):
            graph.operator("CALL", [x], [y], "CallOptions", Subgraph=number)
        graphs.append(graph.between(values[:1], values[-1:]))
    return write(*graphs, branch("ADD", 1))


@pytest.mark.parametrize(
    ("count", "times", "reason"),
    [
        (DEEP, 1, "calls of subgraphs lie more than 50 deep in each other"),
        (40, 2, "refer to each other more often than"),
    ],
)
def test_calls_of_calls_that_lead_too_far_are_refused(count: int, times: int, reason: str, tmp_path: Path) -> None:
    with pytest.raises(nnapi.NnapiError, match=reason):
        loaded(calls(count, times), tmp_path)


def test_calls_within_calls_are_followed(tmp_path: Path) -> None:
    model = loaded(calls(4, 2), tmp_path)
    assert run(model, [np.array([0, 1], np.float32)])[0].tolist() == [16, 17]


def test_a_branch_without_inputs_is_refused() -> None:
    condition, y = flags(1), f32(2)
    graph = Graph().operator("IF", [condition], [y], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    fixed = [Graph().between([], [const([number, 8], "FLOAT32")]) for number in (7, 9)]
    reason = r"subgraph ×2 \(1, 2: it has no inputs, NNAPI's models have at least one\)"
    with pytest.raises(nnapi.NnapiError, match=reason):
        nnapi.load(write(graph.between([condition], [y]), *fixed))


def test_a_call_may_leave_out_the_last_results() -> None:
    x, y, a, b, c = (f32(2) for _ in range(5))
    graph = Graph().operator("CALL", [x], [y], "CallOptions", Subgraph=1).between([x], [y])
    called = Graph().operator("NEG", [a], [b]).operator("ABS", [a], [c]).between([a], [b, c])
    (found,) = run(nnapi.load(write(graph, called)), [np.array([1, -2], np.float32)])
    assert found.tolist() == [-1, 2]


def test_a_call_with_other_inputs_than_its_subgraph_s_is_refused() -> None:
    x, other, y = f32(2), f32(2), f32(2)
    graph = Graph().operator("CALL", [x, other], [y], "CallOptions", Subgraph=1).between([x, other], [y])
    with pytest.raises(nnapi.NnapiError, match=r"CALL ×1 .*its parameters contradict each other \(ValueError"):
        nnapi.load(write(graph, branch("ADD", 1)))
