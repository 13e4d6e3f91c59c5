"""A base class for objects that a ``with`` block closes at its end."""

from abc import abstractmethod
from typing import Self


class Closeable:
    """An object with ``close()``."""

    @abstractmethod
    def close(self) -> None:
        """Release the resources of the object."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
