"""Which port a server gets: the one asked for, or the next that is free. Serves nothing."""

import errno
import socket
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass

from pecia.kernel.errors import Conflict, InvalidInput

NEIGHBOURS = 50
WAITING = 128
_BUSY = frozenset({errno.EADDRINUSE, errno.EACCES})


@dataclass(frozen=True, slots=True)
class Reserved:
    """A port that is ours: bound, so that nobody else takes it, and not served yet."""

    held: socket.socket
    host: str
    port: int

    @property
    def url(self) -> str:
        """How to reach it from this machine."""
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return url_of(name, self.port)

    def let_go(self) -> None:
        self.held.close()


def url_of(host: str, port: int) -> str:
    """The address of a server; a number of IPv6 stands in brackets there."""
    bare = host.strip("[]")
    return f"http://{f'[{bare}]' if ':' in bare else bare}:{port}"


def reserve(host: str, port: int, *, exact: bool) -> Reserved:
    """The port, or unless it must be exactly that one, the next free one after it."""
    if held := _bound(host, port):
        return Reserved(held, host, held.getsockname()[1])
    if exact:
        raise _busy(host, port)
    for other in _others(port):
        if held := _bound(host, other):
            return Reserved(held, host, held.getsockname()[1])
    raise _busy(host, port)


def holder_of(port: int) -> str:
    """Who listens there, as far as this user may know."""
    import psutil

    with suppress(psutil.Error, OSError):
        for found in psutil.net_connections("tcp"):
            # An address is a host and a port, or nothing at all.
            listens = found.status == psutil.CONN_LISTEN and tuple(found.laddr)[1:] == (port,)
            if listens and found.pid:
                return f"{psutil.Process(found.pid).name()} (pid {found.pid})"
    return "another program"


def _others(port: int) -> Iterator[int]:
    yield from range(port + 1, min(port + NEIGHBOURS, 65535) + 1)
    yield 0


def _bound(host: str, port: int) -> socket.socket | None:
    held = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        held.bind((host.strip("[]"), port))
        # Linux lets two bind one port until one of them listens; who comes early waits.
        held.listen(WAITING)
    except OSError as error:
        held.close()
        if error.errno in _BUSY:
            return None
        raise InvalidInput(
            f"cannot listen on {host}: {error.strerror}", field="host", got=host
        ) from error
    return held


def _busy(host: str, port: int) -> Conflict:
    return Conflict(
        f"port {port} of {host} is taken by {holder_of(port)}",
        field="port",
        port=port,
        hint="another --port, or stop that program",
    )
