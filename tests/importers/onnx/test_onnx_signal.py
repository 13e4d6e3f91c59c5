"""DFT, STFT and a speech front end, beside ONNX's reference and NumPy."""

from typing import Any

import numpy as np
import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

import nnapi  # noqa: E402
from nnapi.errors import BadDataError  # noqa: E402

RNG = np.random.default_rng(11)
node = helper.make_node


def made(nodes: list[Any], inputs: dict[str, Any], opset: int = 20, **constants: Any) -> Any:
    """A file whose output is ``y``. A dimension may be a name."""
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(dtype), shape)
        for name, (dtype, shape) in inputs.items()
    ]
    tensors = [numpy_helper.from_array(np.asarray(array), name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "signal", infos, [helper.make_tensor_value_info("y", 1, None)], tensors)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def evaluate(proto: Any, inputs: dict[str, Any]) -> Any:
    (found,) = ReferenceEvaluator(proto).run(None, inputs)
    return found


def compare(proto: Any, *arrays: Any, operations: str = "", within: float = 2e-6) -> None:
    names = [info.name for info in proto.graph.input]
    expected = evaluate(proto, dict(zip(names, arrays, strict=True)))
    model = nnapi.load(proto.SerializeToString())
    assert not operations or " ".join(call.name for call in model.operations) == operations
    for device in (["nnapi-reference"], None):
        found = nnapi.compile(model, device).run(*arrays)[0]
        assert found.shape == expected.shape
        np.testing.assert_allclose(found, expected, 0, within * max(1, np.abs(expected).max()))


FLOAT = np.dtype(np.float32)


@pytest.mark.parametrize("options", [{}, {"inverse": 1}, {"onesided": 1}])
@pytest.mark.parametrize("axis", [1, -2])
def test_transforms(axis: int, options: Any) -> None:
    x = RNG.normal(size=(2, 6, 5, 1)).astype(np.float32)
    given = {"x": (FLOAT, x.shape)}
    compare(made([node("DFT", ["x", "", "axis"], ["y"], **options)], given, axis=axis), x, operations="DFT")
    compare(made([node("DFT", ["x", "n"], ["y"], axis=axis, **options)], given, 17, n=8), x, operations="DFT")


def test_transforms_of_rank_5() -> None:
    x = RNG.normal(size=(12, 10)).astype(np.float32)
    nodes = [
        node("Reshape", ["x", "five"], ["t"]),
        node("DFT", ["t", "", "axis"], ["f"]),
        node("Reshape", ["f", "two"], ["y"]),
    ]
    compare(made(nodes, {"x": (FLOAT, x.shape)}, axis=2, five=[1, 3, 4, 5, 2], two=[12, 10]), x)


def test_lengths_that_are_computed_are_refused() -> None:
    proto = made([node("DFT", ["x", "n"], ["y"])], {"x": (FLOAT, (1, 8, 1)), "n": (np.dtype(np.int64), ())})
    with pytest.raises(BadDataError, match="n is computed, NNAPI needs a constant"):
        nnapi.load(proto.SerializeToString())


WINDOW = np.hanning(16).astype(np.float32)
CONVOLVED = "RESHAPE CONV_2D RESHAPE"


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("onesided", [0, 1])
def test_frames_are_one_convolution(onesided: int, parts: int) -> None:
    if onesided and parts == 2:
        pytest.skip("ONNX has no half of complex signals")
    x = RNG.normal(size=(2, 100, parts)).astype(np.float32)
    given = {"x": (FLOAT, x.shape)}
    stft = node("STFT", ["x", "step", "window"], ["y"], onesided=onesided)
    compare(made([stft], given, step=7, window=WINDOW), x, operations=CONVOLVED)
    stft = node("STFT", ["x", "step", "", "length"], ["y"], onesided=onesided)
    compare(made([stft], given, step=5, length=10), x, operations=CONVOLVED)


def test_computed_windows_multiply_the_frames() -> None:
    x = RNG.normal(size=(2, 60, 1)).astype(np.float32)
    stft = node("STFT", ["x", "step", "w"], ["y"])
    proto = made([stft], {"x": (FLOAT, x.shape), "w": (FLOAT, (16,))}, step=7)
    compare(proto, x, WINDOW, operations="RESHAPE GATHER RESHAPE MUL DFT")


@pytest.mark.parametrize(
    ("shape", "constants", "reason"),
    [
        ((1, 60, 1), {"step": 0, "window": WINDOW}, "its step or its frame is not above 0"),
        ((1, 60), {"step": 4, "window": WINDOW}, "its signal is of rank 2, must be 3"),
        ((1, 60, 1), {"step": 4, "window": WINDOW, "length": 8}, "its window has not the 8 elements of a frame"),
    ],
)
def test_other_frames_are_refused(shape: Any, constants: Any, reason: str) -> None:
    proto = made([node("STFT", ["x", *constants], ["y"])], {"x": (FLOAT, shape)}, **constants)
    with pytest.raises(BadDataError, match=reason):
        nnapi.load(proto.SerializeToString())


def front_end(samples: int | str) -> Any:
    """The logarithm of a mel spectrogram, as torchaudio computes it and PyTorch exports it: centered frames."""
    mel = np.maximum(RNG.normal(size=(101, 40)), 0).astype(np.float32)
    nodes = [
        node("Unsqueeze", ["wave", "one"], ["channel"]),
        node("Pad", ["channel", "pads"], ["padded"], mode="reflect"),
        node("Squeeze", ["padded", "one"], ["mono"]),
        node("Unsqueeze", ["mono", "last"], ["signal"]),
        node("HannWindow", ["length"], ["window"]),
        node("STFT", ["signal", "hop", "window"], ["frames"]),
        node("Mul", ["frames", "frames"], ["squares"]),
        node("ReduceSum", ["squares", "last"], ["power"], keepdims=0),
        node("MatMul", ["power", "mel"], ["bands"]),
        node("Clip", ["bands", "floor"], ["clipped"]),
        node("Log", ["clipped"], ["logarithm"]),
        node("Transpose", ["logarithm"], ["y"], perm=[0, 2, 1]),
    ]
    constants: dict[str, Any] = {
        "one": [1],
        "last": [-1],
        "pads": [0, 0, 100, 0, 0, 100],
        "length": 200,
        "hop": 80,
        "mel": mel,
    }
    return made(nodes, {"wave": (FLOAT, (1, samples))}, floor=np.float32(1e-6), **constants)


def test_a_speech_front_end() -> None:
    wave = np.sin(np.arange(1600) / 9).astype(np.float32) + RNG.normal(size=1600).astype(np.float32) / 9
    compare(front_end(1600), wave[np.newaxis], within=1e-5)


def test_a_speech_front_end_for_any_number_of_samples() -> None:
    proto = front_end("samples")
    compiled = nnapi.compile(nnapi.load(proto.SerializeToString()))
    for count in (800, 1600, 960):
        wave = RNG.normal(size=(1, count)).astype(np.float32)
        expected = evaluate(proto, {"wave": wave})
        np.testing.assert_allclose(compiled.run(wave)[0], expected, 0, 1e-4)
