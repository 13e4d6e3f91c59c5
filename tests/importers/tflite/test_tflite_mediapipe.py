"""Custom operations of MediaPipe, each against its formula written once more and plainly."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flatbuffers import flexbuffers

import nnapi
from tests.engines import DEVICES, find_device
from tests.importers.tflite.against_litert import loaded, run
from tests.tflite_writer import Graph, T, const, f32, write

RNG = np.random.default_rng(12)


def custom(kind: str, inputs: list[T], outputs: list[T], parameters: bytes) -> bytes:
    graph = Graph().operator(f"CUSTOM:{kind}", inputs, outputs, custom=parameters)
    return write(graph.between(inputs, outputs))


def windows(height: int, width: int, activation: int = 0, stride: tuple[int, int] | None = None) -> bytes:
    down, across = stride or (height, width)
    return np.array([2, across, down, width, height, activation, *[0] * 4], "<i4").tobytes()


@pytest.mark.parametrize("activation", [0, 1, 3])
@pytest.mark.parametrize("size", [(2, 2), (3, 1), (1, 2)], ids=str)
def test_maxima_and_their_places(size: tuple[int, int], activation: int, tmp_path: Path) -> None:
    (down, across), (h, w) = size, (6, 4)
    x = RNG.integers(-4, 9, (2, h, w, 3)).astype(np.float32)  # with equal ones: the first in its column counts
    outputs = [f32(2, h // down, w // across, 3) for _ in range(2)]
    content = custom("MaxPoolingWithArgmax2D", [f32(*x.shape)], outputs, windows(down, across, activation))
    largest, place = run(loaded(content, tmp_path), [x])
    cut = x.reshape(2, h // down, down, w // across, across, 3).transpose(0, 1, 3, 5, 2, 4).reshape(*largest.shape, -1)
    low, high = {0: (-9, 9), 1: (0, 9), 3: (0, 6)}[activation]
    np.testing.assert_array_equal(largest, cut.max(-1).clip(low, high))
    by_columns = cut.reshape(*largest.shape, down, across).swapaxes(-1, -2).reshape(*largest.shape, -1)
    column, row = np.divmod(by_columns.argmax(-1), down)
    np.testing.assert_allclose(place, row * across + column + 0.1, 1e-6)


def test_maxima_go_back_to_their_places(tmp_path: Path) -> None:
    x = RNG.uniform(-1, 1, (1, 3, 5, 4)).astype(np.float32)
    places = RNG.integers(0, 4, x.shape)
    content = custom("MaxUnpooling2D", [f32(*x.shape), f32(*x.shape)], [f32(1, 6, 10, 4)], windows(2, 2))
    (found,) = run(loaded(content, tmp_path), [x, (places + 0.1).astype(np.float32)])
    expected = np.zeros((1, 3, 2, 5, 2, 4), np.float32)
    for n, y, c, d in np.ndindex(x.shape):
        down, across = divmod(places[n, y, c, d], 2)
        expected[n, y, down, c, across, d] = x[n, y, c, d]
    np.testing.assert_array_equal(found, expected.reshape(found.shape))


def make_pair(height: int, width: int, size: int) -> bytes:
    """Return a file that pools an image, adds 1 to the maxima, and writes them back to where they were."""
    small = height // size, width // size
    image, written = f32(1, height, width, 4), f32(1, height, width, 4)
    largest, where, raised = f32(1, *small, 4), f32(1, *small, 4), f32(1, *small, 4)
    one = const([1], "FLOAT32")
    graph = Graph().operator("CUSTOM:MaxPoolingWithArgmax2D", [image], [largest, where], custom=windows(size, size))
    graph = graph.operator("ADD", [largest, one], [raised])
    graph = graph.operator("CUSTOM:MaxUnpooling2D", [raised, where], [written], custom=windows(size, size))
    return write(graph.between([image], [written]))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("size", [2, 3])
def test_equal_maxima_go_back_as_litert_writes_them(size: int, device: str, tmp_path: Path) -> None:
    """XNNPACK, by which LiteRT computes these operators, takes the first in a column."""
    interpreter = pytest.importorskip("ai_edge_litert.interpreter").Interpreter
    content = make_pair(6, 12, size)
    x = RNG.integers(0, 3, (1, 6, 12, 4)).astype(np.float32)
    theirs = interpreter(model_content=content)
    theirs.allocate_tensors()
    theirs.set_tensor(theirs.get_input_details()[0]["index"], x)
    theirs.invoke()
    expected = theirs.get_tensor(theirs.get_output_details()[0]["index"])
    model = loaded(content, tmp_path)
    assert [call.name for call in model.operations] == ["ARGMAX_POOL_2D", "ADD", "MAX_UNPOOL_2D"]
    compiled = nnapi.compile(model, find_device(device), cache=False)
    np.testing.assert_array_equal(compiled.run(x)[0], expected)


def test_positions_of_other_windows_are_numbered_by_rows(tmp_path: Path) -> None:
    """Positions of a pooling with windows of 1 × 4, read by an unpooling with windows of 2 × 2."""
    x = RNG.permutation(32).reshape(1, 2, 16, 1).astype(np.float32)
    image, largest, where, written = f32(1, 2, 16, 1), f32(1, 2, 4, 1), f32(1, 2, 4, 1), f32(1, 4, 8, 1)
    graph = Graph().operator("CUSTOM:MaxPoolingWithArgmax2D", [image], [largest, where], custom=windows(1, 4))
    graph = graph.operator("CUSTOM:MaxUnpooling2D", [largest, where], [written], custom=windows(2, 2))
    (found,) = run(loaded(write(graph.between([image], [written])), tmp_path), [x])
    cut = x.reshape(2, 4, 4)
    expected = np.zeros((4, 8), np.float32)
    for row, column in np.ndindex(2, 4):
        down, across = divmod(int(cut[row, column].argmax()), 2)
        expected[2 * row + down, 2 * column + across] = cut[row, column].max()
    np.testing.assert_array_equal(found.reshape(4, 8), expected)


@pytest.mark.parametrize("kind", ["MaxPoolingWithArgmax2D", "MaxUnpooling2D"])
def test_windows_that_overlap_are_refused(kind: str, tmp_path: Path) -> None:
    inputs = [f32(1, 4, 4, 1)] if kind.startswith("MaxP") else [f32(1, 4, 4, 1), f32(1, 4, 4, 1)]
    outputs = [f32(1, 2, 2, 1)] * (3 - len(inputs))
    with pytest.raises(nnapi.NnapiError, match="its windows"):
        loaded(custom(kind, inputs, outputs, windows(3, 3, stride=(1, 1))), tmp_path)
    with pytest.raises(nnapi.NnapiError, match="its parameters take 4 bytes"):
        loaded(custom(kind, inputs, outputs, bytes(4)), tmp_path)


def matrix(angle: float, scale: float, x: float, y: float) -> Any:
    found = np.eye(4, dtype=np.float32)
    found[:2, :2] = scale * np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found[:2, 3] = x, y
    return found[None]


@pytest.mark.parametrize("size", [2, 3])
def test_landmarks_are_moved(size: int, tmp_path: Path) -> None:
    points, moves = RNG.uniform(-5, 5, (1, 7, size)).astype(np.float32), matrix(0.4, 1.5, 3, -2)
    parameters = bytes(flexbuffers.Dumps({"dimensions": size}))
    content = custom("TransformLandmarks", [f32(1, 7, size), f32(1, 4, 4)], [f32(1, 7, size)], parameters)
    (found,) = run(loaded(content, tmp_path), [points, moves])
    expected = points.copy()
    expected[0, :, :2] = points[0, :, :2] @ moves[0, :2, :2].T + moves[0, :2, 3]
    np.testing.assert_allclose(found, expected, 1e-5, 1e-5)


@pytest.mark.parametrize(
    "moves", [matrix(0.3, 0.8, 2, 1), matrix(0, 1, 0, 0), matrix(-1, 2, -3, 5)], ids=["a", "b", "c"]
)
def test_images_are_moved(moves: Any, tmp_path: Path) -> None:
    image = RNG.uniform(-1, 1, (1, 6, 8, 3)).astype(np.float32)
    parameters = bytes(flexbuffers.Dumps({"output_height": 5, "output_width": 4}))
    content = custom("TransformTensorBilinear", [f32(*image.shape), f32(1, 4, 4)], [f32(1, 5, 4, 3)], parameters)
    (found,) = run(loaded(content, tmp_path), [image, moves])
    expected = np.zeros((5, 4, 3))
    for row, column in np.ndindex(5, 4):
        x, y = moves[0, :2, :2].astype(float) @ (column + 0.5, row + 0.5) + moves[0, :2, 3] - 0.5
        if 0 <= x <= 7 and 0 <= y <= 5:
            x0, y0 = int(x), int(y)
            for dy, dx in np.ndindex(2, 2):
                weight = (x - x0 if dx else 1 - x + x0) * (y - y0 if dy else 1 - y + y0)
                if weight:
                    expected[row, column] += weight * image[0, min(y0 + dy, 5), min(x0 + dx, 7)]
    np.testing.assert_allclose(found[0], expected, 1e-4, 1e-5)


def test_a_matrix_around_landmarks(tmp_path: Path) -> None:
    points = RNG.uniform(0, 50, (1, 9, 3)).astype(np.float32)
    subset, target, (h, w), (sx, sy) = [1, 4, 5, 7, 8], 0.25, (16, 24), (1.5, 1.25)
    parameters = {"subset_idxs": subset, "left_rotation_idx": 1, "right_rotation_idx": 4}
    parameters |= {
        "target_rotation_radians": target,
        "output_height": h,
        "output_width": w,
        "scale_x": sx,
        "scale_y": sy,
    }
    content = custom("Landmarks2TransformMatrix", [f32(1, 9, 3)], [f32(1, 4, 4)], bytes(flexbuffers.Dumps(parameters)))
    (found,) = run(loaded(content, tmp_path), [points])
    xy = points[0, :, :2].astype(np.float64)
    angle = target - np.arctan2(*(xy[4] - xy[1])[::-1])
    turned = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    box = xy[subset] @ turned.T
    low, high = box.min(0), box.max(0)
    expected = np.eye(4)
    expected[:2, :2] = turned.T * ((high - low) * (sx, sy) / (w, h))
    expected[:2, 3] = turned.T @ (low + high) / 2 + expected[:2, :2] @ (-w / 2, -h / 2)
    np.testing.assert_allclose(found[0], expected, 1e-4, 1e-4)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"subset_idxs": [1, 90]}, "landmarks beyond 9"),
        ({"subset_idxs": 3}, "subset_idxs is 3"),
        ({"output_width": 0}, "makes"),
    ],
)
def test_parameters_that_do_not_fit(changed: dict[str, Any], message: str, tmp_path: Path) -> None:
    parameters = {
        "subset_idxs": [1, 2],
        "left_rotation_idx": 1,
        "right_rotation_idx": 4,
        "target_rotation_radians": 0.0,
    }
    parameters |= {"output_height": 8, "output_width": 8, "scale_x": 1.0, "scale_y": 1.0, **changed}
    content = bytes(flexbuffers.Dumps(parameters))
    with pytest.raises(nnapi.NnapiError, match=message):
        loaded(custom("Landmarks2TransformMatrix", [f32(1, 9, 3)], [f32(1, 4, 4)], content), tmp_path)


def pooling(*numbers: int) -> bytes:
    """Largest of windows, whose parameters are padding, strides, sizes and activation; 24 bytes in all."""
    parameters = np.array(numbers, "<i4").tobytes()
    outputs = [f32(1, 32 // max(numbers[4], 1), 32 // max(numbers[3], 1), 1) for _ in range(2)]
    return custom("MaxPoolingWithArgmax2D", [f32(1, 32, 32, 1)], outputs, parameters)


def test_windows_of_16_and_parameters_of_24_bytes_are_read() -> None:
    model = nnapi.load(pooling(1, 16, 16, 16, 16, 2))
    x = np.zeros((1, 32, 32, 1), np.float32)
    x[0, 3, 5], x[0, 20, 17], x[0, 31, 15] = 9, 0.5, -3
    largest, place = run(model, [x])
    assert largest[0, ..., 0].tolist() == [[1, 0], [0, 0.5]]
    np.testing.assert_allclose(place[0, ..., 0], [[3 * 16 + 5.1, 0.1], [0.1, 4 * 16 + 1.1]], 1e-5)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (pooling(1, 2, 2, 2, 2), "its parameters take 20 bytes, must be at least 24"),
        (pooling(0, 2, 2, 2, 2, 0), r"its padding scheme is 0, must be 1 \(SAME\) or 2 \(VALID\)"),
        (pooling(3, 2, 2, 2, 2, 0), "its padding scheme is 3"),
        (pooling(1, 17, 2, 17, 2, 0), "its windows are 17×2"),
        (pooling(1, 2, 17, 2, 17, 0), "its windows are 2×17"),
        (pooling(1, 0, 2, 0, 2, 0), "its windows are 0×2"),
        (pooling(1, 2, 0, 2, 0, 0), "its windows are 2×0"),
        (pooling(1, 2, 2, 2, 2, 4), "its fused activation is none of NNAPI's"),
        (pooling(1, 2, 2, 2, 2, -1), "its fused activation is none of NNAPI's"),
        (pooling(1, 3, 2, 3, 2, 0), "its windows overlap, or reach beyond the image"),
        (pooling(1, 2, 3, 2, 3, 0), "its windows overlap, or reach beyond the image"),
        (pooling(1, 4, 2, 2, 2, 0), "its windows overlap, or reach beyond the image"),
        (pooling(1, 2, 4, 2, 2, 0), "its windows overlap, or reach beyond the image"),
    ],
)
def test_windows_that_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(nnapi.NnapiError, match=message):
        nnapi.load(content)


@pytest.mark.parametrize(
    ("width", "height", "stride_w", "stride_h"), [(2, 3, 2, 2), (3, 2, 2, 2), (2, 2, 3, 2), (2, 2, 2, 3)]
)
def test_only_adjacent_windows_are_unpooled(width: int, height: int, stride_w: int, stride_h: int) -> None:
    parameters = np.array([1, stride_w, stride_h, width, height, 0], "<i4").tobytes()
    content = custom("MaxUnpooling2D", [f32(1, 3, 5, 4), f32(1, 3, 5, 4)], [f32(1, 6, 10, 4)], parameters)
    with pytest.raises(nnapi.NnapiError, match="its windows are not adjacent"):
        nnapi.load(content)


def landmarks(shape: tuple[int, ...], dimensions: int, moves: T) -> bytes:
    parameters = bytes(flexbuffers.Dumps({"dimensions": dimensions}))
    return custom("TransformLandmarks", [f32(*shape), moves], [f32(*shape)], parameters)


def bilinear(shape: tuple[int, ...], out: tuple[int, int]) -> bytes:
    parameters = bytes(flexbuffers.Dumps({"output_height": out[0], "output_width": out[1]}))
    return custom("TransformTensorBilinear", [f32(*shape), f32(1, 4, 4)], [f32(1, *out, 3)], parameters)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (landmarks((1, 7, 3), 2, f32(1, 4, 4)), r"its landmarks are \[1, 7, 3\]"),
        (landmarks((2, 7, 2), 2, f32(1, 4, 4)), r"its landmarks are \[2, 7, 2\]"),
        (landmarks((7, 2), 2, f32(1, 4, 4)), r"its landmarks are \[7, 2\]"),
        (landmarks((1, 7, 4), 4, f32(1, 4, 4)), r"its landmarks are \[1, 7, 4\]"),
        (landmarks((1, 7, 2), 2, f32(1, 3, 5)), r"its matrix is \[1, 3, 5\], must be of 4×4"),
        (bilinear((2, 6, 8, 3), (5, 4)), r"it transforms \[2, 6, 8, 3\] to \[5, 4\], must be one image"),
        (bilinear((1, 6, 8, 3), (0, 4)), r"to \[0, 4\], must be one image to a positive size"),
        (bilinear((1, 6, 8, 3), (5, 0)), r"to \[5, 0\], must be one image to a positive size"),
    ],
)
def test_shapes_that_are_refused(content: bytes, message: str) -> None:
    with pytest.raises(nnapi.NnapiError, match=message):
        nnapi.load(content)
