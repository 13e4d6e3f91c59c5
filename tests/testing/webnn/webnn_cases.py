"""Tests of WebNN operators as the W3C's JSON files have them."""

import json
from pathlib import Path
from typing import Any


def tensor(data: Any, *shape: int, type: str = "float32", constant: bool = False) -> dict[str, Any]:
    found = {"data": data, "descriptor": {"shape": list(shape), "dataType": type}}
    return {**found, "constant": True} if constant else found


def described(
    operator: str, inputs: dict[str, Any], arguments: dict[str, Any], output: dict[str, Any], name: str = ""
) -> dict[str, Any]:
    node = {"name": operator, "arguments": [{key: value} for key, value in arguments.items()], "outputs": "y"}
    graph = {"inputs": inputs, "operators": [node], "expectedOutputs": {"y": output}}
    return {"name": name or f"{operator} test", "graph": graph}


def write_tests(path: Path, *tests: dict[str, Any]) -> Path:
    path.write_text(json.dumps({"tests": tests}))
    return path
