"""The bodies of the exported functions: one Python function per row of the table; its arguments are C's raw values.

Each function is compiled once, from source text made of its row, so that calls have no steps to spare. The text for
ANeuralNetworksMemory_copy is:

    def ANeuralNetworksMemory_copy(src, dst):
        try:
            if not src: raise UnexpectedNullError('src is null')
            if not dst: raise UnexpectedNullError('dst is null')
            src = MemoryHandles[src]
            dst = MemoryHandles[dst]
            copy_memory(src, dst)
            return 0
        except BaseException as error:
            return report_failure('ANeuralNetworksMemory_copy', error)
"""

from collections.abc import Callable, Iterator
from typing import Any

from nnapi.capi.prototype import SEVERAL, Function, Parameter

STRUCTURES = {
    "ANeuralNetworksOperandType": "operand_type",
    "ANeuralNetworksSymmPerChannelQuantParams": "channel_scales",
    "AHardwareBuffer_Desc": "buffer_desc",
}
"""C structures, and the functions that convert them."""


def compile_function(function: Function, names: dict[str, Any]) -> Callable[..., Any]:
    """Compile the function of a row; ``names`` are the globals in its text."""
    source = "\n".join(_source(function))
    made: dict[str, Any] = {}
    exec(compile(source, f"<{function.name}>", "exec"), names, made)
    result: Callable[..., Any] = made[function.name]
    return result


def _source(function: Function) -> Iterator[str]:
    yield f"def {function.name}({', '.join(parameter.name for parameter in function.parameters)}):"
    yield "    try:"
    for line in _body(function):
        yield f"        {line}"
    yield "    except BaseException as error:"
    for code, value in function.otherwise.items():
        assert function.output
        yield f"        if {function.output.name} and code_of(error) == {code}: {_store(function.output, value)}"
    report = f"report_failure({function.name!r}, error)"
    if function.returns_code:
        yield f"        return {report}"
    else:
        yield f"        {report}"
        yield f"        return {function.failure}"


def _body(function: Function) -> Iterator[str]:
    if function.frees:
        yield from _write_free(function, *function.parameters)
        return
    for parameter in sorted(function.parameters, key=lambda parameter: not parameter.is_output):
        yield from _null_check(function, parameter)
        if parameter.is_output and parameter.kind:
            yield f"{parameter.name}[0] = 0"
    for parameter in function.parameters:
        if parameter.is_handle:
            if "handle" in function.call:
                yield f"handle = {parameter.name}"
            yield f"{parameter.name} = {parameter.kind}Handles[{parameter.name}]"
    if function.guard:
        yield function.guard
    for parameter in function.parameters:
        if converted := _write_conversion(parameter):
            missing = "[]" if parameter.kind or parameter.base == "uint32_t" else "None"
            yield f"{parameter.name} = {converted} if {parameter.name} else {missing}"
    yield from _write_answer(function)


def _write_answer(function: Function) -> Iterator[str]:
    output = function.output
    if output is None:
        yield function.call if function.returns_code else f"return {function.call}"
    elif output.name in function.nullable:
        yield f"result = {function.call}"
        yield f"if {output.name}: {_store(output, 'result')}"
    elif output.kind:
        add = "add_once" if output.kind == "Device" else "add"
        yield f"{output.name}[0] = {output.kind}Handles.{add}({function.call})"
    elif output.base == "char":
        yield f"{output.name}[0] = keep_text({function.call})"
    else:
        yield _store(output, function.call)
    if function.result == "int":
        yield "return 0"


def _store(output: Parameter, value: str) -> str:
    return f"store({output.name}, {value})" if output.name in SEVERAL else f"{output.name}[0] = {value}"


def _write_free(function: Function, parameter: Parameter) -> Iterator[str]:
    yield f"if not {parameter.name}: return"
    yield f"handle, {parameter.name} = {parameter.name}, {parameter.kind}Handles[{parameter.name}]"
    yield function.call or "pass"
    yield f"{parameter.kind}Handles.free(handle)"


def _null_check(function: Function, parameter: Parameter) -> Iterator[str]:
    """Yield the null check of a pointer. Pointers may be null if their count is 0, except for lists of operands."""
    if not parameter.is_pointer or parameter.name in function.nullable:
        return
    demanded = parameter.count is None or parameter.name in ("inputs", "outputs", "devices")
    missing = f"not {parameter.name}" if demanded else f"not {parameter.name} and {parameter.count}"
    said = "" if demanded else " though its length is not 0"
    yield f"if {missing}: raise UnexpectedNullError('{parameter.name} is null{said}')"


def _write_conversion(parameter: Parameter) -> str | None:
    """Return the expression that converts a C argument to Python; None if none is needed."""
    name, count = parameter.name, parameter.count
    if parameter.is_output or parameter.is_handle or not parameter.is_pointer:
        return None
    if parameter.kind:
        return f"objects({parameter.kind}Handles, {name}, {count})"
    if parameter.base in STRUCTURES and "const" in parameter.type:
        return f"{STRUCTURES[parameter.base]}({name})"
    if parameter.base == "void":
        return f"memory_at({name}, {count})" if count else None
    if parameter.base == "char":
        return f"string({name})"
    if name == "token":
        return "read_token(token)"
    if parameter.base == "uint32_t":
        return f"ffi.unpack({name}, {count})"
    return None
