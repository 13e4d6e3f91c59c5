"""Write the page of result codes: `python -m tools.result_codes > docs/result-codes.md`."""

from nnapi.codes import ResultCode
from nnapi.errors import NnapiError, error_for

ADVICE = {
    ResultCode.OUT_OF_MEMORY: """\
Close compilations and bursts that are done with, run fewer at once, or give the process more.""",
    ResultCode.INCOMPLETE: """\
Nothing: it cannot come.""",
    ResultCode.UNEXPECTED_NULL: """\
The message names the argument. In C also a handle that was freed already, or was never made.""",
    ResultCode.BAD_DATA: """\
The message names the operation, the operand, the value and the rule. When a compilation is finished: none of the chosen
devices takes an operation, and each device's reason follows.""",
    ResultCode.OP_FAILED: """\
What a driver raised is in the message. With a list of devices nothing else is tried: leave out the list, and the part
is repeated on the CPU.""",
    ResultCode.BAD_STATE: """\
Calls came in an order that is not permitted: a model changed after finish, an execution used twice without being
reusable, a burst used by two threads. The message names the state.""",
    ResultCode.UNMAPPABLE: """\
The file is shorter than the memory made of it, was truncated since, may not be read, or holds pixels that no device
here understands.""",
    ResultCode.OUTPUT_INSUFFICIENT_SIZE: """\
Ask for the dimensions of the output, bind a larger buffer, run again.""",
    ResultCode.UNAVAILABLE_DEVICE: """\
`nnapi devices` says which drivers cannot be used, and why.""",
    ResultCode.MISSED_DEADLINE_TRANSIENT: """\
Try again, allow more time, or give the work a higher priority. A WHILE has a limit of its own.""",
    ResultCode.MISSED_DEADLINE_PERSISTENT: """\
Allow more time; the same again will miss the limit again.""",
    ResultCode.RESOURCE_EXHAUSTED_TRANSIENT: """\
Try again when less is under way.""",
    ResultCode.RESOURCE_EXHAUSTED_PERSISTENT: """\
Use another device, or a smaller model.""",
    ResultCode.DEAD_OBJECT: """\
The driver's process has ended. The next call finds it restarted where drivers have
[processes of their own](isolation.md).""",
}
"""Advice to a caller that gets the code."""

HEAD = """\
# Result codes

<!-- Written by `python -m tools.result_codes`; a test compares this page with the code. -->

What calls return in C, and raise in Python. In C `nnapi_last_error()` says in words why the last call of a thread
failed; in Python `str(error)` does, `error.code` is the code, and `error.where` the operation, where there is one.
`NnapiError` catches all, `MissedDeadlineError` and `ResourceExhaustedError` two each.

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
