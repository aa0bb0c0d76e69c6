"""Registers the servers of an agent file in the hub while the session lasts, with heartbeats."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from threading import Event, Thread

from pecia.interfaces.cli.cipher.agent import AgentServer, connect_servers
from pecia.interfaces.cli.server.client import API, ServerClient
from pecia.kernel.errors import Json, PeciaError

RENEW_INTERVAL_S = 20.0
RELEASE_TIMEOUT_S = 5.0


@contextmanager
def lease_servers(
    server: ServerClient, own: Sequence[AgentServer], holder: str, renew_s: float = RENEW_INTERVAL_S
) -> Generator[None]:
    """While entered, the hub has these servers, also after a restart."""
    over = Event()

    def renew() -> None:
        while not over.wait(renew_s):
            # A server that is down is retried; its warnings were printed at the start.
            with suppress(PeciaError):
                _renew(server, own, holder)

    thread = Thread(target=renew, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        # A server that is being registered again now would outlive its session.
        thread.join(RELEASE_TIMEOUT_S)
        # If our server is down, the leases expire.
        with suppress(PeciaError):
            server.call(f"{API}/hub/hold_servers", {**_lease_request(own, holder), "release": True})


def _renew(server: ServerClient, own: Sequence[AgentServer], holder: str) -> None:
    found = server.call(f"{API}/hub/hold_servers", _lease_request(own, holder))
    if isinstance(found, dict) and found["missing"]:
        for _ in connect_servers(server, own, holder, strict=False):
            pass


def _lease_request(own: Sequence[AgentServer], holder: str) -> dict[str, Json]:
    return {"servers": [it.name for it in own], "holder": holder}
