"""Folders of labeled inputs."""

from pathlib import Path

import numpy as np
import pytest

from nnapi.errors import Mistake
from nnapi.report.accuracy import Boxes
from nnapi.report.dataset import read_dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("a.png", "b.png", "want.npy", "more.npy"):
        (tmp_path / name).touch()
    return tmp_path


def table(folder: Path, text: str) -> Path:
    (folder / "labels.csv").write_text(text)
    return folder


def test_a_folder_for_each_class(tmp_path: Path) -> None:
    for name in ("cat", "3"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "x.png").touch()
    (tmp_path / "cat" / ".hidden").touch()
    examples = read_dataset(tmp_path, ["dog", "cat, house cat"])
    assert [(example.file.parent.name, example.truth) for example in examples] == [("3", 3), ("cat", 1)]


def test_labels_in_a_table(folder: Path) -> None:
    examples = read_dataset(table(folder, "file,label\nb.png,7\na.png, House Cat\n"), ["dog", "cat, house cat"])
    assert [(example.file.name, example.truth) for example in examples] == [("b.png", 7), ("a.png", 1)]


def test_boxes(folder: Path) -> None:
    text = "file,label,ymin,xmin,ymax,xmax\na.png,1,0,0,0.5,1\nb.png,,,,,\na.png,2,0.1,0.2,0.3,0.4\n"
    first, second = (example.truth for example in read_dataset(table(folder, text)))
    assert isinstance(first, Boxes)
    assert isinstance(second, Boxes)
    assert first.classes.tolist() == [1, 2]
    assert first.corners.tolist() == [[0, 0, 0.5, 1], [0.1, 0.2, 0.3, 0.4]]
    assert np.shape(second.corners) == (0, 4)


def test_wanted_values(folder: Path) -> None:
    (example,) = read_dataset(table(folder, "file,expected\na.png,want.npy; more.npy\n"))
    assert example.truth == (folder / "want.npy", folder / "more.npy")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("file,label\n", "has no rows"),
        ("name,label\na.png,1\n", "needs a column 'file'"),
        ("file,label\nc.png,1\n", "names 'c.png', which does not exist"),
        ("file,label\na.png,cat\n", "the label 'cat' is not a number, and no file of labels is given"),
        ("file,expected\na.png,no.npy\n", "a.png expects no.npy, which does not exist"),
        ("file,label,ymin,xmin,ymax,xmax\na.png,1,0,0,x,1\n", "a.png: a corner is not a number"),
    ],
)
def test_damaged_tables(folder: Path, text: str, message: str) -> None:
    with pytest.raises(Mistake, match=message):
        read_dataset(table(folder, text))


def test_folders_without_a_data_set(tmp_path: Path) -> None:
    with pytest.raises(Mistake, match="neither a labels.csv nor folders"):
        read_dataset(tmp_path)
    with pytest.raises(Mistake, match="no such folder"):
        read_dataset(tmp_path / "none")


def test_unknown_names(folder: Path) -> None:
    with pytest.raises(Mistake, match="the label 'bird' is not one of the labels"):
        read_dataset(table(folder, "file,label\na.png,bird\n"), ["cat"])
