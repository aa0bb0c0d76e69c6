"""The room's pages and downloads, each under its path.

They are open to everybody: what ships may be seen by all, what is stored is read under the caller's
rights, and work for strangers is refused where the room is closed.
"""

from pecia.kernel.room import Route
from pecia.rooms.ckf.llm.tool import TIMEOUT_S
from pecia.rooms.ckf.pages.comparison import ComparisonPage
from pecia.rooms.ckf.pages.compiler import CompilerPage
from pecia.rooms.ckf.pages.desk import Desk
from pecia.rooms.ckf.pages.downloads import NewsFile
from pecia.rooms.ckf.pages.frame import serve_file
from pecia.rooms.ckf.pages.picker import PickerPage
from pecia.rooms.ckf.pages.viewer import ViewerPage


def page_routes(desk: Desk) -> tuple[Route, ...]:
    viewer, compiler, comparison = ViewerPage(desk), CompilerPage(desk), ComparisonPage(desk)
    versus = "/compiler-heuristic-vs-llm"
    return (
        Route("GET", "/viewer", "ckf/viewer", viewer.show, public=True),
        Route("POST", "/viewer", "ckf/viewer", viewer.read, public=True),
        Route("GET", "/compiler", "ckf/compiler", compiler.form, public=True),
        Route("POST", "/compiler", "ckf/compiler", compiler.compile, True, TIMEOUT_S),
        Route("GET", "/compiler/progress/{name}", "ckf/progress", desk.works.show, public=True),
        Route("GET", "/compiler/pick", "ckf/pick", PickerPage(desk).show, public=True),
        Route("GET", versus, "ckf/comparison", comparison.show, public=True),
        Route("POST", versus, "ckf/comparison", comparison.compare, True, TIMEOUT_S),
        Route("GET", "/news/{slug}.ckf", "ckf/news", NewsFile(desk).serve, public=True),
        Route("GET", "/ckf/{name}", "ckf/file", serve_file, public=True),
    )
