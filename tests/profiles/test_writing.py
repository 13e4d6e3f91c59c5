"""A written profile reads back equal."""

from pathlib import Path

import pytest

from nnapi import DeviceTypeCode, OperandCode, OperationCode
from nnapi.contract.driver import Capabilities, Performance
from nnapi.profiles.profile import OperandLimits, OperationLimits, Profile
from nnapi.profiles.reading import find_profile, list_shipped, read_profile
from nnapi.profiles.writing import write_profile

FLOATS = (OperandCode.TENSOR_FLOAT32, OperandCode.TENSOR_FLOAT16)
EVERYTHING = Profile(
    'a "phone" \\ été',
    "2.1",
    DeviceTypeCode.DEVICE_GPU,
    5,
    "somebody",
    Capabilities(
        Performance(0.5, 2.0),
        {OperandCode.TENSOR_FLOAT32: Performance(0.25, 1e-9)},
        relaxed=Performance(0.1, 0.2),
        if_=Performance(3.0, 4.0),
        while_=Performance(5.0, 6.0),
        launch_seconds=1e-3,
        seconds_per_byte=2e-9,
    ),
    {
        OperationCode.CONV_2D: OperationLimits(
            OperandLimits(FLOATS, (3, 4), 512),
            {
                "filter": OperandLimits(constant=True),
                "bias": OperandLimits(),
                "layout": OperandLimits(values=(False,)),
            },
        ),
        OperationCode.RELU: OperationLimits(),
    },
    OperationLimits(OperandLimits(FLOATS)),
    "xnnpack-cpu",
    0.5,
)


@pytest.mark.parametrize(
    "profile", [EVERYTHING, Profile("plain"), *map(read_profile, map(find_profile, list_shipped()))]
)
def test_what_is_written_reads_the_same(profile: Profile, tmp_path: Path) -> None:
    path = tmp_path / "written.toml"
    path.write_text(write_profile(profile), encoding="utf-8")
    assert read_profile(path) == profile
