"""Labeled inputs in a folder: a folder for each class, by number or name, or a file labels.csv.

- ``file,label`` for classifiers; a label is a number or a name;
- ``file,label,ymin,xmin,ymax,xmax`` for detectors: one row per box, with corners as fractions of the picture's height
  and width; a picture without boxes has one row with an empty label;
- ``file,expected`` for other models: .npy files with the outputs' float values, separated by semicolons.
"""

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from nnapi.errors import Mistake, UnusableFile
from nnapi.report.accuracy import Boxes

CORNERS = ("ymin", "xmin", "ymax", "xmax")
TABLE = "labels.csv"


@dataclass(frozen=True)
class Example:
    file: Path
    truth: int | Boxes | tuple[Path, ...]


def read_dataset(folder: Path, names: Sequence[str] | None = None) -> list[Example]:
    """Return the examples in a folder by name; ``names`` are the model's classes. Mistake if it is not a data set."""
    table = folder / TABLE
    if table.is_file():
        return _from_table(table, _numbers(names))
    if not folder.is_dir():
        raise Mistake(f"{folder}: no such folder")
    return _from_folders(folder, _numbers(names))


def _numbers(names: Sequence[str] | None) -> Callable[[str], int]:
    """Return a function that maps a label to the number of its class."""
    indices: dict[str, int] = {}
    for index, name in enumerate(names or ()):
        for synonym in (name, *name.split(",")):
            indices.setdefault(synonym.strip().lower(), index)

    def number(label: str) -> int:
        found = indices.get(label.strip().lower())
        if found is not None:
            return found
        if label.strip().isdigit():
            return int(label)
        known = "is not one of the labels" if names else "is not a number, and no file of labels is given"
        raise UnusableFile(f"the label {label!r} {known}")

    return number


def _from_folders(folder: Path, number: Callable[[str], int]) -> list[Example]:
    classes = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    examples = [
        Example(file, number(one.name))
        for one in classes
        for file in sorted(one.iterdir())
        if file.is_file() and not file.name.startswith(".")
    ]
    if not examples:
        raise UnusableFile(f"{folder} has neither a {TABLE} nor folders with files in them")
    return examples


def _from_table(table: Path, number: Callable[[str], int]) -> list[Example]:
    try:
        with table.open(newline="", encoding="utf-8-sig") as file:
            reader = csv.DictReader(file, skipinitialspace=True)
            headings = set(reader.fieldnames or ())
            rows = [{key: (value or "").strip() for key, value in row.items() if key} for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise UnusableFile(f"{table} is not a table in UTF-8: {error}") from None
    if not rows:
        raise UnusableFile(f"{table} has no rows")
    if "file" not in headings or not headings & {"label", "expected"}:
        raise UnusableFile(f"{table} needs a column 'file' and one of 'label' and 'expected'")
    for row in rows:
        if not (table.parent / row["file"]).is_file():
            raise UnusableFile(f"{table} names {row['file']!r}, which does not exist")
    if "expected" in headings:
        return [Example(table.parent / row["file"], _find_expected(table.parent, row)) for row in rows]
    if headings.issuperset(CORNERS):
        return _with_boxes(table.parent, rows, number)
    return [Example(table.parent / row["file"], number(row["label"])) for row in rows]


def _find_expected(folder: Path, row: Mapping[str, str]) -> tuple[Path, ...]:
    files = tuple(folder / name.strip() for name in row["expected"].split(";"))
    for file in files:
        if not file.is_file():
            raise UnusableFile(f"{row['file']} expects {file.name}, which does not exist")
    return files


def _with_boxes(folder: Path, rows: Iterable[Mapping[str, str]], number: Callable[[str], int]) -> list[Example]:
    by_file: dict[str, list[Mapping[str, str]]] = {}
    for row in rows:
        by_file.setdefault(row["file"], []).extend([row] if row["label"] else [])
    return [Example(folder / file, _boxes(found, number)) for file, found in sorted(by_file.items())]


def _boxes(rows: Sequence[Mapping[str, str]], number: Callable[[str], int]) -> Boxes:
    try:
        corners = np.array([[float(row[name]) for name in CORNERS] for row in rows], np.float64).reshape(-1, 4)
    except ValueError as error:
        raise UnusableFile(f"{rows[0]['file']}: a corner is not a number: {error}") from None
    return Boxes(corners, np.array([number(row["label"]) for row in rows], np.int64), np.ones(len(rows)))
