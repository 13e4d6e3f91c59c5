"""Tiny models: nothing is measured or compared, and nobody is asked who is not needed, until somebody wants to know."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from nnapi import Device, Model, compile, settings, trace
from nnapi.codes import PreferenceCode
from nnapi.contract.driver import CacheEntry, Prepared, PrepareOptions, Verdict
from nnapi.contract.workload import find_work
from nnapi.errors import OpFailedError
from nnapi.runtime.costs.prices import find_tables, list_prices
from nnapi.runtime.planning.explain import as_text
from tests.runtime.device_cases import ABS, NEG, REFERENCE, chain, limited

PARTS = 1000
X = np.array([[1, -2], [-3, 4]], np.float32)


class Asked:
    """A driver that counts how often it is asked, and may fail to prepare."""

    def __init__(self, device: Device, fails: bool = False) -> None:
        self._driver, self.info, self.fails, self.count = device.driver, device.driver.info, fails, 0
        self.capabilities = device.driver.capabilities

    def verdicts(self, model: Model) -> list[Verdict]:
        self.count += 1
        return list(self._driver.verdicts(model))

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        if self.fails:
            raise OpFailedError("not today")
        return self._driver.prepare(model, options)


class Decomposing(Asked):
    """A driver that computes each operation as many."""

    def verdicts(self, model: Model) -> list[Verdict]:
        return [Verdict(True, parts=(find_work(model, call),) * PARTS) for call in model.operations]


class Keeping(Asked):
    """Its prepared models can be cached."""

    def cache_entry(self, prepared: Prepared) -> bytes:
        return b"kept"

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        return self.prepare(model, options)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[Device]]:
    """The devices of this machine, for tests to add to; what is measured fails the test."""
    found: list[Device] = []
    monkeypatch.setenv("NNAPI_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("nnapi.runtime.choice.tune.decide_at_once", None)
    with settings(tuning=True):
        yield found


def drivers(machine: list[Device], *devices: Device) -> list[Asked]:
    asked = [Asked(device) for device in devices]
    machine += [Device(each) for each in asked]
    return asked


def test_the_trace_says_what_choosing_takes(machine: list[Device]) -> None:
    drivers(machine, limited("quick"), REFERENCE)
    with trace.recording() as recorder:
        compile(chain(), machine)
    assert "ModelBuilder::partitionTheWork" in {span.label.name for span in recorder.spans()}


def test_one_device_is_asked(machine: list[Device]) -> None:
    quick, slow = drivers(machine, limited("quick"), REFERENCE)
    compilation = compile(chain(), machine)
    assert compilation.run(X)[0].tolist() == [[1, 2], [3, 4]]
    assert (quick.count, slow.count) == (1, 0)
    assert [device.name for device in compilation.devices] == ["quick"]


def test_the_others_are_asked_when_somebody_wants_to_know(machine: list[Device]) -> None:
    _, picky, slow = drivers(machine, limited("quick"), limited("picky", [ABS]), REFERENCE)
    compilation = compile(chain(), machine)
    assert (picky.count, slow.count) == (0, 0)
    text = compilation.explain()
    assert (picky.count, slow.count) == (1, 1)
    assert "not picky: NEG (#1): not for picky" in text
    assert "or everything on nnapi-reference: predicted" in text
    assert compilation.explanation()["alternatives"][0]["description"] == "everything on nnapi-reference"
    compilation.explain()
    assert (picky.count, slow.count) == (1, 1)


def test_one_that_refuses_is_passed_over(machine: list[Device]) -> None:
    drivers(machine, limited("picky", [NEG]), REFERENCE)
    compilation = compile(chain(), machine)
    assert compilation.plan.devices == ("nnapi-reference",)
    assert "not picky: ABS (#0): not for picky" in compilation.explain()


def test_one_that_decomposes_operations_costs_the_sum_of_their_parts(machine: list[Device]) -> None:
    """It would be the fastest, were each operation one of its own."""
    quick, _ = machine[:] = [Device(Decomposing(limited("quick"))), REFERENCE]
    compilation = compile(chain(), machine)
    assert compilation.plan.devices == ("nnapi-reference",)
    model = chain()
    of_one, of_parts = (dict(compilation.plan.decisions[0].costs)[device.name] for device in (REFERENCE, quick))
    work = find_work(model, model.operations[0])
    (price, _) = list_prices(machine, find_tables(machine, 1, model))
    preference = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
    seconds = price.seconds(model, model.operations[0], preference, work)
    assert of_parts == pytest.approx(PARTS * seconds)
    assert of_parts > of_one


def test_one_that_fails_to_prepare_is_replaced(machine: list[Device]) -> None:
    quick, _ = drivers(machine, limited("quick"), REFERENCE)
    quick.fails = True
    compilation = compile(chain(), machine)
    assert compilation.plan.devices == ("nnapi-reference",)
    assert "not today" in compilation.explain()


def test_a_plan_that_a_cache_keeps_tells_the_same(machine: list[Device], tmp_path: Path) -> None:
    quick, slow = (Keeping(device) for device in (limited("quick"), REFERENCE))
    machine += [Device(quick), Device(slow)]
    model = chain()
    first = compile(model, machine, cache=tmp_path / "cache")
    kept = compile(model, machine, cache=tmp_path / "cache")
    assert (quick.count, slow.count) == (1, 0)
    assert as_text(kept.plan) == as_text(first.plan)
    assert slow.count == 2


@pytest.mark.slow
@pytest.mark.engine
def test_engines_that_are_not_needed_are_not_imported(tmp_path: Path) -> None:
    """One of several engines takes the model: the other is not even loaded."""
    pytest.importorskip("ai_edge_litert", reason="ai-edge-litert is not installed")
    code = (
        "import sys, nnapi; b = nnapi.Builder('r'); b.output(b.relu(b.input(nnapi.tensor('float32', (1, 8)))));"
        "c = nnapi.compile(b.finish()); assert [d.name for d in c.devices] == ['xnnpack-cpu'];"
        "assert 'openvino' not in sys.modules; assert 'nnapi-reference' in c.explain()"
    )
    variables = {name: value for name, value in os.environ.items() if not name.startswith(("DEBUG_NN", "NNAPI_TUNING"))}
    subprocess.run([sys.executable, "-c", code], env=variables | {"NNAPI_CACHE_DIR": str(tmp_path)}, check=True)
