"""The ckf room: text compiled into packages, and packages checked, compared, cut and shown."""

from pecia.kernel.errors import NotFound
from pecia.kernel.identity.caller import Caller
from pecia.kernel.room import Room
from pecia.rooms.ckf.checking import package_tools
from pecia.rooms.ckf.compiling import ROOM, ReadSource, compile_tool
from pecia.rooms.ckf.library import Library, ShippedLibrary
from pecia.rooms.ckf.library_store import StoredLibrary
from pecia.rooms.ckf.llm.tool import Asking, compile_llm_tool, llm_compiler
from pecia.rooms.ckf.options import SourceText
from pecia.rooms.ckf.pages.desk import Desk, Outside
from pecia.rooms.ckf.pages.routes import page_routes
from pecia.rooms.ckf.prompts import prompts
from pecia.rooms.ckf.publish import publish_tool
from pecia.rooms.ckf.resources import shelf, templates
from pecia.rooms.ckf.showing import showing_tools
from pecia.rooms.ckf.viewer import viewer_tool


async def no_sources(caller: Caller, uri: str) -> SourceText:
    """Where no other room lends its texts, there is nothing behind a URI."""
    raise NotFound(f"no text at {uri}", uri=uri, hint="Give the text itself.")


def ckf(
    base_url: str,
    read_source: ReadSource = no_sources,
    library: Library | None = None,
    outside: Outside | None = None,
    asking: Asking | None = None,
) -> Room:
    """The room. `base_url` begins the links that people open."""
    posts = library or ShippedLibrary()
    publishing = (
        (publish_tool(posts, read_source, base_url),) if isinstance(posts, StoredLibrary) else ()
    )
    llm = llm_compiler(read_source, asking) if asking else None
    desk = Desk(posts, read_source, base_url.rstrip("/"), outside or Outside(), llm)
    return Room(
        ROOM,
        tools=(
            compile_tool(read_source),
            *((compile_llm_tool(llm),) if llm else ()),
            *package_tools(read_source),
            *showing_tools(posts, read_source, base_url),
            viewer_tool(base_url),
            *publishing,
        ),
        resources=(shelf(posts),),
        templates=templates(posts),
        prompts=prompts(posts),
        routes=page_routes(desk),
        migrations="pecia.rooms.ckf.schema",
    )
