"""Methods for all operations, of a builder and of its class."""

import pytest

from nnapi import OperationCode, tensor
from nnapi.model.builder import Builder
from nnapi.model.builder_signatures import method_name
from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CODES


@pytest.fixture
def b() -> Builder:
    return Builder()


def test_there_is_a_method_for_every_operation(b: Builder) -> None:
    names = {method_name(operation) for operation in REGISTRY.values()}
    assert len(names) == len(CODES)
    assert names | {"input", "constant", "output", "finish"} <= set(dir(b))
    for name in names:
        assert getattr(b, name).__name__ == name


@pytest.mark.parametrize("name", ["convolution", "ADD", "add_", "if", "_wrapped", "__deepcopy__"])
def test_other_names_are_no_attributes(b: Builder, name: str) -> None:
    with pytest.raises(AttributeError, match=f"a Builder has no operation '{name}'"):
        getattr(b, name)


def test_the_class_has_the_methods_too(b: Builder) -> None:
    x = b.input(tensor("float32", (2,)), "x")
    b.output(Builder.relu(b, x))
    assert b.finish().operations[0].code is OperationCode.RELU
    assert set(dir(b)) > set(dir(Builder)) > {"softmax", "if_", "finish"}
    with pytest.raises(AttributeError, match="a Builder has no operation 'convolution'"):
        Builder.convolution  # type: ignore[attr-defined]  # noqa: B018
