"""Read the W3C's tests of WebNN operators from JSON files."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from nnapi.errors import UnusableFile
from nnapi.model.operand import Array
from nnapi.store.files import read_bounded

MOST_TEXT = 64 << 20
"""Maximum bytes of a file."""
DTYPES = {
    name: np.dtype(name) for name in ("float32", "float16", "int64", "uint64", "int32", "uint32", "int8", "uint8")
}
SPECIAL = {"Infinity": math.inf, "-Infinity": -math.inf, "NaN": math.nan}


class CaseFileError(UnusableFile, ValueError):
    """A path without tests of WebNN, or a damaged file; the message names it."""


@dataclass(frozen=True)
class Case:
    """A test of one operator. ``arguments`` and ``options`` are as in WebNN; operands are named by their tensors."""

    file: str
    name: str
    operator: str
    arguments: dict[str, Any]
    options: dict[str, Any]
    inputs: dict[str, Array]
    constants: frozenset[str]
    """The names of the inputs that are constants of the graph."""
    outputs: dict[str, Array]


def is_webnn(path: Path) -> bool:
    """Return whether a path is a JSON file, or a folder of JSON files without other examples."""
    if path.is_dir():
        return not any(path.rglob("*.npz")) and any(path.rglob("*.json"))
    return path.suffix == ".json"


def read_cases(path: Path) -> list[Case]:
    """Return the tests of a file, or of all JSON files in a folder. Raises CaseFileError if there are none."""
    files = sorted(path.rglob("*.json")) if path.is_dir() else [path]
    found = [case for file in files for case in _read_file(file)]
    if not found:
        raise CaseFileError(f"{path}: no tests of WebNN in it")
    return found


def _read_file(file: Path) -> Iterator[Case]:
    try:
        for test in json.loads(read_bounded(file, MOST_TEXT))["tests"]:
            yield _read_case(file.name, test)
    except OSError as error:
        raise CaseFileError(f"{file}: {error.strerror or error}") from error
    except json.JSONDecodeError as error:
        raise CaseFileError(f"{file}: not JSON: {error}") from error
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
        raise CaseFileError(f"{file}: not a file of the W3C's tests of WebNN, or damaged") from error


def _read_case(file: str, test: dict[str, Any]) -> Case:
    graph = test["graph"]
    (operator,) = graph["operators"]
    arguments = {name: value for argument in operator["arguments"] for name, value in argument.items()}
    options = arguments.pop("options", {})
    inputs = {name: read_tensor(tensor) for name, tensor in graph["inputs"].items()}
    constants = frozenset(name for name, tensor in graph["inputs"].items() if tensor.get("constant"))
    outputs = {name: read_tensor(tensor) for name, tensor in graph["expectedOutputs"].items()}
    return Case(file, str(test["name"]), str(operator["name"]), arguments, options, inputs, constants, outputs)


def read_tensor(tensor: dict[str, Any]) -> Array:
    """Return a tensor; a single number fills it."""
    data, shape = tensor["data"], tuple(tensor["descriptor"]["shape"])
    dtype = DTYPES[tensor["descriptor"]["dataType"]]
    numbers = [read_number(each) for each in (data if isinstance(data, list) else [data])]
    with np.errstate(over="ignore"):
        array = np.array(numbers, None if dtype.kind == "f" else object).astype(dtype)
    if array.size == 1:
        return np.full(shape, array[0], dtype)
    return array.reshape(shape)


def read_number(value: Any) -> Any:
    """Return a number; JSON holds infinities, NaN and 64-bit integers (``"5n"``) as strings."""
    if not isinstance(value, str):
        return value
    if value in SPECIAL:
        return SPECIAL[value]
    return int(value[:-1]) if value.endswith("n") else float(value) if set(value) & set(".e") else int(value)
