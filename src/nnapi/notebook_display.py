"""Display in notebooks; the drawing code is imported when a notebook asks for it."""

from __future__ import annotations

from importlib import import_module


class NotebookDisplay:
    """An object that Jupyter draws instead of printing it."""

    __slots__ = ()

    def _repr_html_(self) -> str | None:
        """As HTML, which notebooks ask for; None where there is nothing to draw, and they print the object.

        By name, because what draws lies above everything that it draws.
        """
        html: str | None = import_module("nnapi.report.notebook").draw(self)
        return html
