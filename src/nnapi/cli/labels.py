"""Names of classes, from a text file with one per line."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from nnapi.cli.failure import Mistake

BACKGROUND = "background"
_NUMBERED = re.compile(r"\s*(\d+)(?:\s*[:,;]\s*|\s+)(\S.*)")


def read_labels(file: Path) -> list[str]:
    """The lines of the file without their numbers, where each begins with its own; a Mistake where there are none."""
    try:
        text = file.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise Mistake(f"{file.name} is no text in UTF-8, labels are lines of text") from None
    lines = split_labels(text)
    if not lines:
        raise Mistake(f"{file.name} is empty, labels are lines of text")
    return lines


def split_labels(text: str) -> list[str]:
    """The lines without their numbers, where each begins with its own."""
    lines = [line.strip() for line in text.rstrip().splitlines()]
    found = [_NUMBERED.fullmatch(line) for line in lines]
    for first in (0, 1):
        if all(match and int(match[1]) == number for number, match in enumerate(found, first)):
            return [match[2] for match in found if match]
    return lines


def fit_labels(labels: Sequence[str], count: int, name: str) -> list[str]:
    """One label for each of ``count`` classes.

    A list that is one short lacks the class "background" that comes first, one that is one too long names it although
    the model does not know it. Any other number is a Mistake.
    """
    if len(labels) == count:
        return list(labels)
    if len(labels) == count - 1 and labels[0].lower() != BACKGROUND:
        return [BACKGROUND, *labels]
    if len(labels) == count + 1 and labels[0].lower() == BACKGROUND:
        return list(labels[1:])
    raise Mistake(f"{name} names {len(labels)} classes, the model tells {count} apart")
