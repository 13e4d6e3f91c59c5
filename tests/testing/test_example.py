"""Examples as values, and those derived from one."""

from dataclasses import replace

import numpy as np
import pytest

from nnapi.testing.example import Example, as_signed, with_dynamic_outputs
from tests.testing.testing_cases import add, endless, relu


@pytest.mark.parametrize(
    ("min_feature", "file", "level"),
    [
        ("V1_0", "", 1),
        ("V1_1", "V1_3/x.npz", 2),
        ("V1_2", "", 3),
        ("V1_3", "", 4),
        ("AIDL_V2", "", 6),
        ("AIDL_V3", "", 7),
        ("UNKNOWN", "V1_2/x.npz", 3),
        ("UNKNOWN", "V1_3_cts_only/x.npz", 4),
        ("UNKNOWN", "x.npz", None),
    ],
)
def test_level_is_stated_or_that_of_the_folder(min_feature: str, file: str, level: int | None) -> None:
    assert add(min_feature=min_feature, file=file).level == level


def test_operations_and_types_are_those_of_all_graphs() -> None:
    assert endless().operations == ("LOGICAL_OR", "WHILE")
    assert endless().types == ("SUBGRAPH", "TENSOR_BOOL8")


def test_output_buffers_hold_the_expected_data_and_at_least_a_byte() -> None:
    assert add().output_buffer_bytes == (8,)
    assert add(outputs={3: np.zeros((0,), np.float32)}).output_buffer_bytes == (1,)


def test_dynamic_leaves_dimensions_of_outputs_open_and_keeps_ranks() -> None:
    before = add()
    after = with_dynamic_outputs(before)
    assert [operand.dimensions for operand in after.main.operands] == [(2,), (2,), (), (0,)]
    assert before.main.operands[3].dimensions == (2,)
    assert after.outputs[3].shape == (2,)


def codes(example: Example) -> list[list[int]]:
    """Every code less its zero point, inputs then outputs."""
    arrays = {**example.inputs, **example.outputs}
    return [
        (array.astype(int) - example.main.operands[index].zero_point).tolist()
        for index, array in arrays.items()
        if array is not None
    ]


def test_signed_moves_codes_and_zero_points_together() -> None:
    after = as_signed(relu())
    assert {operand.type for operand in after.main.operands} == {"TENSOR_QUANT8_ASYMM_SIGNED"}
    assert [operand.zero_point for operand in after.main.operands] == [0, 0]
    assert after.inputs[0].dtype == np.int8
    assert after.inputs[0].tolist() == [-128, 0, 127]
    assert codes(after) == codes(relu())


def test_signed_changes_constants_but_nothing_of_another_type() -> None:
    before = relu()
    held = replace(before.main.operands[0], data=np.array([0, 128, 255], np.uint8))
    main = replace(before.main, operands=(held, *before.main.operands[1:]))
    assert as_signed(replace(before, main=main)).main.operands[0].data.tolist() == [-128, 0, 127]
    floats = as_signed(add())
    assert [operand.type for operand in floats.main.operands] == [operand.type for operand in add().main.operands]
    assert floats.outputs[3].tolist() == [11, 22]


def test_the_input_type_is_that_of_the_tested_operation() -> None:
    assert relu().input_type == "TENSOR_QUANT8_ASYMM"
    assert as_signed(relu()).input_type == "TENSOR_QUANT8_ASYMM_SIGNED"
    assert endless().input_type == "TENSOR_BOOL8"
