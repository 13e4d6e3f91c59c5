"""Options of sessions that a model stores."""

from __future__ import annotations

import pytest

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
from onnx import helper  # noqa: E402  # it may be missing

import nnapi.onnx as ours  # noqa: E402  # which needs it
from tests.onnx.session_cases import dense, session  # noqa: E402


def with_config(config: str) -> bytes:
    model = onnx.load_from_string(dense())
    helper.set_model_props(model, {"ort_config": config})
    return bytes(model.SerializeToString())


def test_options_stored_in_a_model_replace_the_program_s_on_demand(monkeypatch: pytest.MonkeyPatch) -> None:
    content = with_config('{"session_options": {"intra_op_num_threads": 2, "graph_optimization_level": 1, "more": 1}}')
    given = ours.SessionOptions()
    given.intra_op_num_threads = 3
    assert session(content, sess_options=given).get_session_options() is given
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    stored = session(content, sess_options=given).get_session_options()
    assert stored.intra_op_num_threads == 2
    assert stored.graph_optimization_level is ours.GraphOptimizationLevel.ORT_ENABLE_BASIC


def test_an_argument_decides_whether_stored_options_count(monkeypatch: pytest.MonkeyPatch) -> None:
    content = with_config('{"session_options": {"intra_op_num_threads": 2}}')
    further = {"disabled_optimizers": ["ConstantSharing"], "enable_fallback": False}
    assert session(content, read_config_from_model=1, **further).get_session_options().intra_op_num_threads == 2
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    assert session(content, read_config_from_model=0).get_session_options().intra_op_num_threads == 0


@pytest.mark.parametrize(
    "config",
    [
        "{bad",
        "[]",
        "[" * 100_000,
        '{"session_options": {"execution_mode": 7}}',
        '{"session_options": {"enable_profiling": "x"}}',
    ],
)
def test_stored_options_that_are_not_valid_are_refused(config: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    with pytest.raises(RuntimeError, match="the options stored in the model cannot be read"):
        session(with_config(config))
