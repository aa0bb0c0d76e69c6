"""A server on loopback that sends whatever bytes a test wants, and the certificates for it."""

import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, ip_address
from pathlib import Path
from typing import TypeAlias

import anyio
from anyio.abc import ByteStream
from anyio.streams.tls import TLSListener
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from pecia.adapters.http.address import Address
from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.guard import EgressGuard

HOME = IPv4Address("127.0.0.1")

Answer: TypeAlias = Callable[["ReceivedRequest", ByteStream], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    line: str
    headers: dict[str, str]
    rest: bytes = b""

    @property
    def path(self) -> str:
        return self.line.split(" ")[1]


@dataclass
class Server:
    port: int
    asked: list[ReceivedRequest] = field(default_factory=list[ReceivedRequest])

    @property
    def trusting_loopback(self) -> EgressRules:
        return EgressRules.from_trusted_hosts(["127.0.0.0/8", "::1/128"])

    def url(self, path: str = "/", *, host: str = "127.0.0.1", scheme: str = "http") -> str:
        return f"{scheme}://{host}:{self.port}{path}"


@asynccontextmanager
async def serving(answer: Answer, *, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Server]:
    """A server for the time of the block. Each connection is answered once and closed."""
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    server = Server(listener.extra(anyio.abc.SocketAttribute.local_port))

    async def handle(stream: ByteStream) -> None:
        async with stream:
            try:
                asked = await _read_head(stream)
                server.asked.append(asked)
                await answer(asked, stream)
            except (anyio.BrokenResourceError, anyio.EndOfStream, ssl.SSLError):
                return

    wrapped = TLSListener(listener, tls, standard_compatible=False) if tls else listener
    async with anyio.create_task_group() as group:
        group.start_soon(wrapped.serve, handle)
        yield server
        group.cancel_scope.cancel()
    await listener.aclose()


async def _read_head(stream: ByteStream) -> ReceivedRequest:
    head = b""
    while b"\r\n\r\n" not in head:
        head += await stream.receive()
    head, _, rest = head.partition(b"\r\n\r\n")
    line, *headers = head.decode("latin-1").split("\r\n")
    pairs = (header.split(":", 1) for header in headers)
    return ReceivedRequest(line, {name.lower(): value.strip() for name, value in pairs}, rest)


def page(body: bytes, *headers: str, status: str = "200 OK") -> Answer:
    """Always this answer."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", "Connection: close", *headers]

    async def answer(asked: ReceivedRequest, stream: ByteStream) -> None:
        await stream.send("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    return answer


def redirect(where: str) -> Answer:
    return page(b"", f"Location: {where}", status="302 Found")


@dataclass
class Names:
    """A resolver with a script: a name gives its lists of addresses in turn, then the last."""

    answers: dict[str, list[list[str]]]
    asked: list[str] = field(default_factory=list[str])

    async def __call__(self, host: str, port: int) -> list[Address]:
        self.asked.append(host)
        script = self.answers.get(host, [[]])
        found = script.pop(0) if len(script) > 1 else script[0]
        return [ip_address(address) for address in found]


def guard(rules: EgressRules, **answers: list[list[str]]) -> EgressGuard:
    """A guard whose names end in `.test`: `guard(rules, good=[["127.0.0.1"]])` knows good.test."""
    return EgressGuard(rules, Names({f"{name}.test": script for name, script in answers.items()}))


@dataclass(frozen=True)
class Authority:
    """A certificate authority for one test run."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate

    @classmethod
    def new(cls) -> "Authority":
        key = ec.generate_private_key(ec.SECP256R1())
        name = _name("a test authority")
        return cls(key, _certificate(name, name, key, key, x509.BasicConstraints(True, None)))

    def write(self, path: Path) -> Path:
        path.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))
        return path

    def trusted(self, folder: Path) -> ssl.SSLContext:
        """What a client trusts who trusts this authority alone."""
        return ssl.create_default_context(cafile=str(self.write(folder / "authority.pem")))

    def server(self, folder: Path, host: str) -> ssl.SSLContext:
        """What a server shows that really is this host."""
        key = ec.generate_private_key(ec.SECP256R1())
        names = x509.SubjectAlternativeName([x509.DNSName(host)])
        shown = _certificate(_name(host), self.certificate.subject, key, self.key, names)
        file = folder / f"{host}.pem"
        file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.PKCS8,
                serialization.NoEncryption(),
            )
            + shown.public_bytes(serialization.Encoding.PEM)
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(file)
        return context


def _name(common: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common)])


def _certificate(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePrivateKey,
    signer: ec.EllipticCurvePrivateKey,
    extension: x509.ExtensionType,
) -> x509.Certificate:
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(extension, critical=False)
        .sign(signer, hashes.SHA256())
    )
