"""What goes between a process that runs models and those that ask it: frames, each with its length.

A connection begins with the model that it is about; then come texts and vectors, in turns.
"""

import json
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pecia.adapters.embedding.model_files import ModelFiles
from pecia.kernel.errors import Unavailable

if TYPE_CHECKING:
    from pecia.kernel.corpus.vectors.embedder import Vectors

SOCKET = "models.sock"
LENGTH = struct.Struct("!I")
SHAPE = struct.Struct("!II")
# Texts are cut before they are sent; more is a broken frame.
MAX_FRAME_BYTES = 64 * 2**20

_VECTORS, _FAILURE = b"v", b"f"


def pack_frame(body: bytes) -> bytes:
    return LENGTH.pack(len(body)) + body


def pack_model(files: ModelFiles, *, threads: int, niceness: int) -> bytes:
    """The first frame of a connection: the model, and how urgent its texts are."""
    return json.dumps(
        {
            "name": files.name,
            "model": str(files.model),
            "tokenizer": str(files.tokenizer),
            "max_tokens": files.max_tokens,
            "language": files.language,
            "alone": files.alone,
            "threads": threads,
            "niceness": niceness,
        }
    ).encode()


def unpack_model(body: bytes) -> tuple[ModelFiles, int, int]:
    """The model, its threads and the niceness of its texts."""
    said: Mapping[str, Any] = json.loads(body)
    files = ModelFiles(
        said["name"],
        Path(said["model"]),
        Path(said["tokenizer"]),
        said["max_tokens"],
        said["language"],
        said["alone"],
    )
    return files, said["threads"], said["niceness"]


def pack_texts(texts: Sequence[str], max_chars: int) -> bytes:
    """What a model reads of each. A lone surrogate is no character, and is replaced."""
    return json.dumps([it[:max_chars] for it in texts], ensure_ascii=True).encode()


def unpack_texts(body: bytes) -> list[str]:
    return json.loads(body)


def pack_vectors(vectors: "Vectors") -> bytes:
    rows, columns = vectors.shape
    return _VECTORS + SHAPE.pack(rows, columns) + vectors.tobytes()


def pack_failure(error: Unavailable) -> bytes:
    return _FAILURE + json.dumps([error.message, dict(error.fields)]).encode()


def unpack_answer(body: bytes) -> "Vectors":
    """The vectors of an answer; a failure is raised as it was there."""
    import numpy as np

    kind, rest = body[:1], body[1:]
    if kind == _FAILURE:
        message, fields = json.loads(rest)
        raise Unavailable(message, **fields)
    rows, columns = SHAPE.unpack_from(rest)
    return np.frombuffer(rest, np.float32, offset=SHAPE.size).reshape(rows, columns).copy()
