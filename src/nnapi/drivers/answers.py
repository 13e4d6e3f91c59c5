"""The answer to work that another thread or process does: its result, its error, or a missed deadline."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from nnapi.errors import MissedDeadlineTransientError

if TYPE_CHECKING:
    from concurrent.futures import Future  # which takes long to import

T = TypeVar("T")


def answer_with(answer: Future[T], work: Callable[[], T]) -> None:
    """Do the work, and give who waits for the answer what it gives or raises."""
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)


def late_error(who: str) -> MissedDeadlineTransientError:
    """Return the error for work that is unfinished when the time limit has passed."""
    return MissedDeadlineTransientError(f"{who} did not answer within the time limit")
