"""The lib0 encoding of Yjs: varints and strings. Pure; truncated input is InvalidFormat."""

from dataclasses import dataclass

from pecia.kernel.errors import InvalidFormat

# JavaScript's largest exact integer.
MAX_INTEGER = 2**53 - 1


@dataclass(slots=True)
class Lib0Reader:
    """Reads untrusted input: every length is checked against what is left."""

    data: bytes
    at: int = 0

    @property
    def is_done(self) -> bool:
        return self.at == len(self.data)

    def byte(self) -> int:
        if self.is_done:
            raise _truncated_error()
        self.at += 1
        return self.data[self.at - 1]

    def varuint(self) -> int:
        found, shift = 0, 0
        while True:
            part = self.byte()
            found |= (part & 0x7F) << shift
            if found > MAX_INTEGER:
                raise InvalidFormat("a number is too large", field="message")
            if part < 0x80:
                return found
            shift += 7

    def bytes(self) -> bytes:
        """Length-prefixed bytes."""
        end = self.varuint() + self.at
        if end > len(self.data):
            raise _truncated_error()
        found = self.data[self.at : end]
        self.at = end
        return found

    def string(self) -> str:
        try:
            return self.bytes().decode()
        except UnicodeDecodeError:
            raise InvalidFormat("a string is not UTF-8", field="message") from None

    def require_end(self) -> None:
        if not self.is_done:
            raise InvalidFormat("trailing bytes after the message", field="message")


def encode_varuint(value: int) -> bytes:
    found = bytearray()
    while value > 0x7F:
        found.append(0x80 | (value & 0x7F))
        value >>= 7
    found.append(value)
    return bytes(found)


def encode_bytes(value: bytes) -> bytes:
    """Length-prefixed bytes."""
    return encode_varuint(len(value)) + value


def _truncated_error() -> InvalidFormat:
    return InvalidFormat("the message ends too early", field="message")
