"""A model provider on loopback that says what a test scripted, in the wire formats of three.

It is a real server on a thread of its own, so that any part of the product, in this process or in
another, can be pointed at it. It records every request.
"""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, TypeAlias

from pecia.adapters.http.egress_rules import EgressRules
from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.models.providers import PROVIDERS, ModelProvider, compatible_provider


@dataclass(frozen=True, slots=True)
class Says:
    """An answer in words."""

    text: str
    tokens: tuple[int, int] = (10, 5)
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class Calls:
    """An answer that calls the tool that the request forces, or the one named here."""

    arguments: Mapping[str, Any]
    tool: str = ""
    tokens: tuple[int, int] = (10, 5)


@dataclass(frozen=True, slots=True)
class Fails:
    """An error status, with a message in the provider's own envelope."""

    status: int
    message: str = "no"
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Sends:
    """These very bytes, whatever they mean."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Waits:
    """Silence, until the provider is closed or the time is over."""

    seconds: float = 60


@dataclass(frozen=True, slots=True)
class Drips:
    """An answer in small pieces with a pause after each, as a stream that hardly moves."""

    answer: Says | Calls
    pause_s: float
    piece: int = 64


@dataclass(frozen=True, slots=True)
class Breaks:
    """An answer of which only the first half is sent before the line goes dead."""

    answer: Says | Calls


Scripted: TypeAlias = Says | Calls | Fails | Sends | Waits | Drips | Breaks


@dataclass(frozen=True, slots=True)
class Recorded:
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]

    def places_of(self, text: str) -> list[str]:
        """Where in the request this text appears, headers by name."""
        places = [f"header {name}" for name, value in self.headers.items() if text in value]
        places += ["path"] if text in self.path else []
        return places + (["body"] if text in json.dumps(self.body) else [])


class LoopbackProvider:
    """Answers in the order of its script; past its end it repeats the last answer."""

    def __init__(self, *script: Scripted) -> None:
        self.script: list[Scripted] = list(script) or [Says("hello")]
        self.requests: list[Recorded] = []
        self.closing = threading.Event()
        self.gate = threading.Event()
        """Closed (`clear`), every answer waits until it is opened again (`set`)."""
        self.gate.set()
        self._lock = threading.Lock()
        self._server = _Server(self)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self.gate.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"

    @property
    def guard(self) -> EgressGuard:
        """Rules that trust loopback, as an operator would who runs a model on this machine."""
        return EgressGuard(EgressRules.from_trusted_hosts(["127.0.0.1"]))

    def as_provider(self, name: str = "compatible") -> ModelProvider:
        """This server in the place of that provider."""
        if name == "compatible":
            return compatible_provider(f"{self.url}/v1", default_model="loopback")
        known = PROVIDERS[name]
        path = "" if known.wire in ("anthropic", "google") else "/v1"
        return replace(known, base_url=self.url + path)

    def next_answer(self, request: Recorded) -> Scripted:
        with self._lock:
            self.requests.append(request)
            return self.script.pop(0) if len(self.script) > 1 else self.script[0]


class _Server(ThreadingHTTPServer):
    daemon_threads = False

    def __init__(self, provider: LoopbackProvider) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.provider = provider


class _Handler(BaseHTTPRequestHandler):
    server: _Server  # pyright: ignore[reportIncompatibleVariableOverride]

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.server.provider.next_answer(Recorded(self.path, headers, body))
        self.server.provider.gate.wait(60)
        try:
            self._answer(answer, body)
        except (BrokenPipeError, ConnectionResetError):
            # The client did not wait, which is often what the test is about.
            return

    def _answer(self, answer: Scripted, body: dict[str, Any]) -> None:
        match answer:
            case Waits(seconds):
                self.server.provider.closing.wait(seconds)
            case Sends(raw, status, headers):
                self._send(status, raw, headers)
            case Fails(status, message, headers):
                self._send(status, json.dumps(self._failure(status, message)).encode(), headers)
            case Says() | Calls():
                self._send(200, json.dumps(self._success(answer, body)).encode(), {})
            case Drips(whole, pause_s, piece):
                self._drip(json.dumps(self._success(whole, body)).encode(), pause_s, piece)
            case Breaks(whole):
                raw = json.dumps(self._success(whole, body)).encode()
                self._head(200, len(raw), {})
                self.wfile.write(raw[: len(raw) // 2])
                self.close_connection = True

    def _send(self, status: int, raw: bytes, headers: Mapping[str, str]) -> None:
        self._head(status, len(raw), headers)
        self.wfile.write(raw)

    def _head(self, status: int, length: int, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in {"content-type": "application/json", **headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(length))
        self.end_headers()

    def _drip(self, raw: bytes, pause_s: float, piece: int) -> None:
        self._head(200, len(raw), {})
        for at in range(0, len(raw), piece):
            self.wfile.write(raw[at : at + piece])
            self.wfile.flush()
            if self.server.provider.closing.wait(pause_s):
                return

    def _failure(self, status: int, message: str) -> dict[str, Any]:
        if "/messages" in self.path:
            return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
        return {"error": {"code": status, "status": "FAILED", "message": message}}

    def _success(self, answer: Says | Calls, body: dict[str, Any]) -> dict[str, Any]:
        if "/messages" in self.path:
            return _anthropic(answer, body)
        return _google(answer, body) if "/models/" in self.path else _openai(answer, body)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a test's output is its own."""


def _openai(answer: Says | Calls, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": None}
    reason = "stop"
    if isinstance(answer, Says):
        message["content"] = answer.text
        reason = "length" if answer.truncated else "stop"
    else:
        name = answer.tool or body["tools"][0]["function"]["name"]
        call = {"name": name, "arguments": json.dumps(answer.arguments)}
        message["tool_calls"] = [{"id": "call_1", "type": "function", "function": call}]
    tokens_in, tokens_out = answer.tokens
    return {
        "id": "chat_1",
        "object": "chat.completion",
        "provider": "loopback",
        "created": 1_700_000_000,
        "model": body["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": reason}],
        "usage": {
            "prompt_tokens": tokens_in,
            "completion_tokens": tokens_out,
            "total_tokens": tokens_in + tokens_out,
        },
    }


def _anthropic(answer: Says | Calls, body: dict[str, Any]) -> dict[str, Any]:
    if isinstance(answer, Says):
        content: dict[str, Any] = {"type": "text", "text": answer.text}
        reason = "max_tokens" if answer.truncated else "end_turn"
    else:
        name = answer.tool or body["tools"][0]["name"]
        content = {"type": "tool_use", "id": "call_1", "name": name, "input": answer.arguments}
        reason = "tool_use"
    tokens_in, tokens_out = answer.tokens
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": [content],
        "stop_reason": reason,
        "stop_sequence": None,
        "usage": {"input_tokens": tokens_in, "output_tokens": tokens_out},
    }


def _google(answer: Says | Calls, body: dict[str, Any]) -> dict[str, Any]:
    if isinstance(answer, Says):
        part: dict[str, Any] = {"text": answer.text}
        reason = "MAX_TOKENS" if answer.truncated else "STOP"
    else:
        name = answer.tool or body["tools"][0]["functionDeclarations"][0]["name"]
        part = {"functionCall": {"name": name, "args": answer.arguments}}
        reason = "STOP"
    tokens_in, tokens_out = answer.tokens
    return {
        "candidates": [{"content": {"role": "model", "parts": [part]}, "finishReason": reason}],
        "usageMetadata": {
            "promptTokenCount": tokens_in,
            "candidatesTokenCount": tokens_out,
            "totalTokenCount": tokens_in + tokens_out,
        },
        "modelVersion": "loopback",
        "responseId": "reply_1",
    }
