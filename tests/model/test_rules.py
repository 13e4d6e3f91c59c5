"""That every rule of sections A to C of validation.md is tested, or cannot be broken from Python, with the reason."""

import re
from pathlib import Path

RULES_NOT_APPLICABLE = {
    4: "a constructor that fails raises: there is no result pointer in which something could be stored",
    9: "extents are one sequence, so their pointer and their number cannot disagree",
    15: "4294967294 operands or operations do not fit into memory",
}

TESTED = re.compile(r"def test_rule_(\d{3})_")


def covered() -> set[int]:
    sources = [path.read_text() for path in Path(__file__).parents[1].glob("*/test_*_rules.py")]
    return {int(number) for source in sources for number in TESTED.findall(source)}


def test_every_rule_of_sections_a_to_c_has_a_test_or_a_reason() -> None:
    assert set(range(1, 47)) - covered() == set(RULES_NOT_APPLICABLE)


def test_every_reason_is_given() -> None:
    assert all(RULES_NOT_APPLICABLE.values())
