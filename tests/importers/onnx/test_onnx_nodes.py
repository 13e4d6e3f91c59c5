"""ONNX's own node tests: passed, or refused with a reason; never wrong, never a crash."""

from collections import Counter
from typing import Any

import pytest

from nnapi.importers.onnx.terms import words
from tests.importers.onnx.node_cases import node_cases, outcome

SOME = words(
    "abs add add_bcast argmax_default_axis_example averagepool_2d_pads batchnorm_example clip "
    "concat_3d_axis_1 conv_with_strides_padding convtranspose depthtospace_crd_mode_example "
    "einsum_batch_matmul erf expand_dim_changed gather_1 gelu_default_1 gemm_all_attributes "
    "globalaveragepool instancenorm_epsilon layer_normalization_4d_axis2 matmul_4d maxpool_2d_ceil "
    "mod_mixed_sign_int32 pow reduce_log_sum_exp_keepdims_random reshape_negative_dim "
    "resize_downsample_scales_cubic resize_upsample_sizes_nearest slice_neg_steps softmax_axis_1 "
    "split_equal_parts_2d top_k transpose_default where_example xor_bcast4v2d if loop11 scan9_sum"
)
WHOLE = {f"test_{name}" for name in SOME}
assert len([case for case in node_cases() if case.name in WHOLE]) == len(WHOLE)


@pytest.mark.parametrize("case", [case for case in node_cases() if case.name in WHOLE], ids=lambda case: case.name)
def test_some_pass_on_the_reference(case: Any) -> None:
    assert outcome(case, "nnapi-reference").kind in ("passed", "frozen")


def outcomes(device: str | None) -> Counter[str]:
    found = {case.name: outcome(case, device) for case in node_cases()}
    bad = {name: each for name, each in found.items() if each.kind in ("wrong", "failed")}
    assert not bad
    assert all(each.reason for each in found.values() if each.kind == "refused")
    return Counter(each.kind for each in found.values())


@pytest.mark.slow
def test_all_on_the_reference() -> None:
    counts = outcomes("nnapi-reference")
    assert counts["passed"] + counts["frozen"] >= 1200
    assert counts["passed"] >= 950


@pytest.mark.slow
@pytest.mark.engine
def test_all_on_the_default_devices() -> None:
    counts = outcomes(None)
    assert counts["passed"] + counts["frozen"] >= 1200
