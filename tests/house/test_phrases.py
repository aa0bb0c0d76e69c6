"""The phrases of find_tools: for every tool of ours, and for no other."""

from pecia.features.discovery.rank import load_phrases
from pecia.kernel.tool.view import full_name
from scripts.reference import described_features


def test_every_tool_has_phrases_and_every_phrase_a_tool() -> None:
    tools = {full_name(tool) for feature in described_features() for tool in feature.tools}
    named = load_phrases()
    assert {*named} == tools
    assert all(phrases and len({*phrases}) == len(phrases) for phrases in named.values())
