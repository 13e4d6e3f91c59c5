"""The choice of an importer by content, and that what importers share knows none of them."""

import ast
from pathlib import Path

import pytest

import nnapi
from nnapi.codes import OperandCode, OperationCode
from nnapi.importers import file_formats
from nnapi.importers.build import build
from nnapi.importers.file_formats import FileFormat
from nnapi.importers.graph import Allowance, Graph, Value
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import OperandType
from tests.rows import each_row

ROOM = Path(file_formats.__file__).parent


def read_words(memory: Memory, path: str, options: file_formats.ImportOptions) -> Model:
    """A format of one word after another, each an operation on the result of the one before."""
    graph = Graph(Allowance(memory.size))
    value = given = Value(OperandType(OperandCode.TENSOR_FLOAT32, (3,)), "x")
    for word in memory.view().tobytes().decode().split()[1:]:
        value, before = Value(value.type, word), value
        graph.emit(OperationCode[word], [before], [value])
    return build(graph, Model(path), [given], [value])


@pytest.fixture
def _words(monkeypatch: pytest.MonkeyPatch) -> None:
    row = FileFormat("words", lambda content: bytes(content[:6]) == b"words ", read_words)
    monkeypatch.setattr(file_formats, "FORMATS", [*file_formats.FORMATS, row])


@pytest.mark.usefixtures("_words")
def test_a_format_is_one_row() -> None:
    model = nnapi.load(b"words NEG ABS RELU6")
    assert [call.name for call in model.operations] == ["NEG", "ABS", "RELU6"]
    (result,) = nnapi.compile(model, "nnapi-reference").run([-9, 0, 2])
    assert result.tolist() == [6, 0, 2]


@pytest.mark.usefixtures("_words")
def test_what_no_row_recognizes_is_said_to_be_none_of_them(tmp_path: Path) -> None:
    path = tmp_path / "words.tflite"  # whatever its name
    path.write_bytes(b"something else")
    with pytest.raises(
        nnapi.BadDataError, match=f"^{path}: .*: not TensorFlow Lite or ONNX or words, it starts with b'somethin'$"
    ):
        nnapi.load(path)
    path.write_bytes(b"words ABS")
    assert nnapi.load(path).operations[0].name == "ABS"


@each_row("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_what_importers_share_knows_no_format(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    names |= {
        f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    formats = {folder.name for folder in ROOM.iterdir() if (folder / "rules").is_dir()}
    assert "tflite" in formats
    used = {name for name in names if name.startswith("nnapi.importers.") and name.split(".")[2] in formats}
    assert path.name == "file_formats.py" or not used, "only a row of file_formats may name a format"


@pytest.mark.parametrize(
    ("head", "is_onnx"),
    [
        (b"\x08\x08\x3a", True),
        (b"\x08\x01\x12", True),
        (b"\x08\x3f\xca", True),
        (b"\x08\x00\x3a", False),
        (b"\x08\x40\x3a", False),
        (b"\x08\x08\x3b", False),
        (b"\x09\x08\x3a", False),
        (b"\x08\x08", False),
    ],
)
def test_onnx_is_recognized_by_its_version_and_the_next_field(head: bytes, is_onnx: bool) -> None:
    assert file_formats._is_onnx(memoryview(head)) == is_onnx


@pytest.mark.parametrize(
    ("head", "name"),
    [
        (b"PK\x03\x04....", "a zip archive"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (b"\x1f\x8b\x08\x00", "compressed with gzip"),
        (b"\x08\x00\x00\x00", "perhaps a protocol buffer"),
        (b"12345678910", "it starts with b'12345678'"),
    ],
)
def test_other_formats_are_named(head: bytes, name: str) -> None:
    with pytest.raises(nnapi.BadDataError, match=f"no model that can be read: not TensorFlow Lite or ONNX, {name}"):
        nnapi.load(head)


def test_an_empty_file_holds_no_model(tmp_path: Path) -> None:
    (tmp_path / "empty.tflite").touch()
    with pytest.raises(nnapi.BadDataError, match="empty"):
        nnapi.load(tmp_path / "empty.tflite")


@pytest.mark.parametrize(("weights", "is_dynamic"), [(None, False), ("dynamic-range", True)])
def test_weights_stay_quantized_on_demand(weights: str | None, is_dynamic: bool) -> None:
    assert file_formats.is_dynamic_range(weights) == is_dynamic


def test_options_of_another_format_are_refused() -> None:
    with pytest.raises(nnapi.BadDataError, match="weights is 'other', must be 'dynamic-range' or None"):
        file_formats.is_dynamic_range("other")
    onnx = b"\x08\x08\x3a\x00"
    with pytest.raises(nnapi.BadDataError, match="int16_as_float is for .tflite"):
        nnapi.load(onnx, int16_as_float=True)
    with pytest.raises(nnapi.BadDataError, match="weights='dynamic-range' is for .tflite"):
        nnapi.load(onnx, weights="dynamic-range")


def test_values_that_no_output_needs_are_left_out() -> None:
    """Beside outputs that are inputs, constants or written twice, which get a copy."""
    graph, type = Graph(Allowance(0, 100)), OperandType(OperandCode.TENSOR_FLOAT32, (3,))
    x, y, unread, weights = Value(type, "x"), Value(type, "y"), Value(type, "z"), graph.full(type, 2.5, "w")
    graph.emit(OperationCode.NEG, [x], [y])
    graph.emit(OperationCode.ABS, [x], [unread])
    model = build(graph, Model("m"), [x], [y, y, x, weights])
    assert sorted(call.name for call in model.operations) == ["CAST", "CAST", "CAST", "NEG"]
    assert [model.operands[index].name for index in model.outputs] == ["y", "y:copy", "x:copy", "w:copy"]
    found = nnapi.compile(model, "nnapi-reference").run([1, -2, 0])
    assert [each.tolist() for each in found] == [[-1, 2, 0], [-1, 2, 0], [1, -2, 0], [2.5] * 3]
