"""Exit codes of the command, its errors (one line on stderr), and its standard streams."""

import io
import os
import sys
import traceback
from collections.abc import Sequence
from enum import IntEnum
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from nnapi.cli.interruption import Interruption, leave
from nnapi.errors import DeadObjectError, Mistake, NnapiError, UnavailableDeviceError, UnusableFile
from nnapi.printable import printable, shorten_lines

EXTRAS = {
    "PIL": ("pictures need Pillow", "images"),
    "ai_edge_quantizer": ("quantizing a .tflite file needs ai-edge-quantizer", "quantize"),
    "onnxruntime": ("quantizing an .onnx file needs ONNX Runtime", "quantize"),
    "scipy": ("comparing benchmark runs needs SciPy", "report"),
}
"""Libraries that only some subcommands need: the reason, and the extra that installs them."""


class ExitCode(IntEnum):
    """The result of a command, for scripts; docs/automation.md explains each."""

    SUCCESS = 0
    DIFFERENT = 1
    BAD_INPUT = 2
    REFUSED = 3
    NO_DEVICE = 4
    INTERNAL = 5
    STOPPED = 130
    BROKEN_PIPE = 141
    TERMINATED = 143


MEANINGS = {
    ExitCode.SUCCESS: "All work was done, and no result differs.",
    ExitCode.DIFFERENT: "Results differ by more than rounding, a conformance example or random model failed or is "
    "not as its baseline expects, or a benchmark or test became worse.",
    ExitCode.BAD_INPUT: "The call is wrong: an option or argument; a file or folder that is missing, or that cannot be "
    "opened, read or written; an optional library that is missing.",
    ExitCode.REFUSED: "nnapi refused the content of a file, such as a model with an operation that NNAPI lacks or a "
    "damaged picture, or could not do a part of the work.",
    ExitCode.NO_DEVICE: "A device is unavailable, or was lost during the work.",
    ExitCode.INTERNAL: "An error in nnapi. `NNAPI_DEBUG=1` prints the traceback.",
    ExitCode.STOPPED: "Ctrl-C. The command ends within a second and removes its temporary files and folders.",
    ExitCode.BROKEN_PIPE: "The program that reads the output ended first, for example `head`.",
    ExitCode.TERMINATED: "SIGTERM, with the same end as Ctrl-C. `nnapi serve` exits with 0.",
}
"""The meaning of each code, for docs/automation.md."""


class Nnapi(TyperGroup):
    """The command. Errors end it with one line and an exit code; NNAPI_DEBUG=1 prints the traceback."""

    def main(  # type: ignore[override]  # the positions of the other arguments differ between versions of Typer
        self, args: Sequence[str] | None = None, *, standalone_mode: bool = True, **extra: Any
    ) -> Any:
        code, words = self._call(args, extra)
        Interruption.is_too_late = True
        if Interruption.number:
            code, words = 128 + Interruption.number, "stopped"
        fail(words, code)
        if standalone_mode:
            if Interruption.number:
                leave(code)
            sys.exit(code)
        return code

    def _call(self, args: Sequence[str] | None, extra: dict[str, Any]) -> tuple[int, str]:
        """Run the command; return its exit code, and its message if it failed."""
        try:
            try:
                return super().main(args, standalone_mode=False, **extra) or ExitCode.SUCCESS, ""
            finally:
                _flush()
        except KeyboardInterrupt:
            return ExitCode.STOPPED, "stopped"
        except typer.Abort as stop:
            if isinstance(ended := stop.__cause__, EOFError):  # the parser mistakes an EOFError for Ctrl-D
                return ExitCode.BAD_INPUT, describe_failure(ended)[1]
            return ExitCode.STOPPED, "stopped"
        except ReaderIsGone:
            return ExitCode.BROKEN_PIPE, ""
        except Exception as error:
            if os.environ.get("NNAPI_DEBUG", "0") not in ("", "0"):
                traceback.print_exc()
            return describe_failure(error)


def _flush() -> None:
    """Flush standard output. After an error, redirect it, so that Python does not report the error again at exit."""
    try:
        sys.stdout.flush()
    except (OSError, ReaderIsGone):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise


def fail(words: str, code: int) -> int:
    if words:
        warn(words)
    return code


def warn(words: str) -> None:
    print(f"nnapi: {printable(shorten_lines(words), keeps_lines=True)}", file=sys.stderr)


def describe_failure(error: BaseException) -> tuple[ExitCode, str]:
    """Return the exit code and message of an error that ends the command. A message is one line, unless it is a list;
    it is empty if help was printed instead."""
    if hasattr(error, "format_message"):  # an error of the argument parser, whose classes are private
        context = getattr(error, "ctx", None)
        path = context.command_path if context else "nnapi"
        words = error.format_message().rstrip(".")
        return ExitCode.BAD_INPUT, f"{words} (see {path} --help)" if words else ""
    match error:
        case DeadObjectError() | UnavailableDeviceError():
            return ExitCode.NO_DEVICE, str(error)
        case NnapiError(__cause__=ImportError()):
            return ExitCode.BAD_INPUT, str(error)
        case NnapiError() | UnusableFile():
            return ExitCode.REFUSED, str(error)
        case MemoryError():
            return ExitCode.REFUSED, f"out of memory: {error}" if str(error) else "out of memory"
        case OSError(strerror=str(reason)) if reason:
            return ExitCode.BAD_INPUT, f"{printable(str(error.filename))}: {reason}" if error.filename else reason
        case Mistake() | OSError():
            return ExitCode.BAD_INPUT, str(error)
        case ModuleNotFoundError(name=str(name)) if extra := EXTRAS.get(name.partition(".")[0]):
            return ExitCode.BAD_INPUT, f"{extra[0]}: pip install 'nnapi[{extra[1]}]'"
    return (
        ExitCode.INTERNAL,
        f"{type(error).__name__}: {error} (a bug in nnapi: set NNAPI_DEBUG=1 to print the traceback)",
    )


def name_in_failure(file: Path, error: BaseException) -> str:
    """Return the message of an error, after the file's name unless the message has it."""
    words = describe_failure(error)[1]
    return words if file.name in words else f"{file.name}: {words}"


def prepare_streams() -> None:
    """Replace characters outside the locale's encoding by question marks. Exit if standard output is closed, because
    the first opened file would take its descriptor."""
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115  (open for as long as the process lives)
    if sys.stdout is None or sys.stdout.closed:
        sys.exit(fail("standard output is closed", ExitCode.BAD_INPUT))
    if isinstance(out := sys.stdout, io.TextIOWrapper):
        binary = io.BufferedWriter(_StandardOutput(out.fileno(), "wb", closefd=False))
        sys.stdout = io.TextIOWrapper(
            binary, out.encoding, "replace", line_buffering=out.line_buffering, write_through=out.write_through
        )
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="replace")


class ReaderIsGone(Exception):
    """Nobody reads standard output any more, as after ``| head -1``. It is not an OSError, because Typer and Rich would
    end the process with 1, which means that results differ."""


class _StandardOutput(io.FileIO):
    """Standard output, named in its errors."""

    def write(self, data: Any) -> int | None:  # type: ignore[override]  # the base class takes any buffer
        try:
            return super().write(data)
        except BrokenPipeError:
            raise ReaderIsGone from None
        except OSError as error:
            raise OSError(error.errno, error.strerror, "standard output") from None
