"""Run tests of WebNN operators on a device, and judge the results by the W3C's tolerances."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from nnapi.compiling import compile
from nnapi.errors import BadDataError, NnapiError
from nnapi.importers import load
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.operation_codes import NAMES
from nnapi.testing.webnn.cases import Case
from nnapi.testing.webnn.conversion import UnmappedError, convert
from nnapi.testing.webnn.tolerances import describe_difference


class WebnnVerdict(StrEnum):
    EQUAL = "bit-equal"
    CLOSE = "within tolerance"
    WRONG = "wrong"
    REFUSED = "refused"


@dataclass(frozen=True)
class Outcome:
    """The verdict on a test; ``reason`` explains why it is wrong or refused."""

    case: Case
    verdict: WebnnVerdict
    reason: str = ""
    seconds: float = 0.0
    operations: tuple[str, ...] = ()
    """The operations of the model."""


def run(cases: Iterable[Case], devices: Sequence[str] | None = None) -> Iterator[Outcome]:
    """Run each test on ``devices`` together, by default on those that the runtime chooses."""
    for case in cases:
        begin = time.perf_counter()
        verdict, reason, operations = _judge(case, devices)
        yield Outcome(case, verdict, reason, time.perf_counter() - begin, operations)


def _judge(case: Case, devices: Sequence[str] | None) -> tuple[WebnnVerdict, str, tuple[str, ...]]:
    try:
        converter = convert(case)
        model = load(converter.model())
    except (UnmappedError, BadDataError) as error:
        return WebnnVerdict.REFUSED, str(error), ()
    operations = tuple(dict.fromkeys(NAMES[operation.code] for operation in model.operations))
    try:
        compiled = compile(model, devices) if devices else compile(model)
    except BadDataError as error:
        return WebnnVerdict.REFUSED, str(error), operations
    try:
        inputs = converter.run_inputs()
        results = compiled.run(*(_fit(array, name, model, i) for i, (name, array) in enumerate(inputs.items())))
    except NnapiError as error:
        return WebnnVerdict.WRONG, str(error), operations
    except OverflowError as error:
        return WebnnVerdict.REFUSED, str(error), operations
    return (*_compare(case, [np.asarray(each) for each in results]), operations)


def _compare(case: Case, results: Sequence[Array]) -> tuple[WebnnVerdict, str]:
    verdict = WebnnVerdict.EQUAL
    for (name, theirs), ours in zip(case.outputs.items(), results, strict=True):
        if ours.shape != (theirs.shape or (1,)):
            return WebnnVerdict.WRONG, f"{name}: its shape is {list(ours.shape)}, not {list(theirs.shape)}"
        found = ours.reshape(theirs.shape)
        if found.dtype != theirs.dtype and "f" in (found.dtype.kind, theirs.dtype.kind):
            return WebnnVerdict.WRONG, f"{name}: its type is {found.dtype}, not {theirs.dtype}"
        if difference := describe_difference(found, theirs, case):
            return WebnnVerdict.WRONG, f"{name}: {difference}"
        if not np.array_equal(found, theirs, equal_nan=theirs.dtype.kind == "f"):
            verdict = WebnnVerdict.CLOSE
    return verdict, ""


def _fit(array: Array, name: str, model: Model, i: int) -> Array:
    """Convert an input to the model's type; raise OverflowError if a value does not fit."""
    dtype = model.operands[model.inputs[i]].type.dtype
    if array.dtype.kind in "iu" and dtype.kind in "iu" and array.size:
        limits = np.iinfo(dtype)
        if not limits.min <= int(array.min()) <= int(array.max()) <= limits.max:
            raise OverflowError(f"{name} holds {array.dtype} values beyond {dtype}")
    return array.astype(dtype).reshape(array.shape or (1,))
