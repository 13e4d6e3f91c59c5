"""The contract between the runtime and drivers.

Ownership: a model passed to a driver is frozen and outlives everything made from it; its constants are read-only views
that must not be copied without need. Arrays in a Request belong to the caller and are only valid during the call.
Arrays in an Outcome belong to the runtime from then on and must share no memory with the inputs.

Threading: every method may be called from any thread, several at a time. All state of a run is local to the call.

Failure: raise the exception of :mod:`nnapi.errors` whose code the C API would return, with a message. Any other
exception is reported as OP_FAILED. A refusal to support an operation is not a failure but a Verdict with a reason.

Deadlines: a Request or PrepareOptions may have a deadline (``time.monotonic_ns``). Check it at least between operations
and raise MissedDeadlineTransientError once it has passed. If it has passed before the start, raise
MissedDeadlinePersistentError.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

from nnapi.codes import DeviceTypeCode, OperandCode, PreferenceCode, PriorityCode
from nnapi.errors import DeadObjectError, MissedDeadlineTransientError, OpFailedError, need
from nnapi.model.extension import Extension as Extension
from nnapi.model.extension import ExtensionType as ExtensionType
from nnapi.model.memory import Memory
from nnapi.model.model import Model
from nnapi.model.operand import Array, OperandType, Shape

if TYPE_CHECKING:
    from nnapi.drivers.precision import Offer
    from nnapi.drivers.workload import Work

DEFAULT_LOOP_TIMEOUT = 2_000_000_000
"""Nanoseconds that a WHILE may run unless the execution says otherwise."""


class DeviceInfo(NamedTuple):
    """The identity of a device. If devices describe an extension differently, it is disabled for all of them."""

    name: str
    version: str
    type: DeviceTypeCode
    feature_level: int
    extensions: tuple[Extension, ...] = ()


class Performance(NamedTuple):
    """Declared cost relative to the CPU reference, whose values are 1: lower is better."""

    exec_time: float = 1.0
    power_usage: float = 1.0


REFERENCE = Performance()


class Capabilities(NamedTuple):
    """Declared performance; ``launch_seconds`` is the cost to pass a tensor, ``seconds_per_byte`` to copy a byte."""

    default: Performance = REFERENCE
    by_type: Mapping[int, Performance] = {}  # shared, as no code changes it
    relaxed: Performance = REFERENCE
    if_: Performance = REFERENCE
    while_: Performance = REFERENCE
    launch_seconds: float = 2e-6
    seconds_per_byte: float = 1e-10


FAST, FAST_CODES = Performance(0.02, 0.02), Performance(0.01, 0.01)
ENGINE = Capabilities(
    FAST,
    {OperandCode.TENSOR_QUANT8_ASYMM: FAST_CODES, OperandCode.TENSOR_QUANT8_ASYMM_SIGNED: FAST_CODES},
    relaxed=FAST,
)
"""The capabilities of CPU engines: their estimated speed relative to the reference."""


class LoopTimeoutError(MissedDeadlineTransientError):
    """A WHILE ran longer than its limit; there is no fallback."""


class DriverDiedError(DeadObjectError):
    """The process of a driver has ended. ``by_itself``: nnapi did not end it. ``was_alone``: it served only one
    request."""

    by_itself = False
    was_alone = False


class Verdict(NamedTuple):
    """Whether a device supports an operation, or the reason against it; ``parts`` is the work of its decomposition."""

    supported: bool
    reason: str = ""
    parts: tuple[Work, ...] = ()


Attribute = tuple[str, int, bytes]
"""A vendor's hint: the extension's name, the code within it, and bytes."""


class PrepareOptions(NamedTuple):
    """Options of a preparation. ``deadline`` is a time.monotonic_ns value, ``attributes`` are sorted.

    ``threads`` is the maximum number of threads of a run; by default the preference decides. ``variant`` is one of
    :class:`Variants`.
    """

    preference: PreferenceCode = PreferenceCode.PREFER_FAST_SINGLE_ANSWER
    priority: PriorityCode = PriorityCode.PRIORITY_MEDIUM
    deadline: int | None = None
    threads: int | None = None
    attributes: tuple[Attribute, ...] = ()
    variant: str = ""


class Request(NamedTuple):
    """One run: an array of the storage type per model input, None if omitted.

    With ``borrow`` a session may return views of the device's memory, valid until its next run.
    """

    inputs: Sequence[Array | None]
    deadline: int | None = None
    loop_timeout: int = DEFAULT_LOOP_TIMEOUT
    borrow: bool = False
    attributes: tuple[Attribute, ...] = ()


class Outcome(NamedTuple):
    """The result of a run: an array per model output, and the nanoseconds on hardware and in the driver."""

    outputs: Sequence[Array]
    hardware_ns: int | None = None
    driver_ns: int | None = None


@runtime_checkable
class Prepared(Protocol):
    """A model prepared on a device."""

    def execute(self, request: Request) -> Outcome:
        """Compute the outputs, in their actual shapes."""
        ...

    def close(self) -> None:
        """Release the device's resources; no execute follows."""
        ...


@runtime_checkable
class Sessions(Protocol):
    """A Prepared with sessions, which cache the resources of one caller's runs."""

    def session(self) -> Prepared:
        """Return a Prepared for one run at a time; closing the session does not close this Prepared."""
        ...


Inference: TypeAlias = Callable[[Sequence[Array]], list[Array]]
"""A run without a :class:`Request`: an array per input to an array per output."""


@runtime_checkable
class Direct(Protocol):
    """A Prepared with a fast path for runs."""

    def direct(self, shapes: Sequence[Shape], borrow: bool) -> Inference | None:
        """Return the fast path for inputs of those shapes, None if there is none; ``borrow`` as in a Request.

        The fast path takes arrays of the storage types, none omitted. It has no time limit and no trace. After any
        error the caller repeats the run by :meth:`Prepared.execute`, which reports the error.
        """
        ...


class Bound(NamedTuple):
    """Memory of a device for inputs, and a function that runs on it; results are valid until the next run."""

    inputs: list[Array]
    run: Callable[[], list[Array]]


@runtime_checkable
class Binds(Protocol):
    """A session whose memory callers may write, so that no run copies."""

    def bind(self, shapes: Sequence[Shape]) -> Bound | None:
        """Return memory for inputs of those shapes, none omitted, in their storage types; None if there is none."""
        ...


class Buffer(Protocol):
    """Memory of a device for one operand's value."""

    @property
    def has_data(self) -> bool: ...

    def load(self) -> Array:
        """Return the value as an array that nobody writes to."""
        ...

    def store(self, array: Array) -> None: ...

    def clear(self) -> None: ...


@runtime_checkable
class Allocates(Protocol):
    """A driver that allocates its own memory."""

    def allocate(self, type: OperandType) -> Buffer:
        """Return a buffer for values of the type; OpFailedError if there is none, as for unknown dimensions."""
        ...


class CacheEntry(NamedTuple):
    """A :meth:`Caches.cache_entry` read back: its bytes, and the mapped file that begins with them, if any."""

    content: bytes | memoryview
    file: Memory | None = None


@runtime_checkable
class Caches(Protocol):
    """A driver whose prepared models can be cached in a file."""

    def cache_entry(self, prepared: Prepared) -> bytes | None:
        """Return the content from which :meth:`restore` makes ``prepared``; None if caching is not worthwhile."""
        ...

    def restore(self, model: Model, entry: CacheEntry, options: PrepareOptions) -> Prepared:
        """Make a prepared model from an entry, without ``prepare``."""
        ...


@runtime_checkable
class Breakable(Protocol):
    """A driver whose engine may fail in one process and work in others."""

    def outage(self) -> str:
        """Return the reason why the engine cannot be used in this process; empty if it can."""
        ...


@runtime_checkable
class Variants(Protocol):
    """A driver that has several variants of a model; which one is fastest depends on the processor."""

    def list_variants(self, model: Model) -> Sequence[str]:
        """List the variants of a model that the driver accepts as a whole, in words and without the usual variant."""
        ...

    def predict_variant(self, model: Model) -> str:
        """Return the variant that is predicted to be fastest on this processor; empty for the usual one."""
        ...


@runtime_checkable
class Precise(Protocol):
    """A driver that may compute float32 in the precision that a model permits."""

    def offer_precision(self, model: Model) -> Offer:
        """Return the precision of the usual variant, and that of another variant, if any. The call is cheap."""
        ...


@runtime_checkable
class Exact(Protocol):
    """A Prepared that may compute in float32 because the engine refused the precision that its driver offers."""

    @property
    def precision_refusal(self) -> str:
        """Why the engine refused the precision; empty where it did not."""
        ...


@runtime_checkable
class Probed(Protocol):
    """An entry point whose driver searches for hardware. The search is slow, so the runtime caches the answer."""

    def identify(self) -> str:
        """Return a key of everything that the answer depends on; raise if hardware cannot exist. The call is cheap."""
        ...

    def ask(self) -> Any:
        """Return the answer as JSON values; UnavailableDeviceError, with the reason, if no hardware is usable."""
        ...

    def make(self, answer: Any) -> Driver: ...


class HostMemory:
    """Base of drivers that allocate from the host."""

    def allocate(self, type: OperandType) -> HostBuffer:
        need(type.is_known, f"no memory is allocated for unknown dimensions: {type}", OpFailedError)
        return HostBuffer()


class HostBuffer:
    """A buffer that stores the array itself."""

    def __init__(self) -> None:
        self._array: Array | None = None

    @property
    def has_data(self) -> bool:
        return self._array is not None

    def load(self) -> Array:
        if self._array is None:
            raise OpFailedError("the buffer holds no data")
        return self._array

    def store(self, array: Array) -> None:
        self._array = array

    def clear(self) -> None:
        self._array = None


@runtime_checkable
class Driver(Protocol):
    """A device and how to use it. Found through the entry-point group ``nnapi.drivers``."""

    @property
    def info(self) -> DeviceInfo: ...

    def capabilities(self) -> Capabilities: ...

    def verdicts(self, model: Model) -> Sequence[Verdict]:
        """Return one verdict per operation of the finished model, in its order."""
        ...

    def prepare(self, model: Model, options: PrepareOptions) -> Prepared: ...
