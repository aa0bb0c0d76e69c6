"""An identity provider on the loopback: real keys, a real sign-in, and every kind of forged token.

It signs with the cryptography package alone, so that it shares no code with what it tests.
"""

import hashlib
import hmac
import json
import secrets
import threading
import time
from base64 import urlsafe_b64encode
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from pecia.kernel.errors import UpstreamError

PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | Ed25519PrivateKey

AUDIENCE = "https://pecia.example/mcp"


def generate(algorithm: str) -> PrivateKey:
    """A new private key for RS256, ES256 or EdDSA."""
    match algorithm:
        case "RS256":
            return rsa.generate_private_key(public_exponent=65537, key_size=2048)
        case "ES256":
            return ec.generate_private_key(ec.SECP256R1())
        case _:
            return Ed25519PrivateKey.generate()


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key with the names it is published under."""

    kid: str
    algorithm: str
    private: PrivateKey

    @classmethod
    def new(cls, kid: str, algorithm: str) -> "SigningKey":
        return cls(kid, algorithm, generate(algorithm))

    def jwk(self) -> dict[str, Any]:
        published = {"kid": self.kid, "use": "sig", "alg": self.algorithm}
        return {**published, **_public_members(self.private)}

    def sign(self, content: bytes) -> bytes:
        match self.private:
            case rsa.RSAPrivateKey() as key:
                return key.sign(content, padding.PKCS1v15(), SHA256())
            case Ed25519PrivateKey() as key:
                return key.sign(content)
            case key:
                r, s = decode_dss_signature(key.sign(content, ec.ECDSA(SHA256())))
                return r.to_bytes(32) + s.to_bytes(32)


class LoopbackIssuer:
    """What the server publishes and how it behaves; tests change both while it runs."""

    def __init__(self, keys: list[SigningKey]) -> None:
        self.keys = keys
        self.url = ""
        self.is_dead = False
        self.body: bytes | None = None
        self.hits = 0
        self.may_answer = threading.Event()
        self.may_answer.set()
        self.sign_in = SignIn(self)

    @property
    def jwks_url(self) -> str:
        return f"{self.url}/jwks"

    def jwks(self) -> bytes:
        return json.dumps({"keys": [key.jwk() for key in self.keys]}).encode()

    def claims(self, **changed: Any) -> dict[str, Any]:
        """Good claims, with some changed; a claim changed to None is left out."""
        now = int(time.time())
        good = {"iss": self.url, "aud": AUDIENCE, "sub": "ana", "iat": now, "exp": now + 600}
        return {name: value for name, value in {**good, **changed}.items() if value is not None}

    def token(self, key: SigningKey | None = None, /, **changed: Any) -> str:
        """A token with these claims, signed by the first key or another."""
        return self.forge({}, self.claims(**changed), key)

    def forge(
        self, header: Mapping[str, Any], claims: object, key: SigningKey | None = None
    ) -> str:
        """A token of any header and claims, signed by the key whatever the header says."""
        signer = key or self.keys[0]
        named = {"alg": signer.algorithm, "kid": signer.kid, "typ": "JWT", **header}
        named = {name: value for name, value in named.items() if value is not None}
        content = f"{encoded(named)}.{encoded(claims)}"
        return f"{content}.{base64url(signer.sign(content.encode()))}"


@dataclass(frozen=True, slots=True)
class Answer:
    """What the issuer says to one request."""

    status: int
    body: bytes = b"{}"
    kind: str = "application/json"
    location: str | None = None


class SignIn:
    """Authorization code with PKCE, as a strict issuer does it: one code, one use, one verifier."""

    def __init__(self, issuer: LoopbackIssuer) -> None:
        self._issuer = issuer
        self._codes: dict[str, dict[str, str]] = {}
        self.claims: dict[str, Any] = {}
        """What the next access token says beside the usual."""

    def discovery(self) -> bytes:
        url = self._issuer.url
        named = {"issuer": url, "jwks_uri": self._issuer.jwks_url}
        ends = {"authorization_endpoint": f"{url}/authorize", "token_endpoint": f"{url}/token"}
        return json.dumps({**named, **ends}).encode()

    def authorize(self, asked: dict[str, str]) -> Answer:
        """The page on which a person says yes or no."""
        wanted = {"response_type": "code", "code_challenge_method": "S256"}
        if any(asked.get(name) != value for name, value in wanted.items()):
            return Answer(400, b"a code with PKCE is all there is here", "text/plain")
        if not all(asked.get(name) for name in ("client_id", "redirect_uri", "state")):
            return Answer(400, b"something is missing", "text/plain")
        query = urlencode(asked)
        links = (f'<p><a href="/{it}?{query}">{it}</a></p>' for it in ("allow", "deny"))
        return Answer(200, f"<h1>Sign in</h1>{''.join(links)}".encode(), "text/html")

    def allow(self, asked: dict[str, str]) -> Answer:
        code = secrets.token_urlsafe(16)
        self._codes[code] = asked
        return self._back(asked, code=code)

    def deny(self, asked: dict[str, str]) -> Answer:
        return self._back(asked, error="access_denied", error_description="You said no.")

    def token(self, given: dict[str, str]) -> Answer:
        """An access token for a code, once, and only to who began."""
        asked = self._codes.pop(given.get("code", ""), {})
        verifier = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        same = all(asked.get(it) == given.get(it) for it in ("client_id", "redirect_uri"))
        if not asked or not same or asked["code_challenge"] != base64url(verifier):
            wrong = {"error": "invalid_grant", "error_description": "This code is worth nothing."}
            return Answer(400, json.dumps(wrong).encode())
        claims = {"aud": asked.get("resource"), "scope": asked.get("scope"), **self.claims}
        made = {"access_token": self._issuer.token(**claims), "token_type": "Bearer"}
        return Answer(200, json.dumps(made).encode())

    def _back(self, asked: dict[str, str], **more: str) -> Answer:
        query = urlencode({"state": asked["state"], **more})
        return Answer(302, b"", location=f"{asked['redirect_uri']}?{query}")


def forge_hmac(header: Mapping[str, Any], claims: object, secret: bytes) -> str:
    """A token signed with a shared secret: the public key, in the attack this is made for."""
    content = f"{encoded({'typ': 'JWT', **header})}.{encoded(claims)}"
    return f"{content}.{base64url(hmac.digest(secret, content.encode(), 'sha256'))}"


def public_pem(key: SigningKey) -> bytes:
    return key.private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def encoded(value: object) -> str:
    return base64url(json.dumps(value).encode())


def base64url(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()


@contextmanager
def serve(*keys: SigningKey) -> Generator[LoopbackIssuer]:
    """The issuer on a free port of the loopback, until the block ends."""
    issuer = LoopbackIssuer(list(keys))
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(issuer))
    issuer.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield issuer
    finally:
        issuer.may_answer.set()
        server.shutdown()
        thread.join()
        server.server_close()


async def fetch(url: str) -> bytes:
    """Reads a URL as the verifier's Fetch protocol asks."""
    try:
        async with httpx.AsyncClient(trust_env=False, verify=False, timeout=5) as client:
            response = await client.get(url)
            return response.raise_for_status().content
    except httpx.HTTPError as error:
        raise UpstreamError(f"{url} could not be read: {error}") from error


def _handler(issuer: LoopbackIssuer) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            where = urlsplit(self.path)
            asked = dict(parse_qsl(where.query))
            pages = {
                "/authorize": issuer.sign_in.authorize,
                "/allow": issuer.sign_in.allow,
                "/deny": issuer.sign_in.deny,
            }
            page = pages.get(where.path)
            self._tell(page(asked) if page else Answer(*self._document()))

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            is_token = self.path == "/token"
            self._tell(issuer.sign_in.token(dict(parse_qsl(body))) if is_token else Answer(404))

        def _document(self) -> tuple[int, bytes]:
            if self.path == "/.well-known/openid-configuration":
                return 200, issuer.sign_in.discovery()
            issuer.hits += 1
            issuer.may_answer.wait(30)
            if issuer.is_dead or self.path != "/jwks":
                return 503, b"{}"
            return 200, issuer.jwks() if issuer.body is None else issuer.body

        def _tell(self, answer: Answer) -> None:
            self.send_response(answer.status)
            self.send_header("Content-Type", answer.kind)
            self.send_header("Content-Length", str(len(answer.body)))
            # A console in a browser reads the documents and fetches the token from its own origin.
            self.send_header("Access-Control-Allow-Origin", "*")
            if answer.location is not None:
                self.send_header("Location", answer.location)
            self.end_headers()
            self.wfile.write(answer.body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the test's output is not a server log."""

    return Handler


def _public_members(private: PrivateKey) -> dict[str, str]:
    match private:
        case rsa.RSAPrivateKey():
            numbers = private.public_key().public_numbers()
            return {"kty": "RSA", "n": _number(numbers.n), "e": _number(numbers.e)}
        case Ed25519PrivateKey():
            raw = private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
            return {"kty": "OKP", "crv": "Ed25519", "x": base64url(raw)}
        case _:
            point = private.public_key().public_numbers()
            x, y = base64url(point.x.to_bytes(32)), base64url(point.y.to_bytes(32))
            return {"kty": "EC", "crv": "P-256", "x": x, "y": y}


def _number(value: int) -> str:
    return base64url(value.to_bytes((value.bit_length() + 7) // 8))
