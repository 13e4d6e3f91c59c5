"""``nnapi strace``: show a program's calls to libneuralnetworks.so."""

import os
import signal
import socket
import subprocess
import sys
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import partial
from itertools import chain
from pathlib import Path
from types import FrameType
from typing import Annotated, TextIO

import typer
from rich.console import Console

from nnapi.capi import installation
from nnapi.capi.strace import Begin, End, decode
from nnapi.cli.interruption import handlers
from nnapi.cli.printing import WIDE, table
from nnapi.codes import ResultCode
from nnapi.errors import Mistake
from nnapi.printable import pluralize
from nnapi.store.files import name_file, remove_if_empty
from nnapi.store.temporary import temporary_folder

DATAGRAMS = socket.AF_UNIX, socket.SOCK_DGRAM
LONGEST = 1 << 20
"""Maximum bytes of a message."""
TERMINAL = "/dev/tty"
FAILED = {code.name for code in ResultCode if code}


def strace(
    program: Annotated[
        list[str],
        typer.Argument(metavar="-- PROGRAM...", help="The program to run, with its arguments.", show_default=False),
    ],
    count: Annotated[
        bool, typer.Option("--count", "-c", help="Only print the number of calls and their time.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Write to this file instead of stderr.")
    ] = None,
    calls: Annotated[
        list[str] | None,
        typer.Option(
            "--calls",
            metavar="PATTERN",
            help=(
                "Show only calls whose names match, such as 'Model_*' or '*compute*'; '!*_free' omits calls "
                "(repeatable)."
            ),
        ),
    ] = None,
) -> None:
    """Run a program, and show each of its calls to libneuralnetworks.so with arguments, result and time."""
    if problem := installation.library_problem():
        raise Mistake(problem)
    with nullcontext(sys.stderr) if output is None else _open(output) as file:
        shown = Calls(None if count else file, calls or [])
        code = listen(program, shown.add)
        shown.end()
        if count:
            shown.print_counts(file)
        print(f"nnapi: {shown.summarize()}", file=file)
    raise typer.Exit(code if code >= 0 else 128 - code)


@contextmanager
def _open(output: Path) -> Iterator[TextIO]:
    """Open the file to write while the program runs."""
    with name_file(output), remove_if_empty(output), output.open("w", encoding="utf-8", errors="replace") as file:
        yield file


def listen(program: Sequence[str], add: Callable[[Begin | End], None]) -> int:
    """Run the program and pass its messages to ``add``; return its exit code, negative for a signal."""
    with temporary_folder("strace") as folder, socket.socket(*DATAGRAMS) as inbox:
        address = f"{folder}/calls"
        inbox.bind(address)
        variables = os.environ | installation.environment() | {"NNAPI_STRACE": address}
        try:
            running = subprocess.Popen(program, env=variables)
        except OSError as error:
            raise Mistake(f"{program[0]} cannot be run: {error.strerror}") from None
        pass_on = partial(_pass_on, running)
        with handlers({signal.SIGINT: pass_on, signal.SIGTERM: pass_on}):
            waiting = threading.Thread(target=_send_end, args=(running, address))
            waiting.start()
            while message := inbox.recv(LONGEST):
                add(decode(message))
            waiting.join()
        return running.returncode


def _pass_on(running: subprocess.Popen[bytes], number: int, frame: FrameType | None) -> None:
    """Send a signal to the program, unless it is Ctrl-C, which the terminal sends to both. The program decides."""
    if number != signal.SIGINT or not is_in_foreground():
        running.send_signal(number)


def is_in_foreground() -> bool:
    """Return whether the terminal sends Ctrl-C to this process's group."""
    try:
        with open(TERMINAL, "rb") as terminal:
            return os.tcgetpgrp(terminal.fileno()) == os.getpgrp()
    except OSError:
        return False


def _send_end(running: subprocess.Popen[bytes], address: str) -> None:
    running.wait()
    with socket.socket(*DATAGRAMS) as end:
        end.sendto(b"", address)


@dataclass
class Count:
    calls: int = 0
    failures: int = 0
    nanoseconds: int = 0
    longest: int = 0

    def add(self, end: End) -> None:
        self.calls += 1
        self.failures += end.result in FAILED
        self.nanoseconds += end.nanoseconds
        self.longest = max(self.longest, end.nanoseconds)


@dataclass
class Calls:
    """The calls so far: counted by function and, unless ``lines`` is None, printed to that file."""

    lines: TextIO | None
    filters: Sequence[str]
    counts: dict[str, Count] = field(default_factory=dict)
    unfinished: int = 0
    _begun: defaultdict[tuple[int, int], list[Begin]] = field(default_factory=lambda: defaultdict(list))
    _first: tuple[int, int] | None = None

    def add(self, message: Begin | End) -> None:
        thread = message.process, message.thread
        if isinstance(message, Begin):
            self._begun[thread].append(message)
            return
        begin = self._begun[thread].pop()
        if is_wanted(begin.function, self.filters):
            self.counts.setdefault(begin.function, Count()).add(message)
            self._print(begin, _format_end(message))

    def end(self) -> None:
        for begin in chain.from_iterable(self._begun.values()):
            if is_wanted(begin.function, self.filters):
                self.unfinished += 1
                self._print(begin, "unfinished")

    def summarize(self) -> str:
        """Return text such as ``112 calls of 23 functions in 3.2 ms, 1 failed; most time in … (2.1 ms)``."""
        calls = sum(count.calls for count in self.counts.values())
        if not calls and not self.unfinished:
            return "no call to libneuralnetworks.so" + (" that the filter lets through" if self.filters else "")
        spent = sum(count.nanoseconds for count in self.counts.values())
        functions = pluralize(len(self.counts), "function")
        words = f"{pluralize(calls, 'call')} of {functions} in {_milliseconds(spent)}"
        failed = sum(count.failures for count in self.counts.values())
        for number, what in ((failed, "failed"), (self.unfinished, "unfinished")):
            words += f", {number} {what}" if number else ""
        if calls:
            name, most = max(self.counts.items(), key=lambda item: item[1].nanoseconds)
            words += f"; most time in {name} ({_milliseconds(most.nanoseconds)})"
        return words

    def print_counts(self, file: TextIO) -> None:
        numbers = ("ms", "µs a call", "longest", "calls", "failed")
        rows = table(*numbers, "function", right=numbers)
        for name, count in sorted(self.counts.items(), key=lambda item: -item[1].nanoseconds):
            mean = count.nanoseconds / count.calls
            times = f"{count.nanoseconds / 1e6:.3f}", f"{mean / 1e3:.1f}", f"{count.longest / 1e3:.1f}"
            rows.add_row(*times, str(count.calls), str(count.failures or ""), name)
        Console(file=file, width=WIDE, highlight=False).print(rows)

    def _print(self, begin: Begin, end: str) -> None:
        if self.lines is None:
            return
        thread = begin.process, begin.thread
        self._first = self._first or thread
        who = "" if self._first == thread else f"[{begin.thread}] "
        print(f"{who}{begin.function}({begin.arguments}) {end}", file=self.lines, flush=True)


def is_wanted(function: str, filters: Sequence[str]) -> bool:
    """Return whether a name matches any pattern without ``!``, if there is one, and no pattern with ``!``."""
    names = function, function.removeprefix("ANeuralNetworks")

    def matches(patterns: Sequence[str]) -> bool:
        return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)

    wanted = [pattern for pattern in filters if not pattern.startswith("!")] or ["*"]
    return matches(wanted) and not matches([pattern[1:] for pattern in filters if pattern.startswith("!")])


def _format_end(end: End) -> str:
    words = [f"= {end.result}" if end.result else "", end.outputs, f"({end.reason})" if end.reason else ""]
    return " ".join([*filter(None, words), f"<{end.nanoseconds / 1e3:.1f} µs>"])


def _milliseconds(nanoseconds: float) -> str:
    return f"{nanoseconds / 1e6:.3g} ms"
