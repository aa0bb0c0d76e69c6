"""Which user of this machine is at the other end of a loopback connection. Linux alone says so.

The kernel is asked for the one socket whose addresses are ours the other way round. Anything but a
living connection counts as not known: a socket that is closing belongs to nobody any more, and the
kernel gives root as the user of such.
"""

import asyncio
import os
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path
from typing import TypeAlias

Address: TypeAlias = IPv4Address | IPv6Address

ESTABLISHED = 1

# linux/sock_diag.h, linux/inet_diag.h: one socket by its addresses, without a dump of all.
_NETLINK_SOCK_DIAG = 4
_SOCK_DIAG_BY_FAMILY = 20
_NLM_F_REQUEST = 1
_HEAD = struct.Struct("=IHHII")
_ASK = struct.Struct("=BBBxI")
_PORTS_AND_ADDRESSES = struct.Struct("!HH16s16s")
_INTERFACE_AND_COOKIE = struct.Struct("=III")
_ANY = 0xFFFFFFFF
_STATE = struct.Struct("=BBBB")
_COUNTS = struct.Struct("=IIIII")
_ANSWER_S = 1.0


@dataclass(frozen=True, slots=True)
class SocketPair:
    """The two ends of a connection: of `near` the user is asked."""

    near: tuple[Address, int]
    far: tuple[Address, int]


@dataclass(frozen=True, slots=True)
class SocketInfo:
    """A socket as the kernel describes it."""

    ends: SocketPair
    state: int
    uid: int
    inode: int

    @property
    def is_alive(self) -> bool:
        """Whether a process holds it. Without one the user is given as root."""
        return self.state == ESTABLISHED and self.inode != 0


class PeerProcess:
    """The process at the other end of one connection. Looked up once, when first asked."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self._uid: int | None = None
        self._is_known = False

    @property
    def uid(self) -> int | None:
        """The user of that process; None if unknown."""
        if not self._is_known:
            # Of a connection that is over, the number of its file may be another one's already.
            if not self._transport.is_closing():
                with suppress(OSError):
                    found = self._transport.get_extra_info("socket")
                    self._uid = find_peer_uid(found.fileno()) if found is not None else None
            self._is_known = True
        return self._uid

    @property
    def is_same_user(self) -> bool:
        """Whether it is a process of the user that this one runs as. Root is nobody special."""
        return self.uid == os.geteuid() and not _is_overflow_uid(os.geteuid())


def find_peer_uid(fileno: int) -> int | None:
    """The user whose process holds the other end of this loopback connection."""
    if sys.platform != "linux":
        return None
    with socket.socket(fileno=os.dup(fileno)) as ours:
        ends = _ends_seen_from_there(ours)
        if ends is None:
            return None
        found = _find_socket(ends)
        # A closed connection's port may by now be somebody else's, under the same four numbers. As
        # long as ours is open the kernel lets nobody take them, so it is looked at afterwards.
        if found is None or not _is_established(ours):
            return None
    return found.uid if found.is_alive and found.ends == ends else None


def _ends_seen_from_there(ours: socket.socket) -> SocketPair | None:
    if ours.family not in (socket.AF_INET, socket.AF_INET6):
        return None
    there, here = ours.getpeername(), ours.getsockname()
    ends = SocketPair(
        (normalize_address(there[0]), there[1]), (normalize_address(here[0]), here[1])
    )
    is_loopback = ends.near[0].is_loopback and ends.far[0].is_loopback
    return ends if is_loopback else None


def _is_established(ours: socket.socket) -> bool:
    return ours.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == ESTABLISHED


class _LookupState:
    """How the kernel is asked. Where it once answered by netlink, /proc is not read any more."""

    has_netlink = False


def _find_socket(ends: SocketPair) -> SocketInfo | None:
    try:
        found = find_socket_by_netlink(ends)
    except OSError:
        found = None
    if found is not None:
        _LookupState.has_netlink = True
        return found
    # A kernel without the module for it, or a sandbox, says the same as one without the socket.
    return None if _LookupState.has_netlink else find_socket_by_proc(ends)


def find_socket_by_netlink(ends: SocketPair) -> SocketInfo | None:
    """The socket, by one question to the kernel."""
    (near, near_port), (far, far_port) = ends.near, ends.far
    family = socket.AF_INET if near.version == 4 else socket.AF_INET6
    body = (
        _ASK.pack(family, socket.IPPROTO_TCP, 0, _ANY)
        + _PORTS_AND_ADDRESSES.pack(near_port, far_port, near.packed, far.packed)
        + _INTERFACE_AND_COOKIE.pack(0, _ANY, _ANY)
    )
    head = _HEAD.pack(_HEAD.size + len(body), _SOCK_DIAG_BY_FAMILY, _NLM_F_REQUEST, 1, 0)
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, _NETLINK_SOCK_DIAG) as kernel:
        kernel.settimeout(_ANSWER_S)
        kernel.send(head + body)
        return _read(kernel.recv(8192))


def _read(answer: bytes) -> SocketInfo | None:
    if len(answer) < _HEAD.size or _HEAD.unpack_from(answer)[1] != _SOCK_DIAG_BY_FAMILY:
        return None
    at = _HEAD.size
    family, state, _, _ = _STATE.unpack_from(answer, at)
    at += _STATE.size
    near_port, far_port, near, far = _PORTS_AND_ADDRESSES.unpack_from(answer, at)
    at += _PORTS_AND_ADDRESSES.size + _INTERFACE_AND_COOKIE.size
    _, _, _, uid, inode = _COUNTS.unpack_from(answer, at)
    length = 4 if family == socket.AF_INET else 16
    ends = SocketPair(
        (normalize_address(near[:length]), near_port), (normalize_address(far[:length]), far_port)
    )
    return SocketInfo(ends, state, uid, inode)


def find_socket_by_proc(ends: SocketPair) -> SocketInfo | None:
    """The socket, from the kernel's tables. Slower: they list every socket there is."""
    for table in ("tcp", "tcp6"):
        with suppress(OSError):
            text = Path(f"/proc/self/net/{table}").read_text(encoding="ascii")
            for found in parse_proc_net(text):
                if found.ends == ends:
                    return found
    return None


def parse_proc_net(table: str) -> Iterator[SocketInfo]:
    """The sockets of a table of /proc/net."""
    for line in table.splitlines()[1:]:
        _, near, far, state, _, _, _, uid, _, inode, *_ = line.split()
        yield SocketInfo(SocketPair(_end(near), _end(far)), int(state, 16), int(uid), int(inode))


def _end(text: str) -> tuple[Address, int]:
    """An end as /proc writes it: words of the address in the order of this machine's bytes."""
    address, port = text.split(":")
    words = [int(address[at : at + 8], 16) for at in range(0, len(address), 8)]
    return normalize_address(struct.pack(f"={len(words)}I", *words)), int(port, 16)


def normalize_address(given: str | bytes) -> Address:
    """An address; one of IPv4 that is written as IPv6 as what it is."""
    found = ip_address(given.partition("%")[0] if isinstance(given, str) else given)
    mapped = found.ipv4_mapped if isinstance(found, IPv6Address) else None
    return mapped or found


def _is_overflow_uid(uid: int) -> bool:
    """Whether this number also stands for every user that a user namespace does not know."""
    try:
        if uid != int(Path("/proc/sys/kernel/overflowuid").read_text(encoding="ascii")):
            return False
        return Path("/proc/self/uid_map").read_text(encoding="ascii").split() != ALL_USERS
    except (OSError, ValueError):
        return True


ALL_USERS = ["0", "0", "4294967295"]
