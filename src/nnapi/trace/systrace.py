"""Write spans as Android's systrace: ftrace's text, alone or in a page. Perfetto opens both."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from nnapi.trace.marks import ORIGIN
from nnapi.trace.nesting import begin_and_end_marks
from nnapi.trace.recorder import Span

LONGEST = 1000
"""Maximum characters of a mark; the kernel's buffer for a mark has 1024 bytes."""

_OPENING = re.compile("<(?=[/!])")
"""Text that would end a script element, or begin a comment that hides its end."""

HEADER = f"""\
# tracer: nop
#
#                                      _-----=> irqs-off
#                                     / _----=> need-resched
#                                    | / _---=> hardirq/softirq
#                                    || / _--=> preempt-depth
#                                    ||| /     delay
#           TASK-PID    TGID   CPU#  ||||    TIMESTAMP  FUNCTION
#              | |        |      |   ||||       |         |
{ORIGIN}
"""


def trace_data(spans: Iterable[Span]) -> str:
    """Return the HTML element in which viewers and :mod:`.marks` look for a page's trace."""
    trace = _OPENING.sub("< ", to_ftrace(spans))
    return (
        "<!-- BEGIN TRACE -->\n"
        f'  <script class="trace-data" type="application/text">\n{trace}  </script>\n'
        "<!-- END TRACE -->"
    )


def to_ftrace(spans: Iterable[Span]) -> str:
    """Return the spans as ftrace's text; times are seconds of the monotonic clock."""
    threads: defaultdict[tuple[int, int], list[Span]] = defaultdict(list)
    for span in spans:
        threads[span.process, span.thread].append(span)
    marks = [mark for thread in threads.values() for mark in _marks(thread)]
    marks.sort(key=lambda mark: mark[0])  # stable: keeps the order of simultaneous marks
    return HEADER + "".join(line for _, line in marks)


def _marks(spans: Sequence[Span]) -> Iterator[tuple[float, str]]:
    ordered = sorted((s for s in spans if s.cookie is None), key=lambda s: (s.start, s.depth))
    for time, span, begins in begin_and_end_marks((span.start, span.end, span) for span in ordered):
        yield time, _line(span, time, f"B|{span.process}|{_title(span)}" if begins else f"E|{span.process}")
    for span in spans:
        if span.cookie is not None:
            tail = f"|{span.process}|{_title(span)}|{span.cookie}"
            yield span.start, _line(span, span.start, "S" + tail)
            yield span.end, _line(span, span.end, "F" + tail)


def _line(span: Span, time: float, text: str) -> str:
    task = _clean(span.thread_name).strip()[:15] or "<...>"
    seconds, microseconds = divmod(int(time) // 1000, 1_000_000)
    who = f"{task}-{span.thread}".rjust(22)
    return f"{who} ({span.process:5}) [000] .... {seconds}.{microseconds:06}: tracing_mark_write: {text}\n"


def _title(span: Span) -> str:
    """Return the mark's name, with an operation's number and the names of its results."""
    parts = [str(span.label)]
    if "operation" in span.args:
        parts.append(f"#{span.args['operation']}")
    parts += [", ".join(str(name) for name in span.args.get("outputs", ()) if name)]
    return _clean(" ".join(part for part in parts if part))[:LONGEST]


def _clean(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)
