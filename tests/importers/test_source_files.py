"""The files of a model: the same, changed in place, replaced or gone."""

import os
from pathlib import Path

import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.importers import import_cache
from nnapi.importers.source_files import Identity, SourceFile, identify
from nnapi.model.lazy_model import LazyModel
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from tests.litert.model_cases import one_signature


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "model.tflite"
    path.write_bytes(bytes(100))
    os.utime(path, ns=(1000, 2000))
    return path


def source(path: Path) -> SourceFile:
    found = identify(Memory.from_file(path))
    assert found is not None
    return SourceFile(found, path)


def test_a_file_is_identified_by_its_place_size_and_times(path: Path) -> None:
    stat, file = path.stat(), source(path).file
    assert file == Identity(stat.st_dev, stat.st_ino, 100, 2000, stat.st_ctime_ns)
    assert Identity(0x2F, 0xA1, 1, 2, 3).key == "2f-a1"


def test_a_part_of_a_file_has_no_identity(path: Path) -> None:
    with path.open("rb") as file:
        assert identify(Memory.from_fd(99, 1, file.fileno())) is None
        assert identify(Memory.from_fd(100, 1, file.fileno())) is not None


@pytest.mark.parametrize(("size", "modified"), [(101, 2000), (99, 2000), (100, 1999), (100, 2001)])
def test_a_file_that_was_changed_in_place_is_refused(size: int, modified: int, path: Path) -> None:
    file = source(path)
    file.need_unchanged()
    with path.open("r+b") as opened:
        opened.truncate(size)
    os.utime(path, ns=(1000, modified))
    assert not file.is_same
    with pytest.raises(BadDataError, match=f"{path} has changed since it was loaded: load it again"):
        file.need_unchanged()


def test_a_file_that_was_replaced_or_is_gone_is_still_mapped(path: Path) -> None:
    """The mapping of a model keeps the content of the old file."""
    file = source(path)
    assert file.is_same
    other = path.with_name("other")
    other.write_bytes(bytes(50))
    other.replace(path)
    assert not file.is_same
    file.need_unchanged()
    path.unlink()
    assert file.identify() is None
    assert not file.is_same
    file.need_unchanged()


def test_each_of_several_files_counts(path: Path) -> None:
    weights = path.with_name("weights.bin")
    weights.write_bytes(bytes(10))
    files = SourceFile.at(str(path), [str(weights)])
    assert (files.path, [each.path for each in files.others]) == (str(path), [str(weights)])
    files.need_unchanged()
    assert files.is_same
    assert files.reduce(Model("m")) is None
    weights.write_bytes(bytes(11))
    assert not files.is_same
    with pytest.raises(BadDataError, match="weights.bin has changed"):
        files.need_unchanged()
    path.write_bytes(bytes(11))
    with pytest.raises(BadDataError, match="model.tflite has changed"):
        files.need_unchanged()


def test_names_of_a_known_file_are_given_without_reading_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path / "kept"))
    monkeypatch.setattr(import_cache, "SETTLED", 0)
    path = tmp_path / "model.tflite"
    path.write_bytes(one_signature())
    read = nnapi.load(path)
    assert read.signature is not None
    assert isinstance(read.origin, import_cache.Origin)
    read.origin.keep(read)
    known = nnapi.load(path)
    assert isinstance(known, LazyModel)
    assert (known.input_info, known.output_info) == (read.input_info, read.output_info)
    assert not known.is_described
