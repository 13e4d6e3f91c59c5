"""The nodes that a delegate does not claim, read from LiteRT's execution plan. Only delegates can read the plan, so a
wrapping delegate does."""

import ctypes
from ctypes import POINTER, c_int, c_int64, c_size_t, c_void_p
from typing import Any

OK = 0


class _Integers(ctypes.Structure):
    _fields_ = (("size", c_int), ("data", c_int * 0))


class _Node(ctypes.Structure):
    _fields_ = (
        *((name, c_void_p) for name in ("inputs", "outputs", "intermediates", "temporaries", "user_data", "builtin")),
        ("custom", c_void_p),
        ("custom_size", c_int),
        ("delegate", c_void_p),
    )


_GET_PLAN = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(POINTER(_Integers)))
_GET_NODE = ctypes.CFUNCTYPE(c_int, c_void_p, c_int, POINTER(POINTER(_Node)), POINTER(c_void_p))
_PREPARE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
_PREPARE_OPAQUE = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)


class _Context(ctypes.Structure):
    _fields_ = (
        ("tensors_size", c_size_t),
        ("get_plan", _GET_PLAN),
        *((name, c_void_p) for name in ("tensors", "impl", "resize", "report", "add")),
        ("get_node", _GET_NODE),
    )


class _OpaqueBuilder(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("prepare", _PREPARE_OPAQUE),
        *((name, c_void_p) for name in ("copy_from", "copy_to", "free_buffer")),
        ("flags", c_int64),
    )


class _Delegate(ctypes.Structure):
    _fields_ = (
        ("data", c_void_p),
        ("prepare", _PREPARE),
        *((name, c_void_p) for name in ("copy_from", "copy_to", "free_buffer")),
        ("flags", c_int64),
        ("opaque", POINTER(_OpaqueBuilder)),
    )


class WatchedDelegate:
    """Wraps a delegate for LiteRT's interpreter, and records the nodes that it did not claim."""

    def __init__(self, delegate: Any) -> None:
        """``delegate`` is the result of LiteRT's ``load_delegate``, kept alive by this object."""
        self._delegate = delegate
        self._inner = ctypes.cast(delegate._get_native_delegate_pointer(), POINTER(_Delegate))
        inner = self._inner.contents
        flags = inner.opaque.contents.flags if inner.opaque else inner.flags
        self._prepare = _PREPARE(self._prepare_both)
        self._outer = _Delegate(None, self._prepare, inner.copy_from, inner.copy_to, inner.free_buffer, flags, None)
        self.left: list[int] | None = None
        """Indices of the nodes left to LiteRT; None before the delegate is applied."""

    def _get_native_delegate_pointer(self) -> int:
        return ctypes.addressof(self._outer)

    def _prepare_both(self, context: int, outer: int) -> int:
        inner = self._inner.contents
        pointer = ctypes.cast(self._inner, c_void_p).value
        if inner.opaque:
            builder = inner.opaque.contents
            status: int = builder.prepare(context, pointer, builder.data)
        else:
            status = inner.prepare(context, pointer)
        if status == OK:
            self.left = _list_left(context)
        return status


def _list_left(context: int) -> list[int]:
    functions = ctypes.cast(context, POINTER(_Context)).contents
    plan, node, registration = POINTER(_Integers)(), POINTER(_Node)(), c_void_p()
    if functions.get_plan(context, ctypes.byref(plan)) != OK:
        raise RuntimeError("LiteRT does not show its plan")
    address = ctypes.addressof(plan.contents) + _Integers.data.offset
    numbers = [*(c_int * plan.contents.size).from_address(address)]
    left = []
    for number in numbers:
        functions.get_node(context, number, ctypes.byref(node), ctypes.byref(registration))
        if not node.contents.delegate:
            left.append(number)
    return left
