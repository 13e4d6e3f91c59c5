"""That every rule of validation.md is tested by name somewhere, or has its reason why it cannot be."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
COUNT = 184

NOT_APPLICABLE = {
    86: "a tensor without elements between two steps is handed on like any other; a driver that fails at it falls back",
    88: "a repetition on the CPU hands its arrays to whatever memory is bound, also to one made for unknown dimensions",
}
"""Rules of the runtime that cannot be broken here, and why. Those of the other tables are in RULES_NOT_APPLICABLE."""

REASONS = re.compile(r"^    (\d+): \"", re.MULTILINE)


def named() -> set[int]:
    """Numbers in the names of tests, ``test_rule_084_085_…`` for several."""
    sources = [path.read_text() for path in TESTS.rglob("test_*.py")]
    names = [name for source in sources for name in re.findall(r"def test_rule((?:_\d{3})+)_", source)]
    return {int(number) for name in names for number in name.split("_") if number}


def excused() -> set[int]:
    """Numbers in the tables of this file and of its like."""
    tables = [path.read_text() for path in TESTS.glob("*/test_rules.py")]
    return {int(number) for table in tables for number in REASONS.findall(table)} | set(NOT_APPLICABLE)


def test_every_rule_is_tested_or_excused() -> None:
    assert set(range(1, COUNT + 1)) - named() - excused() == set()


def test_no_rule_is_both() -> None:
    assert named() & excused() == set()


def test_reasons_are_sentences() -> None:
    assert all(len(reason.split()) > 5 for reason in NOT_APPLICABLE.values())
