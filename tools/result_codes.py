"""Write the page of result codes: `python -m tools.result_codes > docs/result-codes.md`."""

from nnapi.codes import ResultCode
from nnapi.errors import NnapiError, error_for

ADVICE = {
    ResultCode.OUT_OF_MEMORY: """\
Close compilations and bursts that are no longer used, run fewer at once, or give the process more memory.""",
    ResultCode.INCOMPLETE: """\
No action is needed: no call returns it.""",
    ResultCode.UNEXPECTED_NULL: """\
The message names the argument. In C, a handle that was freed or never created has the same effect.""",
    ResultCode.BAD_DATA: """\
The message names the operation, the operand, the value and the rule. When a compilation is finished, the code means
that none of the chosen devices supports an operation. The message then lists each device's reason.""",
    ResultCode.OP_FAILED: """\
The message contains the driver's error. If the program named the devices, the runtime tries no other device. Otherwise,
the runtime repeats the partition on the CPU.""",
    ResultCode.BAD_STATE: """\
The order of the calls is not permitted. Examples: a model was changed after finish, an execution that is not reusable
was used twice, or two threads used one burst. The message names the state.""",
    ResultCode.UNMAPPABLE: """\
The file is shorter than the memory that was created from it, was truncated later, or may not be read. Or the memory is
a hardware buffer of pixels, which no device here interprets.""",
    ResultCode.OUTPUT_INSUFFICIENT_SIZE: """\
Read the dimensions of the output, bind a larger buffer, and run again.""",
    ResultCode.UNAVAILABLE_DEVICE: """\
`nnapi devices` says which drivers cannot be used, and why.""",
    ResultCode.MISSED_DEADLINE_TRANSIENT: """\
Try again, allow more time, or give the work a higher priority. A WHILE has its own time limit.""",
    ResultCode.MISSED_DEADLINE_PERSISTENT: """\
Allow more time. The same work will miss the same limit again.""",
    ResultCode.RESOURCE_EXHAUSTED_TRANSIENT: """\
Try again when fewer compilations or executions are in progress.""",
    ResultCode.RESOURCE_EXHAUSTED_PERSISTENT: """\
Use another device, or a smaller model.""",
    ResultCode.DEAD_OBJECT: """\
The driver's process has ended. If the driver has [its own process](isolation.md), the next call starts it again.""",
}
"""Advice to a caller that gets the code."""

HEAD = """\
# Result codes

<!-- Written by `python -m tools.result_codes`; a test compares this page with the code. -->

Calls return these codes in C, and raise these exceptions in Python. In C, `nnapi_last_error()` returns the reason why
the last call of a thread failed. In Python, `str(error)` is the reason and `error.code` the code; `error.where` is
the operation, if the error concerns one. All exceptions are subclasses of `NnapiError`. `MissedDeadlineError` and
`ResourceExhaustedError` have two subclasses each, one transient and one persistent.

| code | `ANEURALNETWORKS_` | Python |
| --- | --- | --- |
"""


def page() -> str:
    """The page as it is committed."""
    rows = [f"| {int(ResultCode.NO_ERROR)} | `NO_ERROR` | |\n"]
    sections = []
    for code in ResultCode:
        if code == ResultCode.NO_ERROR:
            continue
        error = error_for(code)
        meaning = first_line(error)
        link = f"[`{code.name}`](#{code.name.lower()})"
        rows.append(f"| {int(code)} | {link} | `{error.__name__}` |\n")
        sections.append(f"\n## {code.name}\n\n{meaning}\n\n{ADVICE[code]}\n")
    return HEAD + "".join(rows) + "".join(sections)


def first_line(error: type[NnapiError]) -> str:
    return (error.__doc__ or "").splitlines()[0]


if __name__ == "__main__":
    print(page(), end="")
