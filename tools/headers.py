"""The C headers of src/nnapi/capi/include, made from the table of functions and the codes.

``python -m tools.headers FOLDER`` writes them, without a folder where they belong.
"""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

from nnapi import codes
from nnapi.capi.functions import EXTENSIONS, FUNCTIONS, HARDWARE_BUFFER, TRACE
from nnapi.capi.installation import HEADERS
from nnapi.capi.prototype import OBJECTS, Function
from nnapi.capi.support import LEVEL, SUPPORT_LIBRARY, pointers

NNAPI = "NeuralNetworks.h"

ENUMS = (
    codes.OperandCode,
    codes.OperationCode,
    codes.FuseCode,
    codes.PaddingCode,
    codes.PreferenceCode,
    codes.DeviceTypeCode,
    codes.FeatureLevelCode,
    codes.ResultCode,
    codes.DurationCode,
    codes.PriorityCode,
)

STRUCTURES = """\
typedef int32_t ANeuralNetworksOperationType;

/* Type, dimensions and quantization of an operand. dimensions is null exactly where dimensionCount is 0: for scalars,
   and for tensors of unknown rank. A dimension of 0 is unknown. */
typedef struct ANeuralNetworksOperandType {
    int32_t type;
    uint32_t dimensionCount;
    const uint32_t* dimensions;
    float scale;
    int32_t zeroPoint;
} ANeuralNetworksOperandType;

/* One scale for each index along a dimension. */
typedef struct ANeuralNetworksSymmPerChannelQuantParams {
    uint32_t channelDim;
    uint32_t scaleCount;
    const float* scales;
} ANeuralNetworksSymmPerChannelQuantParams;
"""

BUFFERS = """\
typedef struct AHardwareBuffer AHardwareBuffer;

typedef struct ARect {
    int32_t left;
    int32_t top;
    int32_t right;
    int32_t bottom;
} ARect;

/* A BLOB has a width in bytes, and height and layers of 1; an image has pixels of four bytes. stride is what describe
   says: pixels, or bytes of a BLOB, from row to row. */
typedef struct AHardwareBuffer_Desc {
    uint32_t width;
    uint32_t height;
    uint32_t layers;
    uint32_t format;
    uint64_t usage;
    uint32_t stride;
    uint32_t rfu0;
    uint64_t rfu1;
} AHardwareBuffer_Desc;

enum AHardwareBuffer_Format {
    AHARDWAREBUFFER_FORMAT_R8G8B8A8_UNORM = 1,
    AHARDWAREBUFFER_FORMAT_BLOB = 0x21,
};

enum AHardwareBuffer_UsageFlags {
    AHARDWAREBUFFER_USAGE_CPU_READ_NEVER = 0,
    AHARDWAREBUFFER_USAGE_CPU_READ_RARELY = 2,
    AHARDWAREBUFFER_USAGE_CPU_READ_OFTEN = 3,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_NEVER = 0,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_RARELY = 2 << 4,
    AHARDWAREBUFFER_USAGE_CPU_WRITE_OFTEN = 3 << 4,
    AHARDWAREBUFFER_USAGE_GPU_DATA_BUFFER = 1 << 24,
};
"""

SHARED_MEMORY = """\
/* A descriptor of size bytes of anonymous memory that processes can share; -1, with errno, on failure. */
int ASharedMemory_create(const char* name, size_t size);

/* Bytes behind such a descriptor; 0 for any other. */
size_t ASharedMemory_getSize(int fd);
"""


PERFORMANCE = """\
/* Seconds and energy that a device takes, as parts of what the CPU takes. */
typedef struct {
    float execTime;
    float powerUsage;
} SL_ANeuralNetworksPerformanceInfo;

typedef struct {
    int32_t operandType;
    SL_ANeuralNetworksPerformanceInfo performanceInfo;
} SL_ANeuralNetworksOperandPerformanceInfo;

typedef struct {
    uint32_t byteSize;
    uint16_t type;
    bool isTensor;
} SL_ANeuralNetworksExtensionOperandTypeInformation;

typedef enum {
    SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_SCALAR = 0,
    SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_RELAXED_TENSOR = 1,
    SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_IF = 2,
    SL_ANEURALNETWORKS_CAPABILITIES_PERFORMANCE_WHILE = 3,
} SL_ANeuralNetworksPerformanceInfoCode;

typedef void (*SL_NnapiOperandPerformanceCallback)(SL_ANeuralNetworksOperandPerformanceInfo, void*);
typedef void (*SL_NnapiExtensionTypeCallback)(SL_ANeuralNetworksExtensionOperandTypeInformation, void*);
"""

DIAGNOSTICS = """\
typedef enum {
    ANNDIAG_DATA_CLASS_UNKNOWN = 0,
    ANNDIAG_DATA_CLASS_OTHER = 1,
    ANNDIAG_DATA_CLASS_FLOAT32 = 2,
    ANNDIAG_DATA_CLASS_FLOAT16 = 3,
    ANNDIAG_DATA_CLASS_QUANT = 4,
    ANNDIAG_DATA_CLASS_MIXED = 5,
} ANeuralNetworksDiagnosticDataClass;

typedef enum {
    ANNDIAG_EXECUTION_MODE_UNKNOWN = 0,
    ANNDIAG_EXECUTION_MODE_ASYNC = 1,
    ANNDIAG_EXECUTION_MODE_SYNC = 2,
    ANNDIAG_EXECUTION_MODE_BURST = 3,
    ANNDIAG_EXECUTION_MODE_ASYNC_WITH_DEPS = 4,
} ANeuralNetworksDiagnosticExecutionMode;

/* What is known of a compilation, or of a computation, while a callback runs. */
typedef struct ANeuralNetworksDiagnosticCompilationInfo ANeuralNetworksDiagnosticCompilationInfo;
typedef struct ANeuralNetworksDiagnosticExecutionInfo ANeuralNetworksDiagnosticExecutionInfo;

typedef void (*ANeuralNetworksDiagnosticCompilationFinishedCallback)(
    const void* context, const ANeuralNetworksDiagnosticCompilationInfo* info);
typedef void (*ANeuralNetworksDiagnosticExecutionFinishedCallback)(
    const void* context, const ANeuralNetworksDiagnosticExecutionInfo* info);
"""


def headers() -> dict[str, str]:
    """Text of each header, by its path in the include folder."""
    return {
        NNAPI: _header(NNAPI, ['#include "android/hardware_buffer.h"\n', *_types(), *_functions(NNAPI), *_write_own()]),
        EXTENSIONS: _header(EXTENSIONS, ['#include "NeuralNetworks.h"\n', *_functions(EXTENSIONS)]),
        SUPPORT_LIBRARY: _header(
            SUPPORT_LIBRARY,
            [
                f'#include "{NNAPI}"\n#include "{EXTENSIONS}"\n',
                PERFORMANCE,
                DIAGNOSTICS,
                *_functions(SUPPORT_LIBRARY),
                *_support_library(),
            ],
        ),
        HARDWARE_BUFFER: _header(HARDWARE_BUFFER, [BUFFERS, *_functions(HARDWARE_BUFFER)]),
        TRACE: _header(TRACE, [*_functions(TRACE)]),
        "android/sharedmem.h": _header("android/sharedmem.h", [SHARED_MEMORY]),
        "android/NeuralNetworks.h": '/* Where programs written for Android look. */\n#include "../NeuralNetworks.h"\n',
    }


def _header(name: str, parts: list[str]) -> str:
    guard = "NNAPI_" + name.upper().replace("/", "_").replace(".", "_")
    body = "\n".join(parts)
    return f"""\
/* Made by tools.headers from the tables of the package; not to be edited. */
#ifndef {guard}
#define {guard}

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

{body}
#ifdef __cplusplus
}}
#endif

#endif
"""


def _types() -> Iterator[str]:
    for enum in ENUMS:
        yield _enum(enum)
    yield (
        "enum {\n"
        f"    ANEURALNETWORKS_MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES = {codes.MAX_SIZE_OF_IMMEDIATELY_COPIED_VALUES},\n"
        f"    ANEURALNETWORKS_BYTE_SIZE_OF_CACHE_TOKEN = {codes.BYTE_SIZE_OF_CACHE_TOKEN},\n"
        "};\n"
    )
    yield "\n".join(f"typedef struct ANeuralNetworks{name} ANeuralNetworks{name};" for name in OBJECTS)
    yield ""
    yield STRUCTURES


def _enum(enum: type[IntEnum]) -> str:
    members = "".join(f"    ANEURALNETWORKS_{name} = {int(value)},\n" for name, value in enum.__members__.items())
    about = (enum.__doc__ or "").splitlines()[0].replace("`", "")
    return f"{_comment(about)}typedef enum {{\n{members}}} {enum.__name__};\n"


def _functions(header: str) -> Iterator[str]:
    for function in FUNCTIONS:
        if function.header == header:
            since = f" Since feature level {function.since}." if function.since else ""
            yield _comment(function.about + since) + _declaration(function)


def _support_library() -> Iterator[str]:
    """The table of pointers to the functions, and the function that gives it."""
    members = "".join(
        f"    {function.result} (*{function.name})({', '.join(p.type for p in function.parameters) or 'void'});\n"
        for function in pointers(FUNCTIONS)
    )
    first = f"typedef struct NnApiSLDriverImplFL5 {{\n    NnApiSLDriverImpl base;\n{members}}} NnApiSLDriverImplFL5;\n"
    later = [f"typedef NnApiSLDriverImplFL5 NnApiSLDriverImplFL{level};" for level in range(6, LEVEL + 1)]
    yield "typedef struct NnApiSLDriverImpl {\n    int64_t implFeatureLevel;\n} NnApiSLDriverImpl;\n"
    yield _comment("Every function by its pointer. The levels above 5 add none.") + first + "\n".join(later) + "\n"
    words = (
        "The library's functions as a support library gives them: base.implFeatureLevel says that what is behind is a "
        f"NnApiSLDriverImplFL{LEVEL}. It lives as long as the library is loaded; nobody may write to it."
    )
    yield _comment(words) + "NnApiSLDriverImpl* ANeuralNetworks_getSLDriverImpl(void);\n"


def _declaration(function: Function) -> str:
    line = f"{function.prototype};\n"
    if len(line) <= 120:
        return line
    head, _, rest = line.partition("(")
    return f"{head}(\n" + textwrap.indent(rest.replace(", ", ",\n"), "    ")


def _comment(text: str) -> str:
    return textwrap.fill(f"/* {text} */", 118, subsequent_indent="   ") + "\n"


def _write_own() -> list[str]:
    words = (
        "Why the last call that failed in this thread did so, in a message; empty where none has. The text is this "
        "library's own addition, and stays until the thread's next failing call."
    )
    return [_comment(words) + "const char* nnapi_last_error(void);\n"]


def write(folder: Path) -> None:
    """Write every header below a folder."""
    for name, text in headers().items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else HEADERS)
