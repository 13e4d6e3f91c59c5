"""``nnapi-reference``: every operation in NumPy, the definition to which other devices are compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import COMPOSITE_OPERATIONS, Capabilities, DeviceInfo, PrepareOptions, Verdict
from nnapi.contract.host_memory import HostMemory
from nnapi.model.model import Model

if TYPE_CHECKING:
    from nnapi.contract.timings import Timings
    from nnapi.drivers.reference.program import PreparedReference


class ReferenceDriver(HostMemory):
    """The reference driver. It supports all operations of NNAPI and all composites, but no other
    extensions."""

    info = DeviceInfo("nnapi-reference", "1.0", DeviceTypeCode.DEVICE_CPU, 8, (COMPOSITE_OPERATIONS,))

    def capabilities(self) -> Capabilities:
        return Capabilities()

    def timings(self) -> Timings:
        from nnapi.drivers.reference.timings import find_timings  # on demand: only predictions need it

        return find_timings()

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        from nnapi.model.operation import REGISTRY

        return [
            Verdict(True)
            if call.code in REGISTRY
            else Verdict(False, f"{call}: the reference knows no extension or OEM operation")
            for call in model.operations
        ]

    def prepare(self, model: Model, options: PrepareOptions) -> PreparedReference:
        from nnapi.drivers.reference.program import PreparedReference  # on demand: other devices run most models

        return PreparedReference(model, options.threads)

    def find_thread_fault(self) -> str:
        from nnapi.drivers.reference.blas import find_blas

        return find_blas()[1]


driver = ReferenceDriver()
