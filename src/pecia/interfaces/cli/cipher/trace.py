"""Traces a stdio session for debugging, one line per message. Never its contents."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from io import RawIOBase
from typing import Any, BinaryIO, cast


class TracedOutput(RawIOBase):
    """Wraps stdout, and logs every message in both directions."""

    def __init__(self, out: BinaryIO, tell: Callable[[str], None]) -> None:
        self._out = out
        self._print = tell
        self._sent_at: dict[str, float] = {}
        self._lock = threading.Lock()

    def trace_input(self, frames: Iterable[bytes]) -> Iterator[bytes]:
        """The messages of the client."""
        for frame in frames:
            message = _parse_frame(frame)
            if message.get("id") is not None and "method" in message:
                with self._lock:
                    self._sent_at[str(message["id"])] = time.monotonic()
            self._print(f"debug: client → {_describe_frame(message)}")
            yield frame

    def write(self, frame: Any, /) -> int:
        message = _parse_frame(frame)
        with self._lock:
            begun = (
                self._sent_at.pop(str(message.get("id")), None) if "method" not in message else None
            )
        took = f" after {(time.monotonic() - begun) * 1000:.0f} ms" if begun is not None else ""
        self._print(f"debug: server → {_describe_frame(message)}{took}")
        return self._out.write(frame)

    def flush(self) -> None:
        self._out.flush()

    def writable(self) -> bool:
        return True


def _describe_frame(frame: dict[str, Any]) -> str:
    """The kind of a message, and for a call the tool."""
    number = f" #{frame['id']}" if frame.get("id") is not None else ""
    if "method" not in frame:
        return f"{'error' if 'error' in frame else 'result'}{number}"
    params = frame.get("params")
    name = cast(dict[str, Any], params).get("name") if isinstance(params, dict) else None
    tool = f" {name}" if isinstance(name, str) else ""
    return f"{frame['method']}{tool}{number}"[:300]


def _parse_frame(frame: bytes) -> dict[str, Any]:
    try:
        message = json.loads(frame)
    except (ValueError, RecursionError):
        return {"method": "a message that is not JSON"}
    return cast(dict[str, Any], message) if isinstance(message, dict) else {"method": "a batch"}
