"""The kinds of files we tell apart, by their proper names. No behaviour."""

from enum import StrEnum


class Kind(StrEnum):
    """A kind and what people call it."""

    PDF = "a PDF"
    DOCX = "a Word document"
    XLSX = "an Excel workbook"
    PPTX = "a PowerPoint presentation"
    ODT = "an OpenDocument text"
    ODS = "an OpenDocument spreadsheet"
    ODP = "an OpenDocument presentation"
    EPUB = "an EPUB book"
    RTF = "an RTF document"
    DOC = "a Word 97 document"
    XLS = "an Excel 97 workbook"
    PPT = "a PowerPoint 97 presentation"
    MSG = "an Outlook message"
    EML = "a mail message"
    HTML = "an HTML page"
    NOTEBOOK = "a Jupyter notebook"
    CAPTIONS = "a file of captions"
    CSV = "a table of separated values"
    JSON = "JSON"
    XML = "XML"
    MARKDOWN = "Markdown"
    CODE = "source code"
    TEXT = "plain text"
    IMAGE = "an image"
    AUDIO = "a sound recording"
    VIDEO = "a video"
    ARCHIVE = "an archive"
    BINARY = "a binary file"


OFFICE_TYPES = {
    Kind.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    Kind.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    Kind.PPTX: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    Kind.ODT: "application/vnd.oasis.opendocument.text",
    Kind.ODS: "application/vnd.oasis.opendocument.spreadsheet",
    Kind.ODP: "application/vnd.oasis.opendocument.presentation",
    Kind.EPUB: "application/epub+zip",
    Kind.RTF: "application/rtf",
    Kind.DOC: "application/msword",
    Kind.XLS: "application/vnd.ms-excel",
    Kind.PPT: "application/vnd.ms-powerpoint",
    Kind.MSG: "application/vnd.ms-outlook",
}

CONTENT_TYPES = OFFICE_TYPES | {
    Kind.PDF: "application/pdf",
    Kind.EML: "message/rfc822",
    Kind.HTML: "text/html",
    Kind.NOTEBOOK: "application/x-ipynb+json",
    Kind.CAPTIONS: "text/vtt",
    Kind.CSV: "text/csv",
    Kind.JSON: "application/json",
    Kind.XML: "application/xml",
    Kind.MARKDOWN: "text/markdown",
    Kind.CODE: "text/plain",
    Kind.TEXT: "text/plain",
    Kind.ARCHIVE: "application/zip",
    Kind.BINARY: "application/octet-stream",
}

_CODE = """
py pyi js mjs cjs ts tsx jsx java kt kts scala go rs c h cc cpp cxx hpp hh cs m mm swift rb php pl
pm lua r jl sh bash zsh fish ps1 bat cmd sql graphql proto toml yaml yml ini cfg conf properties env
gradle groovy cmake make mk dockerfile tf hcl nix vue svelte css scss sass less dart ex exs erl hrl
hs elm clj cljs lisp el ml mli fs fsx vb pas asm s diff patch
"""

# What an extension promises. Within text it decides; against the bytes it never does.
EXTENSIONS = {
    **dict.fromkeys(["md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd"], Kind.MARKDOWN),
    **dict.fromkeys(["txt", "text", "log", "rst", "adoc", "org", "tex", "bib"], Kind.TEXT),
    **dict.fromkeys(["htm", "html", "xhtml"], Kind.HTML),
    **dict.fromkeys(["csv", "tsv", "tab", "psv"], Kind.CSV),
    **dict.fromkeys(["json", "jsonl", "ndjson", "geojson"], Kind.JSON),
    **dict.fromkeys(["xml", "xsd", "xsl", "xslt", "svg", "rss", "atom", "rdf", "kml"], Kind.XML),
    **dict.fromkeys(["vtt", "srt"], Kind.CAPTIONS),
    "pdf": Kind.PDF,
    "docx": Kind.DOCX,
    "docm": Kind.DOCX,
    "xlsx": Kind.XLSX,
    "xlsm": Kind.XLSX,
    "pptx": Kind.PPTX,
    "pptm": Kind.PPTX,
    "odt": Kind.ODT,
    "ods": Kind.ODS,
    "odp": Kind.ODP,
    "epub": Kind.EPUB,
    "rtf": Kind.RTF,
    "doc": Kind.DOC,
    "xls": Kind.XLS,
    "ppt": Kind.PPT,
    "msg": Kind.MSG,
    "eml": Kind.EML,
    "ipynb": Kind.NOTEBOOK,
    **dict.fromkeys(
        ["zip", "jar", "7z", "rar", "gz", "tgz", "bz2", "xz", "tar", "zst"], Kind.ARCHIVE
    ),
    **dict.fromkeys(
        ["png", "jpg", "jpeg", "gif", "tif", "tiff", "webp", "bmp", "heic"], Kind.IMAGE
    ),
    **dict.fromkeys(["mp3", "wav", "flac", "ogg", "oga", "opus", "m4a", "aac"], Kind.AUDIO),
    **dict.fromkeys(["mp4", "m4v", "mov", "mkv", "webm", "avi"], Kind.VIDEO),
    **dict.fromkeys(_CODE.split(), Kind.CODE),
}
