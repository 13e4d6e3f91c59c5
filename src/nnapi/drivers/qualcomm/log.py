"""Read from the log of ONNX Runtime which operations Qualcomm's compiler refuses, and why."""

import re
from collections.abc import Mapping

UNIT = re.compile(r"Validation (PASSED|FAILED) for \d+ nodes in OrtNodeUnit \((\w+)\)")
NODE = re.compile(r"^\s*Operator type: \w+ Node name: (.*) Node index: \d+$")
REASON = re.compile(r"^\s*REASON : (.*)$")
CODE = re.compile(r"backendValidateOpConfig\(\) failed for node `.*` of type `(\w+)` with error code (\d+)")
OPERATION = re.compile(r"op(\d+)(?!\d)")
SECOND = "GetCapability pass 2"
"""The line after which nodes are judged again, with the compiler's layout of images. This judgment counts."""
VAGUE = "Failed to add node."
MEANINGS = {"3110": "it has no kernel for these types, shapes or parameters (QNN error 3110)"}
"""Meanings of the error codes of QNN's validation."""


def read_refusals(log: str, results: Mapping[str, int]) -> dict[int, str]:
    """Return the reason for each refused operation, by number; ``results`` are the operations of named results."""
    reasons: dict[int, str] = {}
    said, kind, nodes, is_refused = "", "", list[str](), False
    for line in log.partition(SECOND)[2].splitlines() or log.splitlines():
        if found := CODE.search(line):
            meaning = MEANINGS.get(found[2], f"QNN error {found[2]}")
            said = f"QNN refuses {found[1]}: {meaning}"
        elif found := UNIT.search(line):
            kind, nodes, is_refused = found[2], [], found[1] == "FAILED"
            if not is_refused:
                said = ""
        elif found := NODE.match(line):
            nodes.append(found[1])
        elif (found := REASON.match(line)) and is_refused:
            reason = said if found[1] == VAGUE and said else f"QNN refuses {kind}: {found[1]}"
            for number in filter(None, (_find_operation(name, results) for name in nodes)):
                reasons.setdefault(number[0], reason)
            said, is_refused = "", False
    return reasons


def _find_operation(name: str, results: Mapping[str, int]) -> tuple[int] | None:
    if found := OPERATION.match(name):
        return (int(found[1]),)
    return (results[name],) if name in results else None
