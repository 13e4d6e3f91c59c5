"""A device that takes less: operations, levels, figures, and a name of its own."""

from typing import Any

import numpy as np

from nnapi import Builder, Device, DeviceTypeCode, FeatureLevelCode, OperationCode, compile, device, tensor
from nnapi.contract.driver import Capabilities, Driver, Performance
from nnapi.drivers.limited import Limited

REFERENCE = device("nnapi-reference").driver


def model() -> Any:
    """MUL is of level 1, ABS of level 3, and BATCH_MATMUL of level 6."""
    b = Builder("levels")
    x = b.input(tensor("float32", (1, 2, 2)))
    b.output(b.batch_matmul(b.abs(b.mul(x, x)), x, False, False))
    return b.finish()


def test_by_default_it_is_the_one_inside_under_another_name() -> None:
    limited = Limited(REFERENCE, "other")
    assert isinstance(limited, Driver)
    assert (limited.info.name, limited.info.version) == ("other", REFERENCE.info.version)
    assert limited.info.type == DeviceTypeCode.DEVICE_ACCELERATOR
    assert limited.capabilities() == REFERENCE.capabilities()
    given = np.arange(4, dtype=np.float32).reshape(1, 2, 2)
    found = compile(model(), Device(limited)).run(given)[0]
    assert np.array_equal(found, compile(model(), "nnapi-reference").run(given)[0])


def test_a_lower_level_refuses_what_came_later_and_says_so() -> None:
    for level, taken in ((1, 1), (3, 2), (5, 2), (6, 3), (8, 3)):
        limited = Limited(REFERENCE, "old", feature_level=level)
        verdicts = limited.verdicts(model())
        assert [verdict.supported for verdict in verdicts] == [True] * taken + [False] * (3 - taken)
        assert Device(limited).feature_level == FeatureLevelCode[f"FEATURE_LEVEL_{level}"]
    reason = Limited(REFERENCE, "old", feature_level=5).verdicts(model())[2].reason
    assert reason.startswith("BATCH_MATMUL (#2) needs feature level 6 (")
    assert reason.endswith("), old has 5")


def test_operations_are_refused_with_a_reason() -> None:
    limited = Limited(REFERENCE, "few", lambda _, call: None if call.code == OperationCode.MUL else f"{call}: too hard")
    assert [verdict.reason for verdict in limited.verdicts(model())] == [
        "",
        "ABS (#1): too hard",
        "BATCH_MATMUL (#2): too hard",
    ]


def test_what_the_one_inside_refuses_stays_refused() -> None:
    inner = Limited(REFERENCE, "inner", lambda _, call: f"{call}: inner")
    reasons = [verdict.reason for verdict in Limited(inner, "outer").verdicts(model())]
    assert reasons == ["MUL (#0): inner", "ABS (#1): inner", "BATCH_MATMUL (#2): inner"]


def test_figures_of_its_own() -> None:
    declared = Capabilities(Performance(0.5, 2))
    assert Limited(REFERENCE, "fast", declared=declared).capabilities() is declared
