"""Decompositions: a driver of 25 operations computes the others as the reference does, integers to the bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import nnapi
from nnapi import Builder, Device, Model, OperandType, tensor
from nnapi.codes import OperandCode
from nnapi.codes import OperationCode as Op
from nnapi.contract.driver import Verdict
from nnapi.errors import NnapiError
from nnapi.lowering import decompose  # noqa: F401  (registers the rules)
from nnapi.lowering.decomposition_builder import RULES
from nnapi.model.facts import Kind
from nnapi.operation_codes import FAMILIES, FAMILY_OF
from nnapi.rule_table import LoweringRules
from nnapi.testing.build import build
from nnapi.testing.corpus import Corpus, Entry, by_file
from nnapi.testing.variants import VARIANTS, Setting, Skip
from tests.first_examples import kind_of, load_first
from tests.lowering.basic_driver import BASIC, Basic, Rewriting, pass_through
from tests.lowering.fixed_examples import computes_parameters, fix_parameters
from tests.rows import each_row

TYPES = {
    "TENSOR_FLOAT32",
    "TENSOR_INT32",
    "TENSOR_BOOL8",
    "TENSOR_QUANT8_ASYMM",
    "FLOAT32",
    "INT32",
    "BOOL",
    "SUBGRAPH",
}
"""The types that the basic driver computes with."""
DERIVED = "all_inputs_as_internal", "all_outputs_as_internal", "all_tensors_as_inputs"
"""Suffixes of examples that the generator derived from others."""
DYNAMIC = "zero_sized", "unknown_dimension", "unknown_rank"
ENOUGH = 90
MOST_OPERATIONS = 20
"""Beyond, an example is a network, whose operations other examples have alone."""
RANDOM = np.random.default_rng(7)
CODE8 = OperandCode.TENSOR_QUANT8_ASYMM


def is_of_basic_types(entry: Entry) -> bool:
    is_own = not any(part in entry.name for part in (*DERIVED, *DYNAMIC))
    return is_own and not entry.expect_failure and set(entry.types) <= TYPES


def find_refused(model: Model) -> set[str]:
    """The operations that keep the driver from taking a model: the others of an example are not to blame."""
    verdicts = Basic().verdicts(model)
    return {call.name for call, verdict in zip(model.operations, verdicts, strict=True) if not verdict.supported}


@pytest.mark.slow
def test_basic_operations_compute_the_examples_of_90_operations(corpus: Corpus) -> None:
    """One example of each kind counts, without dimensions or parameters that only a run decides. Random calls try the
    values of parameters (``test_expansion``)."""
    assert len(BASIC) == 25
    setting = Setting((Device(Basic()),))
    taken: set[str] = set()
    failed: set[str] = set()
    wrong = []
    kinds = set[object]()
    for file, wanted in by_file(filter(is_of_basic_types, corpus.entries)):
        for example in corpus.load(file, wanted):
            is_network = len(example.main.operations) > MOST_OPERATIONS
            if is_network or computes_parameters(example) or (kind := kind_of(example)) in kinds:
                continue
            kinds.add(kind)
            example = fix_parameters(example)
            try:
                difference = VARIANTS["plain"].check(example, setting)
            except (Skip, NnapiError):
                failed |= find_refused(build(example)) or set(example.operations)
                continue
            taken.update(example.operations)
            if difference is not None:
                wrong.append(f"{example.name}: {difference}")
    assert wrong == []
    assert len(taken - failed) >= ENOUGH, sorted(failed)


@each_row("family", FAMILIES)
def test_basic_operations_compute_the_first_examples(family: str, corpus: Corpus) -> None:
    setting = Setting((Device(Basic()),))
    for example in load_first(corpus, family):
        if computes_parameters(example) or not {operand.type for operand in example.main.operands} <= TYPES:
            continue
        example = fix_parameters(example)
        try:
            difference = VARIANTS["plain"].check(example, setting)
        except (Skip, NnapiError):
            assert find_refused(build(example)), example.name
        else:
            assert difference is None, f"{example.name}: {difference}"


# Integers to the bit


def quantized(shape: tuple[int, ...], scale: float = 0.05, zero_point: int = 120) -> OperandType:
    return OperandType(CODE8, shape, scale, zero_point)


def run_both(model: Model) -> tuple[list[Any], list[Any]]:
    """Results of the reference and of the basic driver for the same random inputs."""
    inputs = []
    for index in model.inputs:
        type = model.operands[index].type
        low, high = (0, 256) if type.is_quantized else (-9, 9)
        inputs.append(RANDOM.integers(low, high, type.dimensions).astype(type.dtype))
    assert all(verdict.supported for verdict in Basic().verdicts(model)), Basic().verdicts(model)
    with nnapi.settings(tuning=False):
        wanted = nnapi.compile(model, devices=["nnapi-reference"]).run(*inputs)
        found = nnapi.compile(model, devices=[Device(Basic())]).run(*inputs)
    return [wanted], [found]


def made(write: Callable[[Builder], Any]) -> Model:
    b = Builder()
    results = write(b)
    b.output(*(results if isinstance(results, tuple) else (results,)))
    return b.finish()


IMAGE = quantized((1, 7, 9, 4))
INT_MATRIX = tensor("int32", (3, 5))
EXACT: dict[str, Callable[[Builder], Any]] = {
    "average pool": lambda b: b.average_pool_2d(b.input(IMAGE), 1, 1, 1, 1, 2, 2, 3, 3, 1),
    "max pool": lambda b: b.max_pool_2d(b.input(IMAGE), 1, 1, 1, 1, 2, 2, 3, 3, 0),
    "mean": lambda b: b.mean(b.input(IMAGE), [1, 2], 1),
    "resize": lambda b: b.resize_bilinear(b.input(IMAGE), 13, 10, False),
    "resize nearest": lambda b: b.resize_nearest_neighbor(b.input(IMAGE), 13, 10, False),
    "shuffle": lambda b: b.channel_shuffle(b.input(IMAGE), 2, -1),
    "space to depth": lambda b: b.space_to_depth(b.input(quantized((1, 4, 6, 3))), 2),
    "depth to space": lambda b: b.depth_to_space(b.input(IMAGE), 2),
    "softmax": lambda b: b.softmax(b.input(quantized((2, 10))), 1.5),
    "prelu": lambda b: b.prelu(b.input(IMAGE), b.input(quantized((4,), 0.01, 3)), scale=0.06, zero_point=99),
    "tanh": lambda b: b.tanh(b.input(IMAGE)),
    "pad": lambda b: b.pad(b.input(IMAGE), [[0, 0], [1, 2], [0, 3], [0, 0]]),
    "reduce max": lambda b: b.reduce_max(b.input(IMAGE), [1, 2], False),
    "argmin": lambda b: b.argmin(b.input(IMAGE), 1),
    "fill": lambda b: b.add(b.fill([2, 5], 7, out=tensor("int32", (2, 5))), b.input(tensor("int32", (5,))), 0),
    "integer argmax": lambda b: b.argmax(b.input(INT_MATRIX), 0),
    "integer pack": lambda b: b.pack(1, [b.input(INT_MATRIX), b.input(INT_MATRIX)]),
    "integer minimum": lambda b: b.minimum(b.input(INT_MATRIX), b.input(tensor("int32", (5,)))),
    "integer batch matmul": lambda b: b.batch_matmul(
        b.input(tensor("int32", (2, 3, 4, 5))), b.input(tensor("int32", (2, 3, 6, 4))), True, True
    ),
    "less or equal": lambda b: b.less_equal(b.input(INT_MATRIX), b.input(INT_MATRIX)),
    "grouped convolution": lambda b: b.grouped_conv_2d(
        b.input(IMAGE),
        b.constant(RANDOM.integers(0, 256, (6, 3, 3, 2)).astype(np.uint8), quantized((6, 3, 3, 2), 0.02, 130)),
        b.constant(RANDOM.integers(-99, 99, 6).astype(np.int32), OperandType(OperandCode.TENSOR_INT32, (6,), 0.001)),
        *(1, 1, 1, 1, 2, 1, 2, 1, False),
        out=quantized((0, 0, 0, 0), 0.11, 127),
    ),
    "transposed convolution": lambda b: b.transpose_conv_2d(
        b.input(IMAGE),
        b.constant(RANDOM.integers(0, 256, (5, 3, 2, 4)).astype(np.uint8), quantized((5, 3, 2, 4), 0.02, 130)),
        b.constant(RANDOM.integers(-99, 99, 5).astype(np.int32), OperandType(OperandCode.TENSOR_INT32, (5,), 0.001)),
        *(1, 0, 2, 1, 2, 3, 0, False),
        out=quantized((0, 0, 0, 0), 0.11, 127),
    ),
}


@each_row("name", EXACT)
def test_integers_are_exact(name: str) -> None:
    wanted, found = run_both(made(EXACT[name]))
    for want, got in zip(wanted, found, strict=True):
        np.testing.assert_array_equal(want, got)


def test_integer_products_of_many_matrices_are_decomposed_at_once() -> None:
    """256 matrices took 25,000 operations, and the verdict more than a minute."""
    b = Builder()
    b.output(
        b.batch_matmul(
            b.input(tensor("int32", (16, 16, 3, 32))), b.input(tensor("int32", (16, 16, 32, 1))), False, False
        )
    )
    (workload,) = Rewriting(b.finish(), [(16, 16, 3, 32), (16, 16, 32, 1)]).run().parts.values()
    assert len(workload) < 4 * 32


def test_rules_lie_in_the_files_of_their_families() -> None:
    """Those of recurrent cells are made of functions that lie elsewhere."""
    for code, rule in RULES.items():
        assert f"{rule.__module__}_".startswith(f"nnapi.lowering.decompositions.{FAMILY_OF[code]}_")


# Lowering calls as their decompositions


class Some(Rewriting):
    """An engine with some other operations than the basic ones."""

    rules = LoweringRules()
    rules.own.update(dict.fromkeys([Op.RELU, Op.RELU6, Op.ADD, Op.MUL, Op.DIV], pass_through))


def test_only_calls_without_a_rule_are_decomposed_and_verdicts_have_their_parts() -> None:
    b = Builder()
    x = b.input(tensor("float32", (2, 3)))
    b.output(b.hard_swish(b.relu(x)))
    lowered = Some(b.finish(), [(2, 3)]).run()
    own, decomposed = lowered.verdicts
    assert own == Verdict(True)
    assert decomposed.supported
    assert [work.kind for work in decomposed.parts] == [Kind.ELEMENTWISE] * 4
    assert [call.code for call in lowered.finish().operations] == [Op.RELU, Op.ADD, Op.RELU6, Op.DIV, Op.MUL]


def test_a_call_whose_parts_are_lacking_too_is_refused_by_its_own_name() -> None:
    b = Builder()
    x = b.input(tensor("float32", (2, 3)))
    b.output(b.relu(b.tanh(x)))
    lowered = Some(b.finish(), [(2, 3)]).run()
    assert [verdict.reason for verdict in lowered.verdicts] == ["TANH (#0): it is not basic", ""]
    assert lowered.parts == {}


@pytest.mark.parametrize("rows", [1, 3])
def test_decompositions_fit_the_shapes_that_are_given(rows: int) -> None:
    """A model with dynamic dimensions is decomposed for those of one run."""
    b = Builder()
    b.output(b.softmax(b.input(tensor("float32", (0, 4))), 1.0))
    lowered = Rewriting(b.finish(), [(rows, 4)]).run()
    written = lowered.finish()
    assert Op.SOFTMAX not in [call.code for call in written.operations]
    assert written.operands[written.inputs[0]].type.dimensions == (0, 4)
    assert written.operands[written.outputs[0]].type.dimensions == (rows, 4)


def test_a_missing_key_gives_zeros_whatever_the_row_that_the_lookup_reads() -> None:
    values = np.array([[np.nan, 1], [2, np.inf]], np.float32)
    keys = np.array([3, 7], np.int32)
    model = made(lambda b: b.hashtable_lookup(b.input(tensor("int32", (3,))), keys, values))
    for device in (Device(Basic()), nnapi.device("nnapi-reference")):
        rows, hits = nnapi.compile(model, device).run(np.array([7, 5, 3], np.int32))
        np.testing.assert_array_equal(rows, [[2, np.inf], [0, 0], [np.nan, 1]])
        assert hits.tolist() == [1, 0, 1]
