"""Input and output of a command. Text in, text out; never changes a file."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from pecia.features.wiki.shell.parse import CommandRefused
from pecia.features.wiki.shell.tree import FileTree

MAX_OUTPUT_CHARS = 16 * 1024 * 1024


@dataclass(slots=True)
class CommandIo:
    """One running command. `stdin` is the output of the previous stage, None for the first."""

    name: str
    tree: FileTree
    stdin: str | None = None
    out: list[str] = field(default_factory=list[str])
    err: list[str] = field(default_factory=list[str])
    code: int = 0
    written_chars: int = 0

    def write(self, text: str) -> None:
        self.written_chars += len(text)
        if self.written_chars > MAX_OUTPUT_CHARS:
            raise CommandRefused(
                "output_overflow", f"{self.name} writes more than {MAX_OUTPUT_CHARS} bytes"
            )
        self.out.append(text)

    def fail(self, message: str, code: int = 1) -> None:
        self.err.append(f"{self.name}: {message}")
        self.code = max(self.code, code)

    def inputs(self, operands: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Each file by its given name, with its text; unreadable ones are reported on stderr."""
        if not operands:
            yield "", self.stdin or ""
            return
        for it in operands:
            if it == "-":
                yield "", self.stdin or ""
                continue
            text = self.text(it)
            if text is not None:
                yield it, text

    def text(self, operand: str) -> str | None:
        path = self.tree.resolve(operand)
        if self.tree.is_folder(path):
            self.fail(f"{operand}: Is a directory")
            return None
        text = self.tree.read(path)
        if text is None:
            self.fail(f"{operand}: No such file or directory")
        return text


def lines_of(text: str) -> list[str]:
    """Lines without their line breaks (LF or CRLF)."""
    pieces = text.split("\n")
    if pieces[-1] == "":
        pieces.pop()
    return [it.removesuffix("\r") for it in pieces] if "\r" in text else pieces
