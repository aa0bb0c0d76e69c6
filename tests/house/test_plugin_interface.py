"""The interface of plugins: what type checkers see is what is imported; features keep to it."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from pecia import plugin
from pecia.app.plugin_features import require_distinct, require_own_names
from pecia.app.plugins import PluginError
from pecia.kernel.feature import Feature, FeaturePage, FeatureRequest, FeatureRoute
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Input, Output, Tool


def typed_names() -> set[tuple[str, str]]:
    """Module and name of what is imported for type checkers."""
    tree = ast.parse(Path(plugin.__file__).read_text(encoding="utf-8"))
    [block] = [it for it in tree.body if isinstance(it, ast.If)]
    found = [it for it in block.body if isinstance(it, ast.ImportFrom)]
    return {(it.module or "", name.name) for it in found for name in it.names}


def test_every_name_is_there_for_type_checkers_and_at_run_time() -> None:
    names = {name for _, name in typed_names()}
    assert names == {*dir(plugin)}
    for module, name in typed_names():
        assert getattr(plugin, name) is getattr(sys.modules[module], name)


def test_a_registration_costs_no_import_of_features_or_the_database() -> None:
    code = (
        "import sys; from pecia.plugin import FeatureRegistration, SettingsSection, setting;"
        "print([it for it in ('psycopg', 'anyio', 'tantivy', 'starlette') if it in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def run(call: Call, ask: Input) -> Output:
    """Nothing."""
    return Output()


async def show(request: FeatureRequest) -> FeaturePage:
    return FeaturePage(b"")


def feature(name: str, tool: str = "a", *, of: str | None = None, path: str = "") -> Feature:
    page = FeatureRoute("GET", path or f"/plugins/{name}/p", f"{name}.p", show)
    tools = (Tool(of or name, tool, Scope.READ, Input, Output, run),)
    return Feature(name, tools=tools, routes=(page,))


def test_a_feature_of_a_plugin_keeps_its_own_names_and_paths() -> None:
    require_own_names(feature("mine"), "mine")
    with pytest.raises(PluginError, match="builds the feature 'mine'"):
        require_own_names(feature("mine"), "other")
    with pytest.raises(PluginError, match="of the feature 'admin'"):
        require_own_names(feature("mine", of="admin"), "mine")
    with pytest.raises(PluginError, match="not below /plugins/mine/"):
        require_own_names(feature("mine", path="/mcp"), "mine")


def test_two_plugins_share_no_tool() -> None:
    require_distinct(feature("one", "a"), [feature("two", "b")])
    with pytest.raises(PluginError, match="plugin 'two' has the tool 'a' too"):
        require_distinct(feature("one", "a"), [feature("two", "a")])
