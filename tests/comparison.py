"""Two devices compared on one example."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from nnapi.errors import NnapiError
from nnapi.model.operand import Array
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device
from nnapi.runtime.verdicts.verdicts import find_verdicts
from nnapi.testing.build import build
from nnapi.testing.compare import judge
from nnapi.testing.example import Example, with_expected


class Agreement(StrEnum):
    AGREE = "agree"
    DIFFER = "differ"
    UNSUPPORTED = "unsupported"


@dataclass(frozen=True)
class Comparison:
    """The results of two devices on one example, and the reason if they differ."""

    example: Example
    agreement: Agreement
    reason: str = ""


def compare_devices(device_a: Device, device_b: Device, example: Example) -> Comparison:
    """Run an example on both devices; ``device_a`` is taken to be right, the example's expected outputs do not matter.

    They agree when both give the same within the tolerances of the conformance judge, or both refuse.
    """
    model = build(example)
    for device in (device_a, device_b):
        refused = [verdict.reason for verdict in find_verdicts(device.driver, model) if not verdict.supported]
        if refused:
            return Comparison(example, Agreement.UNSUPPORTED, f"{device.name}: {refused[0]}")
    right, other = (_outcome(device, example) for device in (device_a, device_b))
    if isinstance(right, NnapiError) or isinstance(other, NnapiError):
        same = isinstance(right, NnapiError) and isinstance(other, NnapiError)
        reason = f"{device_a.name} {_said(right)}, {device_b.name} {_said(other)}"
        return Comparison(example, Agreement.AGREE if same else Agreement.DIFFER, reason)
    pairs = [_without_shared_nans(x, y) for x, y in zip(right, other, strict=True)]
    expected = dict(zip(example.main.outputs, (x for x, _ in pairs), strict=True))
    difference = judge(replace(example, outputs=expected), [y for _, y in pairs])
    return Comparison(example, Agreement.DIFFER if difference else Agreement.AGREE, str(difference or ""))


def compute_expected(example: Example, device: Device) -> Example:
    """The example with what a device computes as its expected outputs; raises what building and running raise."""
    return with_expected(example, dict(zip(example.main.outputs, _run(device, example), strict=True)))


def _run(device: Device, example: Example) -> list[Array]:
    compilation = Compilation(build(example), [device])
    compilation.finish()
    return compilation.run(*(example.inputs[index] for index in example.main.inputs))


def _outcome(device: Device, example: Example) -> list[Array] | NnapiError:
    try:
        return _run(device, example)
    except NnapiError as error:
        return error


def _said(outcome: list[Array] | NnapiError) -> str:
    return f"refuses ({outcome})" if isinstance(outcome, NnapiError) else "computes"


def _without_shared_nans(a: Array, b: Array) -> tuple[Array, Array]:
    """Both arrays with 0 where both hold NaN, which the judge would not accept."""
    if a.shape != b.shape or a.dtype.kind != "f" or b.dtype.kind != "f":
        return a, b
    both = np.isnan(a) & np.isnan(b)
    return np.where(both, a.dtype.type(0), a), np.where(both, b.dtype.type(0), b)
