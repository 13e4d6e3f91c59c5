"""Compilations for the shapes of each run, and the device that one of them takes over from another."""

from collections.abc import Callable

import numpy as np
import pytest

from nnapi import Builder, Compilation, Model, compile, tensor
from nnapi.errors import BadDataError, BadStateError
from nnapi.runtime.dynamic_compilation import DynamicCompilation, compile_like
from tests.runtime.device_cases import ABS, NEG, REFERENCE, chain, limited


def noting(asked: list[str | None], refused: str | None = "") -> Callable[[str | None], Compilation]:
    def compile_on(device: str | None) -> Compilation:
        asked.append(device)
        if device == refused:
            raise BadDataError("not on this one")
        return compile(chain(), REFERENCE)

    return compile_on


@pytest.mark.parametrize(
    ("devices", "refused", "asked"),
    [
        (["quick"], "", ["quick"]),
        (["quick"], "quick", ["quick", None]),
        (["positive", "negative"], "", [None]),
        ([], "", [None]),
    ],
)
def test_the_devices_that_are_asked(devices: list[str], refused: str, asked: list[str | None]) -> None:
    known = {"quick": limited(), "positive": limited("positive", [ABS]), "negative": limited("negative", [NEG])}
    like = compile(chain(), [known[name] for name in devices]) if devices else None
    found: list[str | None] = []
    assert compile_like(noting(found, refused), like).plan.devices == (REFERENCE.name,)
    assert found == asked


def test_an_error_of_all_devices_is_the_caller_s() -> None:
    with pytest.raises(BadDataError, match="not on this one"):
        compile_like(noting([], refused=None), None)


@pytest.fixture
def made() -> list[tuple[Model, str | None]]:
    return []


def dynamic(made: list[tuple[Model, str | None]]) -> DynamicCompilation:
    """Minus the magnitude of rows of two, compiled on the reference."""
    b = Builder("rows")
    b.output(b.neg(b.abs(b.input(tensor("float32", (0, 2)), name="x"), name="magnitude"), name="y"))

    def compile_on(model: Model, device: str | None) -> Compilation:
        made.append((model, device))
        return compile(model, REFERENCE)

    return DynamicCompilation(b.finish(), compile_on)


def rows(count: int) -> np.ndarray:
    return np.arange(2 * count, dtype=np.float32).reshape(count, 2)


def test_each_shape_is_compiled_at_its_first_run(made: list[tuple[Model, str | None]]) -> None:
    compilation = dynamic(made)
    assert compilation.explain() == "rows is compiled at the first run of each shape"
    for count in (3, 5, 3):
        np.testing.assert_array_equal(compilation.run(rows(count))[0], -rows(count))
    assert [device for _, device in made] == [None, REFERENCE.name]
    assert compilation.at(((3, 2),)) is not compilation.at(((5, 2),))
    assert len(made) == 2
    assert "inputs [3, 2]: compiled in" in compilation.explain()
    np.testing.assert_array_equal(compilation.start(rows(5)).result()[0], -rows(5))


def test_a_length_is_not_padded_unless_that_is_asked_for(made: list[tuple[Model, str | None]]) -> None:
    compilation = dynamic(made)
    compilation.run(rows(3))
    assert list(compilation._specializations._made) == [((3, 2),)]


def test_operands_that_are_kept_are_those_of_the_shape(made: list[tuple[Model, str | None]]) -> None:
    result, magnitude = dynamic(made).run(rows(3), keep=["magnitude"])
    np.testing.assert_array_equal(result, -rows(3))
    np.testing.assert_array_equal(magnitude, rows(3))


def test_what_needs_one_plan_says_that_there_are_several(made: list[tuple[Model, str | None]]) -> None:
    compilation = dynamic(made)
    with pytest.raises(BadDataError, match="rows is compiled for the shapes of each run: ask at"):
        _ = compilation.plan
    with pytest.raises(BadDataError, match=r"x .* of a dynamic model is omitted"):
        compilation.run(None)
    compilation.run(rows(3))
    compilation.close()
    assert len(compilation._specializations) == 0
    for use in (lambda: compilation.run(rows(3)), lambda: compilation.at(((3, 2),))):
        with pytest.raises(BadStateError):
            use()
