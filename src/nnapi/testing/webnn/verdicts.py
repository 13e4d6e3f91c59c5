"""Run tests of WebNN operators on a device, and judge the results by the W3C's tolerances."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property, partial

import numpy as np

from nnapi.compiling import compile
from nnapi.errors import BadDataError, NnapiError
from nnapi.importers import load
from nnapi.model.model import Model
from nnapi.model.operand import Array
from nnapi.runtime.device import device
from nnapi.testing.suite.pipeline import Test, name_uniquely
from nnapi.testing.suite.result import Result, Status
from nnapi.testing.suite.worker import PATIENCE, Perform, Worker, WorkerEndedError
from nnapi.testing.webnn.cases import Case
from nnapi.testing.webnn.conversion import UnmappedError, convert
from nnapi.testing.webnn.tolerances import describe_difference


class WebnnVerdict(StrEnum):
    EQUAL = "bit-equal"
    CLOSE = "within tolerance"
    WRONG = "wrong"
    REFUSED = "refused"


STATUSES = {
    WebnnVerdict.EQUAL: Status.PASSED,
    WebnnVerdict.CLOSE: Status.PASSED,
    WebnnVerdict.WRONG: Status.FAILED,
    WebnnVerdict.REFUSED: Status.SKIPPED,
}


def check(case: Case, devices: Sequence[str] | None = None) -> Result:
    """Run a test on ``devices`` together, by default on those that the runtime chooses. ``outcome`` is the verdict."""
    begin = time.perf_counter()
    try:
        verdict, reason = _judge(case, devices)
    except Exception as error:
        verdict, reason = WebnnVerdict.WRONG, f"{type(error).__name__}: {error}"
    return _describe(case, STATUSES[verdict], reason, verdict, time.perf_counter() - begin)


def _describe(case: Case, status: Status, reason: str, verdict: WebnnVerdict, seconds: float = 0.0) -> Result:
    type = next((str(array.dtype) for array in case.inputs.values()), "")
    return Result(case.file, case.name, (case.operator,), "", status, reason, seconds, type, str(verdict))


@dataclass(frozen=True)
class WebnnSuite:
    """Tests of WebNN's operators, run on ``devices`` together, in processes that find them by name."""

    cases: Sequence[Case]
    devices: tuple[str, ...] | None = None
    patience: float = PATIENCE
    batch: int = 1

    @cached_property
    def tests(self) -> Sequence[Test]:
        names = name_uniquely((case.file, case.name) for case in self.cases)
        return [Test(name, (case.operator,), case) for name, case in zip(names, self.cases, strict=True)]

    def open_worker(self) -> Worker:
        return Worker(partial(_prepare, self.devices), self.patience)

    def complete(self, test: Test) -> Test:
        return test

    def perform(self, worker: Worker, test: Test, variant: str) -> Result | None:
        try:
            result: Result = worker.do(test.task)
        except WorkerEndedError as ended:
            result = _describe(test.task, ended.status, ended.reason, WebnnVerdict.WRONG)
        return replace(result, example=test.example)

    def explain(self, worker: Worker, test: Test, result: Result) -> Result:
        return result


def _prepare(devices: Sequence[str] | None) -> Perform:
    for name in devices or ():
        device(name)
    return partial(check, devices=devices)


def _judge(case: Case, devices: Sequence[str] | None) -> tuple[WebnnVerdict, str]:
    try:
        converter = convert(case)
        model = load(converter.model())
        compiled = compile(model, devices) if devices else compile(model)
    except (UnmappedError, BadDataError) as error:
        return WebnnVerdict.REFUSED, str(error)
    try:
        inputs = converter.run_inputs()
        results = compiled.run(*(_fit(array, name, model, i) for i, (name, array) in enumerate(inputs.items())))
    except NnapiError as error:
        return WebnnVerdict.WRONG, str(error)
    except OverflowError as error:
        return WebnnVerdict.REFUSED, str(error)
    return _compare(case, [np.asarray(each) for each in results])


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
