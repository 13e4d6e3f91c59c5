"""Label files and how they fit the classes of a model."""

from pathlib import Path

import pytest

from nnapi.cli.failure import Mistake
from nnapi.cli.labels import fit_labels, read_labels


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        ("cat\ndog\n", ["cat", "dog"]),
        ("\ufeffcat\r\ndog\r\n\r\n", ["cat", "dog"]),
        ("0 cat\n1  dog, hound\n", ["cat", "dog, hound"]),
        ("1: cat\n2: dog\n", ["cat", "dog"]),
        ("0,cat\n1,dog\n", ["cat", "dog"]),
        ("7 up\n3 musketeers\n", ["7 up", "3 musketeers"]),
        ("cat\n\ndog\n", ["cat", "", "dog"]),
    ],
)
def test_read(tmp_path: Path, text: str, labels: list[str]) -> None:
    file = tmp_path / "labels.txt"
    file.write_bytes(text.encode())
    assert read_labels(file) == labels


@pytest.mark.parametrize(("data", "reason"), [(b" \n", "is empty"), (b"\xff\xfe\x00", "no text")])
def test_refused(tmp_path: Path, data: bytes, reason: str) -> None:
    file = tmp_path / "labels.txt"
    file.write_bytes(data)
    with pytest.raises(Mistake, match=f"labels.txt .*{reason}"):
        read_labels(file)


@pytest.mark.parametrize(
    ("labels", "count", "fitted"),
    [
        (["cat", "dog"], 2, ["cat", "dog"]),
        (["cat", "dog"], 3, ["background", "cat", "dog"]),
        (["Background", "cat", "dog"], 2, ["cat", "dog"]),
    ],
)
def test_fit(labels: list[str], count: int, fitted: list[str]) -> None:
    assert fit_labels(labels, count, "labels.txt") == fitted


@pytest.mark.parametrize(("labels", "count"), [(["cat", "dog", "cow"], 2), (["background", "cat"], 3), (["cat"], 4)])
def test_misfit(labels: list[str], count: int) -> None:
    words = f"labels.txt names {len(labels)} classes, the model tells {count} apart"
    with pytest.raises(Mistake, match=words):
        fit_labels(labels, count, "labels.txt")
