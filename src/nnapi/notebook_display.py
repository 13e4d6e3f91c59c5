"""Objects that notebooks draw, by a function that the package registers: it lies in a higher layer."""

from collections.abc import Callable


def _draw_nothing(shown: object) -> str | None:
    return None


_draw: Callable[[object], str | None] = _draw_nothing


def register_drawing(draw: Callable[[object], str | None]) -> None:
    """Draw objects by ``draw``, which returns HTML, or None to print the object instead."""
    global _draw
    _draw = draw


class NotebookDisplay:
    """An object that Jupyter draws instead of printing it."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Return the object as HTML; None where notebooks print it."""
        return _draw(self)
