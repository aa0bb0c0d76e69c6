"""Every shorter command names arguments that its tool has."""

from pecia.interfaces.cli.commands.shortcuts import SHORTCUTS
from pecia.interfaces.cli.settings import default_settings
from pecia.interfaces.cli.tools.backend import list_offline_tools


def test_what_stands_after_a_command_is_an_argument_of_its_tool() -> None:
    tools = {it.full_name: it.schema["properties"] for it in list_offline_tools(default_settings())}
    for it in SHORTCUTS:
        assert {*it.positional} <= {*tools[it.tool]}, it.words
        assert it.removes.format_map(dict.fromkeys(it.positional, "")) or not it.removes
