"""Files whose operations depend on dynamic dimensions, and random sizes for their inputs."""

from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import TensorProto, helper, numpy_helper

FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
Shapes = dict[str, tuple[int, ...]]


def node(kind: str, inputs: str, outputs: str, **attributes: Any) -> Any:
    return helper.make_node(kind, inputs.split(), outputs.split(), **attributes)


def make(nodes: list[Any], inputs: dict[str, Any], constants: dict[str, Any]) -> bytes:
    """Return a file that reads float inputs, or int64 where the name begins with ``ids`` or ``mask``."""
    ends = [
        helper.make_tensor_value_info(name, INT64 if name.startswith(("ids", "mask")) else FLOAT, shape)
        for name, shape in inputs.items()
    ]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "g", ends, [helper.make_tensor_value_info("y", FLOAT, None)], tensors)
    proto = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    content: bytes = proto.SerializeToString()
    return content


def weights(*shape: int) -> Any:
    return np.random.default_rng(0).normal(size=shape).astype(np.float32)


def make_heads() -> bytes:
    """Rows split into three times two heads: a transpose of rank 5."""
    nodes = [
        node("MatMul", "x w", "q"),
        node("Shape", "x", "s", start=0, end=2),
        node("Concat", "s tail", "wanted", axis=0),
        node("Reshape", "q wanted", "h"),
        node("Transpose", "h", "t", perm=[2, 0, 3, 1, 4]),
        node("Gather", "t zero", "y", axis=0),
    ]
    values = {"w": weights(8, 24), "tail": np.array([3, 2, 4]), "zero": np.array(0)}
    return make(nodes, {"x": ["batch", "length", 8]}, values)


def list_causal_nodes() -> list[Any]:
    """Return nodes that compute the rows of tokens and the causal mask from the lengths of the past and of the ids."""
    return [
        node("Shape", "past", "p", start=2, end=3),
        node("Shape", "ids", "l", start=1, end=2),
        node("Add", "p l", "total"),
        node("Squeeze", "p", "begin"),
        node("Squeeze", "total", "end"),
        node("Range", "begin end one", "rows"),
        node("Range", "zero end one", "columns"),
        node("Unsqueeze", "rows last", "row"),
        node("LessOrEqual", "columns row", "causal"),
    ]


def make_positions() -> bytes:
    """A decoder's step: positions follow from the length of the past, and the causal mask from both lengths."""
    nodes = [
        *list_causal_nodes(),
        node("Where", "causal nothing large", "bias"),
        node("Gather", "table ids", "e"),
        node("Gather", "places rows", "a"),
        node("Add", "e a", "x"),
        node("MatMul", "x k", "keys"),
        node("Unsqueeze", "keys head", "key"),
        node("Concat", "past key", "all", axis=2),
        node("Transpose", "all", "transposed", perm=[0, 1, 3, 2]),
        node("Unsqueeze", "x head", "queries"),
        node("MatMul", "queries transposed", "scores"),
        node("Add", "scores bias", "masked"),
        node("Softmax", "masked", "shares", axis=-1),
        node("MatMul", "shares all", "y"),
    ]
    values = {
        "one": np.array(1),
        "zero": np.array(0),
        "last": np.array([1]),
        "head": np.array([1]),
        "nothing": np.float32(0),
        "large": np.float32(-1e9),
        "table": weights(30, 8),
        "places": weights(64, 8),
        "k": weights(8, 8),
    }
    return make(nodes, {"ids": ["batch", "length"], "past": ["batch", 1, "past", 8]}, values)


def make_masked() -> bytes:
    """A decoder's mask as transformers export it: flattened, indexed by the positions of all tokens, and selected with
    the causal mask; the keys are turned by angles that depend on positions."""
    nodes = [
        *list_causal_nodes(),
        node("Reshape", "columns wide", "indices"),
        node("Cast", "mask", "bits", to=TensorProto.BOOL),
        node("Flatten", "bits", "flat", axis=0),
        node("Gather", "flat indices", "kept", axis=1),
        node("Squeeze", "kept first", "seen"),
        node("And", "causal seen", "visible"),
        node("Where", "visible nothing large", "bias"),
        node("Cast", "row", "places", to=FLOAT),
        node("MatMul", "places frequencies", "angles"),
        node("Cos", "angles", "cosine"),
        node("Gather", "table ids", "x"),
        node("Mul", "x cosine", "turned"),
        node("Reshape", "turned heads", "split"),
        node("Transpose", "split", "key", perm=[0, 2, 1, 3]),
        node("Concat", "past key", "all", axis=2),
        node("Transpose", "all", "transposed", perm=[0, 1, 3, 2]),
        node("MatMul", "key transposed", "scores"),
        node("Add", "scores bias", "masked"),
        node("Softmax", "masked", "shares", axis=-1),
        node("MatMul", "shares all", "y"),
    ]
    values = {
        "one": np.array(1),
        "zero": np.array(0),
        "first": np.array([0, 1]),
        "last": np.array([1]),
        "wide": np.array([1, 1, 1, -1]),
        "heads": np.array([1, -1, 2, 4]),
        "nothing": np.float32(0),
        "large": np.float32(-1e9),
        "table": weights(30, 8),
        "frequencies": weights(1, 8),
    }
    inputs = {"ids": [1, "length"], "mask": [1, "total"], "past": [1, 2, "past", 4]}
    return make(nodes, inputs, values)


def make_speech() -> bytes:
    """Letters and their frames, as networks of speech align them: a path from cumulated durations, and relative
    positions from a table that is padded to the length."""
    nodes = [
        node("Gather", "table ids", "x"),
        node("Transpose", "x", "t", perm=[0, 2, 1]),
        node("Slice", "t last lowest second last", "flipped", steps=[-1]),
        node("Shape", "ids", "n", start=1, end=2),
        node("Squeeze", "n", "length"),
        node("Mul", "n two", "doubled"),
        node("Squeeze", "doubled", "most"),
        node("Range", "zero most one", "frames"),
        node("ConstantOfShape", "n", "durations", value=numpy_helper.from_array(np.array([2], np.int64))),
        node("CumSum", "durations zero", "ends"),
        node("Unsqueeze", "ends second", "end"),
        node("Less", "frames end", "before"),
        node("Cast", "before", "valid", to=FLOAT),
        node("Pad", "valid shift", "shifted"),
        node("Slice", "shifted first last first", "previous"),
        node("Sub", "valid previous", "path"),
        node("MatMul", "flipped path", "spread"),
        node("Sub", "n second", "more"),
        node("Concat", "more more first first", "pads", axis=0),
        node("Reshape", "pads wide", "pairs"),
        node("Transpose", "pairs", "turned", perm=[1, 0]),
        node("Reshape", "turned flat", "around"),
        node("Pad", "relative around", "positions"),
        node("Slice", "positions first n first", "own"),
        node("MatMul", "own spread", "scores"),
        node("ConvTranspose", "spread up", "sound", strides=[2]),
        node("ReduceMean", "scores", "mean", keepdims=0),
        node("Add", "sound mean", "y"),
    ]
    values = {
        "zero": np.array(0),
        "one": np.array(1),
        "two": np.array([2]),
        "first": np.array([0]),
        "second": np.array([1]),
        "last": np.array([-1]),
        "lowest": np.array([-(2**31)]),
        "shift": np.array([1, 0, 0, 0]),
        "wide": np.array([2, 2]),
        "flat": np.array([-1]),
        "table": weights(30, 8),
        "relative": weights(3, 8),
        "up": weights(8, 4, 4),
    }
    return make(nodes, {"ids": [1, "length"]}, values)


def make_durations() -> bytes:
    """Frames of letters whose durations follow from data, as is the number of letters: a view of both has a size of the
    input, and one that the engine computes."""
    nodes = [
        node("Gather", "table ids", "x"),
        node("ReduceMean", "x", "mean", axes=[0, 2], keepdims=0),
        node("Abs", "mean", "high"),
        node("Ceil", "high", "durations"),
        node("CumSum", "durations zero", "sums"),
        node("ReduceSum", "durations", "sum", keepdims=0),
        node("Cast", "sum", "total", to=INT64),
        node("Range", "zero total one", "counted"),
        node("Cast", "counted", "frames", to=FLOAT),
        node("NonZero", "durations", "letters"),
        node("Gather", "sums letters", "ends"),
        node("Unsqueeze", "frames last", "rows"),
        node("Less", "rows ends", "before"),
        node("Cast", "before", "valid", to=FLOAT),
        node("Shape", "ids", "n", start=1, end=2),
        node("Concat", "single rest n", "wanted", axis=0),
        node("Reshape", "valid wanted", "path"),
        node("MatMul", "path x", "y"),
    ]
    values = {
        "zero": np.array(0),
        "one": np.array(1),
        "single": np.array([1]),
        "last": np.array([1]),
        "rest": np.array([-1]),
        "table": 3 * weights(30, 8),
    }
    return make(nodes, {"ids": [1, "length"]}, values)


def make_words() -> bytes:
    """Words with types, taken at their positions from a buffer, and shares that fall with the distance."""
    nodes = [
        node("Gather", "table ids", "e"),
        node("Shape", "ids", "s"),
        node("Gather", "s second", "n"),
        node("Gather", "s zero", "batch"),
        node("Concat", "batch width", "wide", axis=0),
        node("Slice", "places zero n second", "own"),
        node("Expand", "own s", "positions"),
        node("Expand", "types wide", "all"),
        node("GatherElements", "all positions", "kinds", axis=1),
        node("Gather", "table kinds", "t"),
        node("Cast", "own", "at", to=FLOAT),
        node("ReduceMax", "at", "most", axes=[1]),
        node("ReduceMean", "at", "mean", axes=[1], keepdims=0),
        node("Sub", "most at", "distances"),
        node("Softmax", "distances", "shares", axis=-1),
        node("Unsqueeze", "shares last", "column"),
        node("Add", "e t", "a"),
        node("Mul", "a column", "b"),
        node("Add", "b mean", "y"),
    ]
    values = {
        "zero": np.array([0]),
        "second": np.array([1]),
        "last": np.array([2]),
        "width": np.array([64]),
        "table": weights(30, 8),
        "places": np.arange(64)[None],
        "types": np.arange(64)[None] // 7,
    }
    return make(nodes, {"ids": ["batch", "length"]}, values)


def make_filled() -> bytes:
    """Constants of computed shapes: filled, expanded, sliced, tiled, and divided sizes."""
    nodes = [
        node("Shape", "x", "s"),
        node("ConstantOfShape", "s", "ones", value=numpy_helper.from_array(np.array([2], np.float32))),
        node("Gather", "s second", "n"),
        node("Div", "n two", "half"),
        node("Unsqueeze", "half first", "halves"),
        node("Slice", "table first halves first", "cut"),
        node("Tile", "single s", "tiled"),
        node("Expand", "tiled s", "wide"),
        node("Mul", "x ones", "a"),
        node("Add", "a wide", "b"),
        node("ReduceSum", "cut", "c", keepdims=0),
        node("Add", "b c", "y"),
    ]
    values = {
        "first": np.array([0]),
        "second": np.array(1),
        "two": np.array(2),
        "table": weights(64),
        "single": weights(1, 1),
    }
    return make(nodes, {"x": ["rows", "columns"]}, values)


def make_images() -> bytes:
    """Images of any size: strided windows, and a view of all pixels."""
    nodes = [
        node("Conv", "x w", "c", strides=[2, 2], pads=[1, 1, 1, 1]),
        node("Relu", "c", "r"),
        node("Shape", "r", "s", start=0, end=2),
        node("Concat", "s rest", "wanted", axis=0),
        node("Reshape", "r wanted", "v"),
        node("ReduceMean", "v", "y", axes=[2]),
    ]
    return make(nodes, {"x": ["n", 3, "h", "w"]}, {"w": weights(4, 3, 3, 3), "rest": np.array([-1])})


def make_ranked() -> bytes:
    """A detector's steps for each image of a batch: an axis that grows, a slice of nothing, elements at computed
    indices, and a write to the first image."""
    nodes = [
        node("Resize", "x none scales", "r", mode="nearest", nearest_mode="floor"),
        node("Slice", "r far far last", "nothing"),
        node("Concat", "r nothing", "all", axis=3),
        node("Flatten", "all", "flat"),
        node("TopK", "flat five", "best at"),
        node("Div", "at two", "halves"),
        node("GatherElements", "flat halves", "taken", axis=1),
        node("ScatterND", "taken first update", "written"),
        node("Gather", "x zero", "image", axis=0),
        node("ReduceMean", "image", "mean", keepdims=0),
        node("Mul", "written mean", "y"),
    ]
    values = {
        "none": np.zeros(0, np.float32),
        "scales": np.array([1, 1, 2, 2], np.float32),
        "far": np.array([12]),
        "last": np.array([3]),
        "five": np.array([5]),
        "two": np.array(2),
        "first": np.array([[0]]),
        "update": weights(1, 5),
        "zero": np.array(0),
    }
    return make(nodes, {"x": ["batch", 2, 6, 6]}, values)


def make_squashed() -> bytes:
    """A function of ONNX that depends on the types of its inputs, and a constant of computed shape."""
    nodes = [
        node("Softsign", "x", "a"),
        node("Shape", "a", "s"),
        node("ConstantOfShape", "s", "ones", value=numpy_helper.from_array(np.array([2], np.float32))),
        node("Add", "a ones", "y"),
    ]
    return make(nodes, {"x": ["batch", 2, 6, 6]}, {})


def make_doubled_ids() -> bytes:
    """Rows of a table at computed indices, and a constant of computed shape."""
    nodes = [
        node("Add", "ids ids", "doubled"),
        node("Gather", "table doubled", "e"),
        node("Shape", "ids", "s"),
        node("ConstantOfShape", "s", "ones", value=numpy_helper.from_array(np.array([2], np.float32))),
        node("Unsqueeze", "ones last", "column"),
        node("Mul", "e column", "y"),
    ]
    return make(nodes, {"ids": ["batch"]}, {"table": weights(30, 8), "last": np.array([1])})


def choose_heads(rng: Any) -> Shapes:
    return {"x": (int(rng.integers(2, 6)), int(rng.integers(9, 30)), 8)}


def choose_step(rng: Any) -> Shapes:
    """Choose one token behind a past of several."""
    return {"ids": (1, 1), "past": (1, 1, int(rng.integers(2, 40)), 8)}


def choose_prompt(rng: Any) -> Shapes:
    batch, length = int(rng.integers(2, 5)), int(rng.integers(9, 20))
    return {"ids": (batch, length), "past": (batch, 1, int(rng.integers(20, 40)), 8)}


def choose_masked(rng: Any) -> Shapes:
    """Choose several tokens behind a past, which the mask covers too."""
    length, past = int(rng.integers(5, 9)), int(rng.integers(10, 40))
    return {"ids": (1, length), "mask": (1, past + length), "past": (1, 2, past, 4)}


def choose_speech(rng: Any) -> Shapes:
    return {"ids": (1, int(rng.integers(9, 40)))}


def choose_words(rng: Any, name: str = "ids") -> Shapes:
    return {name: (int(rng.integers(2, 6)), int(rng.integers(9, 40)))}


def choose_batch(rng: Any) -> Shapes:
    return {"x": (int(rng.integers(2, 40)), 2, 6, 6)}


def choose_image(rng: Any) -> Shapes:
    return {"x": (int(rng.integers(2, 5)), 3, int(rng.integers(8, 40)), int(rng.integers(8, 40)))}


CASES: dict[str, tuple[Any, Any]] = {
    "heads": (make_heads, choose_heads),
    "step": (make_positions, choose_step),
    "prompt": (make_positions, choose_prompt),
    "masked": (make_masked, choose_masked),
    "speech": (make_speech, choose_speech),
    "durations": (make_durations, choose_speech),
    "words": (make_words, choose_words),
    "filled": (make_filled, lambda rng: choose_words(rng, "x")),
    "images": (make_images, choose_image),
    "ranked": (make_ranked, choose_batch),
    "squashed": (make_squashed, choose_batch),
}
