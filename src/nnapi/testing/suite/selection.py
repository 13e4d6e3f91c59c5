"""Select tests: by lists of patterns, and by shards of a suite that several machines share."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import islice
from pathlib import Path
from typing import TypeVar

from nnapi.errors import Mistake, UnusableFile
from nnapi.store.files import read_bounded
from nnapi.testing.suite.result import name_test

T = TypeVar("T")
MOST_TEXT = 64 << 20
"""Maximum bytes of a list."""
WILDCARDS = "*?["


@dataclass(frozen=True)
class Shard:
    """One of ``count`` parts of a suite: tests ``number``, ``number`` + ``count`` and so on, counted from 1."""

    number: int = 1
    count: int = 1

    def take(self, tests: Iterable[T]) -> Iterator[T]:
        return islice(tests, self.number - 1, None, self.count)


def read_shard(text: str) -> Shard:
    """Return the shard that ``k/n`` names. Raises Mistake for other texts."""
    number, _, count = text.partition("/")
    if not (number.isdecimal() and count.isdecimal() and 1 <= int(number) <= int(count)):
        raise Mistake(f"--shard is {text}, must be k/n with k from 1 to n, as in 1/4")
    return Shard(int(number), int(count))


@dataclass(frozen=True)
class Patterns:
    """Names of examples, tests or operations, and patterns with wildcards."""

    names: frozenset[str] = frozenset()
    wildcards: tuple[str, ...] = ()

    def match(self, example: str, variant: str, operations: Iterable[str]) -> bool:
        tests = example, name_test(example, variant)
        if not self.names.isdisjoint((*tests, *operations)):
            return True
        return any(fnmatchcase(name, pattern) for pattern in self.wildcards for name in tests)


def read_patterns(file: Path) -> Patterns:
    """Read a list with a pattern on each line. Empty lines, and lines that begin with ``#``, are comments."""
    lines = {line.strip() for line in read_text(file).splitlines()}
    found = {line for line in lines if line and not line.startswith("#")}
    wildcards = {pattern for pattern in found if any(sign in pattern for sign in WILDCARDS)}
    return Patterns(frozenset(found - wildcards), tuple(sorted(wildcards)))


def read_text(file: Path) -> str:
    """Return the text of a list that a user named."""
    try:
        return read_bounded(file, MOST_TEXT).decode()
    except UnicodeDecodeError as error:
        raise UnusableFile(f"{file}: not text in UTF-8: {error}") from None
