"""The methods of a builder as Python shows them: names, signatures, pages."""

import inspect
import pydoc

import pytest

from nnapi.model.builder import Builder
from nnapi.model.builder_signatures import method_name
from nnapi.model.operation import REGISTRY


@pytest.fixture
def b() -> Builder:
    return Builder()


def test_every_method_shows_its_declaration(b: Builder) -> None:
    for operation in REGISTRY.values():
        method = getattr(b, method_name(operation))
        slots = {slot.name for form in operation.overloads for slot in form.inputs}
        assert slots | {"out", "scale", "zero_point", "name"} == set(inspect.signature(method).parameters)
        assert len(slots) + 4 == len(inspect.signature(method).parameters)
        for slot in (*slots, *(output.name for output in operation.outputs)):
            assert f"\n    {slot}: " in method.__doc__


def test_every_operation_has_a_sentence(b: Builder) -> None:
    for operation in REGISTRY.values():
        first = getattr(b, method_name(operation)).__doc__.splitlines()[0]
        assert first.startswith(f"{operation.name}: ")
        assert first.endswith(".")


def test_help(b: Builder) -> None:
    page = pydoc.plain(pydoc.render_doc(b.softmax))
    assert "softmax(input, beta, axis=-1, *, out=None, scale=None, zero_point=0, name='')" in page
    of_class = pydoc.plain(pydoc.render_doc(Builder.softmax))
    assert str(inspect.signature(Builder.softmax)).startswith("(self, input, beta, axis=-1, *, out=None")
    assert of_class.partition("SOFTMAX: ")[2] == page.partition("SOFTMAX: ")[2] != ""  # 3.13 divides long signatures
    assert "beta: FLOAT32 beside TENSOR_FLOAT32 or TENSOR_QUANT8_ASYMM or TENSOR_QUANT8_ASYMM_SIGNED, FLOAT16" in page
    assert "Overload implicit_padding: input, filter, bias, padding_scheme" in b.conv_2d.__doc__
    assert str(inspect.signature(b.concatenation)).startswith("(*inputs, axis, ")
