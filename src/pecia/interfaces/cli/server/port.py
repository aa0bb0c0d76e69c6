"""Reserves a port for a server: the requested one, or the next free one. Serves nothing."""

import errno
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from pecia.kernel.errors import Conflict, InvalidInput

MAX_PORT_ATTEMPTS = 50
BACKLOG = 128
_BUSY_ERRNOS = frozenset({errno.EADDRINUSE, errno.EACCES})


@dataclass(frozen=True, slots=True)
class ReservedPort:
    """A reserved port: bound, so that no other process takes it, and not served yet."""

    listener: socket.socket
    host: str
    port: int

    @property
    def url(self) -> str:
        """How to reach it from this machine."""
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return server_url(name, self.port)

    def release(self) -> None:
        self.listener.close()


def server_url(host: str, port: int) -> str:
    """The URL of a server; IPv6 addresses are in brackets."""
    bare = host.strip("[]")
    return f"http://{f'[{bare}]' if ':' in bare else bare}:{port}"


def reserve_port(host: str, port: int, *, exact: bool) -> ReservedPort:
    """The port, or unless `exact`, the next free one after it."""
    if held := _bind(host, port):
        return ReservedPort(held, host, held.getsockname()[1])
    if exact:
        raise _port_conflict(host, port)
    for other in _alternative_ports(port):
        if held := _bind(host, other):
            return ReservedPort(held, host, held.getsockname()[1])
    raise _port_conflict(host, port)


def find_port_holder(port: int) -> str:
    """The program that listens there, as far as this user may see."""
    import psutil

    with suppress(psutil.Error, OSError):
        for found in psutil.net_connections("tcp"):
            # psutil: an address is a host and a port, or an empty tuple.
            listens = found.status == psutil.CONN_LISTEN and tuple(found.laddr)[1:] == (port,)
            if listens and found.pid:
                return f"{psutil.Process(found.pid).name()} (pid {found.pid})"
    return "another program"


def _alternative_ports(port: int) -> Iterator[int]:
    yield from range(port + 1, min(port + MAX_PORT_ATTEMPTS, 65535) + 1)
    yield 0


def _bind(host: str, port: int) -> socket.socket | None:
    held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind((host.strip("[]"), port))
        # Linux lets two bind one port until one of them listens; early clients wait.
        held.listen(BACKLOG)
    except OSError as error:
        held.close()
        if error.errno in _BUSY_ERRNOS:
            return None
        raise InvalidInput(
            f"cannot listen on {host}:{port}: {(error.strerror or str(error)).lower()}",
            field="host",
            got=host,
            hint="--host takes an address of this machine: 127.0.0.1 is for this machine alone; "
            "pecia serve also takes 0.0.0.0, which is all of them",
        ) from error
    return held


def _port_conflict(host: str, port: int) -> Conflict:
    return Conflict(
        f"port {port} of {host} is taken by {find_port_holder(port)}",
        field="port",
        port=port,
        hint="another --port, or stop that program",
    )
