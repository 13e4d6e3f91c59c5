"""First predictions, from samples of engines on made-up processors."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nnapi import Builder, Device, Model, PaddingCode, PreferenceCode, device, settings, tensor
from nnapi.codes import OperandCode
from nnapi.drivers import openvino, xnnpack
from nnapi.drivers.base import Capabilities, FindFigures, Performance
from nnapi.drivers.limited import Limited
from nnapi.drivers.openvino import OpenVinoDriver, relations
from nnapi.drivers.samples import Kinds, Relation, Relations, Sample, Samples
from nnapi.drivers.xnnpack import XnnpackDriver
from nnapi.runtime.costs import expectations
from nnapi.runtime.costs.cost_tables import Cost, Table, open_costs
from nnapi.runtime.costs.expectations import expect, fit_samples, relate
from nnapi.runtime.costs.prices import list_prices
from nnapi.runtime.costs.workload import Element, Kind, find_work
from nnapi.runtime.planning.planner import make_first_plan, make_plan

FAST = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
FLOAT, SIGNED = OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED
UNSIGNED = OperandCode.TENSOR_QUANT8_ASYMM
IMAGE = (1, 48, 48, 8)
WORKS = [(1000, 900, 64, 64), (1_000_000, 50_000, 900, 8100), (5_000_000, 9000, 100, 900), (70_000, 70_000, 5, 5)]
"""MACs, bytes, pixels and places."""


def sample(code: int, cost: Cost, kernel: str = "") -> list[Sample]:
    """Convolutions of an engine that takes so much."""
    return [
        Sample(Kind.CONVOLUTION, code, *work, sum(f * w for f, w in zip(cost, (1, *work), strict=True)), kernel)
        for work in WORKS
    ]


QUICK, SLOW = Cost(1e-6, 1e-12, 0.0, 0.0, 1e-9), Cost(1e-6, 4e-11, 0.0)


@dataclass(frozen=True, eq=False)
class Quick(Limited):
    """The reference, as if it were an engine that starts at once."""

    samples: Samples | None = None

    def measure_figures(self) -> Mapping[str, Any]:
        return {}

    def take_figures(self, find: FindFigures) -> None:
        pass

    def read_samples(self, figures: Mapping[str, Any]) -> Samples | None:
        return self.samples


@dataclass(frozen=True, eq=False)
class Late(Limited):
    """The same, as if it were one that starts slowly."""

    kinds: Kinds | None = None
    starts_slowly: bool = False

    def relate(self) -> Relations:
        return Relations("quick", 3.0, 10.0, self.kinds or {})


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Device]]:
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    found: list[Device] = []
    monkeypatch.setattr(expectations, "devices", lambda: found)
    with settings(tuning=True):
        yield found


def make_machine(
    machine: list[Device], samples: Samples | None, kinds: Kinds, starts_slowly: bool = False
) -> list[Device]:
    reference, declared = device("nnapi-reference").driver, Capabilities(Performance(0.1, 0.1))
    machine += [
        Device(Quick(reference, "quick", declared=declared, samples=samples)),
        Device(Late(reference, "late", declared=declared, kinds=kinds, starts_slowly=starts_slowly)),
    ]
    return machine


def convolved(type: str) -> Model:
    b, random = Builder(), np.random.default_rng(0)
    quantised = {} if type == "float32" else {"out": tensor(type, IMAGE, 0.5)}
    x = b.input(tensor(type, IMAGE, 0.0 if type == "float32" else 0.5))
    if type == "float32":
        filter = b.constant(random.random((8, 3, 3, 8), np.float32))
        bias = b.constant(np.zeros(8, np.float32))
    else:
        codes = tensor(type, (8, 3, 3, 8), 0.1)
        filter = b.constant(np.ones((8, 3, 3, 8), codes.dtype), codes)
        bias = b.constant(np.zeros(8, np.int32), tensor("int32", (8,), 0.5 * float(np.float32(0.1))))
    same = {"padding_scheme": PaddingCode.PADDING_SAME, "stride_w": 1, "stride_h": 1}
    b.output(b.conv_2d(x, filter, bias, **same, **quantised))
    return b.finish()


def test_samples_become_costs() -> None:
    found = fit_samples(Samples(2e-6, 3e-11, [*sample(FLOAT, SLOW), *sample(SIGNED, QUICK)]), 1)
    assert (found.launch, found.byte) == (2e-6, 3e-11)
    for element, cost in ((Element.FLOAT32, SLOW), (Element.SIGNED, QUICK)):
        (way,) = found.costs[Kind.CONVOLUTION, element].costs
        assert way == pytest.approx(cost, rel=1e-3, abs=1e-14)


def test_threads_share_what_there_is_to_do() -> None:
    (way,) = fit_samples(Samples(0.0, 0.0, sample(FLOAT, SLOW)), 4).costs[Kind.CONVOLUTION, Element.FLOAT32].costs
    assert way == pytest.approx(Cost(1e-6, 1e-11, 0.0), rel=1e-3, abs=1e-14)


def test_of_several_kernels_the_fastest_counts() -> None:
    few, many = Cost(0.0, 1e-10, 0.0), Cost(5e-5, 1e-12, 0.0)
    found = fit_samples(Samples(0.0, 0.0, [*sample(SIGNED, few, "a"), *sample(SIGNED, many, "b")]), 1)
    model = convolved("quant8_asymm_signed")
    work = find_work(model, model.operations[0])
    way = found.costs[Kind.CONVOLUTION, Element.SIGNED]
    assert way.seconds(work._replace(macs=1000)) == pytest.approx(1e-7, rel=0.01)
    assert way.seconds(work._replace(macs=10**9)) == pytest.approx(5e-5 + 1e-3, rel=0.01)


def test_another_engine_is_expected_to_take_what_the_relation_says() -> None:
    kinds = {(Kind.CONVOLUTION, SIGNED): Relation(1.5, FLOAT), (Kind.RESIZE, FLOAT): Relation()}
    known = fit_samples(Samples(2e-6, 3e-11, sample(FLOAT, Cost(1e-6, 4e-11, 1e-11))), 1)
    found = relate(known, Relations("quick", 3.0, 10.0, kinds))
    assert found.launch == pytest.approx(6e-6)
    (way,) = found.costs.pop((Kind.CONVOLUTION, Element.SIGNED)).costs  # type: ignore[attr-defined]
    assert way == pytest.approx(Cost(1e-5, 6e-11, 4 * 1.5e-11), rel=1e-3, abs=1e-14)
    assert not found.costs


def test_what_was_measured_counts_before_what_is_expected(machine: list[Device]) -> None:
    quick, late = make_machine(
        machine, Samples(2e-6, 0.0, sample(FLOAT, SLOW)), {(Kind.CONVOLUTION, FLOAT): Relation(2.0)}
    )
    model = convolved("float32")
    call, work = model.operations[0], find_work(model, model.operations[0])

    def price(device: Device) -> float:
        tables = {each.name: expect(each, 1) for each in machine}
        return list_prices(machine, tables)[machine.index(device)].seconds(model, call, FAST)

    assert price(quick) == pytest.approx(SLOW.seconds(work), rel=0.01)
    assert price(late) == pytest.approx(2 * SLOW.mac * work.macs + 1e-5, rel=0.01)
    open_costs().keep(late, 1, Table(1e-6, 0.0, {work[:2]: Cost(1.0, 0.0, 0.0)}))
    assert price(late) == 1.0
    assert price(quick) == pytest.approx(SLOW.seconds(work), rel=0.01)


def test_without_samples_what_is_declared_counts(machine: list[Device]) -> None:
    make_machine(machine, None, {(Kind.CONVOLUTION, FLOAT): Relation()})
    assert [expect(each, 1) for each in machine] == [Table(), Table()]


@pytest.mark.parametrize(
    ("type", "relation", "chosen"),
    [
        ("float32", 0.3, "late"),
        ("float32", 1.0, "quick"),
        ("quant8_asymm_signed", 0.3, "late"),
        ("quant8_asymm_signed", 1.0, "quick"),
    ],
)
def test_the_first_choice_follows_the_figures(machine: list[Device], type: str, relation: float, chosen: str) -> None:
    """Of two engines that declare the same, on a processor nobody has seen."""
    samples = Samples(1e-7, 0.0, [*sample(FLOAT, SLOW), *sample(SIGNED, SLOW)])
    kinds = {(Kind.CONVOLUTION, code): Relation(relation) for code in (FLOAT, SIGNED)}
    devices = make_machine(machine, samples, kinds)
    plan = make_plan(convolved(type), devices, FAST, None, {each.name: expect(each, 1) for each in devices})
    assert plan.devices == (chosen,)


@pytest.mark.parametrize(
    ("relation", "starts_slowly", "chosen"), [(0.7, False, "late"), (0.7, True, "quick"), (0.3, True, "late")]
)
def test_what_starts_slowly_must_be_faster_by_far(
    machine: list[Device], relation: float, starts_slowly: bool, chosen: str
) -> None:
    kinds = {(Kind.CONVOLUTION, FLOAT): Relation(relation)}
    devices = make_machine(machine, Samples(1e-7, 0.0, sample(FLOAT, SLOW)), kinds, starts_slowly)
    plan = make_first_plan(convolved("float32"), devices, FAST, {each.name: expect(each, 1) for each in devices})
    assert plan is not None
    assert plan.devices == (chosen,)


def test_what_may_not_be_measured_is_expected_once_it_was(machine: list[Device]) -> None:
    quick, late = make_machine(
        machine, Samples(1e-7, 0.0, sample(FLOAT, SLOW)), {(Kind.CONVOLUTION, FLOAT): Relation()}
    )
    assert expect(late, 1, measures=False).estimate is expect(quick, 1, measures=False).estimate is None
    assert expect(quick, 1).estimate is not None
    assert expect(quick, 1, measures=False).estimate == expect(quick, 1).estimate
    assert expect(late, 1, measures=False).estimate is not None


def test_others_are_as_much_slower_as_they_declare(machine: list[Device]) -> None:
    """Of what declares to be 10 times as fast as the reference there are samples, of the reference none."""
    quick, _ = make_machine(machine, Samples(1e-7, 0.0, sample(FLOAT, SLOW)), {})
    model, reference = convolved("float32"), device("nnapi-reference")
    prices = list_prices([quick, reference], {quick.name: expect(quick, 1)})
    seconds = [each.seconds(model, model.operations[0], FAST) for each in prices]
    assert seconds[1] == pytest.approx(10 * seconds[0])


@pytest.mark.parametrize(
    ("float_pace", "sets", "type", "faster"),
    [
        (40, "avx2 avx512_vnni", "float32", "xnnpack-cpu"),
        (40, "avx2 avx512_vnni", "quant8_asymm_signed", "xnnpack-cpu"),
        (40, "avx2 avx512_vnni amx_int8", "quant8_asymm_signed", "openvino-cpu"),
        (40, "avx2 avx512_vnni amx_int8", "quant8_asymm", "xnnpack-cpu"),
        (40, "asimd asimddp", "quant8_asymm_signed", "xnnpack-cpu"),
        (5, "asimd", "quant8_asymm_signed", "openvino-cpu"),
    ],
)
def test_between_the_engines_the_choice_follows_the_processor(
    machine: list[Device], monkeypatch: pytest.MonkeyPatch, float_pace: int, sets: str, type: str, faster: str
) -> None:
    """Of made-up processors that take so many picoseconds for a product in float32, and 10 for one of codes."""
    costs = {FLOAT: float_pace, SIGNED: 10, UNSIGNED: 10}
    taken = [each for code, pace in costs.items() for each in sample(code, Cost(1e-8, pace * 1e-12, 0.0))]
    for engine in (openvino, xnnpack):
        monkeypatch.setattr(engine, "version", lambda distribution: "1")  # whatever is installed
    monkeypatch.setattr(XnnpackDriver, "measure_figures", lambda driver: {})
    monkeypatch.setattr(XnnpackDriver, "read_samples", lambda driver, figures: Samples(1e-8, 0.0, taken))
    monkeypatch.setattr(relations, "find_instruction_sets", lambda: frozenset(sets.split()))
    machine += [Device(XnnpackDriver()), Device(OpenVinoDriver("CPU"))]
    model = convolved(type)
    prices = list_prices(machine, {each.name: expect(each, 1) for each in machine})
    seconds = {d.name: p.seconds(model, model.operations[0], FAST) for d, p in zip(machine, prices, strict=True)}
    assert min(seconds, key=seconds.__getitem__) == faster
