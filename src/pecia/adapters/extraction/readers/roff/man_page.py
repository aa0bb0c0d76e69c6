"""Manual pages, roff with the macros of man(7) or mdoc(7), as Markdown. Own reader.

Sections become headings, examples fenced text, tables tables. Nothing is executed: `.so` opens no
file, macros that a page defines are left out, and of conditions the branch for a terminal is taken.
"""

import re
from collections.abc import Iterator

from pecia.adapters.extraction.readers.csv_table import markdown_table
from pecia.adapters.extraction.readers.input_file import InputFile, ReaderResult, one_section
from pecia.adapters.extraction.readers.roff.escapes import RoffEscapes
from pecia.adapters.extraction.readers.roff.mdoc import MdocLine
from pecia.adapters.extraction.readers.version import OURS, our_version
from pecia.adapters.extraction.wire import About

_MAX_TITLE_CHARS = 300
_ARGUMENT = re.compile(r'"((?:[^"]|"")*)"?|((?:\\.|[^\s"\\]|(?<=\S)")+)|\\$')
_REQUEST = re.compile(r"[.'][ \t]*([^\s\\]*)[ \t]?[ \t]*(.*)")
_ALTERNATING = frozenset({"BR", "BI", "RB", "RI", "IB", "IR"})
_JOINED = frozenset({"B", "I", "R", "SM", "SB", "CW", "SY"})
_PARAGRAPHS = frozenset({"PP", "P", "LP", "HP", "sp", "RS", "RE", "Pp", "Lp", "YS"})
_VERBATIM = frozenset({"nf", "EX", "Vb", "DS"})
_VERBATIM_DISPLAY = re.compile(r"-(?:literal|unfilled)\b")
_FLOWING = frozenset({"fi", "EE", "Ve", "DE"})
_DEFINITIONS = frozenset({"de", "de1", "am", "am1", "ig", "dei", "ami"})
_TABLE_SEPARATOR = re.compile(r"tab ?\((.)\)")
_DASH = re.compile(r"\s[-–—−]{1,3}\s")
_MAX_DEPTH = 20
_MAX_TERM_CHARS = 120
_SENTENCE_ENDS = (".", ":", ";", "!", "?")


def read_man_page(file: InputFile, first: int, count: int) -> ReaderResult:
    page = ManPage()
    text = page.to_markdown(file.text.text)
    title = page.title[:_MAX_TITLE_CHARS]
    about = About("", OURS, our_version(), is_markdown=True, title=title, unit_count=1)
    return ReaderResult(about, one_section(text))


class ManPage:
    """One page while it is read, line by line; `title` is known at the end."""

    def __init__(self) -> None:
        self._escapes = RoffEscapes()
        self._mdoc = MdocLine(self._escapes.to_text)
        self._blocks: list[str] = []
        self._words: list[str] = []
        self._code: list[str] | None = None
        self._name = self._number = ""
        self._sections = self._depth = 0
        self._name_words: list[str] = []
        self._is_tag = False
        self._after_cell = ""
        self._else: list[bool] = []

    @property
    def title(self) -> str:
        """Names, section of the manual and purpose, as the first section says."""
        number = f"({self._number})" if self._number else ""
        parts = _DASH.split(" ".join(" ".join(self._name_words).split()), maxsplit=1)
        if len(parts) == 2 and parts[0]:
            return f"{parts[0]}{number} - {parts[1]}"
        return f"{self._name}{number}"

    def to_markdown(self, text: str) -> str:
        lines = iter(text.replace("\r\n", "\n").split("\n"))
        for line in lines:
            self._read(line, lines)
        self._end_code()
        self._end_paragraph()
        heading = [f"# {self.title}"] if self.title else []
        return "\n\n".join([*heading, *self._blocks]) + "\n"

    def _read(self, line: str, lines: Iterator[str]) -> None:
        found = _REQUEST.match(line) if line[:1] in (".", "'") else None
        if found is None:
            self._add_text(line)
        elif found[1] in _DEFINITIONS:
            _skip_definition(found[1], found[2], lines)
        elif found[1] in ("if", "ie", "el"):
            self._choose(found[1], found[2], lines)
        elif found[1] == "TS":
            self._end_paragraph()
            self._table(lines)
        else:
            self._request(found[1], found[2])

    def _add_text(self, line: str) -> None:
        if self._code is not None:
            self._code.append(self._escapes.to_text(line).rstrip())
            return
        words = self._escapes.to_text(line).strip()
        if not words:
            # A blank line, or one with a comment alone; the tag of a list stays with its text.
            if not line.strip():
                self._end_paragraph()
            return
        if line[:1] in (" ", "\t") and self._words:
            self._end_line()
        self._add_words(words)

    def _add_words(self, words: str) -> None:
        if not words:
            return
        if self._sections == 1:
            self._name_words.append(words)
        self._words.append(words)
        if self._is_tag:
            self._is_tag = False
            self._end_line()

    def _request(self, name: str, rest: str) -> None:
        if name in ("SH", "Sh", "SS", "Ss"):
            self._start_section(name, rest)
        elif name in ("TH", "Dt"):
            self._name, self._number = [*self._arguments(rest), "", ""][:2]
            self._name = self._name.lower()
        elif name in _VERBATIM or (name == "Bd" and _VERBATIM_DISPLAY.search(rest)):
            self._end_paragraph()
            self._code = [] if self._code is None else self._code
        elif name in _FLOWING or name == "Ed":
            self._end_code()
        elif name == "RS" and self._is_term():
            self._end_line()
        elif name in _PARAGRAPHS:
            self._add_text("") if self._code is not None else self._end_paragraph()
        elif name in ("ds", "ds1", "as"):
            key, _, value = rest.partition(" ")
            self._escapes.define(key, value.removeprefix('"'))
        else:
            self._inline(name, rest)

    def _inline(self, name: str, rest: str) -> None:
        if name in ("TP", "TQ"):
            self._end_paragraph() if name == "TP" else self._end_line()
            self._is_tag = True
        elif name in ("IP", "It"):
            self._end_paragraph()
            tag = self._mdoc.render(rest) if name == "It" else next(iter(self._arguments(rest)), "")
            self._add_words(tag)
            self._end_line()
        elif name in ("br", "Bl", "El"):
            self._end_line()
        elif name in _ALTERNATING:
            self._put("".join(self._arguments(rest)))
        elif name in _JOINED:
            self._put(" ".join(self._arguments(rest)))
        elif name in ("UR", "MT"):
            self._put(" ".join(self._arguments(rest)[:1]))
        elif name == "OP":
            self._put(f"[{' '.join(self._arguments(rest))}]")
        elif name == "so":
            self._put(f"See {rest.strip().rpartition('/')[2]}.")
        elif self._mdoc.knows(name):
            self._put(self._mdoc.render(f"{name} {rest}"))

    def _put(self, words: str) -> None:
        if self._code is not None:
            self._code.append(words)
        else:
            self._add_words(words)

    def _start_section(self, name: str, rest: str) -> None:
        self._end_code()
        self._end_paragraph()
        self._is_tag = False
        words = " ".join(self._arguments(rest)).strip()
        is_section = name in ("SH", "Sh")
        self._sections += is_section
        if words:
            self._blocks.append(f"{'##' if is_section else '###'} {words}")

    def _choose(self, name: str, rest: str, lines: Iterator[str]) -> None:
        """A condition: for a terminal, `n` holds and nothing else does."""
        if name == "el":
            holds = self._else.pop() if self._else else False
            body = rest
        else:
            condition, body = _split_condition(rest)
            holds = condition in ("n", "!t")
            if name == "ie":
                self._else.append(not holds)
        body = body.lstrip()
        if not body.startswith("\\{"):
            if holds and body:
                self._read(body, lines)
            return
        depth = body.count("\\{") - body.count("\\}")
        inside = [body.removeprefix("\\{").removesuffix("\\").replace("\\}", "")]
        while depth > 0 and (line := next(lines, None)) is not None:
            depth += line.count("\\{") - line.count("\\}")
            inside.append(line.replace("\\}", "") if depth <= 0 else line)
        if holds and self._depth < _MAX_DEPTH:
            self._depth += 1
            body_lines = iter([it for it in inside if it.strip(". \t")])
            for line in body_lines:
                self._read(line, body_lines)
            self._depth -= 1

    def _table(self, lines: Iterator[str]) -> None:
        """tbl: options up to a semicolon, formats up to a full stop, then rows."""
        separator = "\t"
        rows: list[list[str]] = []
        for line in lines:
            if found := _TABLE_SEPARATOR.search(line):
                separator = found[1]
            if line.rstrip().endswith(".") or line.startswith(".TE"):
                break
        for line in lines:
            if line.startswith(".TE"):
                break
            if line.strip() in ("_", "=", "") or line[:1] == ".":
                continue
            row = line.split(separator)
            while row[-1].strip() == "T{":
                row[-1] = self._table_cell(lines)
                row += self._after_cell.split(separator)[1:]
            rows.append([self._escapes.to_text(it).strip() for it in row])
        if rows:
            self._blocks.append("\n".join(markdown_table(rows)))

    def _table_cell(self, lines: Iterator[str]) -> str:
        """A cell of several lines, up to `T}`; the rest of that line is kept in `_after_cell`."""
        words: list[str] = []
        self._after_cell = ""
        for line in lines:
            if line.startswith("T}"):
                self._after_cell = line
                break
            found = _REQUEST.match(line) if line[:1] in (".", "'") else None
            if found is None:
                words.append(line)
            elif found[1] in _ALTERNATING | _JOINED:
                glue = "" if found[1] in _ALTERNATING else " "
                words.append(glue.join(_split(found[2])))
        return " ".join(words)

    def _arguments(self, rest: str) -> list[str]:
        return [self._escapes.to_text(it) for it in _split(rest)]

    def _is_term(self) -> bool:
        """Whether what stands above an indented text is the term that it explains: a line that is
        no sentence."""
        words = " ".join(self._words)
        is_short = 0 < len(words) <= _MAX_TERM_CHARS
        return is_short and "\n" not in words and not words.endswith(_SENTENCE_ENDS)

    def _end_line(self) -> None:
        if self._words and self._words[-1] != "\n":
            self._words.append("\n")

    def _end_paragraph(self) -> None:
        lines = " ".join(self._words).split("\n")
        self._words.clear()
        block = "\n".join(filter(None, (" ".join(it.split()) for it in lines)))
        if block:
            # No line of the page may pass for a heading.
            self._blocks.append(re.sub(r"(?m)^(?=#{1,6} )", r"\\", block))

    def _end_code(self) -> None:
        if self._code is None:
            return
        text, self._code = "\n".join(self._code).strip("\n"), None
        if text:
            fence = "~~~" if "```" in text else "```"
            self._blocks.append(f"{fence}\n{text}\n{fence}")


def _split(rest: str) -> list[str]:
    """The arguments of a request; quotation marks hold one together, a comment ends them."""
    comment = re.search(r'(?:^|(?<=[^\\]))\\"', rest)
    text = rest[: comment.start()] if comment else rest
    found: list[str] = []
    for it in _ARGUMENT.finditer(text):
        found.append(it[1].replace('""', '"') if it[1] is not None else it[2] or "")
    return found


def _split_condition(rest: str) -> tuple[str, str]:
    found = re.match(r"(!?[ntoevF])(?=[\s\\.'])[ \t]*(.*)", rest)
    if found:
        return found[1], found[2]
    block = rest.find("\\{")
    if block >= 0:
        return "", rest[block:]
    return "", rest.partition(" ")[2]


def _skip_definition(request: str, rest: str, lines: Iterator[str]) -> None:
    """Up to the macro that ends it, which comes after the name; `ig` defines nothing."""
    given = _split(rest)[0 if request == "ig" else 1 :]
    end = f".{given[0] if given else '.'}"
    for line in lines:
        if line.rstrip() == end or line.startswith(".. "):
            return
