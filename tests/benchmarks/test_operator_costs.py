"""The tool that measures what drivers ship: it finds the costs of a device that takes exactly so long."""

import numpy as np
import pytest

from benchmarks import operator_costs
from benchmarks.operator_costs import fit, main, measure
from benchmarks.operator_samples import samples
from nnapi import Device, Model, device
from nnapi.contract.timings import Cost, Element
from nnapi.contract.workload import find_work
from nnapi.model.facts import Kind
from nnapi.runtime.costs.prices import predict

COST = Cost(2e-6, 1e-11, 3e-11)


def test_costs_are_those_that_the_samples_were_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    def seconds(device: Device, model: Model, seconds: float) -> float:
        return 5e-6 + sum(predict(COST, find_work(model, call)) for call in model.operations)

    monkeypatch.setattr(operator_costs, "time_model", seconds)
    found = measure(device("nnapi-reference"), 0.0)
    assert found.launch == pytest.approx(5e-6)
    assert found.costs[Kind.CONVOLUTION, Element.SIGNED] == pytest.approx(COST, rel=1e-2, abs=1e-13)


def test_no_figure_is_negative() -> None:
    works = [
        [find_work(model, call) for call in model.operations] for model in samples(Kind.CONVOLUTION, Element.FLOAT32)
    ]
    random = np.random.default_rng(1)
    assert min(fit(works, list(random.uniform(1e-6, 1e-3, len(works))), [0.0] * len(works))) >= 0


def test_the_table_is_printed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    base = operator_costs.BASE
    monkeypatch.setattr(operator_costs, "samples", lambda *kind: samples(*kind) if kind == base else [])
    main(["--device", "nnapi-reference", "--seconds", "0"])
    assert "elementwise, float32, " in capsys.readouterr().out
