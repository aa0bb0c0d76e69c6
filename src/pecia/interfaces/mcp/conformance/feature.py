"""The MCP conformance suite's fixtures as a feature. Served only with the setting `conformance`.

Its tools go through the dispatcher like all others, so the suite covers every feature.
"""

from pecia.interfaces.mcp.conformance.questions import question_tools
from pecia.interfaces.mcp.conformance.resources import prompts, resource, template
from pecia.interfaces.mcp.conformance.tasks import task_tools
from pecia.interfaces.mcp.conformance.tools import plain_tools
from pecia.interfaces.mcp.methods.subscriptions import Subscriptions
from pecia.kernel.feature import Feature


def conformance_feature(changes: Subscriptions) -> Feature:
    """The feature that the suite tests."""
    return Feature(
        "conformance",
        tools=(*plain_tools(changes), *question_tools(), *task_tools()),
        resources=(resource(),),
        templates=(template(),),
        prompts=prompts(),
    )
