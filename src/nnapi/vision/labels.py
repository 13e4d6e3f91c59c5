"""Labels of classes: from a text file with one per line, or of well-known data sets."""

import re
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from nnapi.errors import UnusableFile
from nnapi.printable import pluralize
from nnapi.store.files import read_bounded
from nnapi.vision.task import Task

BACKGROUND = "background"
MOST = 16 << 20
"""Maximum bytes of a file of labels."""
ABSENT = "n/a"
"""The label of indices that COCO does not use."""
NOTHINGS = (BACKGROUND, ABSENT, "???")
"""Labels of the background in files for detectors."""
_NUMBERED = re.compile(r"\s*(\d+)(?:\s*[:,;]\s*|\s+)(\S.*)")


def read_labels(file: Path) -> list[str]:
    """Return the lines of the file, without indices if each line has one; Mistake if there are none."""
    try:
        text = read_bounded(file, MOST).decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UnusableFile(f"{file.name} is not text in UTF-8, labels are lines of text") from None
    lines = split_labels(text)
    if not lines:
        raise UnusableFile(f"{file.name} is empty, labels are lines of text")
    return lines


def split_labels(text: str) -> list[str]:
    lines = [line.strip() for line in text.rstrip().splitlines()]
    found = [_NUMBERED.fullmatch(line) for line in lines]
    for first in (0, 1):
        if all(match and int(match[1]) == number for number, match in enumerate(found, first)):
            return [match[2] for match in found if match]
    return lines


def fit_labels(labels: Sequence[str], count: int, name: str) -> list[str]:
    """Return one label for each of ``count`` classes; Mistake for another number of labels.

    The class "background" is added in front or removed if the number differs by one.
    """
    if len(labels) == count:
        return list(labels)
    if len(labels) == count - 1 and labels[0].lower() != BACKGROUND:
        return [BACKGROUND, *labels]
    if len(labels) == count + 1 and labels[0].lower() == BACKGROUND:
        return list(labels[1:])
    raise UnusableFile(f"{name} names {pluralize(len(labels), 'class')}, the model distinguishes {count}")


def fit_object_labels(labels: Sequence[str], count: int, name: str) -> list[str]:
    """Return one label for each of ``count`` classes of objects, without the background; Mistake for another number.

    The first of more labels may be the background's, which boxes do not count.
    """
    names = labels[1:] if len(labels) == count + 1 and labels[0].lower() in NOTHINGS else labels
    if len(names) != count:
        raise UnusableFile(f"{name} names {pluralize(len(labels), 'class')}, the model distinguishes {count}")
    return list(names)


class DataSet(NamedTuple):
    """A data set: its display name, and the name of its file in the folder ``names``."""

    name: str
    file: str


IMAGENET, COCO, VOC = DataSet("ImageNet", "imagenet"), DataSet("COCO", "coco"), DataSet("Pascal VOC", "voc")
ADE20K, FACE_PARTS = DataSet("ADE20K", "ade20k"), DataSet("CelebAMask-HQ", "face_parts")
CITYSCAPES, CIFAR10 = DataSet("Cityscapes", "cityscapes"), DataSet("CIFAR-10", "cifar10")
FREQUENT = 31
"""The number of classes of networks that distinguish only ADE20K's most frequent ones."""
COUNTS: dict[Task, dict[int, DataSet]] = {
    Task.CLASSIFICATION: {1000: IMAGENET, 1001: IMAGENET},
    Task.DETECTION: {80: COCO, 90: COCO, 91: COCO},
    Task.SEGMENTATION: {21: VOC, 150: ADE20K, 151: ADE20K, FREQUENT + 1: ADE20K, 19: CITYSCAPES},
}
SEGMENTATION_COUNTS = frozenset(COUNTS[Task.SEGMENTATION])
SMALL = 32, 32


def find_data_set(task: Task | None, count: int | None, picture: tuple[int, ...]) -> tuple[DataSet, list[str]] | None:
    """Return the data set with ``count`` classes for a task, and its labels; None if there is none.

    ``picture`` is the input's height and width; 19 classes are CelebAMask-HQ's for square pictures, else Cityscapes'.
    """
    if task is None or count is None:
        return None
    known = COUNTS.get(task, {}).get(count)
    if known is CITYSCAPES and picture[0] == picture[1]:
        known = FACE_PARTS
    if task is Task.CLASSIFICATION and count == 10 and picture == SMALL:
        known = CIFAR10
    return (known, _name_classes(known, count)) if known else None


def _name_classes(known: DataSet, count: int) -> list[str]:
    names = read_names(known)
    if known is COCO and count == 80:
        return [name for name in names if name != ABSENT]
    if count == FREQUENT + 1:
        return [BACKGROUND, *names[:FREQUENT]]
    return names if known is COCO else fit_labels(names, count, known.name)


def read_names(known: DataSet) -> list[str]:
    return (files("nnapi.vision") / "names" / f"{known.file}.txt").read_text("utf-8").splitlines()
