"""Graphs do not depend on the processor at hand: the nominal figures decide how they are rewritten."""

import pytest


@pytest.fixture(autouse=True)
def _nominal_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    from nnapi.drivers.xnnpack.passes.signed_weights import cost_model  # not before the environment is set

    monkeypatch.setattr(cost_model, "FIGURES", {})
