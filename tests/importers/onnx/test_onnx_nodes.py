"""ONNX's own node tests: passed, or refused with a reason; never wrong, never a crash."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import pytest

from benchmarks.onnx_nodes import NodeCase, Outcome, node_cases, outcome, page, row_name
from nnapi.importers.onnx.operators import MODULES
from nnapi.importers.onnx.tensors import words

onnx = pytest.importorskip("onnx", reason="onnx is not installed")

SOME = words(
    "abs add add_bcast argmax_default_axis_example averagepool_2d_pads batchnorm_example "
    "bitcast_uint16_to_int16 bitshift_left_int8_overflow bitwise_not_3d bitwise_xor_ui8_bcast_4v3d "
    "clip_example concat_3d_axis_1 "
    "conv_with_strides_padding convtranspose cumprod_1d_reverse_exclusive depthtospace_crd_mode_example "
    "einsum_batch_matmul erf "
    "expand_dim_changed gather_1 gelu_default_1 gemm_all_attributes globalaveragepool gru_defaults if "
    "instancenorm_epsilon layer_normalization_4d_axis2 loop11 lstm_with_peepholes matmul_4d maxpool_2d_ceil "
    "maxpool_with_argmax_2d_precomputed_strides "
    "mod_mixed_sign_int32 pow qlinearconv reduce_log_sum_exp_keepdims_random reshape_negative_dim "
    "resize_downsample_scales_cubic resize_upsample_sizes_nearest scan9_sum "
    "scatter_elements_with_reduction_max scatternd_add simple_rnn_defaults slice_neg_steps "
    "softmax_axis_1 split_equal_parts_2d top_k transpose_default where_example xor_bcast4v2d"
)
WHOLE = {f"test_{name}" for name in SOME}
COMMITTED = Path(__file__).resolve().parents[3] / "docs" / "onnx.md"
AGAIN = "run: python -m benchmarks.onnx_nodes > docs/onnx.md"
EVERY = 6
"""Of so many cases one is run on the default devices, where a compilation takes longer."""


@pytest.mark.slow
def test_some_pass_on_the_reference() -> None:
    """One test: making and running the cases takes many seconds, in every process that has one of several."""
    found = on_the_reference()
    assert not {name: found[name] for name in WHOLE if found[name].kind not in ("passed", "frozen")}


def outcomes(cases: Sequence[NodeCase], device: str | None) -> dict[str, Outcome]:
    """Return the outcome of each case by name: none is wrong, and each refusal has a reason."""
    found = {case.name: outcome(case, device) for case in cases}
    assert not {name: each for name, each in found.items() if each.kind in ("wrong", "failed")}
    assert all(each.reason for each in found.values() if each.kind == "refused")
    return found


@cache
def on_the_reference() -> dict[str, Outcome]:
    return outcomes(node_cases(), "nnapi-reference")


@pytest.mark.slow
def test_all_on_the_reference() -> None:
    kinds = Counter(each.kind for each in on_the_reference().values())
    assert kinds["passed"] >= 1000
    assert kinds["passed"] + kinds["frozen"] >= 1300


@pytest.fixture
def committed() -> str:
    text = COMMITTED.read_text()
    if f"onnx {onnx.__version__} " not in text:
        pytest.skip(f"the page tells of another version than onnx {onnx.__version__}")
    return text


@pytest.mark.slow
def test_the_committed_page_is_true(committed: str) -> None:
    assert committed == page(node_cases(), on_the_reference()), AGAIN


@pytest.mark.slow
def test_the_committed_page_lists_every_operator(committed: str) -> None:
    table = committed.split("| operator |")[1]
    rows = dict(re.findall(r"^\| (\w+(?:, decomposed)?) \| (.*) \|$", table, re.MULTILINE))
    tested = {case.operator for case in node_cases()}
    assert set(rows) == set(map(row_name, tested)), AGAIN
    counts = [sum(map(int, re.findall(r"\d+", row.rsplit("|", 1)[0]))) for row in rows.values()]
    assert f"Of {len(node_cases())} tests" in committed
    assert sum(counts) == len(node_cases())
    left = [name for name in MODULES if name.removeprefix("ai.onnx.ml:") not in tested]
    untested = ", ".join(sorted(left, key=str.lower))
    assert " ".join(committed.split()).endswith(f"have rules, but no tests in the library: {untested}."), AGAIN


@pytest.mark.slow
@pytest.mark.engine
def test_a_part_on_the_default_devices() -> None:
    cases = node_cases()[::EVERY]
    kinds = Counter(each.kind for each in outcomes(cases, None).values())
    assert kinds["passed"] + kinds["frozen"] >= 0.65 * len(cases)
