"""Manual pages as people read them, also compressed; gzip of one text is read through."""

import gzip
import io
import tarfile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pecia.adapters.extraction.extractor import FileExtractor
from pecia.adapters.extraction.readers.roff.man_page import ManPage
from pecia.adapters.extraction.status import ExtractionStatus
from pecia.kernel.text.chunks.chunk import TextMarkup
from tests.unit.adapters.extraction import samples

pytestmark = pytest.mark.anyio

MAN = r""".\" Copyright of the harbour office
.de Sp
.if t .sp .5v
..
.ie \n(.g .ds Aq \(aq
.el       .ds Aq '
.TH TIDE 1 "2026-03-03" "harbour 2" "User Commands"
.SH NAME
tide \- show the water level
.SH SYNOPSIS
.B tide
[\fB\-\-gauge\fR=\fIN\fR] \fIPORT\fR
.SH DESCRIPTION
It shows the level of a port\*(Aqs gauge.
.RS 4
The unit is \(Po per \[u00B0].
.RE
.TP
.BR \-g ", " \-\-gauge
Which gauge\&.
.IP \(bu 2
A point.
.SS Examples
.nf
# tide \-g 2 Nordkai
  3.4 m\en
.fi
.TS
tab(@) box;
l l.
Port@Level
_
Nordkai@T{
three
.B metres
T}
.TE
.if n \{\
Only on a terminal.
.\}
.if t Only in print.
"""
MDOC = r""".Dd March 3, 2026
.Dt TIDE 8
.Os
.Sh NAME
.Nm tided
.Nd serve the water level
.Sh SYNOPSIS
.Nm
.Op Fl v
.Op Fl p Ar port
.Sh DESCRIPTION
.Nm
answers
.Dq quickly ,
see
.Xr tide 1 .
.Bd -literal
tided -v
.Ed
"""


async def test_a_manual_page_is_read_as_sections_without_requests(extractor: FileExtractor) -> None:
    for name, data in (("tide.1", MAN.encode()), ("tide.1.gz", gzip.compress(MAN.encode()))):
        found = await extractor.extract(data, name=name)
        assert (found.status, found.title) == (
            ExtractionStatus.OK,
            "tide(1) - show the water level",
        )
        assert (found.facts.content_type, found.facts.notes) == ("text/troff", ())
        assert found.facts.markup is TextMarkup.MARKDOWN
        headings = [it for it in found.text.splitlines() if it.startswith("##")]
        assert headings == ["## NAME", "## SYNOPSIS", "## DESCRIPTION", "### Examples"]
        assert "tide [--gauge=N] PORT" in found.text
        assert "a port's gauge." in found.text
        assert "£ per °." in found.text
        assert "-g, --gauge\nWhich gauge." in found.text
        assert "•\nA point." in found.text
        assert "```\n# tide -g 2 Nordkai\n  3.4 m\\n\n```" in found.text
        assert "| Port | Level |\n| --- | --- |\n| Nordkai | three metres |" in found.text
        assert "Only on a terminal." in found.text
        assert "print" not in found.text
        assert "Copyright" not in found.text


@pytest.mark.parametrize(
    "skipped",
    [
        '.de Sp \\" vertical space\nDefined\n..\n',
        ".de Sp ee\nDefined\n..\n.ee\n",
        ".ig\nDefined\n..\n",
        ".ig ee\nDefined\n..\n.ee\n",
    ],
)
async def test_what_a_page_defines_is_skipped_and_the_rest_is_read(
    extractor: FileExtractor, skipped: str
) -> None:
    found = await extractor.extract((skipped + MAN).encode(), name="tide.1")
    assert found.title == "tide(1) - show the water level"
    assert "a port's gauge." in found.text
    assert "Defined" not in found.text


async def test_a_term_above_an_indented_text_stands_with_it(extractor: FileExtractor) -> None:
    page = (
        ".TH TIDE 1\n.SH OPTIONS\n\\fB\\-p\\fR, \\fB\\-\\-present\\fR\n.RS 4\nWho is in.\n.RE\n"
        ".PP\nIt is read so:\n.RS 4\nBy hand.\n.RE\n"
    )
    found = await extractor.extract(page.encode(), name="tide.1")
    assert "\n\n-p, --present\nWho is in.\n\nIt is read so:\n\nBy hand." in found.text


async def test_a_page_in_mdoc_is_read_the_same_way(extractor: FileExtractor) -> None:
    found = await extractor.extract(MDOC.encode(), name="tided.8")
    assert found.title == "tided(8) - serve the water level"
    assert "tided [-v] [-p port]" in found.text
    assert "tided answers “quickly,” see tide(1)." in found.text.replace("”,", ",”")
    assert "```\ntided -v\n```" in found.text


async def test_a_page_that_stands_for_another_names_it(extractor: FileExtractor) -> None:
    found = await extractor.extract(b".so man1/tide.1\n", name="gauge.1")
    assert "See tide.1." in found.text


async def test_a_page_in_another_language_is_titled_by_its_first_section(
    extractor: FileExtractor,
) -> None:
    page = MAN.replace("SH NAME", "SH НАЗВАНИЕ").replace("show the water level", "уровень воды")
    found = await extractor.extract(page.encode(), name="tide.1")
    assert found.title == "tide(1) - уровень воды"


async def test_gzip_of_one_text_is_read_and_of_an_archive_is_not(extractor: FileExtractor) -> None:
    page = gzip.compress(b"<html><body><h1>Tides</h1><p>High at noon.</p></body></html>")
    found = await extractor.extract(page, name="tides.html.gz")
    assert (found.status, found.facts.content_type) == (ExtractionStatus.OK, "text/html")
    assert "High at noon." in found.text
    changes = await extractor.extract(gzip.compress(b"Fixed the gauge.\n"), name="changelog.gz")
    assert changes.text == "Fixed the gauge.\n"
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    closed = await extractor.extract(packed.getvalue(), name="all.tar.gz")
    assert (closed.status, closed.text) == (ExtractionStatus.UNSUPPORTED, "")
    inner = gzip.compress(samples.zipped({"a.txt": "words"}))
    assert (await extractor.extract(inner, name="a.gz")).status is ExtractionStatus.UNSUPPORTED


async def test_gzip_that_grows_too_much_or_is_cut_off_is_refused(extractor: FileExtractor) -> None:
    bomb = await extractor.extract(gzip.compress(b"word " * 20_000_000), name="bomb.txt.gz")
    assert (bomb.status, bomb.text) == (ExtractionStatus.TOO_LARGE, "")
    assert "MB, which is what is allowed" in bomb.reason
    lines = "".join(f"Line {it}, {it * it % 977}.\n" for it in range(50_000)).encode()
    cut = await extractor.extract(gzip.compress(lines)[:-2_000], name="cut.txt.gz")
    assert (cut.status, cut.text) == (ExtractionStatus.CORRUPT, "")


@given(st.lists(st.sampled_from([*MAN.split("\n"), *MDOC.split("\n"), "\\", "\\*", ".if n \\{"])))
def test_no_order_of_lines_breaks_the_reader(lines: list[str]) -> None:
    ManPage().to_markdown("\n".join(lines))


@pytest.mark.parametrize(
    "line",
    [
        ".if n \\{\n",
        ".ie n \\{\n",
        "\\*(Aq",
        '.B "',
        '.B "a""',
        ".ds a \\*(Aq\\*(Aq\n\\*a",
        "\\[",
        ".TS\n",
    ],
)
def test_a_page_made_to_do_harm_grows_and_nests_within_bounds(line: str) -> None:
    text = ManPage().to_markdown(".TH A 1\n" + line * 20_000)
    assert len(text) < 3 * len(line) * 20_000 + 300_000
