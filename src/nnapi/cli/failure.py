"""Failures of the command: one line on stderr and an exit code, never a traceback."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any

import typer
from typer.core import TyperGroup

from nnapi.errors import Mistake, NnapiError
from nnapi.printable import printable

EXTRAS = {
    "PIL": ("pictures need Pillow", "images"),
    "scipy": ("comparing benchmark runs needs SciPy", "report"),
}
"""Libraries that only some subcommands need: why, and the extra of the package that installs them."""


class Nnapi(TyperGroup):
    """The command. Exit code 0 when it did what was asked, 1 when it could not, 2 when it was called wrongly.

    An error is one line on stderr; with NNAPI_DEBUG=1 in the environment the traceback comes before it.
    """

    def main(  # type: ignore[override]  # the positions of the other arguments differ between versions of Typer
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        try:
            try:
                code = super().main(args, standalone_mode=False, **extra) or 0
            finally:
                _flush()
        except typer.Abort as stop:
            ended = stop.__cause__ if isinstance(stop.__cause__, EOFError) else None  # the parser takes it for Ctrl-D
            code = fail(message(ended), 1) if ended else fail("stopped", 130)
        except BrokenPipeError:
            code = 1  # who reads the output wants no more
        except Exception as error:
            if os.environ.get("NNAPI_DEBUG", "0") not in ("", "0"):
                traceback.print_exc()
            code = fail(message(error), 2 if _is_usage(error) else 1)
        if standalone_mode:
            sys.exit(code)
        return code


def _flush() -> None:
    """Write what was printed now; where that fails it is said once, not again when Python ends."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def fail(words: str, code: int) -> int:
    """Say what went wrong; gives the exit code."""
    if words:
        warn(words)
    return code


def warn(words: str) -> None:
    """Say on stderr what is wrong."""
    print(f"nnapi: {printable(words, keeps_lines=True)}", file=sys.stderr)


def _is_usage(error: Exception) -> bool:
    """Whether the argument parser raised it. Its classes have no public home, so they are known by what they offer."""
    return hasattr(error, "format_message")


def message(error: Exception) -> str:
    """The error in words, on one line unless it is a list; empty where help was printed instead."""
    if _is_usage(error):
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "nnapi"
        words = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        return f"{words} (see {path} --help)" if words else ""
    if isinstance(error, OSError) and error.strerror:
        return f"{printable(str(error.filename))}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, Mistake | NnapiError | OSError):
        return str(error)
    if isinstance(error, ModuleNotFoundError) and error.name and (extra := EXTRAS.get(error.name.partition(".")[0])):
        return f"{extra[0]}: pip install 'nnapi[{extra[1]}]'"
    if isinstance(error, MemoryError):
        return f"out of memory: {error}" if str(error) else "out of memory"
    return f"{type(error).__name__}: {error} (this should not happen: NNAPI_DEBUG=1 shows where)"
