"""Logs: one logger per component, named ``nnapi.`` and its tag in Android's log. DEBUG_NN_VLOG shows details."""

import logging
import os
import re
import time
from collections.abc import Mapping

from nnapi.errors import BadDataError

PARTS: Mapping[str, tuple[str, ...]] = {
    "model": ("ModelBuilder",),
    "compilation": ("CompilationBuilder", "CompilationCache", "ExecutionPlan"),
    "execution": ("BurstBuilder", "ExecutionBuilder"),
    "cpuexe": ("CpuExecutor",),
    "manager": ("Manager",),
    "memory": ("Memory",),
    "driver": ("Driver",),
}
"""The components whose details can be shown, and their tags."""

TALKATIVE = frozenset({"ExecutionPlan"})
"""Tags that log a line for every operation at INFO, as Android does."""

SILENT = 100
PRIORITIES = {
    "V": 1,
    "D": logging.DEBUG,
    "I": logging.INFO,
    "W": logging.WARNING,
    "E": logging.ERROR,
    "F": logging.CRITICAL,
    "A": logging.CRITICAL,
    "S": SILENT,
}
"""The priorities of Android's log as levels."""

SEPARATORS = re.compile(r"[\s,:]+")
FILTER = re.compile(r"(?P<tag>[^:]+)(?::(?P<priority>[vdiwefasVDIWEFAS]))?")


def vlog(parts: str, *, filters: str | None = None, format: str = "brief") -> None:
    """Show the details of ``parts``: ``model compilation execution cpuexe manager memory driver``, ``all`` or ``1``.

    Names are separated by spaces, commas or colons. Other components log warnings and one line per compilation.
    ``filters`` have logcat's syntax (``ExecutionPlan:V *:S``); ``format`` is ``brief`` or ``threadtime``. Logs go to
    stderr, unless the application has set up a handler. Raises BadDataError for unknown names.
    """
    names = _parts(parts)
    formatter, levels = Formatter(format), parse_filters(filters or "")
    top = logging.getLogger("nnapi")
    for handler in [handler for handler in top.handlers if isinstance(handler, _Stderr)]:
        top.removeHandler(handler)
    top.setLevel(logging.INFO)
    for part, tags in PARTS.items():
        for tag in tags:
            quiet = logging.WARNING if tag in TALKATIVE else logging.NOTSET
            logging.getLogger(f"nnapi.{tag}").setLevel(1 if part in names else quiet)
    if not _is_heard(top):
        handler = _Stderr()
        handler.setFormatter(formatter)
        handler.addFilter(lambda record: record.levelno >= levels.get(tag_of(record), levels["*"]))
        top.addHandler(handler)


def _parts(text: str) -> set[str]:
    words = {word for word in SEPARATORS.split(text.lower()) if word}
    if words & {"all", "1"}:
        return set(PARTS)
    unknown = sorted(words - set(PARTS))
    if unknown:
        raise BadDataError(f"vlog does not know {', '.join(unknown)}, only {' '.join(PARTS)} all")
    return words


def parse_filters(text: str) -> dict[str, int]:
    """Return the lowest level for each tag, and as ``*`` for all others; V is the default. Raises BadDataError."""
    levels = {"*": PRIORITIES["V"]}
    for word in text.replace(",", " ").split():
        match = FILTER.fullmatch(word)
        if match is None:
            raise BadDataError(f"{word!r} is not a filter; filters are TAG:P, with one of V D I W E F S for P")
        levels[match["tag"]] = PRIORITIES[(match["priority"] or "V").upper()]
    return levels


def tag_of(record: logging.LogRecord) -> str:
    return record.name.removeprefix("nnapi.")


def letter(level: int) -> str:
    return next((name for name, least in reversed(PRIORITIES.items()) if least <= level and name not in "AS"), "V")


class Formatter(logging.Formatter):
    """Format lines as logcat does: ``brief`` or ``threadtime``."""

    def __init__(self, style: str = "brief") -> None:
        super().__init__()
        if style not in ("brief", "threadtime"):
            raise BadDataError(f"there is no format {style}, only brief and threadtime")
        self.style = style

    def format(self, record: logging.LogRecord) -> str:
        process, priority, tag = f"{record.process or 0:5}", letter(record.levelno), f"{tag_of(record):<8}"
        head = f"{priority}/{tag}({process}): "
        if self.style == "threadtime":
            clock = time.strftime("%m-%d %H:%M:%S", time.localtime(record.created))
            head = f"{clock}.{int(record.msecs):03} {process} {_native(record):5} {priority} {tag}: "
        message = record.getMessage()
        if record.exc_info:
            message += "\n" + self.formatException(record.exc_info)
        return "\n".join(head + line for line in message.splitlines() or [""])


def _native(record: logging.LogRecord) -> int:
    """Return the system's thread number."""
    import threading

    return threading.get_native_id() if record.thread == threading.get_ident() else record.thread or 0


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]
    """The handler that :func:`vlog` adds and later replaces."""


def _is_heard(logger: logging.Logger | None) -> bool:
    """Return whether the logger, or one above it, has a handler that is not a NullHandler."""
    while logger is not None:
        if any(not isinstance(handler, logging.NullHandler) for handler in logger.handlers):
            return True
        logger = logger.parent if logger.propagate else None
    return False


def from_environment(environment: Mapping[str, str]) -> None:
    """Apply DEBUG_NN_VLOG, ANDROID_LOG_TAGS and ANDROID_PRINTF_LOG; warn about mistakes in them."""
    parts, filters = environment.get("DEBUG_NN_VLOG", ""), environment.get("ANDROID_LOG_TAGS", "")
    if not parts.strip() and not filters.strip():
        return
    style = environment.get("ANDROID_PRINTF_LOG") or "brief"
    try:
        vlog("" if parts.strip() == "0" else parts, filters=filters, format=style)
    except BadDataError as error:
        logging.getLogger("nnapi.Manager").warning("DEBUG_NN_VLOG or ANDROID_LOG_TAGS: %s", error)


from_environment(os.environ)
