"""Errors carry their result code, a message and a place."""

import inspect
import json
import pickle
from pathlib import Path

import pytest

from nnapi import errors
from nnapi.codes import ResultCode
from tests.rows import each_row

CLASSES = [value for _, value in inspect.getmembers(errors, inspect.isclass) if issubclass(value, errors.NnapiError)]
CAUGHT_ONLY = [errors.NnapiError, errors.MissedDeadlineError, errors.ResourceExhaustedError]
RAISED = [error for error in CLASSES if error not in CAUGHT_ONLY]
FAILURES = [code for code in ResultCode if code is not ResultCode.NO_ERROR]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (errors.OutOfMemoryError, 1),
        (errors.IncompleteError, 2),
        (errors.UnexpectedNullError, 3),
        (errors.BadDataError, 4),
        (errors.OpFailedError, 5),
        (errors.BadStateError, 6),
        (errors.UnmappableError, 7),
        (errors.OutputInsufficientSizeError, 8),
        (errors.UnavailableDeviceError, 9),
        (errors.MissedDeadlineTransientError, 10),
        (errors.MissedDeadlinePersistentError, 11),
        (errors.ResourceExhaustedTransientError, 12),
        (errors.ResourceExhaustedPersistentError, 13),
        (errors.DeadObjectError, 14),
    ],
)
def test_codes(error: type[errors.NnapiError], code: int) -> None:
    assert error.code == code
    assert errors.error_for(code) is error


@pytest.mark.parametrize("code", FAILURES, ids=lambda code: code.name)
def test_every_failure_has_a_class_named_like_it(code: ResultCode) -> None:
    error = errors.error_for(code)
    assert error.code is code
    assert error.__name__ == code.name.title().replace("_", "") + "Error"


@pytest.mark.shared
def test_every_result_code_of_the_header_is_covered(shared: Path) -> None:
    enums = json.loads((shared / "reference" / "api.json").read_text())["enums"]
    (results,) = (enum["values"] for enum in enums if enum["name"] == "ResultCode")
    assert {error.code: error for error in RAISED} == {
        result["value"]: errors.error_for(result["value"]) for result in results if result["value"] != 0
    }


@pytest.mark.parametrize("code", [0, -1, 15, ResultCode.NO_ERROR])
def test_no_class_for_what_is_not_an_error(code: int) -> None:
    with pytest.raises(ValueError, match="is not the result code of an error"):
        errors.error_for(code)


@each_row("error", CLASSES)
def test_the_tree_drawn_is_the_tree(error: type[errors.NnapiError]) -> None:
    lines = (errors.__doc__ or "").splitlines()
    (depth,) = {line.index(error.__name__) // 4 for line in lines if error.__name__ in line.split()}
    assert depth == error.__mro__.index(Exception)


@each_row("error", CLASSES)
def test_every_class_has_its_own_docstring(error: type[errors.NnapiError]) -> None:
    assert error.__dict__["__doc__"]


def test_groups() -> None:
    with pytest.raises(errors.MissedDeadlineError):
        raise errors.MissedDeadlineTransientError("the execution took 3 ms of 2")
    with pytest.raises(errors.ResourceExhaustedError):
        raise errors.ResourceExhaustedPersistentError("the model needs 3 GiB, the device has 2")


def test_caught_only_classes_have_a_code_all_the_same() -> None:
    assert {error.code for error in CAUGHT_ONLY} == {ResultCode.OP_FAILED}


def test_message() -> None:
    error = errors.BadDataError("filter has depth 3, input has 4")
    assert str(error) == "filter has depth 3, input has 4"
    assert error.where is None


def test_at_adds_the_place() -> None:
    error = errors.BadDataError("filter has depth 3, input has 4")
    placed = error.at("CONV_2D (#17)")
    assert type(placed) is errors.BadDataError
    assert str(placed) == "CONV_2D (#17): filter has depth 3, input has 4"
    assert placed.message == "filter has depth 3, input has 4"
    assert placed.where == "CONV_2D (#17)"
    assert str(error) == "filter has depth 3, input has 4"


def test_the_first_place_stays() -> None:
    placed = errors.BadDataError("zeroPoint is 7, must be 0").at("operand 4")
    assert placed.at("CONV_2D (#17)") is placed
    assert str(placed) == "operand 4: zeroPoint is 7, must be 0"


def test_at_keeps_the_traceback() -> None:
    with pytest.raises(errors.OpFailedError) as caught:
        errors.need(False, "no kernel")
    assert caught.value.at("ADD (#0)").__traceback__ is caught.value.__traceback__


def test_errors_cross_processes() -> None:
    error = pickle.loads(pickle.dumps(errors.DeadObjectError("driver died").at("MUL (#1)")))
    assert type(error) is errors.DeadObjectError
    assert str(error) == "MUL (#1): driver died"
    assert error.code is ResultCode.DEAD_OBJECT


@pytest.mark.parametrize("held", [True, 1, "x", [0]])
def test_need_holds(held: object) -> None:
    errors.need(held, "never said")


@pytest.mark.parametrize("broken", [False, 0, None, []])
def test_need_is_broken(broken: object) -> None:
    with pytest.raises(errors.OpFailedError, match="^the axis is 5, the rank 4$"):
        errors.need(broken, "the axis is 5, the rank 4")


def test_need_raises_what_it_is_told() -> None:
    with pytest.raises(errors.BadStateError, match="^the model is not finished$"):
        errors.need(False, "the model is not finished", errors.BadStateError)


def test_value_that_is_needed_comes_back() -> None:
    assert errors.need_value(0, "never said") == 0


def test_lack_of_a_needed_value_raises_what_it_is_told() -> None:
    with pytest.raises(errors.BadDataError, match="^no device supports it$"):
        errors.need_value(None, "no device supports it", errors.BadDataError)


@pytest.mark.parametrize(
    ("value", "kind", "message"),
    [
        (None, errors.UnexpectedNullError, "model is None"),
        (3, errors.BadDataError, r"model is of type int, must be nnapi\.Path: load it"),
    ],
)
def test_an_argument_of_another_type(value: object, kind: type[errors.NnapiError], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        errors.need_instance(value, Path, "model", "load it")
    errors.need_instance(Path(), Path, "model")
