"""Inputs, outputs and options by name."""

from datetime import timedelta

import numpy as np
import pytest

import nnapi
from nnapi.errors import BadDataError
from nnapi.runtime.by_name import Outputs, order_inputs, read_preference, read_priority, read_seconds

ONE, TWO = np.zeros(1, np.float32), np.ones(2, np.float32)


def subtraction() -> nnapi.Model:
    b = nnapi.Builder("subtraction")
    a, c = (b.input(nnapi.tensor("float32", (1,)), name) for name in ("a", "b"))
    b.output(b.sub(a, c, name="difference"))
    return b.finish()


def test_outputs_are_a_list_with_names() -> None:
    outputs = Outputs([ONE, TWO], ("first", "second"))
    assert outputs[1] is outputs["second"] is TWO
    first, second = outputs
    assert first is ONE
    assert second is TWO
    assert len(outputs[:1]) == 1
    assert dict(outputs.items())["first"] is ONE
    assert outputs.keys() == ("first", "second")
    with pytest.raises(KeyError, match="'third' is not an output; the outputs are first, second"):
        outputs["third"]


def test_inputs_are_ordered_by_name() -> None:
    assert order_inputs(subtraction(), {"b": 2, "a": 1}) == [1, 2]
    with pytest.raises(BadDataError, match="subtraction has no input 'c'; it has a, b"):
        order_inputs(subtraction(), {"a": 1, "c": 2})
    with pytest.raises(BadDataError, match="subtraction also needs b"):
        order_inputs(subtraction(), {"a": 1})


def test_options_by_name() -> None:
    assert read_preference("low_power") == nnapi.PreferenceCode.PREFER_LOW_POWER
    assert read_preference("FAST") == read_preference(nnapi.PreferenceCode.PREFER_FAST_SINGLE_ANSWER)
    assert read_preference("sustained") == nnapi.PreferenceCode.PREFER_SUSTAINED_SPEED
    assert [read_priority(name) for name in ("low", "medium", "high")] == [90, 100, 110]
    with pytest.raises(BadDataError, match="preference is 'quick', must be one of low_power, fast, "):
        read_preference("quick")
    with pytest.raises(BadDataError, match="priority is 'urgent', must be one of low, medium, high"):
        read_priority("urgent")


def test_durations() -> None:
    assert read_seconds(0.25, "timeout") == read_seconds(timedelta(milliseconds=250), "timeout") == 250_000_000
    assert read_seconds(2, "timeout") == 2_000_000_000
    assert (read_seconds(0, "timeout"), read_seconds(1.6e-9, "timeout")) == (0, 2)
    assert read_seconds(9.2e9, "timeout") == 9_200_000_000 * 10**9
    for wrong in (-1.0, -1e-9, 2**63 / 1e9, float("nan"), float("inf"), "1 s", None):
        with pytest.raises(BadDataError, match="timeout is .*, must be seconds or a timedelta, at least 0"):
            read_seconds(wrong, "timeout")  # type: ignore[arg-type]


def test_a_run_by_name() -> None:
    compilation = nnapi.compile(subtraction(), "nnapi-reference")
    a, b = np.full(1, 5, np.float32), np.full(1, 3, np.float32)
    for outputs in (compilation.run({"b": b, "a": a}), compilation({"b": b, "a": a}), compilation(b=b, a=a)):
        assert isinstance(outputs, Outputs)
        assert outputs["difference"] == 2
    assert compilation(a, b)["difference"] == 2
    assert not isinstance(compilation.run(a, b), Outputs)
    with pytest.raises(BadDataError, match="either in order or by name"):
        compilation(a, b=b)


@pytest.mark.parametrize("wrong", ["x", object(), [[1], [1, 2]]])
def test_what_is_not_an_array_is_one_error(wrong: object) -> None:
    compilation = nnapi.compile(subtraction(), "nnapi-reference")
    with pytest.raises(BadDataError, match="a .* cannot take"):
        compilation.run(wrong, ONE)


def test_a_required_input_is_not_omitted() -> None:
    with pytest.raises(nnapi.NnapiError, match="lhs is omitted"):
        nnapi.compile(subtraction(), "nnapi-reference").run(None, ONE)
