"""Closed-loop clients, each on a connection of its own."""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field

import anyio
from anyio.abc import SocketStream, TaskStatus


@dataclass(slots=True)
class Tally:
    """What all clients saw together."""

    took_s: list[float] = field(default_factory=list[float])
    failed: int = 0

    def figures(self, elapsed_s: float) -> dict[str, float]:
        ordered = sorted(self.took_s) or [0.0]
        return {
            "requests": len(self.took_s),
            "failed": self.failed,
            "requests_per_s": round(len(self.took_s) / elapsed_s, 1),
            "p50_ms": round(ordered[len(ordered) // 2] * 1000, 2),
            "p99_ms": round(ordered[len(ordered) * 99 // 100] * 1000, 2),
        }


async def load(
    port: int, head: Mapping[str, str], path: str, body: bytes, clients: int, seconds: float
) -> dict[str, float]:
    """So many clients for so long; requests a second, and how long one waits.

    The clock starts when all of them are connected.
    """
    tally, start = Tally(), anyio.Event()
    data, began = written(port, head, path, body), 0.0
    async with anyio.create_task_group() as tasks:
        for _ in range(clients):
            await tasks.start(_client, port, data, start, seconds, tally)
        began = time.monotonic()
        start.set()
    return tally.figures(time.monotonic() - began)


def written(port: int, head: Mapping[str, str], path: str, body: bytes) -> bytes:
    named = {**head, "host": f"127.0.0.1:{port}", "content-length": str(len(body))}
    lines = [f"POST {path} HTTP/1.1", *(f"{name}: {value}" for name, value in named.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


async def _client(
    port: int,
    data: bytes,
    start: anyio.Event,
    seconds: float,
    tally: Tally,
    *,
    task_status: TaskStatus[None],
) -> None:
    async with await anyio.connect_tcp("127.0.0.1", port) as stream:
        task_status.started()
        await start.wait()
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            asked = time.monotonic()
            await stream.send(data)
            if await answered(stream) == 200:
                tally.took_s.append(time.monotonic() - asked)
            else:
                tally.failed += 1


async def answered(stream: SocketStream) -> int:
    """Read one answer to its end; its status."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += await stream.receive()
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.lower().split(b"\r\n")
    length = next((int(it[16:]) for it in lines if it.startswith(b"content-length: ")), None)
    while (len(body) < length) if length is not None else not body.endswith(b"0\r\n\r\n"):
        body += await stream.receive()
    return int(lines[0].split()[1])
