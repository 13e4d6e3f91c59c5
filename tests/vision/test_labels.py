"""Label files and how they fit the classes of a model."""

from pathlib import Path

import pytest

from nnapi.errors import Mistake
from nnapi.printable import pluralize
from nnapi.vision.labels import IMAGENET, find_data_set, fit_labels, read_labels, read_names
from nnapi.vision.task import Task


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


@pytest.mark.parametrize(("data", "reason"), [(b" \n", "is empty"), (b"\xff\xfe\x00", "not text")])
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
    words = f"labels.txt names {pluralize(len(labels), 'class')}, the model distinguishes {count}"
    with pytest.raises(Mistake, match=words):
        fit_labels(labels, count, "labels.txt")


@pytest.mark.parametrize(
    ("task", "count", "picture", "name", "examples"),
    [
        (Task.CLASSIFICATION, 1001, (224, 224), "ImageNet", {0: "background", 1: "tench", 283: "tiger cat"}),
        (Task.CLASSIFICATION, 1000, (224, 224), "ImageNet", {0: "tench", 282: "tiger cat"}),
        (Task.CLASSIFICATION, 10, (32, 32), "CIFAR-10", {2: "bird"}),
        (Task.DETECTION, 91, (300, 300), "COCO", {0: "person", 16: "cat", 89: "toothbrush"}),
        (Task.DETECTION, 80, (300, 300), "COCO", {0: "person", 15: "cat", 79: "toothbrush"}),
        (Task.SEGMENTATION, 21, (513, 513), "Pascal VOC", {0: "background", 12: "dog", 20: "tv"}),
        (Task.SEGMENTATION, 150, (513, 513), "ADE20K", {0: "wall", 12: "person", 149: "flag"}),
        (Task.SEGMENTATION, 151, (513, 513), "ADE20K", {0: "background", 13: "person", 150: "flag"}),
        (Task.SEGMENTATION, 32, (512, 512), "ADE20K", {0: "background", 13: "person", 31: "armchair"}),
        (Task.SEGMENTATION, 19, (256, 256), "CelebAMask-HQ", {17: "hair"}),
        (Task.SEGMENTATION, 19, (512, 1024), "Cityscapes", {0: "road", 13: "car"}),
    ],
)
def test_known_data_sets(task: Task, count: int, picture: tuple[int, int], name: str, examples: dict[int, str]) -> None:
    found = find_data_set(task, count, picture)
    assert found is not None
    known, names = found
    assert (known.name, len(names)) == (name, 90 if count == 91 else count)
    assert {number: names[number] for number in examples} == examples


def test_other_counts_have_no_names() -> None:
    assert find_data_set(Task.CLASSIFICATION, 10, (28, 28)) is None
    assert find_data_set(Task.CLASSIFICATION, None, (28, 28)) is None
    assert find_data_set(None, 1000, (28, 28)) is None


@pytest.mark.shared
def test_names_are_those_of_the_published_lists(shared: Path) -> None:
    lines = (shared / "images/imagenet_labels.txt").read_text().splitlines()
    assert read_names(IMAGENET) == [line.split(",")[0] for line in lines[1:]]


def test_a_file_of_labels_is_bounded(tmp_path: Path) -> None:
    file = tmp_path / "labels.txt"
    with file.open("wb") as opened:
        opened.truncate((16 << 20) + 1)
    with pytest.raises(OSError, match="it has 16777217 bytes, at most 16777216 are possible"):
        read_labels(file)
    with pytest.raises(OSError, match="it is not a regular file"):
        read_labels(Path("/dev/zero"))
