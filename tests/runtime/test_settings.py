"""Settings: what stands above the environment's variables, for how long and for whom."""

import threading

import pytest

from nnapi import Partitioning, settings
from nnapi.runtime.settings import is_tuning, partitioning


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEBUG_NN_PARTITION", "2")
    monkeypatch.setenv("NNAPI_TUNING", "0")


def test_outside_of_a_block_the_environment_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (partitioning(), is_tuning()) == (Partitioning.WITHOUT_FALLBACK, False)
    monkeypatch.setenv("DEBUG_NN_PARTITION", "7")
    monkeypatch.delenv("NNAPI_TUNING")
    assert (partitioning(), is_tuning()) == (Partitioning.WITHOUT_FALLBACK, True)
    monkeypatch.delenv("DEBUG_NN_PARTITION")
    assert partitioning() == Partitioning.WITH_FALLBACK


def test_blocks_nest_and_end() -> None:
    with settings(tuning=True):
        with settings(partitioning=Partitioning.NONE) as chosen:
            assert chosen == (Partitioning.NONE, True) == (partitioning(), is_tuning())
        assert (partitioning(), is_tuning()) == (Partitioning.WITHOUT_FALLBACK, True)
    assert is_tuning() is False


def test_a_block_ends_with_an_error_too() -> None:
    with pytest.raises(ValueError, match="7 is not a valid Partitioning"), settings(tuning=True, partitioning=7):  # type: ignore[arg-type]
        pass
    assert is_tuning() is False


def test_other_threads_are_not_concerned() -> None:
    seen: list[bool] = []
    with settings(tuning=True):
        thread = threading.Thread(target=lambda: seen.append(is_tuning()))
        thread.start()
        thread.join()
    assert seen == [False]
