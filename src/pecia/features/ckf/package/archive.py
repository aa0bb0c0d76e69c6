"""A package as bytes, named by their hash. Pure."""

import hashlib
import zlib
from dataclasses import dataclass
from typing import cast

import orjson

from pecia.features.ckf.package.model import Item, Package

PREFIX = "pecia://package/"
ID_CHARS = 32


@dataclass(frozen=True, slots=True)
class PackedPackage:
    """A package as kept: compressed JSON. `uri`: where its text was read, "" if it was given."""

    data: bytes
    uri: str = ""

    @property
    def id(self) -> str:
        return hashlib.sha256(self.data).hexdigest()[:ID_CHARS]

    @property
    def handle(self) -> str:
        return f"{PREFIX}{self.id}"


def pack_package(package: Package, uri: str = "") -> PackedPackage:
    return PackedPackage(zlib.compress(orjson.dumps(package.body), 6), uri)


def unpack_package(packed: PackedPackage) -> Package:
    return Package(cast(Item, orjson.loads(zlib.decompress(packed.data))))
