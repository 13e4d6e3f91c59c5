"""C programs that end while the library computes; ``python -m tools.exits`` runs them many times, on all devices."""

import shutil
from collections import Counter

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


@pytest.mark.parametrize("name", sorted(STATES))
def test_a_program_ends_with_its_status(name: str, states: dict[str, exits.State]) -> None:
    assert states[name].is_inside
    assert exits.end(states[name], "nnapi-reference", delay=1, seconds=250) == ""


def test_wrong_ends_are_counted() -> None:
    assert exits.describe(Counter({"": 18, "-11": 1, "hangs": 1})) == "18 of 20, 1 × -11, 1 × hangs"
    assert exits.describe(Counter({"": 20})) == "20 of 20"
