"""Work behind runs."""

import threading
from collections.abc import Callable

import pytest

import nnapi
from nnapi.errors import OpFailedError
from nnapi.runtime import behind_runs
from nnapi.runtime.behind_runs import do_behind_runs
from nnapi.runtime.settings import waits_for_trials


def test_work_has_a_thread_and_the_settings_of_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NNAPI_TUNING", raising=False)
    done, threads, tuned = threading.Event(), list[int](), list[bool]()

    def work() -> None:
        threads.append(threading.get_ident())
        tuned.append(waits_for_trials())
        done.set()

    with nnapi.settings(tuning=False):
        do_behind_runs(work)
    assert done.wait(60)
    with nnapi.settings(tuning=True):
        do_behind_runs(work)
    assert threads[0] != threads[1] == threading.get_ident(), "trials are waited for"
    assert tuned == [False, True]


def test_without_a_thread_there_is_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(work: Callable[[], None]) -> None:
        raise OpFailedError("no thread")

    monkeypatch.setattr(behind_runs, "run_in_background", refuse)
    with nnapi.settings(tuning=False):
        do_behind_runs(lambda: pytest.fail("it is done"))
