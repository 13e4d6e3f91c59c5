"""Exit codes of the command."""

from enum import IntEnum

from nnapi.errors import DeadObjectError, NnapiError, UnavailableDeviceError


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


def find_exit_code(error: Exception, is_mistake: bool) -> ExitCode:
    """Return the code of an error that ends the command; ``is_mistake`` if the user can mend it."""
    match error:
        case DeadObjectError() | UnavailableDeviceError():
            return ExitCode.NO_DEVICE
        case NnapiError() | MemoryError():
            return ExitCode.REFUSED
    return ExitCode.BAD_INPUT if is_mistake else ExitCode.INTERNAL
