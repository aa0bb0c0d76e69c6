"""The kinds of files we tell apart, by their proper names. No behaviour."""

from enum import StrEnum


class FileKind(StrEnum):
    """A kind and what people call it."""

    PDF = "a PDF"
    DOCX = "a Word document"
    XLSX = "an Excel workbook"
    PPTX = "a PowerPoint presentation"
    ODT = "an OpenDocument text"
    ODS = "an OpenDocument spreadsheet"
    ODP = "an OpenDocument presentation"
    ODG = "an OpenDocument drawing"
    EPUB = "an EPUB book"
    RTF = "an RTF document"
    DOC = "a Word 97 document"
    XLS = "an Excel 97 workbook"
    PPT = "a PowerPoint 97 presentation"
    MSG = "an Outlook message"
    EML = "a mail message"
    MBOX = "a mailbox"
    HTML = "an HTML page"
    NOTEBOOK = "a Jupyter notebook"
    CAPTIONS = "a file of captions"
    MAN_PAGE = "a manual page"
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
    FileKind.DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    FileKind.XLSX: "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    FileKind.PPTX: "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    FileKind.ODT: "application/vnd.oasis.opendocument.text",
    FileKind.ODS: "application/vnd.oasis.opendocument.spreadsheet",
    FileKind.ODP: "application/vnd.oasis.opendocument.presentation",
    FileKind.ODG: "application/vnd.oasis.opendocument.graphics",
    FileKind.EPUB: "application/epub+zip",
    FileKind.RTF: "application/rtf",
    FileKind.DOC: "application/msword",
    FileKind.XLS: "application/vnd.ms-excel",
    FileKind.PPT: "application/vnd.ms-powerpoint",
    FileKind.MSG: "application/vnd.ms-outlook",
}

CONTENT_TYPES = OFFICE_TYPES | {
    FileKind.PDF: "application/pdf",
    FileKind.EML: "message/rfc822",
    FileKind.MBOX: "application/mbox",
    FileKind.HTML: "text/html",
    FileKind.NOTEBOOK: "application/x-ipynb+json",
    FileKind.CAPTIONS: "text/vtt",
    FileKind.MAN_PAGE: "text/troff",
    FileKind.CSV: "text/csv",
    FileKind.JSON: "application/json",
    FileKind.XML: "application/xml",
    FileKind.MARKDOWN: "text/markdown",
    FileKind.CODE: "text/plain",
    FileKind.TEXT: "text/plain",
    FileKind.ARCHIVE: "application/zip",
    FileKind.BINARY: "application/octet-stream",
}

_CODE = """
py pyi js mjs cjs ts tsx jsx java kt kts scala go rs c h cc cpp cxx hpp hh cs m mm swift rb php pl
pm lua r jl sh bash zsh fish ps1 bat cmd sql graphql proto toml yaml yml ini cfg conf properties env
gradle groovy cmake make mk dockerfile tf hcl nix vue svelte css scss sass less dart ex exs erl hrl
hs elm clj cljs lisp el ml mli fs fsx vb pas asm s diff patch
"""

# What an extension promises. Within text it decides; against the bytes it never does.
EXTENSIONS = {
    **dict.fromkeys(["md", "markdown", "mdown", "mkd", "mdx", "qmd", "rmd"], FileKind.MARKDOWN),
    **dict.fromkeys(["txt", "text", "log", "rst", "adoc", "org", "tex", "bib"], FileKind.TEXT),
    **dict.fromkeys(["htm", "html", "xhtml"], FileKind.HTML),
    **dict.fromkeys(["csv", "tsv", "tab", "psv"], FileKind.CSV),
    **dict.fromkeys(["json", "jsonl", "ndjson", "geojson"], FileKind.JSON),
    **dict.fromkeys(
        ["xml", "xsd", "xsl", "xslt", "svg", "rss", "atom", "rdf", "kml"], FileKind.XML
    ),
    **dict.fromkeys(["vtt", "srt"], FileKind.CAPTIONS),
    "pdf": FileKind.PDF,
    "docx": FileKind.DOCX,
    "docm": FileKind.DOCX,
    "xlsx": FileKind.XLSX,
    "xlsm": FileKind.XLSX,
    "pptx": FileKind.PPTX,
    "pptm": FileKind.PPTX,
    "odt": FileKind.ODT,
    "ods": FileKind.ODS,
    "odp": FileKind.ODP,
    "odg": FileKind.ODG,
    "epub": FileKind.EPUB,
    "rtf": FileKind.RTF,
    "doc": FileKind.DOC,
    "xls": FileKind.XLS,
    "ppt": FileKind.PPT,
    "msg": FileKind.MSG,
    "eml": FileKind.EML,
    "ipynb": FileKind.NOTEBOOK,
    **dict.fromkeys(
        ["zip", "jar", "7z", "rar", "gz", "tgz", "bz2", "xz", "tar", "zst"], FileKind.ARCHIVE
    ),
    **dict.fromkeys(
        ["png", "jpg", "jpeg", "gif", "tif", "tiff", "webp", "bmp", "heic"], FileKind.IMAGE
    ),
    **dict.fromkeys(["mp3", "wav", "flac", "ogg", "oga", "opus", "m4a", "aac"], FileKind.AUDIO),
    **dict.fromkeys(["mp4", "m4v", "mov", "mkv", "webm", "avi"], FileKind.VIDEO),
    **dict.fromkeys(_CODE.split(), FileKind.CODE),
}
