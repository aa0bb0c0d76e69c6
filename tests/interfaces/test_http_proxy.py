"""Behind a proxy that lets the HTTP API through and nothing else."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from pecia.interfaces.mcp.mount import mount_mcp
from pecia.kernel.store.cluster import DatabaseLogins
from tests.interfaces.tenant_server import open_pecia

pytestmark = pytest.mark.anyio

PUBLIC = "https://pecia.example"
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}


class _Proxy(BaseHTTPRequestHandler):
    """Forwards what is under /api/, as the public name, and refuses the rest itself."""

    behind = 0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", "0")))
        if not self.path.startswith("/api/"):
            self.send_error(404)
            return
        headers = {**self.headers, "Host": "pecia.example", "X-Forwarded-For": "203.0.113.9"}
        ours = HTTPConnection("127.0.0.1", self.behind)
        ours.request("POST", self.path, body, {**headers, "X-Forwarded-Proto": "https"})
        answer = ours.getresponse()
        said = answer.read()
        self.send_response(answer.status)
        self.send_header("content-length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)
        ours.close()

    def log_message(self, format: str, *args: object) -> None:
        """Nothing: a test's output is its own."""


@contextmanager
def proxy_of(port: int) -> Generator[str]:
    kind = type("_ProxyOf", (_Proxy,), {"behind": port})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.requirement("lake.server.behind_proxy")
async def test_the_api_works_through_a_proxy_and_mcp_by_the_inner_name(
    database: DatabaseLogins, tmp_path: Path
) -> None:
    async with open_pecia(
        database,
        tmp_path / "home",
        mounts=[mount_mcp],
        public_url=PUBLIC,
        trusted_proxies="127.0.0.0/8",
        allowed_hosts="pecia.internal",
    ) as pecia:
        with proxy_of(pecia.port) as outside:
            async with httpx.AsyncClient(base_url=outside, headers=pecia.ana) as public:
                listed = await public.post("/api/v1/lake/list_sources", json={})
                assert (listed.status_code, listed.json()["sources"]) == (200, [])
                assert (await public.post("/mcp/lake", json=PING)).status_code == 404
        inner = {**pecia.ana, "host": "pecia.internal"}
        assert (await pecia.http.post("/mcp/lake", json=PING, headers=inner)).status_code == 200
        (row,) = await pecia.audit(tool="lake.list_sources")
        assert str(row["client_ip"]) == "203.0.113.9"
    guide = (Path(__file__).parents[2] / "docs" / "connect.md").read_text()
    assert "PECIA_ALLOWED_HOSTS=pecia.internal" in guide
