"""Patterns of operators: what makes a difference to the accelerator, and the table of those that it computes right."""

from pathlib import Path

import numpy as np
import pytest

import nnapi.drivers.webgpu.patterns as patterns
from nnapi.drivers.webgpu.patterns import describe_pattern, proven_patterns
from nnapi.formats.tflite.graph import Operator, Tensor, constant
from tests.rows import each_row


def real(*shape: int, data: bool = False) -> Tensor:
    return Tensor("f32", shape, data=np.ones(shape, np.float32) if data else None)


def step(width: int, height: int) -> dict[str, int]:
    return {"stride_w": width, "stride_h": height}


IMAGE, OTHER = real(1, 4, 4, 3), real(2, 4, 4, 3)
WINDOW = real(2, 1, 2, 3, data=True)
CODES = IMAGE.like(type="i8", scale=1.0)
FILTER, AXES = real(2, 1, 1, 1, data=True), constant([1, -2])
SPATIAL = constant([[0, 0], [1, 0], [0, 0], [0, 2]])
CASES = {
    "ADD f32[4] > f32[4]": Operator("ADD", [IMAGE, IMAGE.like()], [IMAGE]),
    "ADD f32[4] f32[1]c > f32[4] channels": Operator("ADD", [IMAGE, real(3, data=True)], [IMAGE]),
    "ADD f32[4] f32[1]c > f32[4]": Operator("ADD", [IMAGE, real(1, data=True)], [IMAGE]),
    "ADD f32[4] f32[2]c > f32[4] spread": Operator("ADD", [IMAGE, real(4, 1, data=True)], [IMAGE]),
    "CONCATENATION f32[4] > f32[4] at3": Operator("CONCATENATION", [IMAGE] * 3, [IMAGE], {"axis": -1}),
    "CONV_2D f32[4] f32[4]c none > f32[4] grouped": Operator("CONV_2D", [IMAGE, FILTER, None], [IMAGE], step(1, 1)),
    "CONV_2D f32[4] f32[4]c > f32[4]": Operator("CONV_2D", [IMAGE, WINDOW], [IMAGE], step(2, 1)),
    "CONV_2D f32[4] f32[4]c > f32[4] skipping": Operator("CONV_2D", [IMAGE, WINDOW], [IMAGE], step(1, 2)),
    "SOFTMAX f32[4] > f32[4] beta": Operator("SOFTMAX", [IMAGE], [IMAGE], {"beta": 2.0}),
    "SPLIT i32[0]c f32[4] > f32[4] at3": Operator("SPLIT", [constant(3), IMAGE], [IMAGE, IMAGE]),
    "MEAN f32[4] i32[1]c > f32[4] at1 at2": Operator("MEAN", [IMAGE, AXES], [IMAGE]),
    "PAD f32[4] i32[2]c > f32[4] at1 at3": Operator("PAD", [IMAGE, SPATIAL], [IMAGE]),
    "SLICE f32[4] i32[1]c > f32[4] at0": Operator("SLICE", [OTHER, constant([0] * 4), constant(IMAGE.shape)], [IMAGE]),
    "TRANSPOSE f32[4] i32[1]c > f32[4] order0312": Operator("TRANSPOSE", [IMAGE, constant([0, 3, 1, 2])], [IMAGE]),
    "MAXIMUM i8[4] > i8[4] rescaled": Operator("MAXIMUM", [CODES, CODES.like(scale=2.0)], [CODES]),
    "CAST i8[4] > f32[4] quantized": Operator("CAST", [CODES], [IMAGE]),
    "ADD f32[4] f32[4]c > f32[4] enlarged": Operator(
        "ADD", [real(1, 1, 1, 1), real(2, 1, 1, 1, data=True)], [real(2, 1, 1, 1)]
    ),
    "DEPTHWISE_CONV_2D f32[4] f32[4]c > f32[4] multiplied": Operator(
        "DEPTHWISE_CONV_2D", [IMAGE, real(1, 1, 1, 6, data=True)], [IMAGE]
    ),
    "DEPTHWISE_CONV_2D f32[4] f32[4]c > f32[4]": Operator(
        "DEPTHWISE_CONV_2D", [IMAGE, real(1, 3, 1, 6, data=True)], [IMAGE]
    ),
    "SPACE_TO_DEPTH f32[4] > f32[4] batches": Operator("SPACE_TO_DEPTH", [OTHER], [OTHER], {"block_size": 2}),
    "DEPTH_TO_SPACE f32[4] > f32[4] single": Operator("DEPTH_TO_SPACE", [IMAGE], [IMAGE], {"block_size": 1}),
    "CONCATENATION f32[4] > f32[4] single at3": Operator("CONCATENATION", [IMAGE], [IMAGE], {"axis": 3}),
    "SPLIT i32[0]c f32[4] > f32[4] single at3": Operator("SPLIT", [constant(3), IMAGE], [IMAGE]),
    "ARG_MAX f32[2] i32[0]c > i32[1] single ragged at1": Operator(
        "ARG_MAX", [real(4, 1), constant(1)], [real(4).like(type="i32")]
    ),
    "TOPK_V2 f32[1] i32[0]c > f32[1] ragged": Operator("TOPK_V2", [real(6), constant(2)], [real(2)]),
    "ARG_MAX f32[2] i32[0]c > i32[1] ragged at1": Operator(
        "ARG_MAX", [real(4, 6), constant(1)], [real(4).like(type="i32")]
    ),
    "ARG_MAX f32[2] i32[0]c > i32[1] at0": Operator("ARG_MAX", [real(6, 6), constant(0)], [real(6).like(type="i32")]),
    "REVERSE_V2 f32[4] i32[1]c > f32[4] ragged at3": Operator("REVERSE_V2", [IMAGE, constant([3])], [IMAGE]),
    "MUL f32[1] f32[1]c > f32[1] row": Operator("MUL", [real(4), real(4, data=True)], [real(4)]),
    "TOPK_V2 f32[1] i32[0]c > f32[1]": Operator("TOPK_V2", [real(8), constant(2)], [real(2)]),
    "POW f32[4] f32[1]c > f32[4] whole": Operator("POW", [IMAGE, constant([2], "f32")], [IMAGE]),
    "POW f32[4] f32[1]c > f32[4]": Operator("POW", [IMAGE, constant([0.75], "f32")], [IMAGE]),
    "PADV2 f32[4] i32[2]c f32[1]c > f32[4] infinite at1 at3": Operator(
        "PADV2", [IMAGE, SPATIAL, constant([-np.inf], "f32")], [IMAGE]
    ),
}


WIDE, COLUMN, ROW = real(2, 5, 7, 8), real(2, 5, 7, 1), real(1, 1, 1, 8, data=True)
NEARLY = [
    ("ADD f32[4] f32[4]c > f32[4] channels", Operator("ADD", [WIDE, ROW], [WIDE])),
    ("ADD f32[4] > f32[4] spread", Operator("ADD", [WIDE, COLUMN], [WIDE])),
    ("ADD f32[4] f32[4]c > f32[4] spread", Operator("ADD", [WIDE, real(1, 1, 7, 1, data=True)], [WIDE])),
    ("ADD f32[4] f32[4]c > f32[4] channels spread", Operator("ADD", [COLUMN, ROW], [WIDE])),
    ("ADD f32[1] f32[1]c > f32[1]", Operator("ADD", [real(8), real(1, data=True)], [real(8)])),
    ("ADD f32[1] > f32[1]", Operator("ADD", [real(8), real(8)], [real(8)])),
    ("ADD f32[1] > f32[1]", Operator("ADD", [real(8), real(1)], [real(8)])),
    ("ADD f32[1] f32[1]c > f32[1] row enlarged", Operator("ADD", [real(1), real(8, data=True)], [real(8)])),
    ("ADD f32[2]c > f32[2]", Operator("ADD", [real(1, 1, data=True), real(2, 1, data=True)], [real(2, 1)])),
    ("ADD f32[2] f32[2]c > f32[2]", Operator("ADD", [real(2, 1), real(1, 1, data=True)], [real(2, 1)])),
    ("SOFTMAX f32[4] > f32[4]", Operator("SOFTMAX", [IMAGE], [IMAGE], {"beta": 1.0})),
    ("SOFTMAX f32[4] > f32[4]", Operator("SOFTMAX", [IMAGE], [IMAGE])),
    ("CONV_2D f32[4] f32[4]c > f32[4] skipping", Operator("CONV_2D", [IMAGE, WINDOW], [IMAGE], step(3, 1))),
    ("CONV_2D f32[4] f32[4]c > f32[4]", Operator("CONV_2D", [IMAGE, WINDOW], [IMAGE], step(1, 1))),
    ("MAXIMUM i8[4] > i8[4]", Operator("MAXIMUM", [CODES, CODES.like()], [CODES])),
    ("MINIMUM i8[4] > i8[4] rescaled", Operator("MINIMUM", [CODES, CODES], [CODES.like(zero_point=1)])),
    ("CAST f32[4] > i8[4] quantized", Operator("CAST", [IMAGE], [CODES])),
    ("CAST f32[4] > i32[4]", Operator("CAST", [IMAGE], [IMAGE.like(type="i32")])),
    ("POW f32[4] > f32[4] whole", Operator("POW", [IMAGE, IMAGE.like()], [IMAGE])),
    ("POW f32[1] f32[1]c > f32[1] row whole", Operator("POW", [real(2), constant([0.5, 3], "f32")], [real(2)])),
    (
        "SLICE f32[4] i32[1]c > f32[4]",
        Operator("SLICE", [WIDE, constant([0] * 4), constant([2, 1, 1, 1])], [real(2, 1, 1, 1)]),
    ),
    ("SLICE f32[1] i32[1]c > f32[1]", Operator("SLICE", [real(6), constant([1]), constant([3])], [real(3)])),
    ("SPACE_TO_DEPTH f32[4] > f32[4]", Operator("SPACE_TO_DEPTH", [IMAGE], [real(1, 2, 2, 12)], {"block_size": 2})),
    ("CONCATENATION f32[4] > f32[4] at1", Operator("CONCATENATION", [IMAGE] * 2, [IMAGE], {"axis": -3})),
    ("REVERSE_V2 f32[4] i32[1]c > f32[4] at2", Operator("REVERSE_V2", [IMAGE, constant([2])], [IMAGE])),
    ("REVERSE_V2 f32[4] i32[1]c > f32[4] at3", Operator("REVERSE_V2", [WIDE, constant([-1])], [WIDE])),
    ("REVERSE_V2 f32[4] i32[1]c > f32[4] ragged at0 at3", Operator("REVERSE_V2", [OTHER, constant([3, 0])], [OTHER])),
    (
        "ARG_MIN f32[2] i32[0]c > i32[1] at1",
        Operator("ARG_MIN", [real(3, 8), constant(-1)], [real(3).like(type="i32")]),
    ),
    (
        "ARG_MIN f32[2] i32[0]c > i32[1] single at0",
        Operator("ARG_MIN", [real(1, 6), constant(0)], [real(6).like(type="i32")]),
    ),
    ("PACK f32[2] > f32[3] at2", Operator("PACK", [real(3, 5)] * 2, [real(3, 5, 2)], {"axis": -1})),
    ("PAD f32[4] i32[2]c > f32[4] at0", Operator("PAD", [IMAGE, constant([[0, 1], [0, 0], [0, 0], [0, 0]])], [IMAGE])),
    ("MEAN f32[4] i32[1] > f32[4]", Operator("MEAN", [IMAGE, real(2).like(type="i32")], [IMAGE])),
    ("MUL f32[1] f32[1]c > f32[1] row infinite", Operator("MUL", [real(2), constant([1, np.nan], "f32")], [real(2)])),
]


def depthwise(height: int, width: int, given: int, made: int) -> Operator:
    return Operator("DEPTHWISE_CONV_2D", [real(1, 4, 4, given), real(1, height, width, made, data=True)], [IMAGE])


@pytest.mark.parametrize(
    ("operator", "is_multiplied"),
    [
        (depthwise(1, 1, 3, 6), True),
        (depthwise(1, 1, 2, 4), True),
        (depthwise(1, 1, 1, 6), False),
        (depthwise(1, 1, 6, 6), False),
        (depthwise(1, 3, 3, 6), False),
        (depthwise(3, 3, 3, 6), False),
    ],
)
def test_single_pixels_of_several_channels_are_multiplied(operator: Operator, is_multiplied: bool) -> None:
    assert describe_pattern(operator).endswith(" multiplied") is is_multiplied


@each_row(("pattern", "operator"), NEARLY)
def test_small_differences_between_operators(pattern: str, operator: Operator) -> None:
    assert describe_pattern(operator) == pattern


@pytest.mark.parametrize(("steps", "is_reversed"), [([1, 1], False), ([1, -1], True), ([-2, 1], True), ([2, 3], False)])
def test_a_slice_that_goes_backwards(steps: list[int], is_reversed: bool) -> None:
    ends = [constant([0, 0]), constant([2, 2]), constant(steps)]
    operator = Operator("STRIDED_SLICE", [real(2, 2), *ends], [real(2, 2)])
    assert ("reversed" in describe_pattern(operator).split()) is is_reversed


@each_row("pattern", CASES)
def test_a_pattern_says_what_makes_a_difference(pattern: str) -> None:
    assert describe_pattern(CASES[pattern]) == pattern


def test_what_networks_are_made_of_is_proven() -> None:
    assert {
        "ADD f32[4] > f32[4]",
        "AVERAGE_POOL_2D f32[4] > f32[4]",
        "CONV_2D f32[4] f32[4]c f32[1]c > f32[4]",
        "CONV_2D i8[4] i8[4]c i32[1]c > i8[4]",
        "DEPTHWISE_CONV_2D i8[4] i8[4]c i32[1]c > i8[4]",
        "FULLY_CONNECTED i8[2] i8[2]c i32[1]c > i8[2]",
        "SOFTMAX f32[2] > f32[2]",
    } <= proven_patterns()


def test_what_was_seen_to_be_wrong_is_not() -> None:
    found = proven_patterns()
    assert not [
        pattern
        for pattern in found
        if "grouped" in pattern or "quantized" in pattern or pattern.startswith("TOPK_V2 f32[2]")
    ]
    assert not [pattern for pattern in found if pattern.startswith("PAD") and pattern.endswith("at0 at1 at2 at3")]


def test_the_table_is_in_order_and_says_where_it_is_from() -> None:
    head, *lines = Path(patterns.__file__).with_name("proven_patterns.txt").read_text().splitlines()
    assert head.startswith("# Made by python -m tools.webgpu_patterns on LiteRT ")
    assert lines == sorted(set(lines))
    assert len(lines) > 100
