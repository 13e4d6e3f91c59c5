"""Run the delegate's operator tests: ``operators.py LIBRARY [option of GoogleTest…]``, with LiteRT's interpreter.

The tests are in the library; they come back to this process for an interpreter with the delegate of each test.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import traceback
from collections.abc import Callable
from typing import Any

from ai_edge_litert.interpreter import Interpreter, OpResolverType, load_delegate

Number, Status, Size = ctypes.c_int64, ctypes.c_int, ctypes.c_size_t
LIBRARY = sys.argv[1]
PLAIN = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES

interpreters: dict[int, Any] = {}
delegates: dict[int, list[Any]] = {}
numbers = itertools.count(1)


def create(model: int, size: int) -> int:
    number = next(numbers)
    content = ctypes.string_at(model, size)
    interpreters[number] = Interpreter(model_content=content, experimental_op_resolver_type=PLAIN)
    return number


def apply(number: int) -> None:
    """Give the interpreter the delegate that the library has ready. The constructor would do so before the tensors have
    their shapes, which these tests do not expect."""
    given = load_delegate(LIBRARY)
    delegates.setdefault(number, []).append(given)
    interpreters[number]._interpreter.ModifyGraphWithDelegate(given._get_native_delegate_pointer())


def resize(number: int, index: int, dimensions: Any, count: int) -> None:
    interpreters[number].resize_tensor_input(index, dimensions[:count])


def allocate(number: int) -> None:
    interpreters[number].allocate_tensors()
    interpreters[number].reset_all_variables()


def invoke(number: int) -> None:
    interpreters[number].invoke()


def close(number: int) -> None:
    del interpreters[number], delegates[number]


def telling(function: Callable[..., Any], failed: int) -> Callable[..., Any]:
    """The function as C calls it: 0 for nothing returned, ``failed`` for an exception, which is said."""

    def called(*words: Any) -> int:
        try:
            return function(*words) or 0
        except Exception:
            traceback.print_exc()
            return failed

    return called


class Host(ctypes.Structure):
    """The functions that the library calls."""

    _fields_ = (
        ("create", ctypes.CFUNCTYPE(Number, ctypes.c_void_p, Size)),
        ("apply", ctypes.CFUNCTYPE(Status, Number)),
        ("resize", ctypes.CFUNCTYPE(Status, Number, Status, ctypes.POINTER(ctypes.c_int), Size)),
        ("allocate", ctypes.CFUNCTYPE(Status, Number)),
        ("invoke", ctypes.CFUNCTYPE(Status, Number)),
        ("close", ctypes.CFUNCTYPE(None, Number)),
    )


def main() -> int:
    kinds = dict(Host._fields_)
    made = {f: kinds[f.__name__](telling(f, 1)) for f in (apply, resize, allocate, invoke)}
    host = Host(kinds["create"](telling(create, 0)), *made.values(), kinds["close"](close))
    words = [word.encode() for word in sys.argv[1:]]
    return int(ctypes.CDLL(LIBRARY).run_tests(ctypes.byref(host), len(words), (ctypes.c_char_p * len(words))(*words)))


if __name__ == "__main__":
    status = main()
    sys.stdout.flush()
    os._exit(status)  # the library's own threads are of no concern any more
