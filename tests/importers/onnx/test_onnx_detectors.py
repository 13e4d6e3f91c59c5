"""The last steps of detectors as torchvision and others export them, with random weights and a threshold of 0."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import nnapi  # noqa: E402

INT64, FLOAT = 7, 1


class Graph:
    """An ONNX graph under construction: each call appends a node and returns its output."""

    def __init__(self, prefix: str = "") -> None:
        self.nodes: list[Any] = []
        self.constants: list[Any] = []
        self.prefix = prefix

    def __call__(self, kind: str, *inputs: Any, outputs: int = 1, **attributes: Any) -> Any:
        names = [f"{self.prefix}{kind}{len(self.nodes)}_{i}" for i in range(outputs)]
        given = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        self.nodes.append(helper.make_node(kind, given, names, **attributes))
        return names[0] if outputs == 1 else names

    def constant(self, value: Any) -> str:
        name = f"{self.prefix}constant{len(self.constants)}"
        array = np.array(value, np.float32 if np.asarray(value).dtype.kind == "f" else None)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def branch(self, *outputs: tuple[str, int]) -> Any:
        infos = [helper.make_tensor_value_info(name, elem, None) for name, elem in outputs]
        return helper.make_graph(self.nodes, self.prefix, [], infos, self.constants)

    def model(self, inputs: dict[str, Any], *outputs: str) -> Any:
        infos = [helper.make_tensor_value_info(name, FLOAT, array.shape) for name, array in inputs.items()]
        results = [helper.make_tensor_value_info(name, FLOAT, None) for name in outputs]
        graph = helper.make_graph(self.nodes, "detector", infos, results, self.constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)

    def where(self, mask: str) -> str:
        """The positions of a list's true elements."""
        return self("Squeeze", self("Transpose", self("NonZero", mask), perm=[1, 0]), [1])

    def best(self, scores: str, most: int) -> tuple[str, str]:
        """The largest scores, at most ``most``."""
        count = self("Min", self("Shape", scores), [most])
        values, positions = self("TopK", scores, count, outputs=2)
        return values, positions

    def suppress(self, boxes: str, scores: str, labels: str) -> str:
        """torchvision's batched_nms: classes are moved apart; nothing is suppressed where there are no boxes."""
        none, some = Graph(f"none{len(self.nodes)}"), Graph(f"some{len(self.nodes)}")
        empty = none("Identity", np.zeros(0, np.int64))
        span = some("Add", some("ReduceMax", boxes, keepdims=0), 1.0)
        offsets = some("Mul", some("Cast", labels, to=FLOAT), span)
        moved = some("Unsqueeze", some("Add", boxes, some("Unsqueeze", offsets, [1])), [0])
        lines = some("Unsqueeze", scores, [0, 1])
        found = some("NonMaxSuppression", moved, lines, np.array([2**63 - 1]), np.array([0.5]))
        kept = some("Squeeze", some("Gather", found, np.array([2]), axis=1), [1])
        count = self("ReduceProd", self("Shape", boxes), keepdims=0)
        branches = {"then_branch": none.branch((empty, INT64)), "else_branch": some.branch((kept, INT64))}
        return str(self("If", self("Equal", count, 0), **branches))


def make_boxes(random: Any, count: int, size: float = 100) -> Any:
    corners = (random.random((count, 2)) * size).astype(np.float32)
    return np.concatenate([corners, corners + (1 + random.random((count, 2)) * size / 3).astype(np.float32)], 1)


def run_other(proto: Any, inputs: dict[str, Any]) -> list[Any]:
    """The results of ONNX Runtime where it is installed, else of ONNX's evaluator."""
    try:
        import onnxruntime
    except ImportError:
        found: Any = ReferenceEvaluator(proto).run(None, inputs)
        return list(found)
    session: Any = onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])
    results: list[Any] = session.run(None, inputs)
    return results


def compare(proto: Any, *requests: dict[str, Any]) -> None:
    model = nnapi.load(proto.SerializeToString())
    for device in (["nnapi-reference"], None):
        compiled = nnapi.compile(model, device)
        for inputs in requests:
            for ours, theirs in zip(compiled.run(*inputs.values()), run_other(proto, inputs), strict=True):
                assert ours.shape == theirs.shape
                np.testing.assert_allclose(ours, theirs, 1e-4, 1e-5)


def test_ssdlite() -> None:
    """Each class: scores above a threshold, the best of them, their boxes; then all classes together."""
    random, graph = np.random.default_rng(1), Graph()
    inputs = {"scores": random.standard_normal((60, 4)).astype(np.float32), "boxes": make_boxes(random, 60)}
    probabilities = graph("Softmax", "scores", axis=1)
    parts: list[tuple[str, str, str]] = []
    for label in range(1, 4):
        line = graph("Gather", probabilities, label, axis=1)
        above = graph.where(graph("Greater", line, 0.2))
        scores, order = graph.best(graph("Gather", line, above), 20)
        boxes = graph("Gather", graph("Gather", "boxes", above), order)
        filled = graph("ConstantOfShape", graph("Shape", scores), value=numpy_helper.from_array(np.array([label])))
        parts.append((boxes, scores, filled))
    whole = [graph("Concat", *each, axis=0) for each in zip(*parts, strict=True)]
    kept = graph("Slice", graph.suppress(*whole), [0], [25], [0])
    results = [graph("Gather", each, kept) for each in whole]
    results[2] = graph("Cast", results[2], to=FLOAT)
    nothing = {**inputs, "scores": inputs["scores"] + np.array([9, 0, 0, 0], np.float32)}
    compare(graph.model(inputs, *results), inputs, nothing)


def test_retinanet() -> None:
    """Two levels: the best of the flattened scores; box and class are quotient and remainder of the position."""
    random, graph, parts, inputs = np.random.default_rng(2), Graph(), [], {}
    for level, count in enumerate((48, 12)):
        inputs[f"logits{level}"] = random.standard_normal((count, 3)).astype(np.float32)
        inputs[f"boxes{level}"] = make_boxes(random, count)
        scores = graph("Sigmoid", graph("Reshape", f"logits{level}", [-1]))
        above = graph.where(graph("Greater", scores, 0.0))
        found, order = graph.best(graph("Gather", scores, above), 40)
        positions = graph("Gather", above, order)
        rows, labels = graph("Div", positions, 3), graph("Mod", positions, 3)
        parts.append((graph("Gather", f"boxes{level}", rows), found, labels))
    whole = [graph("Concat", *each, axis=0) for each in zip(*parts, strict=True)]
    kept = graph("Slice", graph.suppress(*whole), [0], [30], [0])
    results = [graph("Gather", each, kept) for each in whole]
    results[2] = graph("Cast", results[2], to=FLOAT)
    compare(graph.model(inputs, *results), inputs)


@pytest.mark.parametrize("layout", ["half_pixel", "output_half_pixel"])
def test_faster_rcnn(layout: str) -> None:
    """Regions are aligned on the level of their size, scattered back, and classified. One level may have none."""
    random, graph = np.random.default_rng(3), Graph()
    inputs = {
        "fine": random.standard_normal((1, 5, 32, 32)).astype(np.float32),
        "coarse": random.standard_normal((1, 5, 8, 8)).astype(np.float32),
        "boxes": make_boxes(random, 25, 90),
        "scores": random.random(25).astype(np.float32),
    }
    labels = graph("ConstantOfShape", graph("Shape", "scores"), value=numpy_helper.from_array(np.array([0])))
    kept = graph("Slice", graph.suppress("boxes", "scores", labels), [0], [20], [0])
    rois = graph("Gather", "boxes", kept)
    corners = graph("Split", rois, [2, 2], axis=1, outputs=2)
    area = graph("ReduceProd", graph("Sub", *corners[::-1]), axes=[1], keepdims=0)
    level = graph("Clip", graph("Floor", graph("Div", graph("Log", graph("Sqrt", area)), 3.0)), 0.0, 1.0)
    count = graph("Unsqueeze", graph("Gather", graph("Shape", rois), 0), [0])
    pooled = graph("ConstantOfShape", graph("Concat", count, [5], [3], [3], axis=0))
    for i, (name, scale) in enumerate((("fine", 0.25), ("coarse", 0.0625))):
        rows = graph.where(graph("Equal", level, float(i)))
        batch = graph("Cast", graph("Mul", graph("Gather", area, rows), 0.0), to=INT64)
        aligned = graph(
            "RoiAlign",
            name,
            graph("Gather", rois, rows),
            batch,
            output_height=3,
            output_width=3,
            sampling_ratio=2,
            spatial_scale=scale,
        )
        graph.nodes[-1].attribute.append(helper.make_attribute("coordinate_transformation_mode", layout))
        index = graph("Expand", graph("Reshape", rows, [-1, 1, 1, 1]), graph("Shape", aligned))
        pooled = graph("ScatterElements", pooled, index, aligned, axis=0)
    weights = random.standard_normal((7, 45)).astype(np.float32)
    logits = graph("Gemm", graph("Flatten", pooled), weights, np.zeros(7, np.float32), transB=1)
    small = {**inputs, "boxes": inputs["boxes"] / 50}
    compare(graph.model(inputs, rois, graph("Softmax", logits, axis=1)), inputs, small)


def test_yolo_with_suppression() -> None:
    """The chosen rows are padded to a fixed number of detections."""
    random, graph = np.random.default_rng(4), Graph()
    inputs = {"boxes": make_boxes(random, 80), "scores": random.random((80, 3)).astype(np.float32)}
    best = graph("ReduceMax", "scores", axes=[1], keepdims=0)
    rows = graph.where(graph("Greater", best, 0.5))
    boxes, scores = graph("Gather", "boxes", rows), graph("Gather", best, rows)
    labels = graph("Gather", graph("ArgMax", "scores", axis=1, keepdims=0), rows)
    kept = graph("Slice", graph.suppress(boxes, scores, labels), [0], [30], [0])
    columns = [graph("Unsqueeze", each, [1]) for each in (scores, graph("Cast", labels, to=FLOAT))]
    found = graph("Gather", graph("Concat", boxes, *columns, axis=1), kept)
    missing = graph("Sub", [30], graph("Unsqueeze", graph("Gather", graph("Shape", found), 0), [0]))
    padded = graph("Pad", found, graph("Concat", [0, 0], missing, [0], axis=0), 0.0)
    nothing = {**inputs, "scores": inputs["scores"] * 0}
    compare(graph.model(inputs, padded), inputs, nothing)


def test_rt_detr() -> None:
    """The best of all scores; boxes by GatherElements."""
    random, graph = np.random.default_rng(5), Graph()
    inputs = {
        "logits": random.standard_normal((1, 50, 4)).astype(np.float32),
        "boxes": random.random((1, 50, 4)).astype(np.float32),
    }
    scores, positions = graph("TopK", graph("Flatten", graph("Sigmoid", "logits")), [30], outputs=2)
    labels, rows = graph("Cast", graph("Mod", positions, 4), to=FLOAT), graph("Div", positions, 4)
    index = graph("Tile", graph("Unsqueeze", rows, [2]), [1, 1, 4])
    boxes = graph("GatherElements", "boxes", index, axis=1)
    compare(graph.model(inputs, scores, labels, boxes), inputs)


def test_a_loop_of_a_computed_number_of_steps_keeps_its_scan_outputs() -> None:
    """One step for each chosen row, as for the masks of Mask R-CNN."""
    random, graph, body = np.random.default_rng(6), Graph(), Graph("body")
    inputs = {"masks": random.random((6, 3, 3)).astype(np.float32), "scores": random.random(6).astype(np.float32)}
    taken = graph.where(graph("Greater", "scores", 0.4))
    row = body("Gather", taken, "step")
    mask, going = body("Mul", body("Gather", "masks", row), 2.0), body("Identity", "on")
    total = body("Add", "sum", body("ReduceSum", mask, keepdims=0))
    infos = [("step", INT64, ()), ("on", 9, ()), ("sum", FLOAT, ())]
    outputs = [(going, 9), (total, FLOAT), (mask, FLOAT), (row, INT64)]
    loop = helper.make_graph(
        body.nodes,
        "body",
        [helper.make_tensor_value_info(*each) for each in infos],
        [helper.make_tensor_value_info(*each, None) for each in outputs],
        body.constants,
    )
    count = graph("Squeeze", graph("Shape", taken), [0])
    total, masks, chosen = graph("Loop", count, "", 0.0, outputs=3, body=loop)
    total, chosen = graph("Unsqueeze", total, [0]), graph("Cast", chosen, to=FLOAT)
    model = nnapi.load(graph.model(inputs, total, masks, chosen).SerializeToString())
    for device in (["nnapi-reference"], None):
        compiled = nnapi.compile(model, device)
        for scores in (inputs["scores"], inputs["scores"] * 0):
            rows = np.flatnonzero(scores > 0.4)
            doubled = 2 * inputs["masks"][rows]
            found = compiled.run(inputs["masks"], scores)
            for ours, expected in zip(found, (doubled.sum(keepdims=True).reshape(1), doubled, rows), strict=True):
                assert ours.shape == expected.shape
                np.testing.assert_allclose(ours, expected, 1e-5)
