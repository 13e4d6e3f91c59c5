"""Exit codes of the command."""

from enum import IntEnum


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
