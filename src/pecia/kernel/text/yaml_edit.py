"""Changes to a YAML mapping that leave every other character of the text alone. Pure.

A change is a merge patch (RFC 7396): null removes a key, a mapping goes into a mapping, anything
else takes the place of what was there. Comments, blank lines, quotes and the layout of lists stay,
except inside a value that is replaced. Every result is read back and compared before it leaves.
"""

import json
from collections.abc import Iterator, Mapping

from pecia.kernel.errors import InvalidFormat, Json, Unprocessable
from pecia.kernel.text.span import Edit, Span, apply_edits
from pecia.kernel.text.yaml import LIMITS, SOURCE, Node, YamlLimits, YamlSource, compose_yaml
from pecia.kernel.text.yaml_write import (
    block_lines,
    entry_lines,
    fits_one_line,
    flow_text,
    item_lines,
    scalar_text,
)


def patch_yaml(
    text: str,
    patch: Mapping[str, Json],
    source: YamlSource = SOURCE,
    limits: YamlLimits = LIMITS,
) -> str:
    """The text after the patch, which a text that says the same already survives unchanged."""
    root = compose_yaml(text, source, limits)
    expected = merged(_values(root, source), patch)
    result = text
    for path, value in _leaves(patch, ()):
        root = compose_yaml(result, source, limits)
        edits = _change(_Place(result, root, path), value)
        result = apply_edits(result, edits)
    ...
