"""Patterns that random graphs contain often enough."""

import numpy as np
import pytest

from nnapi.testing.example import Example, ExampleGraph, OperationSpec
from nnapi.testing.random.calls import NoCall
from nnapi.testing.random.graphs import (
    JOINABLE,
    READERS,
    VIEWS,
    find_image_readers,
    find_readers,
    random_graph,
    random_image_chain,
    random_readers,
    with_masked_rows,
)
from nnapi.testing.random.judging import Outcome, judge
from tests.testing.testing_cases import F32, REFERENCE, changed, constant, given, relu, taken, tensor


@pytest.mark.slow
def test_codes_that_mean_0_reach_functions_that_end_there() -> None:
    """An engine that dequantized 0 to -1e-5 was not found out for want of them."""
    graphs = [random_graph(np.random.default_rng([5, number]), 2) for number in range(300)]
    assert sum(map(_takes_roots_of_zero, graphs)) >= 3


def _takes_roots_of_zero(example: Example) -> bool:
    main = example.main
    for call in main.operations:
        codes = example.inputs.get(call.inputs[0])
        if call.type != "DEQUANTIZE" or codes is None or not np.any(codes == main.operands[call.inputs[0]].zero_point):
            continue
        if any(each.type in ("LOG", "RSQRT", "SQRT") and each.inputs[0] == call.outputs[0] for each in main.operations):
            return True
    return False


@pytest.mark.slow
def test_views_of_values_that_others_read_are_shown() -> None:
    """An engine that computes such a view in the memory of what a convolution reads was not found without them."""
    graphs = [random_graph(np.random.default_rng([6, number]), 3) for number in range(200)]
    assert sum(map(_shows_a_view, graphs)) >= 20


def _shows_a_view(example: Example) -> bool:
    main, views = example.main, {each.name for each in VIEWS}
    shown = [call for call in main.operations if call.type in views and call.outputs[0] in main.outputs]
    return any(view.inputs[0] in call.inputs for view in shown for call in main.operations if call is not view) and any(
        main.operands[view.inputs[0]].name not in main.inputs for view in shown
    )


def test_every_pair_of_operations_takes_its_turn() -> None:
    turns = len(JOINABLE) * -(-len(JOINABLE) // READERS)
    found = {(first, reader) for turn in range(turns) for first, readers in [find_readers(turn)] for reader in readers}
    assert len(found) == len(JOINABLE) ** 2


@pytest.mark.slow
def test_several_operations_read_one_result() -> None:
    counts = []
    for turn in range(60):
        first, readers = find_readers(turn * 37)
        try:
            main = random_readers(np.random.default_rng([7, turn]), first, readers).main
        except NoCall:
            continue  # types that do not fit each other
        made = next(call for call in main.operations if call.type == first.name)
        counts.append(max(sum(index in call.inputs for call in main.operations) for index in made.outputs))
    assert len(counts) > 40
    assert sum(count > 2 for count in counts) > 20


@pytest.mark.slow
def test_images_of_a_pooling_are_normalized_as_nchw_beside_quantized_values() -> None:
    """Every turn of an operation offers its result to all operations that have a layout."""
    turn = next(turn for turn, each in enumerate(JOINABLE) if each.name == "MAX_POOL_2D")
    first, readers = find_image_readers(turn + len(JOINABLE))
    assert first.name == "MAX_POOL_2D"
    assert {"CONV_2D", "INSTANCE_NORMALIZATION", "RESIZE_BILINEAR"} < {each.name for each in readers}
    found = 0
    for seed in range(40):
        main = random_readers(np.random.default_rng([8, seed]), first, readers).main
        pooled = {index for call in main.operations if call.type == "MAX_POOL_2D" for index in call.outputs}
        found += any(operand.scale for operand in main.operands) and any(
            call.type == "INSTANCE_NORMALIZATION"
            and call.inputs[0] in pooled
            and len(call.inputs) > 4
            and bool(main.operands[call.inputs[4]].data)
            for call in main.operations
        )
    assert found > 0


def largest(x: np.ndarray) -> Example:
    """REDUCE_MAX along the last axis."""
    operands = (
        taken(tensor(F32, *x.shape)),
        constant("TENSOR_INT32", np.array([-1], np.int32)),
        constant("BOOL", np.array(False)),
        given(tensor(F32, *x.shape[:-1])),
    )
    return Example(
        "largest", ExampleGraph(operands, (OperationSpec("REDUCE_MAX", (0, 1, 2), (3,)),), (0,), (3,)), {0: x}, {}
    )


def test_rows_columns_and_blocks_are_masked() -> None:
    x = np.ones((3, 4), np.float32)
    drawn = [with_masked_rows(largest(x), np.random.default_rng(seed)).inputs[0] for seed in range(40)]
    assert all(array is not None and array.dtype == np.float32 and array.shape == x.shape for array in drawn)
    masks = [np.isinf(array) for array in drawn if array is not None]
    rows = [mask for mask in masks if (mask.all(1) | ~mask.any(1)).all() and mask.any() and not mask.all()]
    columns = [mask for mask in masks if (mask.all(0) | ~mask.any(0)).all() and mask.any() and not mask.all()]
    assert rows
    assert columns


def test_quantized_values_are_left_alone() -> None:
    example = relu(inputs={0: np.array([0, 128, 200], np.uint8)})
    assert with_masked_rows(example, np.random.default_rng(0)).inputs[0] is example.inputs[0]


def test_the_maximum_of_a_masked_row_is_judged() -> None:
    example = largest(np.array([[-np.inf, -np.inf], [1, 2]], np.float32))
    assert judge(example, REFERENCE).outcome == Outcome.AGREED
    lowest = changed(lambda y: np.maximum(y, np.finfo(np.float32).min))
    judgement = judge(example, lowest)
    assert judgement.outcome == Outcome.FAILED
    assert "is -3.40282347e+38, expected -inf" in judgement.reason


def test_what_follows_a_nan_is_not() -> None:
    example = largest(np.array([[np.nan, -np.inf], [1, 2]], np.float32))
    assert judge(example, changed(lambda y: np.nan_to_num(y))).outcome == Outcome.AGREED


@pytest.mark.slow
def test_chains_pad_before_strided_windows_of_one_element() -> None:
    """An engine that moved such strides over the padding was not found without them."""
    chains = [random_image_chain(np.random.default_rng([9, number])) for number in range(150)]
    assert sum(map(_pads_before_a_point, chains)) >= 10


def _pads_before_a_point(example: Example) -> bool:
    operands = example.main.operands
    padded = {call.outputs[0] for call in example.main.operations if call.type == "PAD"}
    return any(
        call.type == "CONV_2D" and call.inputs[0] in padded and operands[call.inputs[1]].dimensions[1:3] == (1, 1)
        for call in example.main.operations
    )
