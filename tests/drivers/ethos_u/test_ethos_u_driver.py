"""The devices ``ethos-u…``, with a Vela that only pretends, and with Vela if it is installed."""

import numpy as np
import pytest

import nnapi
from nnapi.contract.driver import PrepareOptions, Request
from nnapi.drivers import ethos_u
from nnapi.drivers.ethos_u import CONFIGURATIONS
from nnapi.drivers.ethos_u import driver as driver_module
from nnapi.drivers.ethos_u.driver import EthosUDriver
from nnapi.drivers.ethos_u.vela import Report
from tests.drivers.ethos_u.ethos_u_cases import build_network
from tests.runtime.device_cases import build_reversed


@pytest.fixture(autouse=True)
def _no_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(driver_module, "recall_record", lambda *_: None)
    monkeypatch.setattr(driver_module, "keep_record", lambda *_, **__: None)


def pretend(monkeypatch: pytest.MonkeyPatch, *reports: Report) -> list[bytes]:
    """Let Vela give these reports, the last one again and again; return the files that it gets."""
    asked: list[bytes] = []

    def run(content: bytes, configuration: str) -> Report:
        asked.append(content)
        return reports[min(len(asked), len(reports)) - 1]

    monkeypatch.setattr(driver_module, "run_vela", run)
    return asked


def test_verdicts_have_reasons_or_cycles(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, Report({1: "Vela: too hard"}, {0: 1200}, "little"))
    driver, model = EthosUDriver("ethos-u55-128", "5"), build_network()
    assert [(verdict.supported, verdict.reason) for verdict in driver.verdicts(model)] == [
        (True, "1,200 cycles"),
        (False, "HARD_SWISH (#1): Vela: too hard"),
        (True, ""),
    ]
    assert driver.list_estimates(model) == ["ethos-u55-128: little"]


def test_verdicts_are_in_run_order(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, Report({1: "Vela: too hard"}, {0: 1200}))
    assert [verdict.reason for verdict in EthosUDriver("ethos-u55-128", "5").verdicts(build_reversed())] == [
        "ABS (#1): Vela: too hard",
        "1,200 cycles",
    ]


def test_operations_are_asked_alone_after_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = pretend(monkeypatch, Report(failure="no"), Report({}, {0: 5}), Report(failure="hard"), Report({}, {2: 7}))
    driver, model = EthosUDriver("ethos-u55-128", "5"), build_network()
    assert [verdict.reason for verdict in driver.verdicts(model)] == ["5 cycles", "HARD_SWISH (#1): hard", "7 cycles"]
    assert len(asked) == 4


def test_the_plan_says_what_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, Report({1: "Vela: too hard"}, {0: 1200}, "little"))
    device = nnapi.Device(EthosUDriver("ethos-u55-128", "5"))
    text = nnapi.compile(build_network(), [device, "nnapi-reference"]).explain()
    assert "→ ethos-u55-128: 1,200 cycles\n" in text
    assert "not ethos-u55-128: HARD_SWISH (#1): Vela: too hard" in text
    assert "ethos-u55-128 is planned by Arm's compiler Vela" in text
    assert "ethos-u55-128: little" in text


def test_nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend(monkeypatch, Report())
    device = nnapi.Device(EthosUDriver("ethos-u55-128", "5"))
    assert device.is_by_name
    compiled = nnapi.compile(build_network(), [device, "nnapi-reference"])
    with pytest.raises(nnapi.OpFailedError, match="ethos-u55-128 cannot run models here"):
        compiled.run(np.zeros((1, 4), np.int8))
    with pytest.raises(nnapi.OpFailedError, match="cannot run"):
        device.driver.prepare(build_network(), PrepareOptions()).execute(Request([]))


def test_without_vela_there_are_no_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ethos_u, "find_spec", lambda name: None)
    assert ethos_u.find_drivers() == []


def test_vela_answers() -> None:
    pytest.importorskip("ethosu", reason="ethos-u-vela is not installed")
    drivers = {driver.info.name: driver for driver in ethos_u.find_drivers()}
    assert list(drivers) == list(CONFIGURATIONS)
    net = nnapi.Builder("parts")
    x = net.input(nnapi.tensor("int8", (1, 4, 4, 4), 0.1, 0))
    net.output(net.add(x, x, scale=0.2, zero_point=0))
    net.output(net.floor(net.input(nnapi.tensor("float32", (1, 4)))))
    model = net.finish()
    cycles = []
    for name in ("ethos-u55-32", "ethos-u85-2048"):
        found = zip(model.operations, drivers[name].verdicts(model), strict=True)
        add, floor = (verdict for _, verdict in sorted((call.number, verdict) for call, verdict in found))
        assert add.supported
        assert floor.reason.startswith("FLOOR (#1): Vela: ")
        cycles.append(int(add.reason.removesuffix(" cycles")))
        (estimate,) = drivers[name].list_estimates(model)
        assert estimate.startswith(f"{name}: Vela estimates ")
    assert cycles[0] > cycles[1]
