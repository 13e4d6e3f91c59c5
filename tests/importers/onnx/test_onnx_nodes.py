"""ONNX's own node tests: passed, or refused with a reason; never wrong, never a crash."""

from collections import Counter
from collections.abc import Sequence

import pytest

from nnapi.importers.onnx.tensors import words
from tests.importers.onnx.node_cases import NodeCase, node_cases, outcome

SOME = words(
    "abs add add_bcast argmax_default_axis_example averagepool_2d_pads batchnorm_example clip_example concat_3d_axis_1 "
    "conv_with_strides_padding convtranspose depthtospace_crd_mode_example einsum_batch_matmul erf "
    "expand_dim_changed gather_1 gelu_default_1 gemm_all_attributes globalaveragepool gru_defaults if "
    "instancenorm_epsilon layer_normalization_4d_axis2 loop11 lstm_with_peepholes matmul_4d maxpool_2d_ceil "
    "mod_mixed_sign_int32 pow qlinearconv reduce_log_sum_exp_keepdims_random reshape_negative_dim "
    "resize_downsample_scales_cubic resize_upsample_sizes_nearest scan9_sum simple_rnn_defaults slice_neg_steps "
    "softmax_axis_1 split_equal_parts_2d top_k transpose_default where_example xor_bcast4v2d"
)
WHOLE = {f"test_{name}" for name in SOME}
EVERY = 6
"""Of so many cases one is run on the default devices, where a compilation takes longer."""


def test_the_names_are_those_of_cases() -> None:
    assert {case.name for case in node_cases()} >= WHOLE


@pytest.mark.parametrize("case", [case for case in node_cases() if case.name in WHOLE], ids=lambda case: case.name)
def test_some_pass_on_the_reference(case: NodeCase) -> None:
    assert outcome(case, "nnapi-reference").kind in ("passed", "frozen")


def counts(cases: Sequence[NodeCase], device: str | None) -> Counter[str]:
    found = {case.name: outcome(case, device) for case in cases}
    assert not {name: each for name, each in found.items() if each.kind in ("wrong", "failed")}
    assert all(each.reason for each in found.values() if each.kind == "refused")
    return Counter(each.kind for each in found.values())


@pytest.mark.slow
def test_all_on_the_reference() -> None:
    found = counts(node_cases(), "nnapi-reference")
    assert found["passed"] >= 1000
    assert found["passed"] + found["frozen"] >= 1300


@pytest.mark.slow
@pytest.mark.engine
def test_a_part_on_the_default_devices() -> None:
    cases = node_cases()[::EVERY]
    found = counts(cases, None)
    assert found["passed"] + found["frozen"] >= 0.65 * len(cases)
