"""Files that are cut off, changed or made with ill intent: a clear error, or a model; never anything else."""

import resource
import sys
from pathlib import Path

import flatbuffers
import numpy as np
import pytest
import tflite
from hypothesis import example, given, settings
from hypothesis import strategies as st

import nnapi
from nnapi.errors import BadDataError
from nnapi.formats.tflite.reader import File
from nnapi.importers import load
from nnapi.importers.tflite import read
from nnapi.model.memory import Memory
from tests.rows import each_row
from tests.tflite_writer import Graph, T, const, f32, i32, s8, single, write


def network() -> bytes:
    """A few operations of different kinds, constants, quantization, options, a subgraph."""
    x, pooled, flat, y, shape = s8(1, 4, 4, 2), s8(1, 2, 2, 2), s8(1, 8), s8(1, 3), i32(2)
    filters = s8(3, 8, scale=(0.1, 0.2, 0.3), zero_point=0).of(np.arange(24).reshape(3, 8))
    sizes = {"StrideW": 2, "StrideH": 2, "FilterWidth": 2, "FilterHeight": 2}
    graph = Graph().operator("MAX_POOL_2D", [x], [pooled], "Pool2DOptions", **sizes)  # type: ignore[arg-type]
    graph.operator("PACK", [const(1), const(8)], [shape], "PackOptions", ValuesCount=2)
    graph.operator("RESHAPE", [pooled, shape], [flat], "ReshapeOptions")
    graph.operator("FULLY_CONNECTED", [flat, filters, None], [y], "FullyConnectedOptions")
    condition, chosen = const([True], "BOOL"), s8(1, 3)
    graph.operator("IF", [condition, y], [chosen], "IfOptions", ThenSubgraphIndex=1, ElseSubgraphIndex=2)
    branches = []
    for kind in ("RELU", "TILE"):
        a, b = s8(1, 3), s8(1, 3)
        inputs = [a] if kind == "RELU" else [a, const([1, 1])]
        branches.append(Graph().operator(kind, inputs, [b]).between([a], [b]))
    return write(graph.between([x], [chosen]), *branches)


WHOLE = network()


def imported(content: bytes) -> nnapi.Model | None:
    """The model, None where the importer refuses; any other exception fails the test."""
    try:
        return read(Memory.from_array(np.frombuffer(content, np.uint8)), "damaged.tflite")
    except nnapi.NnapiError:
        return None


def test_the_whole_file_is_a_model() -> None:
    model = imported(WHOLE)
    assert model is not None
    found = nnapi.compile(model, "nnapi-reference").run(np.zeros((1, 4, 4, 2), np.int8))
    assert found[0].shape == (1, 3)


@each_row("length", range(0, len(WHOLE), 16))
def test_cut_off(length: int) -> None:
    """Constants come first in these files, and nothing reaches beyond the end, so most beginnings are no model."""
    imported(WHOLE[:length])


changes = st.lists(st.tuples(st.integers(0, len(WHOLE) - 1), st.integers(0, 255)), min_size=1, max_size=4)


@pytest.mark.slow
@settings(max_examples=400, deadline=None)
@given(changes)
@example([(0, 255), (1, 255), (2, 255), (3, 255)])
@example([(0, 0), (1, 0), (2, 0), (3, 0)])
def test_changed_bytes(changes: list[tuple[int, int]]) -> None:
    content = bytearray(WHOLE)
    for place, value in changes:
        content[place] = value
    imported(bytes(content))


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=300))
def test_noise_behind_the_identifier(noise: bytes) -> None:
    imported(noise[:4].ljust(4, b"\x10") + b"TFL3" + noise[4:])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"\x89HDF\r\n\x1a\n" + bytes(100), r"not TensorFlow Lite or ONNX, an HDF5 file \(a Keras model\?\)"),
        (b"PK\x03\x04" + bytes(100), "a zip archive"),
        (b"hello, world", "it starts with b'hello, w'"),
        (b"\x10\0\0\0TFL3", "a table lies outside the file"),
        (WHOLE[:64], "lies outside the file|ends after the file|leads outside the file"),
    ],
)
def test_what_is_no_model_is_called_so(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "strange.tflite"
    path.write_bytes(content)
    with pytest.raises(BadDataError, match=message) as caught:
        load(path)
    assert str(caught.value).startswith(str(path))


def test_the_content_decides_not_the_name(tmp_path: Path) -> None:
    path = tmp_path / "model.bin"
    path.write_bytes(single("ABS", [f32(2)], f32(2)))
    assert load(str(path)).name == "model"


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nowhere.tflite")


def test_a_constant_of_another_length_is_named() -> None:
    x, y = f32(4), f32(4)
    short = T("FLOAT32", (4,), data=np.zeros(3), name="short")
    content = single("ADD", [x, short], y, "AddOptions")
    with pytest.raises(BadDataError, match="short holds 12 bytes, its type and shape take 16"):
        read(Memory.from_array(np.frombuffer(content, np.uint8)), "x")


@pytest.mark.parametrize("scale", [0.0, -1.0, float("nan")])
def test_a_scale_that_is_no_scale(scale: float) -> None:
    content = single("RELU", [s8(2, scale=scale)], s8(2, scale=scale))
    with pytest.raises(BadDataError, match="needs a scale above 0"):
        read(Memory.from_array(np.frombuffer(content, np.uint8)), "x")


def peak() -> int:
    """Highest memory use of the process so far, in bytes."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024


@pytest.mark.parametrize(
    "content",
    [
        single("FILL", [const([2**20, 2**10]), const(1.0, "FLOAT32")], f32(2**20, 2**10)),
        single("RANGE", [const(0), const(2**31 - 1), const(1)], i32(2**31 - 1)),
        single("TILE", [const(np.zeros((1, 1))), const([2**15, 2**14])], i32(2**15, 2**14)),
        single("BROADCAST_TO", [f32(1), const([2**14, 2**14])], f32(2**14, 2**14)),
        single("MATRIX_DIAG", [f32(2**15)], f32(2**15, 2**15)),
        single("CUMSUM", [f32(2**20), const(0)], f32(2**20), "CumsumOptions"),
        single("TRANSPOSE", [i32(2**13, 2**13), const([1, 0])], i32(2**13, 2**13)),
        single(
            "CONV_2D",
            [f32(1, 1, 1, 1), f32(2**28, 1, 1, 1)],
            f32(1, 1, 1, 2**28),
            "Conv2DOptions",
            StrideW=1,
            StrideH=1,
        ),
        write(
            Graph()
            .operator("FILL", [const([2**12, 2**10]), const(1.0, "FLOAT32")], [f32(2**12, 2**10)])
            .operator("FILL", [const([2**12, 2**11]), const(1.0, "FLOAT32")], [f32(2**12, 2**11)])
            .operator("FILL", [const([2**12, 2**11]), const(1.0, "FLOAT32")], [f32(2**12, 2**11)])
            .operator("FILL", [const([2**12, 2**11]), const(1.0, "FLOAT32")], [f32(2**12, 2**11)])
        ),
    ],
    ids=["fill", "range", "tile", "broadcast", "diagonal", "triangle", "transpose", "bias", "many"],
)
def test_a_small_file_does_not_become_a_large_model(content: bytes) -> None:
    before = peak()
    imported(content)
    assert peak() - before < 256 << 20


def test_parts_that_refer_to_each_other_too_often_are_refused() -> None:
    """A list of many references to one subgraph: the file could say very much at almost no cost."""
    b = flatbuffers.Builder(1024)
    name = b.CreateString("again")
    tflite.SubGraphStart(b)
    for add in (tflite.SubGraphAddInputs, tflite.SubGraphAddOutputs, tflite.SubGraphAddName):
        add(b, name)
    subgraph = tflite.SubGraphEnd(b)
    count = 1 << 12
    tflite.ModelStartSubgraphsVector(b, count)
    for _ in range(count):
        b.PrependUOffsetTRelative(subgraph)
    subgraphs = b.EndVector()
    tflite.ModelStart(b)
    tflite.ModelAddVersion(b, 3)
    tflite.ModelAddSubgraphs(b, subgraphs)
    b.Finish(tflite.ModelEnd(b), b"TFL3")
    file = File(memoryview(bytes(b.Output())))
    file.source.budget //= 2
    with pytest.raises(BadDataError, match="refer to each other more often than its size allows"):
        file.subgraph(0)
