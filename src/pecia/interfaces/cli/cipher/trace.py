"""What passes a stdio session, one line a frame, for who looks for a fault. Never its contents."""

import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from io import RawIOBase
from typing import Any, BinaryIO, cast


class TracedOutput(RawIOBase):
    """Stands before stdout, and tells of every frame that comes and goes."""

    def __init__(self, out: BinaryIO, tell: Callable[[str], None]) -> None:
        self._out = out
        self._tell = tell
        self._asked: dict[str, float] = {}
        self._lock = threading.Lock()

    def trace_input(self, frames: Iterable[bytes]) -> Iterator[bytes]:
        """The frames of the client, as they come."""
        for frame in frames:
            told = _parse_frame(frame)
            if told.get("id") is not None and "method" in told:
                with self._lock:
                    self._asked[str(told["id"])] = time.monotonic()
            self._tell(f"debug: client → {_describe_frame(told)}")
            yield frame

    def write(self, frame: Any, /) -> int:
        told = _parse_frame(frame)
        with self._lock:
            begun = self._asked.pop(str(told.get("id")), None) if "method" not in told else None
        took = f" after {(time.monotonic() - begun) * 1000:.0f} ms" if begun is not None else ""
        self._tell(f"debug: server → {_describe_frame(told)}{took}")
        return self._out.write(frame)

    def flush(self) -> None:
        self._out.flush()

    def writable(self) -> bool:
        return True


def _describe_frame(frame: dict[str, Any]) -> str:
    """What a frame is, and for a call the tool."""
    number = f" #{frame['id']}" if frame.get("id") is not None else ""
    if "method" not in frame:
        return f"{'error' if 'error' in frame else 'result'}{number}"
    params = frame.get("params")
    name = cast(dict[str, Any], params).get("name") if isinstance(params, dict) else None
    tool = f" {name}" if isinstance(name, str) else ""
    return f"{frame['method']}{tool}{number}"[:300]


def _parse_frame(frame: bytes) -> dict[str, Any]:
    try:
        told = json.loads(frame)
    except (ValueError, RecursionError):
        return {"method": "a frame that is no JSON"}
    return cast(dict[str, Any], told) if isinstance(told, dict) else {"method": "a batch"}
