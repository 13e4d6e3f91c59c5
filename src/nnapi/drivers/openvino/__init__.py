"""OpenVINO: ``openvino-cpu``, and ``openvino-gpu`` and ``openvino-npu`` if the machine has such devices.

Importing the engine takes 0.1 s, so it is imported with the first model.
"""

from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from nnapi.codes import DeviceTypeCode
from nnapi.contract.driver import (
    COMPOSITE_OPERATIONS,
    ENGINE,
    CacheEntry,
    Capabilities,
    DeviceInfo,
    Performance,
    Prepared,
    PrepareOptions,
    Verdict,
)
from nnapi.contract.host_memory import HostMemory
from nnapi.contract.precision import Offer
from nnapi.drivers.openvino import byte_sums
from nnapi.drivers.openvino.forks import engine_threads
from nnapi.drivers.openvino.precision import offer_precision
from nnapi.host.device_files import find_files
from nnapi.host.installed_packages import version
from nnapi.model.model import Model

if TYPE_CHECKING:
    from nnapi.contract.timings import Timings

TYPES = {
    "CPU": DeviceTypeCode.DEVICE_ACCELERATOR,
    "GPU": DeviceTypeCode.DEVICE_GPU,
    "NPU": DeviceTypeCode.DEVICE_ACCELERATOR,
}
"""OpenVINO's devices, and their types in NNAPI. Only the reference is a DEVICE_CPU."""
IF, TURN = Performance(0.2, 0.2), Performance(1.0, 1.0)
"""The costs of an IF and of a turn of a WHILE, without the operations inside: measured."""
ACCELERATORS = ("/dev/dri/renderD*", "/dev/accel/accel*")
"""Device files of accelerators. Without one, OpenVINO is not asked for devices other than the CPU."""


class OpenVinoDriver(HostMemory):
    """A device of OpenVINO. It supports the operations that have lowering rules.

    ``threads`` is the number per run; if None, the preference decides.
    """

    starts_slowly = True
    computes_sizes = True
    caches_constants = True

    def __init__(self, device: str = "CPU", threads: int | None = None) -> None:
        name = f"openvino-{device.lower()}"
        is_exact = device != "CPU" or byte_sums.are_byte_sums_exact()
        engine = f"OpenVINO {version('openvino')}{'' if is_exact else byte_sums.IN_FLOAT}"
        self.info = DeviceInfo(name, engine, TYPES[device], 8, (COMPOSITE_OPERATIONS,))
        self._device, self._threads = device, threads

    def capabilities(self) -> Capabilities:
        return ENGINE._replace(launch_seconds=1e-5, if_=IF, while_=TURN)

    def timings(self) -> "Timings | None":
        from nnapi.drivers.openvino.timings import find_timings  # on demand: only predictions need it

        return find_timings(self._device)

    def offer_precision(self, model: Model) -> Offer:
        return offer_precision(self._device, model)

    def list_variants(self, model: Model) -> Sequence[str]:
        """Return the variant in another precision, if the model permits less than float32, and Winograd variants."""
        return [*self.offer_precision(model).variants, *self.predict_savings(model)]

    def predict_savings(self, model: Model) -> Mapping[str, float]:
        from nnapi.drivers.openvino.timings import find_winograd_costs  # on demand, as timings
        from nnapi.lowering.tile_choice import predict_savings

        is_measured = self._device == "CPU"
        return predict_savings(find_winograd_costs(), model, self.offer_precision(model).usual) if is_measured else {}

    def predict_variant(self, model: Model) -> str:
        return ""

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        verdicts: Sequence[Verdict] = _engine().verdicts(model)
        return verdicts

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared:
        prepared: Prepared = _engine().prepare(model, self._device, options, self._threads or options.threads)
        return prepared

    def prepare_dynamic(self, model: Model, options: PrepareOptions) -> Prepared:
        prepared: Prepared = _engine().prepare_dynamic(model, self._device, options, self._threads or options.threads)
        return prepared

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        entry: bytes | None = _engine().dump(prepared)
        return entry

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        threads = self._threads or options.threads
        prepared: Prepared = _engine().load(model, entry.content, self._device, options, threads)
        return prepared

    def outage(self) -> str:
        return engine_threads.outage()


def _engine() -> Any:
    return import_module(f"{__name__}.engine")


def driver() -> list[OpenVinoDriver]:
    """Return a driver for each device of OpenVINO; raise ModuleNotFoundError if it is not installed."""
    if find_spec("openvino") is None:
        raise ModuleNotFoundError("no module openvino: install nnapi[openvino]")
    more = [name for name in _engine().list_devices() if name in TYPES] if find_files(ACCELERATORS) else []
    return [OpenVinoDriver(device) for device in dict.fromkeys(["CPU", *more])]
