"""The shapes that callers set, and those that only a run knows."""

from collections.abc import Mapping
from typing import Any

import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.importers.input_shapes import describe_shape, fix_shape, guess_shapes, need_inputs, refuse_dynamic
from nnapi.importers.refusals import Refusal, UnsupportedOperationsError
from nnapi.model.operand import Shape


def test_unknown_names_are_listed() -> None:
    need_inputs({"x": (1,)}, ["x", "y"])
    with pytest.raises(BadDataError, match="it has no input a, b; its inputs are x, y"):
        need_inputs({"b": (1,), "x": (1,), "a": (2,)}, ["y", "x"])


@pytest.mark.parametrize(
    ("shape", "wanted"), [(None, (2, 3)), ((2, 3), (2, 3)), ((0, 3), (5, 3)), ((0, 0), (1, 1)), ((), ())]
)
def test_dimensions_may_be_given_where_the_file_leaves_them_open(shape: Any, wanted: Any) -> None:
    assert fix_shape("x", shape, wanted) == wanted


@pytest.mark.parametrize(
    ("shape", "wanted", "reason"),
    [
        ((2, 3), (2, 4), r"input x is \[2, 3\], not \[2, 4\]"),
        ((0, 3), (2, 3, 1), r"input x is \[\?, 3\], not \[2, 3, 1\]"),
        ((0, 3), (0, 3), r"input x cannot be \[0, 3\]"),
        (None, (2, -1), r"input x cannot be \[2, -1\]"),
    ],
)
def test_dimensions_that_contradict_the_file_are_refused(shape: Any, wanted: Any, reason: str) -> None:
    with pytest.raises(BadDataError, match=reason):
        fix_shape("x", shape, wanted)


def test_dynamic_dimensions_are_question_marks() -> None:
    assert describe_shape((2, 0, 3)) == "[2, ?, 3]"
    assert describe_shape(()) == "[]"


def refused(*reasons: str) -> UnsupportedOperationsError:
    return UnsupportedOperationsError.of("model", [Refusal("CAST", "x", reason) for reason in reasons])


def test_only_refusals_of_every_guess_remain() -> None:
    tried: list[Mapping[str, Shape]] = []

    def read(shapes: Mapping[str, Shape]) -> nnapi.Model:
        tried.append(shapes)
        raise refused("it is text", f"its size is {shapes['x'][0]}")

    assert guess_shapes(read, {"x": (0, 3)}) == (None, [Refusal("CAST", "x", "it is text")])
    assert tried == [{"x": (64, 3)}, {"x": (1, 3)}]


def test_the_first_guess_that_fits_is_the_model() -> None:
    model = nnapi.Model("model")

    def read(shapes: Mapping[str, Shape]) -> nnapi.Model:
        if shapes["x"] == (64,):
            raise refused("64 is too large")
        return model

    assert guess_shapes(read, {"x": (0,)}) == (model, [])


def test_sizes_that_contradict_the_file_refuse_nothing() -> None:
    def read(shapes: Mapping[str, Shape]) -> nnapi.Model:
        raise BadDataError(f"{shapes}")

    assert guess_shapes(read, {"x": (0,)}) == (None, [])


def test_a_refusal_hints_at_the_dimensions() -> None:
    error = refuse_dynamic("m.tflite", [Refusal("CAST", "x", "it is text")], {"x": (0, 3)})
    assert "CAST" in str(error)
    assert "it has dynamic dimensions, which load(shapes=…) fixes: x [?, 3]" in str(error)
