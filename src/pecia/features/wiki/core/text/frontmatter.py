"""Frontmatter changed key by key. Pure."""

from collections.abc import Mapping

from pecia.features.wiki.core.edit import with_line_ends_of
from pecia.kernel.errors import InvalidFormat, Json
from pecia.kernel.text.markdown.frontmatter import split_document
from pecia.kernel.text.yaml.patch import patch_yaml
from pecia.kernel.text.yaml.reader import YamlSource

SOURCE = YamlSource("frontmatter", first_line=2)


def patch_frontmatter(text: str, patch: Mapping[str, Json]) -> str:
    """The document after the merge patch; without a block, one is made."""
    was = split_document(text)
    if was.unclosed:
        raise InvalidFormat(
            "the frontmatter has no closing line `---`",
            field="patch",
            hint="write_document replaces the document with its frontmatter.",
        )
    yaml = with_line_ends_of(text, patch_yaml(was.yaml, patch, SOURCE))
    if was.has_block:
        return was.mark + was.opening + yaml + was.closing + was.body
    if not yaml.strip():
        return text
    line_end = "\r\n" if "\r\n" in text else "\n"
    yaml = yaml if yaml.endswith("\n") else yaml + line_end
    return f"{was.mark}---{line_end}{yaml}---{line_end}{was.body}"
