"""Compilations for the shapes of each run, and the device that one of them takes over from another."""

import numpy as np
import pytest

from nnapi import Builder, Compilation, Model, compile, tensor
from nnapi.errors import BadDataError, BadStateError
from nnapi.runtime.dynamic_compilation import DynamicCompilation
from tests.runtime.device_cases import REFERENCE


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
    assert [shapes for shapes, _ in compilation._specializations._made.items()] == [((3, 2),)]


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
