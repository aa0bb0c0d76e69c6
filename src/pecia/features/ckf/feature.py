"""Composition of the ckf feature: compile texts into packages; check, diff, slice and view them."""

from pecia.features.ckf.handles import PackageHandles
from pecia.features.ckf.library.library import PostLibrary, ShippedLibrary
from pecia.features.ckf.library.store import StoredLibrary
from pecia.features.ckf.model import ReadSource, SourceText
from pecia.features.ckf.pages.context import PageContext, PageServices
from pecia.features.ckf.pages.routes import page_routes
from pecia.features.ckf.prompts import build_prompts
from pecia.features.ckf.resources import (
    build_package_resource,
    build_resource,
    build_templates,
)
from pecia.features.ckf.tools.compile import FEATURE, compile_tool
from pecia.features.ckf.tools.compile_llm import LlmServices, compile_llm_tool, llm_compiler
from pecia.features.ckf.tools.packages import package_tools
from pecia.features.ckf.tools.posts import post_tools
from pecia.features.ckf.tools.publication import publish_tool
from pecia.features.ckf.tools.viewer import viewer_tool
from pecia.kernel.errors import NotFound
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Caller


async def no_sources(caller: Caller, uri: str) -> SourceText:
    """The default where no other feature provides sources: every URI is NotFound."""
    raise NotFound(f"no text at {uri}", uri=uri, hint="Give the text itself.")


INSTRUCTIONS = (
    "CKF packages: the concepts, rules, exceptions and claims of a text, each with its quotation. "
    "ckf.compile makes one from a text or a URI; ckf.slice takes the part that a question needs; "
    "ckf.verify checks every quotation against its source; ckf.search_posts and ckf.fetch_post "
    "read published ones. A package is derived: cite the quotation and its source."
)


def ckf_feature(
    base_url: str,
    read_source: ReadSource = no_sources,
    library: PostLibrary | None = None,
    outside: PageServices | None = None,
    asking: LlmServices | None = None,
) -> Feature:
    """The feature. `base_url` is the prefix of links for people."""
    posts = library or ShippedLibrary()
    handles = PackageHandles(posts, read_source)
    publishing = (
        (publish_tool(posts, base_url, handles),) if isinstance(posts, StoredLibrary) else ()
    )
    llm = llm_compiler(read_source, asking, handles) if asking else None
    context = PageContext(posts, read_source, base_url.rstrip("/"), outside or PageServices(), llm)
    return Feature(
        FEATURE,
        instructions=INSTRUCTIONS,
        tools=(
            compile_tool(read_source, handles),
            *((compile_llm_tool(llm),) if llm else ()),
            *package_tools(read_source, handles),
            *post_tools(posts, read_source, base_url),
            viewer_tool(base_url, handles),
            *publishing,
        ),
        resources=(build_resource(posts), build_package_resource(handles)),
        templates=build_templates(posts),
        prompts=build_prompts(posts),
        routes=page_routes(context),
    )
