"""That every rule of sections H, I, J, M, N and P of validation.md is tested, or has a reason not to be."""

import re
from pathlib import Path

RULES_NOT_APPLICABLE = {
    112: "Python keeps buffers and memories alive as long as an execution refers to them",
    124: "every fenced computation runs in the background, whatever its plan",
    176: "the runtime has the highest level there is",
    177: "the runtime's level is not lowered",
    178: "deadlines and priorities are part of the drivers' protocol at every level",
}
SECTIONS = {*range(96, 139), *range(157, 168), *range(174, 179)}
TESTED = re.compile(r"def test_rule_(\d{3})_")


def covered() -> set[int]:
    tests = Path(__file__).parents[1]
    files = [*tests.glob("runtime/test_*_rules.py"), tests / "drivers" / "test_reference_driver.py"]
    sources = [path.read_text() for path in files]
    return {int(number) for source in sources for number in TESTED.findall(source)}


def test_every_rule_has_a_test_or_a_reason() -> None:
    assert SECTIONS - covered() == set(RULES_NOT_APPLICABLE)
