"""Installed drivers, described as importlib.metadata describes them."""

import importlib.metadata
import os
import sys
import zipfile
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

import pytest

from nnapi.host.installed_packages import Entry, find_entries, version

GROUP = "test.group"


def install(
    folder: Path, name: str = "Some_Thing-1.5.dist-info", value: str = "os.path:join", number: str = "1.5"
) -> None:
    place = folder / name
    place.mkdir(parents=True)
    (place / "METADATA").write_text(f"Metadata-Version: 2.1\nName: some-thing\nVersion: {number}\n\nVersion: none\n")
    (place / "entry_points.txt").write_text(
        f"[console_scripts]\nother = os:getcwd\n\n[{GROUP}]\n# a comment = nothing\nfirst = {value}\n"
    )


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.syspath_prepend(str(tmp_path))
    return tmp_path


def test_as_importlib_metadata() -> None:
    for group in ("nnapi.drivers", "pytest11", "console_scripts"):
        wanted = {(entry.name, entry.value) for entry in importlib.metadata.entry_points(group=group)}
        assert set(find_entries(group)) == wanted
    for name in ("numpy", "NumPy", "markdown-it-py", "markdown_it.py", "nnapi"):
        assert version(name) == importlib.metadata.version(name)


@pytest.mark.parametrize(
    ("value", "found"),
    [
        ("os.path:join", os.path.join),
        ("pathlib : Path.home ", Path.home),
        ("pathlib:Path.home [extra, other]", Path.home),
        ("os.path", os.path),
    ],
)
def test_entries(folder: Path, value: str, found: Any) -> None:
    install(folder, value=value)
    (entry,) = find_entries(GROUP)
    assert entry.name == "first"
    assert entry.load() == found


def test_entries_that_lead_nowhere() -> None:
    with pytest.raises(ModuleNotFoundError, match="absent"):
        Entry("some", "nnapi.absent:thing").load()
    with pytest.raises(AttributeError, match="absent"):
        Entry("some", "os:absent").load()


def test_the_first_of_a_name_counts(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(folder / "later", number="2.0")
    install(folder / "first", "some.thing-1.0.egg-info", "os.path:split", "1.0")
    monkeypatch.syspath_prepend(str(folder / "later"))
    monkeypatch.syspath_prepend(str(folder / "first"))
    assert find_entries(GROUP) == [Entry("first", "os.path:split")]
    assert version("some-thing") == "1.0"


def test_versions_in_folders_need_no_help(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(folder)
    monkeypatch.setattr(sys, "meta_path", [PathFinder])
    monkeypatch.setattr(importlib.metadata, "version", None)
    assert version("some-thing") == "1.5"


def test_folders_that_are_damaged(folder: Path) -> None:
    (folder / "empty-1.0.dist-info").mkdir()
    (folder / "file-1.0.egg-info").write_text("Version: 3.0\n")
    install(folder)
    assert find_entries(GROUP) == [Entry("first", "os.path:join")]


def test_what_is_not_installed() -> None:
    with pytest.raises(ModuleNotFoundError, match="certainly-absent"):
        version("certainly-absent")


def test_archives(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(folder / "inside")
    archive = tmp_path / "some.zip"
    with zipfile.ZipFile(archive, "w") as file:
        for path in (folder / "inside").rglob("*"):
            file.write(path, path.relative_to(folder / "inside"))
    monkeypatch.syspath_prepend(str(archive))
    assert find_entries(GROUP) == [Entry("first", "os.path:join")]
    assert version("some-thing") == "1.5"


def test_finders_of_other_places(monkeypatch: pytest.MonkeyPatch) -> None:
    class Distribution(importlib.metadata.Distribution):
        def read_text(self, filename: str) -> str | None:
            texts = {"METADATA": "Name: frozen\nVersion: 7\n", "entry_points.txt": f"[{GROUP}]\nfirst = os:sep\n"}
            return texts.get(filename)

        def locate_file(self, path: Any) -> Any:
            return path

    class Finder(importlib.metadata.DistributionFinder):
        def find_distributions(self, context: Any = None) -> Any:
            return [Distribution()]

        def find_spec(self, *_: Any) -> None:
            return None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Finder()])
    assert find_entries(GROUP) == [Entry("first", "os:sep")]
    assert version("frozen") == "7"
