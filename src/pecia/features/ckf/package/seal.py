"""The hash of a whole package, kept in its own header: any changed character shows. Pure.

It is the same in every format, and not changed by what a library adds to the header of a post.
"""

import hashlib

import orjson

from pecia.features.ckf.package.model import Item, Package, text_of

SEAL_FIELD = "package_sha256"
SEAL_CHARS = 32
# Fields of a published post; `library/header.py` adds and removes them.
POST_PREFIX = "post_"


def seal_package(package: Package) -> None:
    """Write the hash of a normalized package into its header."""
    package.metadata[SEAL_FIELD] = _hash_body(package)


def is_altered(package: Package) -> bool:
    """Whether a normalized package differs from the one that was sealed. False without a seal."""
    known = text_of(package.metadata, SEAL_FIELD)
    return bool(known) and known != _hash_body(package)


def _hash_body(package: Package) -> str:
    header: Item = {
        key: it
        for key, it in package.metadata.items()
        if key != SEAL_FIELD and not key.startswith(POST_PREFIX)
    }
    data = orjson.dumps({**package.body, "metadata": header}, option=orjson.OPT_SORT_KEYS)
    # Some writers of JSON make 1 of 1.0; a regular expression costs 40 ms for a long text.
    for whole, short in _WHOLE_NUMBERS:
        data = data.replace(whole, short)
    return hashlib.sha256(data).hexdigest()[:SEAL_CHARS]


_WHOLE_NUMBERS = [
    (f":{number}.0{end}".encode(), f":{number}{end}".encode()) for number in (0, 1) for end in ",}"
]
