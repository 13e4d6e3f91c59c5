"""C programs that end while the library computes; ``python -m tools.exits`` runs them many times, on all devices."""

import ctypes
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from nnapi.capi import installation
from tools import exits

pytestmark = [
    pytest.mark.skipif(shutil.which("gcc") is None, reason="no C compiler"),
    pytest.mark.skipif(installation.library_problem() is not None, reason=str(installation.library_problem())),
]


STATES = {
    "several starts",
    "start, exit in a thread",
    "start, fork, call",
    "threads compute, exit in a thread",
    "threads joined at exit",
    "freed at exit",
    "compute, exit in a handler",
}


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> dict[str, exits.State]:
    program = exits.build(exits.TESTS / "clients" / "exits.c", tmp_path_factory.mktemp("programs"))
    return {state.name: state for state in exits.list_states(program)}


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "on_exit"), reason="only glibc tells handlers the exit status")
@pytest.mark.parametrize("name", sorted(STATES))
def test_a_program_ends_with_its_status(name: str, states: dict[str, exits.State]) -> None:
    assert states[name].is_inside
    assert exits.end(states[name], "nnapi-reference", delay=1, seconds=250) == ""


def looks(folder: Path, states: Sequence[str], computed: int = 0) -> list[bool]:
    """Look four times at a process with these states of its threads, which has computed for that many ticks."""
    watch = exits.Watch(0, 0.35)
    watch._folder = folder
    for number, state in enumerate(states):
        (folder / "task" / str(number)).mkdir(parents=True)
        stat = f"{number} (a name) with spaces) {state} {'0 ' * 10}{computed} 0 0"
        (folder / "task" / str(number) / "stat").write_text(stat)
    return [watch.hangs() for _ in range(4)]


@pytest.mark.parametrize(
    ("states", "computed", "is_found"),
    [("SS", 0, True), ("ZS", 0, True), ("SR", 0, False), ("SD", 0, False), ("SR", 10**6, True)],
)
def test_a_process_that_waits_for_a_processor_does_not_hang(
    states: str, computed: int, is_found: bool, tmp_path: Path
) -> None:
    assert looks(tmp_path, states, computed)[-1] is is_found


def test_a_process_hangs_once_it_has_slept_long_enough(tmp_path: Path) -> None:
    assert looks(tmp_path, "S") == [False, False, False, True]


def test_a_program_that_sleeps_for_ever_is_ended(tmp_path: Path) -> None:
    source = tmp_path / "tests" / "sleeps.c"
    source.parent.mkdir()
    source.write_text("#include <unistd.h>\nint main(void) { pause(); }\n")
    state = exits.State(exits.build(source, tmp_path), "sleeping", 0, False)
    assert exits.end(state, "", delay=0, seconds=exits.TICK) == "hangs"


def test_wrong_ends_are_counted() -> None:
    assert exits.describe(Counter({"": 18, "-11": 1, "hangs": 1})) == "18 of 20, 1 × -11, 1 × hangs"
    assert exits.describe(Counter({"": 20})) == "20 of 20"
