"""The library as a support library: rows for the functions named SL_…, and the order of the table of pointers that
ANeuralNetworks_getSLDriverImpl returns.

This module imports only its neighbor: the C build reads it before the package is installed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nnapi.capi.prototype import Function

SUPPORT_LIBRARY = "NeuralNetworksSupportLibraryImpl.h"
LEVEL = 7
"""Feature level of the table of pointers. It is that of 7, not 8: TensorFlow Lite's loader refuses a higher one, and
those that know 8 take 7."""
NOT_IN_TABLE = (
    "ANeuralNetworksCompilation_addExtensionAttribute",
    "ANeuralNetworksCompilation_create",
    "ANeuralNetworksExecution_addExtensionAttribute",
    "ANeuralNetworksExecution_startCompute",
)

# fmt: off
DRIVER = (
    Function(
        "int SL_ANeuralNetworksCompilation_setCachingFromFds(ANeuralNetworksCompilation* compilation, const int* modelCacheFds, const uint32_t numModelCacheFiles, const int* dataCacheFds, const uint32_t numDataCacheFiles, const uint8_t* token)",
        "cache_in_descriptors(compilation, numModelCacheFiles + numDataCacheFiles)", None,
        "A cache in open files: as many as getNumberOfCacheFilesNeeded says, which is none.", SUPPORT_LIBRARY,
        nullable=("modelCacheFds", "dataCacheFds", "token"),
    ),
    Function(
        "int SL_ANeuralNetworksDevice_getNumberOfCacheFilesNeeded(const ANeuralNetworksDevice* device, uint32_t* numModelCacheFiles, uint32_t* numDataCacheFiles)",
        "no_cache_files(numDataCacheFiles)", None,
        "Open files that a device wants for its cache: none, it keeps one in a directory.", SUPPORT_LIBRARY,
    ),
    Function(
        "int SL_ANeuralNetworksDevice_getPerformanceInfo(const ANeuralNetworksDevice* device, int32_t performanceInfoKind, SL_ANeuralNetworksPerformanceInfo* performanceInfo)",
        "performance(device, performanceInfoKind, performanceInfo)", None,
        "How fast a device is at control flow and relaxed precision, a SL_ANeuralNetworksPerformanceInfoCode.", SUPPORT_LIBRARY,
    ),
    Function(
        "int SL_ANeuralNetworksDevice_forEachOperandPerformanceInfo(const ANeuralNetworksDevice* device, void* context, SL_NnapiOperandPerformanceCallback callback)",
        "each_performance(device, context, callback)", None,
        "Call back with how fast a device is at each type of operand.", SUPPORT_LIBRARY, nullable=("context",),
    ),
    Function(
        "int SL_ANeuralNetworksDevice_getVendorExtensionCount(const ANeuralNetworksDevice* device, uint32_t* vendorExtensionCount)",
        "len(device.extensions)", None,
        "Number of extensions that a device describes.", SUPPORT_LIBRARY,
    ),
    Function(
        "int SL_ANeuralNetworksDevice_getVendorExtensionName(const ANeuralNetworksDevice* device, uint32_t vendorExtensionIndex, const char** extensionName)",
        "extension_at(device, vendorExtensionIndex).name", None,
        "Name of an extension, valid as long as the process.", SUPPORT_LIBRARY,
    ),
    Function(
        "int SL_ANeuralNetworksDevice_forEachVendorExtensionOperandTypeInformation(const ANeuralNetworksDevice* device, uint32_t vendorExtensionIndex, void* context, SL_NnapiExtensionTypeCallback callback)",
        "each_extension_type(device, vendorExtensionIndex, context, callback)", None,
        "Call back with each type of operand of an extension.", SUPPORT_LIBRARY, nullable=("context",),
    ),
)
REGISTER = Function(
    "void SL_ANeuralNetworksDiagnostic_registerCallbacks(ANeuralNetworksDiagnosticCompilationFinishedCallback compilationCallback, ANeuralNetworksDiagnosticExecutionFinishedCallback executionCallback, void* callbackContext)",
    "register_callbacks(compilationCallback, executionCallback, callbackContext)", None,
    "From now on, call back when a compilation or a computation has finished, with what is known of it; what is given "
    "lives as long as the call. Either callback may be null.", SUPPORT_LIBRARY,
    nullable=("callbackContext",),
)
# fmt: on

COMMON = (
    ("int32_t", "getSessionId", "session", "A number of this process"),
    ("int64_t", "getNnApiVersion", "version", "Feature level of the runtime"),
    ("const uint8_t*", "getModelArchHash", "hash", "32 bytes that depend on the model's structure, not on its weights"),
    ("const char*", "getDeviceIds", "devices", "Devices that compute, as name=version, with commas between"),
)
DATA_CLASSES = (
    ("ANeuralNetworksDiagnosticDataClass", "getInputDataClass", "input_class", "What the inputs are made of"),
    ("ANeuralNetworksDiagnosticDataClass", "getOutputDataClass", "output_class", "What the outputs are made of"),
)
FLAGS = (
    ("bool", "isCachingEnabled", "caching", "Was a cache asked for?"),
    ("bool", "isControlFlowUsed", "control_flow", "Has the model an IF or a WHILE?"),
    ("bool", "areDynamicTensorsUsed", "dynamic", "Has the model tensors between operations whose dimensions are open?"),
)
COMPILATION = (
    *COMMON,
    ("int32_t", "getErrorCode", "error", "The result code"),
    *DATA_CLASSES,
    ("uint64_t", "getCompilationTimeNanos", "times[0]", "Nanoseconds that it took; UINT64_MAX where it failed"),
    *FLAGS,
)
EXECUTION = (
    *COMMON,
    ("ANeuralNetworksDiagnosticExecutionMode", "getExecutionMode", "mode", "By which function it was started"),
    *DATA_CLASSES,
    ("uint32_t", "getErrorCode", "error", "The result code"),
    ("uint64_t", "getRuntimeExecutionTimeNanos", "times[0]", "Nanoseconds from start to end; UINT64_MAX if it failed"),
    ("uint64_t", "getDriverExecutionTimeNanos", "times[1]", "Those within the driver; UINT64_MAX if not measured"),
    ("uint64_t", "getHardwareExecutionTimeNanos", "times[2]", "Those on the device; UINT64_MAX if not measured"),
    *FLAGS,
)
"""The getters of what a callback is given: result, name, where it lies in struct nnapi_diagnosis, and what it is."""


def _getters(kind: str, getters: Sequence[tuple[str, str, str, str]]) -> Iterator[Function]:
    info = f"ANeuralNetworksDiagnostic{kind}Info"
    for result, name, field, about in getters:
        prototype = f"{result} SL_{info}_{name}(const {info}* diagnostic{kind}Info)"
        answer = f"DIAGNOSED(diagnostic{kind}Info, {field})"
        yield Function(
            prototype, "", None, f"{about.rstrip('?.')}{'?' if '?' in about else '.'}", SUPPORT_LIBRARY, answer=answer
        )


SUPPORT = (*DRIVER, *_getters("Compilation", COMPILATION), *_getters("Execution", EXECUTION), REGISTER)


def pointers(functions: Sequence[Function]) -> list[Function]:
    """The functions in the order in which the table has its pointers."""
    named = {function.name: function for function in functions}
    plain = sorted(name for name in named if name.startswith("ANeuralNetworks") and name not in NOT_IN_TABLE)
    return [named[name] for name in plain] + list(SUPPORT)
