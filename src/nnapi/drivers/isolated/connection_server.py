"""The driver's side of a connection: messages that open channels and release models."""

import os
import socket
import threading
from collections.abc import Callable

from nnapi.contract.driver import Driver
from nnapi.drivers.isolated import plain_values
from nnapi.drivers.isolated.channel_server import ChannelServer, make_channel
from nnapi.drivers.isolated.descriptors import need_socket
from nnapi.drivers.isolated.protocol import Body, Message, Violation, receive, refuse, send
from nnapi.drivers.isolated.session import Session, free_memory
from nnapi.errors import NnapiError, OutOfMemoryError

Find = Callable[[Body], Driver]


class Server:
    def __init__(self, connection: socket.socket, find: Find, session: Session | None = None) -> None:
        self._connection, self._find, self._session = connection, find, session or Session()

    def run(self) -> None:
        """Serve until the application disconnects or violates the protocol. The process must end then, because channels
        may still be computing."""
        try:
            while message := receive(self._connection):
                self._handle(message)
        except (Violation, OSError, NnapiError, *plain_values.WRONG):
            pass

    def _handle(self, message: Message) -> None:
        body = message.body
        try:
            kind = body["kind"]
            if (kind == "hello") is hasattr(self._session, "driver"):
                raise Violation(f"{kind!r} is out of order")
            if kind == "channel":
                self._open_channel(message.descriptors)
            elif kind == "hello":
                send(self._connection, self._hello(body))
                self._connection.settimeout(None)
            elif kind == "release":
                for number in body["numbers"]:
                    self._session.release(number)
                free_memory()
        finally:
            message.close()

    def _open_channel(self, descriptors: list[int]) -> None:
        """Start a thread that serves a channel; if that fails, send the error as the channel's first message."""
        if len(descriptors) != 4:
            raise Violation("a channel has four descriptors")
        need_socket(descriptors[0])
        connection = socket.socket(fileno=descriptors.pop(0))
        undo = connection.close
        try:
            channel = make_channel(connection, descriptors)
            undo = channel.close
            server = ChannelServer(self._session, channel)
            undo = server.close
            try:
                threading.Thread(target=server.run, name="nnapi-channel", daemon=True).start()
            except RuntimeError as error:
                raise OutOfMemoryError(f"no thread can be started: {error}") from None
        except Exception as error:
            refuse(connection, self._session.describe_error(error) | {"closed": True})
            undo()

    def _hello(self, body: Body) -> Body:
        try:
            self._session.driver = self._find(body)
            greeting = plain_values.Greeting.of(self._session.driver)
            return {"greeting": plain_values.of_value(greeting), "pid": os.getpid()}
        except Exception as error:
            return self._session.describe_error(error)
