"""Traces written by hand."""

from nnapi.trace.marks import from_ftrace
from nnapi.trace.parse import Report, parse

HEADER = "#           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION\n"


def line(seconds: float, thread: int, text: str, process: int = 1) -> str:
    return f"    task-{thread:<5} ({process:5}) [000] ...1 {seconds:.6f}: tracing_mark_write: {text}\n"


def trace(text: str) -> str:
    """ftrace's text of lines "seconds thread[/process] B name" or "seconds thread E"."""
    lines = []
    processes: dict[int, int] = {}
    for words in filter(None, (one.split(None, 3) for one in text.splitlines())):
        thread, _, process = words[1].partition("/")
        number = int(thread)
        processes[number] = int(process or processes.get(number, 1))
        mark = f"B|{processes[number]}|{words[3]}" if words[2] == "B" else "E"
        lines.append(line(float(words[0]), number, mark, processes[number]))
    return HEADER + "".join(lines)


def report(text: str) -> Report:
    return parse(from_ftrace(trace(text)))
