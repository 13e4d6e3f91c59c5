"""The memory and devices of inputs and outputs, as ONNX Runtime describes them: the processor's."""

from __future__ import annotations

from typing import NamedTuple

from nnapi.onnx.ort_value import OrtValue, need_host


class OrtMemoryInfo(NamedTuple):
    """The memory of one input or output."""

    name: str = "Cpu"
    device_id: int = 0
    device_vendor_id: int = 0


class OrtDevice(NamedTuple):
    """A device for the results of a run."""

    type: str = "cpu"
    id: int = 0

    @classmethod
    def make(cls, ort_device_name: str, device_id: int) -> OrtDevice:
        """Return the device of that name; InvalidArgument for all but ``cpu``."""
        need_host(ort_device_name)
        return cls(ort_device_name, device_id)

    def device_type(self) -> str:
        return self.type

    def device_id(self) -> int:
        return self.id


class OrtValueVector(list[OrtValue]):
    """The values that ``run_with_ortvaluevector`` reads and writes."""

    def push_back(self, value: OrtValue) -> None:
        self.append(value)
