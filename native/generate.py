"""What of the C is made from the table of functions: the forwarding functions, and the bridge that cffi compiles."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import cffi

NATIVE = Path(__file__).resolve().parent
SOURCE = NATIVE.parent / "src"
INCLUDE = SOURCE / "nnapi" / "capi" / "include"

STRUCTURES = """
typedef struct { int32_t type; uint32_t dimensionCount; const uint32_t* dimensions; float scale; int32_t zeroPoint; }
    ANeuralNetworksOperandType;
typedef struct { uint32_t channelDim; uint32_t scaleCount; const float* scales; }
    ANeuralNetworksSymmPerChannelQuantParams;
typedef struct { uint32_t width, height, layers, format; uint64_t usage; uint32_t stride, rfu0; uint64_t rfu1; }
    AHardwareBuffer_Desc;
typedef struct { int32_t left, top, right, bottom; } ARect;
typedef int32_t ANeuralNetworksOperationType;
"""


def functions():
    """The table, without importing the package, whose dependencies need not be there yet."""
    for name in ("nnapi", "nnapi.capi"):
        package = ModuleType(name)
        package.__path__ = [str(SOURCE.joinpath(*name.split(".")))]
        sys.modules.setdefault(name, package)
    from nnapi.capi.functions import FUNCTIONS

    return FUNCTIONS


def forward() -> str:
    """One exported function per row: enter Python's world, call the entry."""
    lines = []
    table = functions()
    for number, function in enumerate(table):
        declared = ", ".join(f"{p.type} {p.name}" for p in function.parameters) or "void"
        words = ", ".join(p.word for p in function.parameters) or "void"
        given = ", ".join(f"({p.word}){p.name}" for p in function.parameters)
        failure = 5 if function.failure is None else function.failure  # ANEURALNETWORKS_OP_FAILED
        call = f"(({function.result} (*)({words}))entries[{number}])({given})"
        lines += [f"EXPORT {function.result} {function.name}({declared}) {{"]
        if function.result == "void":
            condition = f"{function.parameters[0].name} && " if function.frees else ""
            lines += [f"    if ({condition}enter(__func__)) {call};", "}"]
        else:
            lines += [f"    return enter(__func__) ? {call} : ({function.result}){failure};", "}"]
    return "\n".join(lines) + "\n"


def entries() -> int:
    return len(functions()) + 1


def bridge() -> cffi.FFI:
    """The extension module nnapi.capi._bridge."""
    prototypes = [
        f"{function.result} py_{function.name}({', '.join(p.word for p in function.parameters) or 'void'});"
        for function in functions()
    ] + ["void py_end(void);"]
    ffi = cffi.FFI()
    ffi.cdef(STRUCTURES)
    ffi.cdef("void nnapi_bridge_say(const char*); void nnapi_bridge_revive(void);")
    ffi.cdef('extern "Python" {\n' + "\n".join(prototypes) + "\n}")
    addresses = "".join(f"    (void *){prototype.split('(')[0].split()[1]},\n" for prototype in prototypes)
    ffi.set_source(
        "nnapi.capi._bridge",
        '#include "NeuralNetworks.h"\n#include "android/hardware_buffer.h"\n#include "android/trace.h"\n'
        + "".join(f"static {prototype}\n" for prototype in prototypes)
        + f"static void *const functions[] = {{\n{addresses}}};\n"
        + (NATIVE / "bridge.c").read_text(),
    )
    return ffi


if __name__ == "__main__":
    print(forward())
