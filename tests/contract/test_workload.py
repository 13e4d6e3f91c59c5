"""How much operations have to do."""

import numpy as np
import pytest

from benchmarks.operator_samples import samples
from nnapi import Builder, OperationCode, PaddingCode, tensor
from nnapi.contract.timings import Element
from nnapi.contract.workload import Work, find_work
from nnapi.model.facts import Kind
from nnapi.model.model import Model
from nnapi.model.operation import REGISTRY
from nnapi.shapes.symbols import Symbols

SAME = {"padding_scheme": PaddingCode.PADDING_SAME, "stride_w": 1, "stride_h": 1}


def only(model: Model) -> Work:
    (call,) = model.operations
    return find_work(model, call)


def convolved(batch: int = 1, dimension: int = 3) -> Model:
    b = Builder()
    x = b.input(tensor("float32", (batch, 5, 7, 2)))
    filter = np.ones((4, dimension, dimension, 2), np.float32)
    b.output(b.conv_2d(x, filter, np.zeros(4, np.float32), **SAME, out=tensor("float32", (batch, 5, 7, 4))))  # type: ignore[call-overload]
    return b.finish()


def test_a_convolution_counts_its_products_and_every_tensor_s_bytes() -> None:
    nbytes = 4 * (5 * 7 * 2 + 4 * 9 * 2 + 4 + 5 * 7 * 4)
    assert only(convolved()) == Work(Kind.CONVOLUTION, Element.FLOAT32, 5 * 7 * 4 * 9 * 2, nbytes, 1, 5 * 7, 5 * 7 * 9)


def test_an_unknown_batch_counts_as_one() -> None:
    assert only(convolved(0)) == only(convolved())


def test_a_depthwise_convolution_sums_over_places_only() -> None:
    b = Builder()
    x = b.input(tensor("float32", (1, 5, 7, 4)))
    b.output(b.depthwise_conv_2d(x, np.ones((1, 3, 3, 4), np.float32), np.zeros(4, np.float32), **SAME, multiplier=1))  # type: ignore[call-overload]
    assert only(b.finish())[:3] == (Kind.DEPTHWISE, Element.FLOAT32, 5 * 7 * 4 * 9)


def test_one_channel_into_several_is_a_dense_convolution() -> None:
    b = Builder()
    x = b.input(tensor("float32", (1, 5, 7, 1)))
    b.output(b.depthwise_conv_2d(x, np.ones((1, 3, 3, 8), np.float32), np.zeros(8, np.float32), **SAME, multiplier=8))  # type: ignore[call-overload]
    found = only(b.finish())
    assert found[:3] == (Kind.CONVOLUTION, Element.FLOAT32, 5 * 7 * 8 * 9)
    assert (found.pixels, found.taps) == (5 * 7, 5 * 7 * 9)


def test_of_a_table_only_the_rows_count_that_are_given() -> None:
    b = Builder()
    indices = b.input(tensor("int32", (3,)))
    b.output(b.gather(np.ones((1000, 4), np.float32), 0, indices))
    assert only(b.finish()) == Work(Kind.MOVEMENT, Element.FLOAT32, 0, 2 * 3 * 4 * 4)


@pytest.mark.parametrize("element", [Element.FLOAT32, Element.UNSIGNED, Element.SIGNED])
def test_a_matrix_product_counts_every_weight_for_every_row(element: Element) -> None:
    model = samples(Kind.PRODUCT, element)[-1]
    work = only(model)
    assert work[:3] == (Kind.PRODUCT, element, 49 * 128 * 128)
    assert (work.pixels, work.taps) == (49, 49)


@pytest.mark.parametrize(
    ("adj_x", "adj_y", "lhs", "rhs"),
    [
        (False, False, (2, 3, 5), (2, 5, 7)),
        (False, True, (2, 3, 5), (2, 7, 5)),
        (True, False, (2, 5, 3), (2, 5, 7)),
        (True, True, (2, 5, 3), (2, 7, 5)),
    ],
)
def test_a_product_of_matrices_sums_over_what_they_share(
    adj_x: bool, adj_y: bool, lhs: tuple[int, ...], rhs: tuple[int, ...]
) -> None:
    b = Builder()
    b.output(b.batch_matmul(b.input(tensor("float32", lhs)), b.input(tensor("float32", rhs)), adj_x, adj_y))
    work = only(b.finish())
    assert work[:3] == (Kind.PRODUCT, Element.FLOAT32, 2 * 3 * 5 * 7)
    assert work.pixels == 3


def test_a_fully_connected_layer_sums_over_its_inputs() -> None:
    b = Builder()
    x = b.input(tensor("float32", (2, 3)))
    b.output(b.fully_connected(x, np.ones((5, 3), np.float32), np.zeros(5, np.float32)))
    assert only(b.finish())[2:] == (2 * 3 * 5, 4 * (2 * 3 + 5 * 3 + 5 + 2 * 5), 1, 2, 2)


def test_a_transposed_and_a_grouped_convolution_sum_over_filter_and_channels() -> None:
    b = Builder()
    x = b.input(tensor("float32", (1, 5, 7, 4)))
    bias = np.zeros(6, np.float32)
    grouped = np.ones((6, 3, 2, 2), np.float32)
    b.output(b.grouped_conv_2d(x, grouped, bias, 1, 1, 1, num_groups=2))
    assert only(b.finish())[2:3] == (5 * 7 * 6 * 3 * 2 * 2,)
    b = Builder()
    x = b.input(tensor("float32", (1, 5, 7, 4)))
    turned = np.ones((6, 3, 2, 4), np.float32)
    b.output(b.transpose_conv_2d(x, turned, bias, 0, 0, 0, 0, 1, 1, 0))
    assert only(b.finish())[2:3] == (7 * 8 * 6 * 3 * 2 * 4,)


def test_a_sequence_counts_its_steps() -> None:
    model = samples(Kind.RECURRENT, Element.FLOAT32)[0]
    work = find_work(model, model.operations[-1])
    assert (work.kind, work.steps) == (Kind.RECURRENT, 4)
    assert work.macs == 4 * (8 * (8 * 8) + 2 * 8)  # the states are constants here too


def test_what_has_no_kind_is_rare_or_depends_on_data() -> None:
    rest = {code.name for code in OperationCode if REGISTRY[code].facts.kind is Kind.OTHER}
    assert {"IF", "WHILE", "DETECTION_POSTPROCESSING", "LOCAL_RESPONSE_NORMALIZATION"} <= rest
    assert len(rest) < 25


def test_the_numbers_behind_stored_codes_are_known_before() -> None:
    codes, b = tensor("quant8_asymm_signed", (64, 64), scale=0.5), Builder()
    stored = b.dequantize(b.constant(np.ones((64, 64), np.int8), codes), out="float32")
    given = b.dequantize(b.input(codes), out="float32")
    b.output(stored, given)
    model = b.finish()
    assert {find_work(model, call).nbytes for call in model.operations} == {0, 64 * 64 * (1 + 4)}


def test_sizes_are_estimated_without_guards() -> None:
    symbols = Symbols()
    b = Builder()
    left, right = (b.input(tensor("float32", (1, symbols.add(size, "s"), 6))) for size in (5, 8))
    b.output(b.batch_matmul(left, right, False, True))
    model = b.finish()
    symbols.guards.clear()
    assert only(model).macs == 5 * 6 * 8
    assert not symbols.guards
