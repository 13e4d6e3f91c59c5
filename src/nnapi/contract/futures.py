"""Futures for work in another thread or process: a result, an error, or a missed deadline."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from nnapi.errors import MissedDeadlineTransientError

if TYPE_CHECKING:
    from concurrent.futures import Future  # on demand: it takes long to import

T = TypeVar("T")


def answer_with(answer: "Future[T]", work: Callable[[], T]) -> None:
    """Run ``work``, and set its result or its error in ``answer``."""
    try:
        answer.set_result(work())
    except BaseException as error:
        answer.set_exception(error)


def late_error(who: str) -> MissedDeadlineTransientError:
    return MissedDeadlineTransientError(f"{who} did not answer within the time limit")
