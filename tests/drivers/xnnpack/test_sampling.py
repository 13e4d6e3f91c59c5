"""Samples of the engine: what is measured, and what made-up times say."""

import json
from typing import Any

import pytest

from nnapi.codes import OperandCode
from nnapi.drivers.samples import Sample, Sampled
from nnapi.drivers.xnnpack import XnnpackDriver, sampling
from nnapi.drivers.xnnpack.sampling import CHAIN, Timings, describe, make_samples, measure, parse_samples
from nnapi.drivers.xnnpack.single_operators import convolve, convolve_each
from nnapi.formats.tflite.graph import Operator
from nnapi.model.facts import Kind

pytest.importorskip("ai_edge_litert", reason="LiteRT has no wheel for this platform")

FLOAT, SIGNED = OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
UNSIGNED = OperandCode.TENSOR_QUANT8_ASYMM


def test_what_is_measured_can_be_kept() -> None:
    measured = measure()
    samples = parse_samples(json.loads(json.dumps(measured)))
    assert 0 < samples.byte < samples.launch < 1
    assert all(0 < sample.seconds < 1 for sample in samples.operations)
    kinds = {*sampling.KINDS.values(), Kind.RECURRENT}
    assert {(s.kind, s.code) for s in samples.operations} == {(k, c) for k in kinds for c in (FLOAT, SIGNED, UNSIGNED)}
    driver = XnnpackDriver(1)
    assert isinstance(driver, Sampled)
    assert driver.read_samples(measured) == samples


@pytest.mark.parametrize("change", [{}, {"samples": {}}, {"samples": {"launch": 1, "byte": 1, "operations": [[1]]}}])
def test_what_are_no_samples_is_not_used(change: dict[str, Any], caplog: pytest.LogCaptureFixture) -> None:
    assert XnnpackDriver(1).read_samples(change) is None
    assert "of no use" in caplog.text


def test_an_operator_counts_as_its_operation_would() -> None:
    dense = describe(convolve("i8", (1, 5, 7, 8), 16, 3), 1.0)
    nbytes = 5 * 7 * 8 + 16 * 9 * 8 + 4 * 16 + 5 * 7 * 16
    assert dense == Sample(Kind.CONVOLUTION, SIGNED, 5 * 7 * 16 * 9 * 8, nbytes, 5 * 7, 5 * 7 * 9, 1.0)
    channelwise = describe(convolve_each("f32", (1, 5, 7, 16)), 1.0)
    assert channelwise[:3] == (Kind.DEPTHWISE, FLOAT, 5 * 7 * 16 * 9)
    assert (channelwise.pixels, channelwise.places) == (5 * 7, 5 * 7 * 9)


def test_a_call_is_no_part_of_an_operation() -> None:
    """Each operator takes 2 µs here, a call 30."""

    def time(*operators: Operator) -> float:
        return 30e-6 + 2e-6 * len(operators)

    timings = Timings(time)
    assert timings.run(convolve("f32", (1, 4, 4, 8), 8)) == pytest.approx(32e-6)
    assert timings.run_smallest() == pytest.approx((30e-6, 2e-6))
    sampling_of = {s.kind: s.seconds for s in make_some(timings).operations if s.code == FLOAT}
    assert sampling_of[Kind.CONVOLUTION] == pytest.approx(2e-6)


def make_some(timings: Timings) -> Any:
    timings.run(sampling._apply("LOGISTIC", "f32", (1, 16)))
    return make_samples(timings, 1e-9)


def test_codes_may_be_computed_in_float32() -> None:
    """Between conversions of 1 ns for each number."""
    timings = Timings(lambda *operators: {"f32": 2e-6, "i8": 9e-6}[operators[0].input(0).type] * (len(operators) > 0))
    for type in ("f32", "i8"):
        timings.run(convolve(type, (1, 4, 4, 8), 8))
    found = {s.kernel: s.seconds for s in make_some(timings).operations if s[:2] == (Kind.CONVOLUTION, SIGNED)}
    call, _ = timings.run_smallest()
    assert found == pytest.approx({"i8": 9e-6 - call, "in float32": 2e-6 - call + 2 * 4 * 4 * 8 * 1e-9})
    assert CHAIN > 1
