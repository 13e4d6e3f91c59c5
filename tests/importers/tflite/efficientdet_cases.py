"""Files with the layout of EfficientDet-Lite and random weights: backbone, fusion of levels, heads, and suppression."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flatbuffers import flexbuffers

from tests.tflite_writer import Graph, T, const, f32, i32, write

RELU6 = 3
ANCHORS = 9
MOST = 25
POST_PROCESS = "TFLite_Detection_PostProcess"
CONV_2D, DEPTHWISE_CONV_2D = "Conv2DOptions", "DepthwiseConv2DOptions"


@dataclass
class EfficientDet:
    """A file for pictures [1, size, size, 3], whose results are boxes, classes, scores and count.

    ``ending`` is TFLite_Detection_PostProcess, or NON_MAX_SUPPRESSION_V4 or V5 after the operators that decode boxes.
    EfficientDet's scores have no background.
    """

    ending: str
    classes: int = 5
    has_background: bool = False
    size: int = 64
    width: int = 8
    cells: int = 2
    levels: int = 3
    graph: Graph = field(default_factory=Graph)
    random: np.random.Generator = field(default_factory=lambda: np.random.default_rng(6))

    def content(self) -> bytes:
        picture = f32(1, self.size, self.size, 3)
        features = self.backbone(picture)
        for _ in range(self.cells):
            features = self.fuse(features)
        logits = self.head(features, self.classes + self.has_background)
        scores = self.apply("LOGISTIC", [logits], logits.shape)
        end = self.post_process if self.ending == POST_PROCESS else self.suppress
        results = end(self.head(features, 4), scores, self.anchors(features))
        return write(self.graph.between([picture], results))

    def backbone(self, x: T) -> list[T]:
        """Halve the picture; the levels begin at a stride of 8."""
        found = []
        for _ in range(2 + self.levels):
            x = self.separate(self.convolve(x, self.draw(self.width, 3, 3, x.shape[3]), stride=2, activation=RELU6))
            found.append(x)
        return found[2:]

    def fuse(self, features: Sequence[T]) -> list[T]:
        """Add to each level its neighbors, first from coarse to fine, then from fine to coarse."""
        down = [features[-1]]
        for fine in reversed(features[:-1]):
            sized = [down[0], const(fine.shape[1:3])]
            larger = self.apply("RESIZE_NEAREST_NEIGHBOR", sized, fine.shape, "ResizeNearestNeighborOptions")
            down.insert(0, self.separate(self.binary("ADD", fine, larger)))
        up = [down[0]]
        window = {"StrideW": 2, "StrideH": 2, "FilterWidth": 3, "FilterHeight": 3}
        for feature, coarse in zip(features[1:], down[1:], strict=True):
            smaller = self.apply("MAX_POOL_2D", [up[-1]], coarse.shape, "Pool2DOptions", **window)
            up.append(self.separate(self.binary("ADD", self.binary("ADD", feature, coarse), smaller)))
        return up

    def head(self, features: Sequence[T], columns: int) -> T:
        """Apply the same layers to all levels; return [1, anchors, columns]."""
        weights = self.draw(1, 3, 3, self.width), self.draw(ANCHORS * columns, 1, 1, self.width, gain=0.3)
        rows = [self.reshape(self.separate(each, *weights, activation=0), 1, -1, columns) for each in features]
        return self.join(rows, 1)

    def post_process(self, deltas: T, scores: T, anchors: T) -> list[T]:
        options = {
            "max_detections": MOST,
            "max_classes_per_detection": 1,
            "num_classes": self.classes,
            "nms_score_threshold": 0.0,
            "nms_iou_threshold": 0.5,
            **{f"{side}_scale": 1.0 for side in "yxhw"},
        }
        results = [f32(1, MOST, 4), f32(1, MOST), f32(1, MOST), f32(1)]
        custom = bytes(flexbuffers.Dumps(options))
        self.graph.operator(f"CUSTOM:{POST_PROCESS}", [deltas, scores, anchors], results, custom=custom)
        return results

    def suppress(self, deltas: T, scores: T, anchors: T) -> list[T]:
        """Suppress boxes with the best class of each."""
        count = scores.shape[1]
        boxes = self.decode(deltas, anchors)
        best = self.reshape(self.apply("REDUCE_MAX", [scores, const([2])], (1, count), "ReducerOptions"), count)
        labels = i32(1, count)
        self.graph.operator("ARG_MAX", [scores, const([2])], [labels], "ArgMaxOptions", OutputType=2)
        is_soft = self.ending.endswith("V5")
        limits = [const(MOST), *(const(number, "FLOAT32") for number in ((0.5, 0.0, 0.0) if is_soft else (0.5, 0.0)))]
        indices, kept, number = i32(MOST), f32(MOST), i32()
        self.graph.operator(self.ending, [boxes, best, *limits], [indices, *([kept] if is_soft else []), number])
        if not is_soft:
            kept = self.apply("GATHER", [best, indices], (MOST,), "GatherOptions")
        classes = i32(MOST)
        self.graph.operator("GATHER", [self.reshape(labels, count), indices], [classes], "GatherOptions")
        return [self.apply("GATHER", [boxes, indices], (MOST, 4), "GatherOptions"), classes, kept, number]

    def decode(self, deltas: T, anchors: T) -> T:
        """Return boxes [count, 4] as top, left, bottom, right; anchors are centers and sizes."""
        count = deltas.shape[1]
        bounds = [([0, 0, 2 * i], [1, count, 2]) for i in range(2)]
        shift, size = (self.apply("SLICE", [deltas, *map(const, each)], (1, count, 2)) for each in bounds)
        center, span = (const(each[None], "FLOAT32") for each in np.split(anchors.array, 2, 1))
        middle = self.binary("ADD", self.binary("MUL", shift, span), center)
        grown = self.binary("MUL", self.apply("EXP", [size], size.shape), span)
        half = self.binary("MUL", grown, const(np.full((1, 1, 1), 0.5), "FLOAT32"))
        corners = self.join([self.binary("SUB", middle, half), self.binary("ADD", middle, half)], 2)
        return self.reshape(corners, count, 4)

    def anchors(self, features: Sequence[T]) -> T:
        """Return centers and sizes relative to the picture: three sizes and three aspects at each position."""
        parts = []
        for feature in features:
            side = feature.shape[1]
            aspects, scales = np.meshgrid([0.5, 1, 2], 3 / side * 2.0 ** (np.arange(3) / 3))
            sizes = np.stack([scales * np.sqrt(aspects), scales / np.sqrt(aspects)], -1).reshape(1, 1, ANCHORS, 2)
            centers = np.stack(np.meshgrid(*[(np.arange(side) + 0.5) / side] * 2, indexing="ij"), -1)[:, :, None]
            pairs = [np.broadcast_to(each, (side, side, ANCHORS, 2)) for each in (centers, sizes)]
            parts.append(np.concatenate(pairs, -1).reshape(-1, 4))
        return const(np.concatenate(parts), "FLOAT32")

    def separate(self, x: T, depthwise: T | None = None, pointwise: T | None = None, activation: int = RELU6) -> T:
        """Apply a depthwise convolution of 3x3, then one of 1x1."""
        filter, zeros = depthwise or self.draw(1, 3, 3, self.width), const(np.zeros(self.width), "FLOAT32")
        fields = {"StrideW": 1, "StrideH": 1, "DepthMultiplier": 1}
        y = self.apply("DEPTHWISE_CONV_2D", [x, filter, zeros], x.shape, DEPTHWISE_CONV_2D, **fields)
        return self.convolve(y, pointwise or self.draw(self.width, 1, 1, self.width), activation=activation)

    def convolve(self, x: T, filter: T, stride: int = 1, activation: int = 0) -> T:
        columns, side = filter.shape[0], -(-x.shape[1] // stride)
        fields = {"StrideW": stride, "StrideH": stride, "FusedActivationFunction": activation}
        bias = const(self.random.normal(size=columns), "FLOAT32")
        return self.apply("CONV_2D", [x, filter, bias], (1, side, side, columns), CONV_2D, **fields)

    def draw(self, *shape: int, gain: float = 1.0) -> T:
        """Return weights that multiply the size of values by about ``gain``."""
        fan = int(np.prod(shape[1:] if shape[0] > 1 else shape[1:3]))
        return const(self.random.normal(size=shape) * gain / np.sqrt(fan), "FLOAT32")

    def binary(self, kind: str, x: T, y: T) -> T:
        return self.apply(kind, [x, y], x.shape, f"{kind.title()}Options")

    def reshape(self, x: T, *shape: int) -> T:
        out = T(x.type, np.empty(x.shape, np.bool_).reshape(shape).shape)
        self.graph.operator("RESHAPE", [x, const(out.shape)], [out], "ReshapeOptions")
        return out

    def join(self, parts: Sequence[T], axis: int) -> T:
        shape = list(parts[0].shape)
        shape[axis] = sum(each.shape[axis] for each in parts)
        return self.apply("CONCATENATION", parts, shape, "ConcatenationOptions", Axis=axis)

    def apply(
        self, kind: str, inputs: Sequence[T], shape: Sequence[int], options: str | None = None, **fields: Any
    ) -> T:
        """Append an operator with one float result."""
        out = f32(*shape)
        self.graph.operator(kind, inputs, [out], options, **fields)
        return out
