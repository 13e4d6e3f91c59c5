"""The C headers, made from the table of functions and the codes: ``python -m nnapi.capi.header FOLDER`` writes them."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Iterator
from enum import IntEnum
from pathlib import Path

from nnapi import codes
from nnapi.capi.functions import EXTENSIONS, FUNCTIONS, HARDWARE_BUFFER, TRACE
from nnapi.capi.prototype import OBJECTS, Function

NNAPI = "NeuralNetworks.h"
FOLDER = Path(__file__).parent / "include"

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

/* Type, extents and quantisation of an operand. dimensions is null exactly where dimensionCount is 0: for scalars, and
   for tensors of unknown rank. An extent of 0 is unknown. */
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

/* A BLOB has a width in bytes, and height and layers of 1. */
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


def headers() -> dict[str, str]:
    """Text of each header, by its path in the include folder."""
    return {
        NNAPI: _header(NNAPI, ['#include "android/hardware_buffer.h"\n', *_types(), *_functions(NNAPI), *_own()]),
        EXTENSIONS: _header(EXTENSIONS, ['#include "NeuralNetworks.h"\n', *_functions(EXTENSIONS)]),
        HARDWARE_BUFFER: _header(HARDWARE_BUFFER, [BUFFERS, *_functions(HARDWARE_BUFFER)]),
        TRACE: _header(TRACE, [*_functions(TRACE)]),
        "android/sharedmem.h": _header("android/sharedmem.h", [SHARED_MEMORY]),
        "android/NeuralNetworks.h": '/* Where programs written for Android look. */\n#include "../NeuralNetworks.h"\n',
    }


def _header(name: str, parts: list[str]) -> str:
    guard = "NNAPI_" + name.upper().replace("/", "_").replace(".", "_")
    body = "\n".join(parts)
    return f"""\
/* Made by nnapi.capi.header from the tables of the package; not to be edited. */
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


def _declaration(function: Function) -> str:
    line = f"{function.prototype};\n"
    if len(line) <= 120:
        return line
    head, _, rest = line.partition("(")
    return f"{head}(\n" + textwrap.indent(rest.replace(", ", ",\n"), "    ")


def _comment(text: str) -> str:
    return textwrap.fill(f"/* {text} */", 118, subsequent_indent="   ") + "\n"


def _own() -> list[str]:
    words = (
        "Why the last call that failed in this thread did so, in a sentence; empty where none has. The text is this "
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
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)
