"""A git server for tests, as small as the protocol allows: a repository of pygit2 over https."""

import base64
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

import pygit2
from anyio.abc import ByteStream

from tests.unit.adapters.loopback import ReceivedRequest, page

FLUSH = b"0000"
FETCHING = "application/x-git-upload-pack-"


@dataclass
class GitServer:
    """Answers `info/refs` and `git-upload-pack` for one repository. The hooks make it hostile."""

    repository: pygit2.Repository
    secret: str = ""
    padding: int = 0
    redirect_to: str = ""
    tokens: list[str] = field(default_factory=list[str])

    async def __call__(self, asked: ReceivedRequest, stream: ByteStream) -> None:
        if self.redirect_to:
            await page(b"", f"Location: {self.redirect_to}", status="302 Found")(asked, stream)
        elif self.secret and not self._is_known(asked):
            await page(b"", 'WWW-Authenticate: Basic realm="x"', status="401 No")(asked, stream)
        elif "/info/refs" in asked.path:
            await self._send(asked, stream, "advertisement", self._references())
        else:
            body = await _body(asked, stream)
            pack = self._pack() if b"done" in body else b""
            await self._send(asked, stream, "result", _packet(b"NAK\n") + pack)

    def _is_known(self, asked: ReceivedRequest) -> bool:
        shown = asked.headers.get("authorization", "")
        self.tokens.append(shown)
        return shown == "Basic " + base64.b64encode(self.secret.encode()).decode()

    async def _send(
        self, asked: ReceivedRequest, stream: ByteStream, kind: str, body: bytes
    ) -> None:
        await page(body, f"Content-Type: {FETCHING}{kind}")(asked, stream)

    def _references(self) -> bytes:
        names = [it for it in self.repository.references if it.startswith("refs/")]
        lines = [(str(self.repository.references[name].target), name) for name in names]
        head = str(self.repository.references["refs/heads/main"].target)
        first = f"{head} HEAD\0symref=HEAD:refs/heads/main ofs-delta\n".encode()
        rest = b"".join(_packet(f"{oid} {name}\n".encode()) for oid, name in lines)
        service = _packet(b"# service=git-upload-pack\n")
        return service + FLUSH + _packet(first) + rest + FLUSH

    def _pack(self) -> bytes:
        builder = pygit2.PackBuilder(self.repository)
        for name in self.repository.references:
            for commit in self.repository.walk(self.repository.references[name].target):
                builder.add(commit.id)
                builder.add_recur(commit.tree_id)
        with TemporaryDirectory() as folder:
            builder.write(folder)
            return next(Path(folder).glob("*.pack")).read_bytes() + bytes(self.padding)


def _packet(data: bytes) -> bytes:
    return b"%04x" % (len(data) + 4) + data


async def _body(asked: ReceivedRequest, stream: ByteStream) -> bytes:
    body = asked.rest
    while len(body) < int(asked.headers.get("content-length", "0")):
        body += await stream.receive()
    return body
