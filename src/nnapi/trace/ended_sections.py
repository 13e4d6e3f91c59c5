"""The ended sections of one thread, packed as integers."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")
"""A section that has ended."""


class EndedSections(Generic[T]):
    """The sections of a thread that have ended, as integers: a tuple for each would take six times as much memory."""

    __slots__ = ("_numbers", "_places", "_sections")

    def __init__(self) -> None:
        self._sections: list[T] = []
        self._places: dict[int, int] = {}
        self._numbers = array("q")

    def add(self, section: T, start: int, end: int, depth: int) -> None:
        place = self._places.get(id(section))
        if place is None:
            place = self._places[id(section)] = len(self._sections)
            self._sections.append(section)
        self._numbers.extend((place, start, end, depth))

    def __iter__(self) -> Iterator[tuple[T, int, int, int]]:
        """Yield section, start, end and depth of each section that has ended so far; the thread may add more."""
        numbers = self._numbers[:]
        for at in range(0, len(numbers) - 3, 4):
            place, start, end, depth = numbers[at : at + 4]
            yield self._sections[place], start, end, depth
