"""Failures of the command (one line on stderr and an exit code), and its standard streams."""

from __future__ import annotations

import io
import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, TextIO

import typer
from typer.core import TyperGroup

from nnapi.cli.exit_code import ExitCode, find_exit_code
from nnapi.errors import Mistake, NnapiError
from nnapi.printable import printable

EXTRAS = {
    "PIL": ("pictures need Pillow", "images"),
    "scipy": ("comparing benchmark runs needs SciPy", "report"),
}
"""Libraries that only some subcommands need: the reason, and the extra that installs them."""


class Nnapi(TyperGroup):
    """The command. Errors end it with one line and an exit code; NNAPI_DEBUG=1 prints the traceback."""

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
            code = fail(message(ended), ExitCode.BAD_INPUT) if ended else fail("stopped", ExitCode.STOPPED)
        except BrokenPipeError:
            code = ExitCode.BROKEN_PIPE
        except Exception as error:
            if os.environ.get("NNAPI_DEBUG", "0") not in ("", "0"):
                traceback.print_exc()
            code = fail(message(error), find_exit_code(error, _is_mistake(error)))
        if standalone_mode:
            sys.exit(code)
        return code


def _flush() -> None:
    """Flush standard output; after an error redirect it, so that Python does not report the error again at exit."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def fail(words: str, code: int) -> int:
    if words:
        warn(words)
    return code


def warn(words: str) -> None:
    print(f"nnapi: {printable(words, keeps_lines=True)}", file=sys.stderr)


def _is_usage(error: Exception) -> bool:
    """Return whether the argument parser raised it; its classes are private, so this checks an attribute."""
    return hasattr(error, "format_message")


def _is_mistake(error: Exception) -> bool:
    """Return whether the user can mend it: an option, a file, or a library that is not installed."""
    return _is_usage(error) or isinstance(error, Mistake | OSError) or _find_extra(error) is not None


def _find_extra(error: Exception) -> tuple[str, str] | None:
    return EXTRAS.get((error.name or "").partition(".")[0]) if isinstance(error, ModuleNotFoundError) else None


def message(error: Exception) -> str:
    """Return the message of an error, on one line unless it is a list; empty if help was printed instead."""
    if _is_usage(error):
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "nnapi"
        words = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        return f"{words} (see {path} --help)" if words else ""
    if isinstance(error, OSError) and error.strerror:
        return f"{printable(str(error.filename))}: {error.strerror}" if error.filename else error.strerror
    if isinstance(error, Mistake | NnapiError | OSError):
        return str(error)
    if extra := _find_extra(error):
        return f"{extra[0]}: pip install 'nnapi[{extra[1]}]'"
    if isinstance(error, MemoryError):
        return f"out of memory: {error}" if str(error) else "out of memory"
    return f"{type(error).__name__}: {error} (this should not happen: NNAPI_DEBUG=1 shows where)"


def prepare_streams() -> None:
    """Print question marks for characters outside the locale's encoding. Exit if standard output is closed: the first
    file opened would replace it."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (open for as long as the process lives)
    if sys.stdout is None or sys.stdout.closed:
        sys.exit(fail("standard output is closed", ExitCode.BAD_INPUT))
    sys.stdout = _prefix_errors(sys.stdout, "standard output")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")


class _Named(io.FileIO):
    """A file whose errors name it."""

    def __init__(self, number: int, words: str) -> None:
        super().__init__(number, "wb", closefd=False)
        self._words = words

    def write(self, data: Any) -> int | None:  # type: ignore[override]  # any buffer, as of the class itself
        try:
            return super().write(data)
        except OSError as error:
            raise OSError(error.errno, error.strerror, self._words) from None


def _prefix_errors(stream: TextIO, words: str) -> TextIO:
    if not isinstance(stream, io.TextIOWrapper):
        return stream
    binary = io.BufferedWriter(_Named(stream.fileno(), words))
    return io.TextIOWrapper(
        binary, stream.encoding, line_buffering=stream.line_buffering, write_through=stream.write_through
    )
