"""The rules of validation.md: what each raises when it is broken, and why some cannot be broken here."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

from nnapi.codes import ResultCode

COUNT = 184

RULES_BY_CODE: dict[ResultCode, str] = {
    ResultCode.UNEXPECTED_NULL: "1 6 18 44 63 70 103 122 149",
    ResultCode.BAD_DATA: """
        3 6 8 10 12 13 16 18 19 20 23 24 25 26 27 28 29 30 31 32 33 37 39 40 44 46 47 48 49 50 52 59 63 65 66 67 68 70
        75 98 99 101 102 103 104 106 109 110 114 116 117 118 119 121 130 134 135 138 148 149 150 152 153 157 158 162
        169 170 171
    """,
    ResultCode.OUT_OF_MEMORY: "5 6",
    ResultCode.BAD_STATE: "6 17 25 44 57 62 64 67 75 97 98 107 108 113 116 134 138 147 150",
    ResultCode.DEAD_OBJECT: "6 164 165",
    ResultCode.INCOMPLETE: "6",
    ResultCode.OP_FAILED: "6 55 58 73 74 115 122 128 129 130 131 132 144 151 159 172 182",
    ResultCode.OUTPUT_INSUFFICIENT_SIZE: "6 84 85 127 136",
    ResultCode.UNAVAILABLE_DEVICE: "6 165",
    ResultCode.UNMAPPABLE: "6 72 132 144 146 153",
    ResultCode.MISSED_DEADLINE_TRANSIENT: "56 71 120",
    ResultCode.MISSED_DEADLINE_PERSISTENT: "71 118 120",
    ResultCode.RESOURCE_EXHAUSTED_TRANSIENT: "166",
    ResultCode.RESOURCE_EXHAUSTED_PERSISTENT: "166",
}
"""For each code the rules whose tests must see it raised. What a rule says of C alone is for tests/capi."""

NOT_APPLICABLE = {
    4: "a constructor that fails raises: there is no result pointer in which something could be stored",
    9: "dimensions are one sequence, so their pointer and their number cannot disagree",
    15: "4294967294 operands or operations do not fit into memory",
    86: "a tensor without elements between two steps is handed on like any other; a driver that fails at it falls back",
    88: "a repetition on the CPU hands its arrays to whatever memory is bound, also to one made for unknown dimensions",
    112: "Python keeps buffers and memories alive as long as an execution refers to them",
    124: "every fenced computation runs in the background, whatever its plan",
    176: "the runtime has the highest level there is",
    177: "the runtime's level is not lowered",
    178: "deadlines and priorities are part of the drivers' protocol at every level",
}
"""Rules that cannot be broken here, and why."""


def rules_of(test: str) -> set[int]:
    """The rules that a test of this name is about: ``test_rule_084_085_…`` for several."""
    found = re.match(r"test_rule((?:_\d{3})+)_", test)
    return {int(number) for number in found[1].split("_")[1:]} if found else set()


@cache
def find_tests() -> dict[int, set[str]]:
    """The names of the tests of each rule, as the sources have them."""
    tests = defaultdict(set)
    for path in Path(__file__).parent.rglob("test_*.py"):
        for name in re.findall(r"^def (test_rule_\w+)", path.read_text(), re.MULTILINE):
            for rule in rules_of(name):
                tests[rule].add(name)
    return tests


@cache
def codes_of(rule: int) -> frozenset[ResultCode]:
    """The error that a test of the rule must see; empty for a rule that is not about errors."""
    return frozenset(code for code, rules in RULES_BY_CODE.items() if str(rule) in rules.split())
