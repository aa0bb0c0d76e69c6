"""Pictures with at most 256 colours: a screen of text and flat areas needs no more. Pure."""

import struct
import zlib

import numpy as np
from numpy.typing import NDArray

COLOURS = 256
# Areas: these stay exactly as they are.
EXACT = 48
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def encode_png(pixels: bytes, width: int, height: int) -> bytes:
    """RGBA pixels as a PNG with a palette; alpha is left out."""
    rgba = np.frombuffer(pixels, dtype=np.uint8).reshape(height * width, 4)
    palette, indices = reduce_colours(rgba[:, :3].astype(np.int64))
    rows = indices.astype(np.uint8).reshape(height, width)
    # Every row begins with its filter: none.
    body = np.hstack([np.zeros((height, 1), dtype=np.uint8), rows]).tobytes()
    head = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = {
        b"IHDR": head,
        b"PLTE": palette.astype(np.uint8).tobytes(),
        b"IDAT": zlib.compress(body, 9),
        b"IEND": b"",
    }
    return SIGNATURE + b"".join(chunk(kind, data) for kind, data in parts.items())


def reduce_colours(rgb: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.intp]]:
    """The palette, and the place of each pixel in it. The most frequent colours stay as they are;
    a rare one becomes the nearest of those."""
    packed = rgb[:, 0] * 65536 + rgb[:, 1] * 256 + rgb[:, 2]
    _, first, places, counts = np.unique(
        packed, return_index=True, return_inverse=True, return_counts=True
    )
    colours = rgb[first]
    if len(colours) <= COLOURS:
        return colours, places
    kept = colours[choose(colours, counts)]
    nearest = np.array([np.argmin(((kept - it) ** 2).sum(axis=1)) for it in colours])
    return kept, nearest[places]


def choose(split: NDArray[np.int64], counts: NDArray[np.intp]) -> NDArray[np.intp]:
    """The most frequent colours, and of the others at most one of each small cube: shades of one
    edge are not all needed, and a rare hue is not lost to them."""
    order = np.argsort(-counts)
    kept, rest = order[:EXACT], order[EXACT:]
    for bits in range(1, 8):
        _, first = np.unique(split[rest] >> bits, axis=0, return_index=True)
        if len(first) <= COLOURS - EXACT:
            return np.concatenate([kept, rest[np.sort(first)]])
    return order[:COLOURS]


def chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
