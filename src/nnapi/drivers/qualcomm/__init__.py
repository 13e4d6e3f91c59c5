"""The device ``qualcomm-htp``: Qualcomm's compiler for the NPU of its phones, with a CPU that executes its graphs.

The package onnxruntime-qnn contains both. It is loaded in a process of its own only.
"""

import os
from importlib.util import find_spec
from typing import TYPE_CHECKING

from nnapi.drivers.qualcomm.chips import VARIABLE, find_chip
from nnapi.errors import UnavailableDeviceError, need
from nnapi.host.installed_packages import version
from nnapi.store.directories import RecordKind
from nnapi.store.records import keep_record, recall_record
from nnapi.trace.log import Log

if TYPE_CHECKING:
    from nnapi.drivers.qualcomm.driver import QualcommDriver

log = Log("nnapi.Qualcomm")

PACKAGE = "onnxruntime_qnn"
LICENSE = "Qualcomm_LICENSE.pdf"


def find_drivers() -> "list[QualcommDriver]":
    """Return the driver if the package is installed. UnavailableDeviceError if NNAPI_QUALCOMM asks for a device that
    is impossible."""
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        need(not os.environ.get(VARIABLE), f"no module {PACKAGE}: install nnapi[qualcomm]", UnavailableDeviceError)
        return []
    from nnapi.drivers.qualcomm.driver import QualcommDriver  # on demand: few machines have the package

    chip, release = find_chip(), version("onnxruntime-qnn")
    _name_license(release, os.path.join(os.path.dirname(spec.origin), LICENSE))
    return [QualcommDriver(chip, release)]


def _name_license(release: str, path: str) -> None:
    """Print, once for each release, under which license its libraries are."""
    key = f"license of onnxruntime-qnn {release}"
    if recall_record(RecordKind.PROBES, key, dict) is None:
        log.warning("onnxruntime-qnn %s contains libraries under Qualcomm's license: %s", release, path)
        keep_record(RecordKind.PROBES, key, {})
