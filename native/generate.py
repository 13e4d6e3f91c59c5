"""Generate C code: the exported functions, from the table of functions, and the bridge that cffi compiles."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import cffi

NATIVE = Path(__file__).resolve().parent
SOURCE = NATIVE.parent / "src"
INCLUDE = SOURCE / "nnapi" / "capi" / "include"
SUPPORT_LEVEL = 7  # not 8: TensorFlow Lite's loader refuses levels above 7, and loaders for level 8 accept 7

STRUCTURES = """
typedef struct { float execTime, powerUsage; } SL_ANeuralNetworksPerformanceInfo;
typedef struct { int32_t operandType; SL_ANeuralNetworksPerformanceInfo performanceInfo; }
    SL_ANeuralNetworksOperandPerformanceInfo;
typedef struct { uint32_t byteSize; uint16_t type; bool isTensor; } SL_ANeuralNetworksExtensionOperandTypeInformation;
typedef void (*SL_NnapiOperandPerformanceCallback)(SL_ANeuralNetworksOperandPerformanceInfo, void*);
typedef void (*SL_NnapiExtensionTypeCallback)(SL_ANeuralNetworksExtensionOperandTypeInformation, void*);
typedef ... ANeuralNetworksDiagnosticCompilationInfo;
typedef ... ANeuralNetworksDiagnosticExecutionInfo;
typedef void (*ANeuralNetworksDiagnosticCompilationFinishedCallback)(
    const void*, const ANeuralNetworksDiagnosticCompilationInfo*);
typedef void (*ANeuralNetworksDiagnosticExecutionFinishedCallback)(
    const void*, const ANeuralNetworksDiagnosticExecutionInfo*);
struct nnapi_diagnosis { int64_t version; uint64_t times[3]; const uint8_t* hash; const char* devices; int32_t session;
    uint32_t error; int input_class, output_class, mode; bool caching, control_flow, dynamic; };
typedef struct { int32_t type; uint32_t dimensionCount; const uint32_t* dimensions; float scale; int32_t zeroPoint; }
    ANeuralNetworksOperandType;
typedef struct { uint32_t channelDim; uint32_t scaleCount; const float* scales; }
    ANeuralNetworksSymmPerChannelQuantParams;
typedef struct { uint32_t width, height, layers, format; uint64_t usage; uint32_t stride, rfu0; uint64_t rfu1; }
    AHardwareBuffer_Desc;
typedef struct { int32_t left, top, right, bottom; } ARect;
typedef int32_t ANeuralNetworksOperationType;
"""


def serving() -> list[tuple[str, str]]:
    """Return the name and the prototype of each function that libnnapi_delegate.so calls."""
    members = re.findall(r"^    (\w+) \(\*(\w+)\)(\(.*\));", (NATIVE / "serving.h").read_text(), re.MULTILINE)
    return [(name, f"{result} py_delegate_{name}{parameters};") for result, name, parameters in members]


def declarations(header: str) -> str:
    """Return the declarations of a header for cffi, which has no preprocessor."""
    return re.sub(r"^#.*$", "", (NATIVE / header).read_text(), flags=re.MULTILINE)


def table():
    """Return the exported functions, without importing the package, whose dependencies may not be installed yet."""
    for name in ("nnapi", "nnapi.capi"):
        package = ModuleType(name)
        package.__path__ = [str(SOURCE.joinpath(*name.split(".")))]
        sys.modules.setdefault(name, package)
    from nnapi.capi.functions import FUNCTIONS

    return FUNCTIONS


HANDLERS = {"py_end": "int", "py_before_fork": "void", "py_after_fork": "void"}
"""The last entries of the bridge and their results, in the order of library.c."""


def python_functions():
    """Return the functions that Python implements, in the order of the bridge's entries."""
    return [function for function in table() if not function.answer]


def pointers() -> list[str]:
    """Return the functions in a support library's table of pointers, in its order."""
    text = (
        (INCLUDE / "NeuralNetworksSupportLibraryImpl.h").read_text().partition("typedef struct NnApiSLDriverImplFL8")[0]
    )
    return re.findall(r"^    .* \(\*(\w+)\)\(.*\);$", text, re.MULTILINE)


def forward() -> str:
    """Return the C code of the exported functions, and of a support library's table of pointers to them.

    A function returns its constant answer, or enters Python and calls its entry in the bridge.
    """
    lines = []
    numbers = {function.name: number for number, function in enumerate(python_functions())}
    for function in table():
        declared = ", ".join(f"{p.type} {p.name}" for p in function.parameters) or "void"
        types = ", ".join(p.bridge_type for p in function.parameters) or "void"
        arguments = ", ".join(f"({p.bridge_type}){p.name}" for p in function.parameters)
        failure = 5 if function.failure is None else function.failure  # ANEURALNETWORKS_OP_FAILED
        call = f"(({function.result} (*)({types}))entries[{numbers.get(function.name)}])({arguments})"
        lines += [f"EXPORT {function.result} {function.name}({declared}) {{"]
        if function.answer:
            lines += [f"    return {function.answer};", "}"]
            continue
        condition = f"{function.parameters[0].name} && !is_over() && " if function.only_releases else ""
        is_void = function.result == "void"
        lines += [] if is_void else [f"    {function.result} result = ({function.result}){failure};"]
        lines += [f"    if ({condition}enter(__func__)) {{"]
        called = f"        {call};" if is_void else f"        result = {call};"
        left = "        leave_gate();"
        lines += [left, called] if function.only_waits else [called, left]
        lines += ["    }", "}"] if is_void else ["    }", "    return result;", "}"]
    values = "".join(f"    .{name} = {name},\n" for name in pointers())
    level = f"    .base = {{ANEURALNETWORKS_FEATURE_LEVEL_{SUPPORT_LEVEL}}},\n"
    lines += [f"static NnApiSLDriverImplFL{SUPPORT_LEVEL} support_library = {{\n{level}{values}}};"]
    return "\n".join(lines) + "\n"


def entries() -> int:
    return len(python_functions()) + len(HANDLERS)


def bridge() -> cffi.FFI:
    """Return the builder of the extension module nnapi.capi._bridge."""
    prototypes = [
        f"{function.result} py_{function.name}({', '.join(p.bridge_type for p in function.parameters) or 'void'});"
        for function in python_functions()
    ] + [f"{result} {name}(void);" for name, result in HANDLERS.items()]
    delegates = serving()
    ffi = cffi.FFI()
    ffi.cdef(STRUCTURES)
    ffi.cdef(declarations("litert.h"))
    ffi.cdef("void nnapi_bridge_say(const char*); void nnapi_bridge_revive(void);")
    ffi.cdef("void nnapi_bridge_after_preparing(void); void *malloc(size_t);")
    answered = [*prototypes, *(prototype for _, prototype in delegates)]
    ffi.cdef('extern "Python" {\n' + "\n".join(answered) + "\n}")
    addresses = "".join(f"    (void *){prototype.split('(')[0].split()[1]},\n" for prototype in prototypes)
    ffi.set_source(
        "nnapi.capi._bridge",
        '#include "NeuralNetworks.h"\n#include "android/hardware_buffer.h"\n#include "android/trace.h"\n'
        '#include "NeuralNetworksSupportLibraryImpl.h"\n#include "diagnosis.h"\n'
        '#include "litert.h"\n#include "serving.h"\n'
        + "".join(f"static {prototype}\n" for prototype in answered)
        + f"static void *const functions[] = {{\n{addresses}}};\n"
        + "static const struct nnapi_serving serving = {\n"
        + "".join(f"    .{name} = py_delegate_{name},\n" for name, _ in delegates)
        + "};\n"
        + (NATIVE / "bridge.c").read_text(),
    )
    return ffi


if __name__ == "__main__":
    print(forward())
