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


@pytest.mark.parametrize("path", sorted(ROOM.glob("*.py")), ids=lambda path: path.name)
def test_what_importers_share_knows_no_format(path: Path) -> None:
    nodes = list(ast.walk(ast.parse(path.read_text())))
    names = {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}
    names |= {
        f"{node.module}.{alias.name}" for node in nodes if isinstance(node, ast.ImportFrom) for alias in node.names
    }
    names |= {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    formats = {folder.name for folder in ROOM.iterdir() if (folder / "__init__.py").exists()}
    assert "tflite" in formats
    used = {name for name in names if name.startswith("nnapi.importers.") and name.split(".")[2] in formats}
    assert path.name == "file_formats.py" or not used, "only a row of file_formats may name a format"
