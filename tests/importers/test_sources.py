"""Where a model may be read from: a path, bytes, open files, and what is none of these."""

import io
import os
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import BadDataError, Model, compile, load

FILE = Path(__file__).parents[2] / "examples" / "digits" / "digits_float.tflite"
IMAGE = np.random.default_rng(0).random((1, 28, 28, 1), np.float32)


def answer(model: Model) -> list[Any]:
    shape = model.operands[model.inputs[0]].type.dimensions
    return [
        output.tolist()
        for output in compile(model, "nnapi-reference").run(IMAGE.reshape(-1)[: np.prod(shape)].reshape(shape))
    ]


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with zipfile.ZipFile(tmp_path / "models.zip", "w") as made:
        made.write(FILE, "digits.tflite")
    return tmp_path / "models.zip"


def test_all_sources_give_the_same_model(archive: Path) -> None:
    expected = answer(load(FILE))
    content = FILE.read_bytes()
    with FILE.open("rb") as buffered, FILE.open("rb", buffering=0) as raw, zipfile.ZipFile(archive) as members:
        sources = str(FILE), content, bytearray(content), memoryview(content), io.BytesIO(content), buffered, raw
        assert [answer(load(source)) for source in sources] == [expected] * len(sources)
        with members.open("digits.tflite") as member:
            assert answer(load(member)) == expected  # type: ignore[arg-type]


def test_names_come_from_files() -> None:
    with FILE.open("rb") as file:
        assert load(file).name == "digits_float"
    assert load(FILE.read_bytes()).name == load(FILE.read_bytes()).name == "model"


def test_a_file_is_mapped_from_its_position_on(tmp_path: Path) -> None:
    path = tmp_path / "package"
    path.write_bytes(bytes(64) + FILE.read_bytes())
    with path.open("rb") as file:
        file.seek(64)
        model = load(file)
    assert model.origin is None  # the file as a whole is no model, and nothing is to be remembered of it
    assert answer(model) == answer(load(FILE))


def test_a_pipe_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, FILE.read_bytes()[:9000])  # less than a pipe holds
    os.close(writing)
    with open(reading, "rb") as pipe, pytest.raises(BadDataError, match=str(reading) + "|file"):
        load(pipe)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (b"", "model: the file is empty"),
        (b"PK\x03\x04....", "model: no model that can be read: .* a zip archive"),
        (io.BytesIO(b""), "file: the file is empty"),
        (io.StringIO("text"), "file is open as text; open it in binary, mode 'rb'"),
        (42, "load takes a path, bytes or a file that is open for reading, not int"),
    ],
)
def test_what_is_no_model(source: Any, message: str) -> None:
    with pytest.raises(BadDataError, match=message):
        load(source)
