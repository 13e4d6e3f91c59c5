"""Objects that notebooks draw. The package itself registers what draws them: it lies above everything that is drawn."""

from __future__ import annotations

from collections.abc import Callable


def _draw_nothing(shown: object) -> str | None:
    return None


_draw: Callable[[object], str | None] = _draw_nothing


def register_drawing(draw: Callable[[object], str | None]) -> None:
    """Let ``draw`` turn objects into HTML; it returns None for an object that is printed instead."""
    global _draw
    _draw = draw


class NotebookDisplay:
    """An object that Jupyter draws instead of printing it."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """Return the object as HTML; None where there is nothing to draw, and notebooks print it."""
        return _draw(self)
