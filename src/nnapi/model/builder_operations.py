"""The methods of Builder, one per operation, made from the declarations at first use. Their types are in the stub."""

from collections.abc import Callable, Iterable
from functools import cache
from inspect import Parameter, Signature
from typing import Any

from nnapi.model.builder_signatures import OPTIONS, documentation, method_name, signature
from nnapi.model.operation import REGISTRY, Operation
from nnapi.operation_codes import CODES


class _OperationMethods(type):
    """A metaclass that makes a function for each operation, so that ``help(Builder.softmax)`` needs no instance."""

    def __getattr__(cls, name: str) -> Callable[..., Any]:
        return _find(name, cls)

    def __dir__(cls) -> Iterable[str]:
        return sorted({*super().__dir__(), *map(method_name, REGISTRY.values())})


class Operations(metaclass=_OperationMethods):
    """The base of Builder."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        return _find(name, self).__get__(self)

    def __dir__(self) -> Iterable[str]:
        return dir(type(self)) + list(vars(self))


def _find(name: str, owner: object) -> Callable[..., Any]:
    code = CODES.get(name.removesuffix("_").upper())
    if code is None or method_name(REGISTRY[code]) != name:
        raise AttributeError(f"a Builder has no operation {name!r}", name=name, obj=owner)
    return _make_method(REGISTRY[code])


@cache
def _make_method(operation: Operation) -> Callable[..., Any]:
    def method(self: Any, /, *given: Any, **named: Any) -> Any:
        options = {option: named.pop(option, default) for option, default in OPTIONS.items()}
        return self._add(operation, given, named, **options)

    method.__name__ = method_name(operation)
    method.__qualname__ = f"Builder.{method.__name__}"
    method.__doc__ = documentation(operation)
    own = Parameter("self", Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = Signature([own, *signature(operation).parameters.values()])
    return method
