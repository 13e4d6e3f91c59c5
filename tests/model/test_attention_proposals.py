import numpy as np

from nnapi.model.operation import REGISTRY
from nnapi.operation_codes import CompositeCode
from nnapi.testing.random.calls import random_call


def shapes(code: CompositeCode, count: int = 60) -> list[dict[str, tuple[int, ...]]]:
    """The dimensions of the given tensors of random calls, by name."""
    examples = [random_call(REGISTRY[code], np.random.default_rng([seed, 3])) for seed in range(count)]
    return [
        {operand.name: tuple(operand.dimensions) for operand in example.main.operands if operand.dimensions}
        for example in examples
    ]


def test_masks_have_many_shapes_and_may_be_absent() -> None:
    found = shapes(CompositeCode.ATTENTION)
    assert {len(each["query"]) for each in found} == {2, 3, 4}
    assert any(each.get("mask", ())[-1:] == (1,) for each in found)
    assert {len(each["mask"]) for each in found if "mask" in each} == {1, 2, 3, 4}
    assert any(each["value"][-1] != each["query"][-1] for each in found)


def test_angles_broadcast_to_rows_that_form_pairs() -> None:
    found = shapes(CompositeCode.ROTARY_EMBEDDING)
    assert all(each["input"][-1] % 2 == 0 for each in found)
    assert any(len(each["cos"]) < len(each["input"]) for each in found)
