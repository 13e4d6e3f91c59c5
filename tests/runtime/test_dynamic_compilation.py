"""A specialization takes over the device of another one, if that has one device which takes the model."""

from collections.abc import Callable

import pytest

from nnapi import Compilation, compile
from nnapi.errors import BadDataError
from nnapi.runtime.dynamic_compilation import compile_like
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
