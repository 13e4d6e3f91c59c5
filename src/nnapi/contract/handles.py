"""Handles of all prepared models: those with ``open_handle``, with methods of an earlier form, or with neither."""

from functools import partial
from typing import TypeAlias, cast

from nnapi.contract.driver import Bound, Handle, Inference, OpenOptions, Opens, Outcome, Prepared, Request

Openable: TypeAlias = Prepared | Opens
SHARED, MEASURED = OpenOptions(), OpenOptions(measure=True)
"""Options of a handle for any number of threads and any inputs; the same with durations."""


def open_handle(prepared: Openable, options: OpenOptions = SHARED) -> Handle:
    """Open a prepared model. One that has only ``execute`` and ``close`` has no fast path, and ignores the options."""
    open_own = getattr(prepared, "open_handle", None)  # isinstance of a protocol takes longer than some models
    if open_own is not None:
        handle: Handle = open_own(options)
        return handle
    session = getattr(prepared, "session", None) if options.exclusive else None
    if session is not None:
        return _open_session(session(), options)
    plain = cast(Prepared, prepared)
    return Handle(plain.execute, partial(open_handle, plain), _find_direct(plain, options))


def _open_session(session: Prepared, options: OpenOptions) -> Handle:
    """Open a session of the earlier form, which may also have the methods ``direct`` and ``bind``."""
    borrow = options.borrow or options.bind

    def execute(request: Request) -> Outcome:
        return session.execute(request._replace(borrow=borrow))

    again = partial(_open_session, session)
    bind = getattr(session, "bind", None) if options.bind and options.shapes is not None else None
    bound: Bound | None = bind and bind(options.shapes)
    if bound is None:
        return Handle(execute, again, _find_direct(session, options), None, session.close)
    return Handle(execute, again, _ignore_inputs(bound), bound.inputs, session.close)


def _find_direct(prepared: Prepared, options: OpenOptions) -> Inference | None:
    is_known = options.shapes is not None and all(options.shapes)
    direct = getattr(prepared, "direct", None) if is_known else None
    call: Inference | None = direct and direct(options.shapes, options.borrow or options.bind)
    return call


def _ignore_inputs(bound: Bound) -> Inference:
    """Return the bound run as a handle's ``call``, whose argument is the bound memory."""
    return lambda inputs: bound.run()
