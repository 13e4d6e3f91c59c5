"""Options are fields of the schema's tables, and strides lie as (down, across)."""

import pytest

from nnapi.formats.tflite.operators import options_table
from nnapi.formats.tflite.options import convolution_options, pooling_options, stride_options


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("TRANSPOSE_CONV", stride_options(1, (2, 3))),
        ("CONV_2D", convolution_options(1, (2, 3), (4, 5))),
        ("DEPTHWISE_CONV_2D", convolution_options(1, (2, 3), (4, 5))),
        ("MAX_POOL_2D", pooling_options(1, (2, 3), (4, 5))),
    ],
)
def test_options_are_fields(kind: str, options: dict[str, int]) -> None:
    assert options.keys() <= options_table(kind).fields.keys()
    assert (options["stride_h"], options["stride_w"]) == (2, 3)
    assert sorted(options.values()) == list(range(1, 1 + len(options)))
