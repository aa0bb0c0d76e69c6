"""Messages between the server and a compute worker: a length, then a pickle. Pure.

What the server sends is trusted. What comes back was made beside the text of strangers, so only
classes of ours are built from it.
"""

import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from typing import Any, TypeAlias

from pecia.kernel.errors import Json, PeciaError

HEAD = struct.Struct(">Q")
_PACKAGE = "pecia."
# How patterns and counts are written; neither does anything.
_HARMLESS = frozenset({("re", "_compile"), ("collections", "Counter")})


@dataclass(frozen=True, slots=True)
class ComputeJob:
    """A function of a module, called with its arguments; with `report` too where asked."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...]
    reports: bool = False


@dataclass(frozen=True, slots=True)
class ComputeImport:
    """The module of the jobs to come."""

    module: str


@dataclass(frozen=True, slots=True)
class ComputeProgress:
    done: int
    total: int


@dataclass(frozen=True, slots=True)
class ComputeDone:
    value: Any


@dataclass(frozen=True, slots=True)
class ComputeRefused:
    """A failure that a caller may see: an exception does not survive the journey whole."""

    kind: type[PeciaError]
    message: str
    fields: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ComputeOutOfMemory:
    pass


@dataclass(frozen=True, slots=True)
class ComputeCrashed:
    """A fault of ours, with its traceback for the log."""

    trace: str


ComputeAnswer: TypeAlias = (
    ComputeProgress | ComputeDone | ComputeRefused | ComputeOutOfMemory | ComputeCrashed
)


def pack(message: ComputeImport | ComputeJob | ComputeAnswer) -> bytes:
    body = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    return HEAD.pack(len(body)) + body


def unpack_answer(body: bytes) -> ComputeAnswer:
    return _AnswerUnpickler(BytesIO(body)).load()


class _AnswerUnpickler(pickle.Unpickler):
    def find_class(self, module_name: str, global_name: str) -> Any:
        ours = module_name.startswith(_PACKAGE)
        if ours or (module_name, global_name) in _HARMLESS:
            found = super().find_class(module_name, global_name)
            if not ours or isinstance(found, type):
                return found
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is no class of ours")
