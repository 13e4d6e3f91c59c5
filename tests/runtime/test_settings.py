"""Settings: what stands above the environment's variables, for how long and for whom."""

import threading

import pytest

from nnapi import Partitioning, Winograd, settings
from nnapi.contract.winograd import FORCED, FORCED_IN_BOTH, IN_BOTH, PLAIN
from nnapi.runtime.settings import find_set_variant, is_tuning, may_try, partitioning, winograd


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
            assert chosen == (Partitioning.NONE, True, None) == (partitioning(), is_tuning(), winograd())
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


def test_winograd_convolutions_are_forbidden_or_forced(monkeypatch: pytest.MonkeyPatch) -> None:
    variants = "", PLAIN, IN_BOTH
    found = {}
    for text in ("", "0", "1", "2", "3", "x"):
        monkeypatch.setenv("NNAPI_WINOGRAD", text)
        found[text] = winograd(), find_set_variant(), [*map(may_try, variants)]
    assert found == {
        "": (None, "", [True] * 3),
        "0": (Winograd.NEVER, "", [True, False, False]),
        "1": (Winograd.PREDICTED, PLAIN, [True] * 3),
        "2": (Winograd.FORCED, FORCED, [True] * 3),
        "3": (Winograd.FORCED_IN_BOTH, FORCED_IN_BOTH, [True] * 3),
        "x": (None, "", [True] * 3),
    }
    monkeypatch.setenv("NNAPI_WINOGRAD", "1")
    with settings(winograd=Winograd.NEVER):
        assert find_set_variant() == ""
