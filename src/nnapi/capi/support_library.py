"""Functions for clients that use the library as a support library."""

from typing import Any

from nnapi.capi._bridge import ffi
from nnapi.codes import OperandCode
from nnapi.errors import BadDataError, need
from nnapi.model.extension import Extension
from nnapi.runtime.compilation import Compilation
from nnapi.runtime.device import Device

RELAXED_SCALAR, RELAXED_TENSOR, IF, WHILE = range(4)
"""``SL_ANeuralNetworksPerformanceInfoCode``"""


def cache_in_descriptors(compilation: Compilation, count: int) -> None:
    """Check that no cache files are given, because devices request none."""
    compilation.state.need("preparing", to="set caching")
    need(not count, f"{count} files are given for the cache, the devices want none", BadDataError)


def no_cache_files(data: Any) -> int:
    data[0] = 0
    return 0


def performance(device: Device, kind: int, info: Any) -> None:
    declared = device.driver.capabilities()
    kinds = {
        RELAXED_SCALAR: declared.relaxed,
        RELAXED_TENSOR: declared.relaxed,
        IF: declared.if_,
        WHILE: declared.while_,
    }
    need(kind in kinds, f"performanceInfoKind is {kind}, must be 0..{WHILE}", BadDataError)
    info.execTime, info.powerUsage = kinds[kind]


def each_performance(device: Device, context: Any, callback: Any) -> None:
    declared = device.driver.capabilities()
    for code in OperandCode:
        info = code, declared.by_type.get(code, declared.default)
        callback(ffi.new("SL_ANeuralNetworksOperandPerformanceInfo*", info)[0], context)


def extension_at(device: Device, index: int) -> Extension:
    extensions = device.driver.info.extensions
    need(
        index < len(extensions), f"extension {index} does not exist, {device.name} has {len(extensions)}", BadDataError
    )
    return extensions[index]


def each_extension_type(device: Device, index: int, context: Any, callback: Any) -> None:
    for code, type in extension_at(device, index).operand_types.items():
        info = type.byte_size, code, type.is_tensor
        callback(ffi.new("SL_ANeuralNetworksExtensionOperandTypeInformation*", info)[0], context)
