"""Names for the values of a file, each given once."""


class UniqueNames:
    """Makes names unique by numbers: ``x``, ``x_1``, ``x_2``."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._last: dict[str, int] = {}

    def take(self, stem: str) -> str:
        """Return ``stem`` if it is free, else with a number; the name is then taken."""
        name, number = stem, self._last.get(stem, 0)
        while name in self._taken:
            number += 1
            name = f"{stem}_{number}"
        self._taken.add(name)
        self._last[stem] = number
        return name
