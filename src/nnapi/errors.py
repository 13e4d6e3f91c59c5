"""Exceptions of refused and failed calls: one class per result code of the C API.

    NnapiError
    ├── OutOfMemoryError                   OUT_OF_MEMORY
    ├── IncompleteError                    INCOMPLETE
    ├── UnexpectedNullError                UNEXPECTED_NULL
    ├── BadDataError                       BAD_DATA
    ├── OpFailedError                      OP_FAILED
    ├── BadStateError                      BAD_STATE
    ├── UnmappableError                    UNMAPPABLE
    ├── OutputInsufficientSizeError        OUTPUT_INSUFFICIENT_SIZE
    ├── UnavailableDeviceError             UNAVAILABLE_DEVICE
    ├── MissedDeadlineError                (either of)
    │   ├── MissedDeadlineTransientError   MISSED_DEADLINE_TRANSIENT
    │   └── MissedDeadlinePersistentError  MISSED_DEADLINE_PERSISTENT
    ├── ResourceExhaustedError             (either of)
    │   ├── ResourceExhaustedTransientError   RESOURCE_EXHAUSTED_TRANSIENT
    │   └── ResourceExhaustedPersistentError  RESOURCE_EXHAUSTED_PERSISTENT
    └── DeadObjectError                    DEAD_OBJECT

Programs may catch `NnapiError` or one of the two groups; only the other classes are raised.
"""

import copy
import errno
from collections.abc import Iterator
from contextlib import contextmanager
from typing import ClassVar, Self, TypeVar

from nnapi.codes import ResultCode
from nnapi.printable import printable

T = TypeVar("T")


class NnapiError(Exception):
    """Any refusal or failure. `code` is the C API's result code; `where` is the location that `at` has set."""

    code: ClassVar[ResultCode] = ResultCode.OP_FAILED  # also for classes that are never raised themselves

    def __init_subclass__(cls, *, code: ResultCode | None = None) -> None:
        super().__init_subclass__()
        if code is not None:
            cls.code = code

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.where: str | None = None

    @property
    def message(self) -> str:
        """Return the message without the location."""
        return str(self.args[0])

    def __str__(self) -> str:
        said = self.message if self.where is None else f"{self.where}: {self.message}"
        return printable(said, keeps_lines=True)

    def at(self, where: str) -> Self:
        """Return a copy with a location, such as "CONV_2D (#17)", for `raise error.at(where) from None`.

        The first location is the most precise, so an error that already has one is returned unchanged.
        """
        if self.where is not None:
            return self
        placed = copy.copy(self)
        placed.where = where
        return placed.with_traceback(self.__traceback__)


class Mistake(Exception):
    """The user named a wrong file, option or folder."""


class UnusableFile(Mistake):
    """The user named a file whose content cannot be used."""


class OutOfMemoryError(NnapiError, code=ResultCode.OUT_OF_MEMORY):
    """Memory of the host could not be allocated."""


class IncompleteError(NnapiError, code=ResultCode.INCOMPLETE):
    """NNAPI defines this code, but nnapi never reports it."""


class UnexpectedNullError(NnapiError, code=ResultCode.UNEXPECTED_NULL):
    """An argument that must be given is absent: a null pointer in C, None in Python."""


class BadDataError(NnapiError, code=ResultCode.BAD_DATA):
    """An argument is wrong."""


class OpFailedError(NnapiError, code=ResultCode.OP_FAILED):
    """A compilation or an execution failed."""


class BadStateError(NnapiError, code=ResultCode.BAD_STATE):
    """The call is not permitted in the current state of the object."""


class UnmappableError(NnapiError, code=ResultCode.UNMAPPABLE):
    """A memory cannot be mapped."""


class OutputInsufficientSizeError(NnapiError, code=ResultCode.OUTPUT_INSUFFICIENT_SIZE):
    """An output buffer is too small. The error's attribute `dimensions` has the dimensions of the result."""

    dimensions: tuple[int, ...] = ()


class UnavailableDeviceError(NnapiError, code=ResultCode.UNAVAILABLE_DEVICE):
    """A device cannot be used."""


class MissedDeadlineError(NnapiError):
    """The work did not finish within its time limit."""


class MissedDeadlineTransientError(MissedDeadlineError, code=ResultCode.MISSED_DEADLINE_TRANSIENT):
    """The work did not finish within its time limit. Another try may succeed."""


class MissedDeadlinePersistentError(MissedDeadlineError, code=ResultCode.MISSED_DEADLINE_PERSISTENT):
    """The work did not finish within its time limit. Another try would fail too."""


class ResourceExhaustedError(NnapiError):
    """A device ran out of some resource."""


class ResourceExhaustedTransientError(ResourceExhaustedError, code=ResultCode.RESOURCE_EXHAUSTED_TRANSIENT):
    """A device ran out of some resource. Another try may succeed."""


class ResourceExhaustedPersistentError(ResourceExhaustedError, code=ResultCode.RESOURCE_EXHAUSTED_PERSISTENT):
    """A device ran out of some resource. Another try would fail too."""


class DeadObjectError(NnapiError, code=ResultCode.DEAD_OBJECT):
    """The object no longer exists, for example because the process of its driver ended."""


def _list_errors(base: type[NnapiError]) -> Iterator[type[NnapiError]]:
    for error in base.__subclasses__():
        yield error
        yield from _list_errors(error)


_BY_CODE: dict[int, type[NnapiError]] = {
    error.code: error for error in _list_errors(NnapiError) if "code" in vars(error)
}


def error_for(code: int) -> type[NnapiError]:
    """Return the exception class for a result code; raise ValueError for NO_ERROR and unknown numbers."""
    try:
        return _BY_CODE[code]
    except KeyError:
        raise ValueError(f"{code} is not the result code of an error") from None


def need(condition: object, message: str, error: type[NnapiError] = OpFailedError) -> None:
    """Raise `error(message)` unless the condition is true."""
    if not condition:
        raise error(message)


def need_value(value: T | None, message: str, error: type[NnapiError] = OpFailedError) -> T:
    """Return the value; raise `error(message)` if it is None."""
    if value is None:
        raise error(message)
    return value


def need_instance(value: object, kind: type, name: str, remedy: str = "") -> None:
    """Raise UnexpectedNullError if an argument is None, BadDataError if it is of another type."""
    if not isinstance(value, kind):
        need(value is not None, f"{name} is None", UnexpectedNullError)
        advice = f": {remedy}" if remedy else ""
        raise BadDataError(f"{name} is of type {type(value).__name__}, must be nnapi.{kind.__name__}{advice}")


@contextmanager
def translate_errors(what: str) -> Iterator[None]:
    """Turn a MemoryError, ImportError or OSError of a `with` block into an `NnapiError`."""
    try:
        yield
    except MemoryError as error:
        raise OutOfMemoryError(f"{what}: {str(error) or 'no memory left'}") from error
    except (ImportError, OSError) as error:
        lacking = isinstance(error, OSError) and error.errno == errno.ENOMEM
        raise (OutOfMemoryError if lacking else OpFailedError)(f"{what}: {type(error).__name__}: {error}") from error


def wrap_error(error: Exception, who: str) -> NnapiError:
    """Return an NnapiError for another exception, raised by the driver `who`."""
    if isinstance(error, MemoryError):
        return OutOfMemoryError(f"{who}: no memory left: {error}")
    return OpFailedError(f"{who} failed: {type(error).__name__}: {error}")
