"""Write the page of result codes: `python -m tools.result_codes > docs/result-codes.md`."""

from nnapi.codes import ResultCode
from nnapi.errors import NnapiError, error_for

ADVICE = {
    ResultCode.OUT_OF_MEMORY: """\
Close compilations and bursts that are no longer used, run fewer computations at once,
or give the process more memory.""",
    ResultCode.INCOMPLETE: """\
No action is needed.""",
    ResultCode.UNEXPECTED_NULL: """\
The message names the argument. In C, a handle that was freed or never created counts as a null pointer.""",
    ResultCode.BAD_DATA: """\
The message names the operation, the operand, the value and the rule. If the call that finishes a compilation fails
with this code, the model has an operation that none of the chosen devices supports. The message then lists each
device's reason.""",
    ResultCode.OP_FAILED: """\
The message contains the driver's error. If the program named the devices, the runtime does not try another device. If
the program named no devices, the runtime repeats the failed partition on the CPU. It reports this error only if the CPU
fails too.""",
    ResultCode.BAD_STATE: """\
The message names the state. Three examples of such calls: a program changes a finished model, computes twice with an
execution that is not reusable, or uses one burst in two threads at once.""",
    ResultCode.UNMAPPABLE: """\
The file of the memory may be too short, or may not permit reading or writing. Or the memory is a hardware buffer of
pixels, but none of nnapi's devices interprets pixels.""",
    ResultCode.OUTPUT_INSUFFICIENT_SIZE: """\
Read the dimensions of the output, bind a larger buffer, and run again.""",
    ResultCode.UNAVAILABLE_DEVICE: """\
`nnapi devices` lists the drivers that cannot be used, with the reasons.""",
    ResultCode.MISSED_DEADLINE_TRANSIENT: """\
Try again, allow more time, or give the work a higher priority. A WHILE has its own time limit.""",
    ResultCode.MISSED_DEADLINE_PERSISTENT: """\
Allow more time.""",
    ResultCode.RESOURCE_EXHAUSTED_TRANSIENT: """\
Try again when fewer compilations or executions are in progress.""",
    ResultCode.RESOURCE_EXHAUSTED_PERSISTENT: """\
Use another device, or a smaller model.""",
    ResultCode.DEAD_OBJECT: """\
If the driver runs in [its own process](isolation.md), the next call starts that process again.""",
}
"""Advice for callers that get the code."""

HEAD = """\
# Result codes

<!-- Written by `python -m tools.result_codes`; a test compares this page with the code. -->

In C, functions return these codes. In Python, functions raise these exceptions.

In C, `nnapi_last_error()` returns the message of the last error in the calling thread. In Python, `str(error)` is the
message, and `error.code` is the code. If the error concerns an operation, `error.where` names the operation.

All exceptions are subclasses of `NnapiError`. The two exceptions for missed deadlines are also subclasses of
`MissedDeadlineError`. The two exceptions for exhausted resources are also subclasses of `ResourceExhaustedError`.

| code | `ANEURALNETWORKS_` | Python |
| --- | --- | --- |
"""


def page() -> str:
    """Return the page as Markdown."""
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
