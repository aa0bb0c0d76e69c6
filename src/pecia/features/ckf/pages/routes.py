"""Routes of the pages and downloads.

All are public: what ships is visible to everyone, stored content is read under the caller's rights,
and work for anonymous users is refused unless allowed.
"""

from pecia.features.ckf.pages.comparison import ComparisonPage
from pecia.features.ckf.pages.compiler import CompilerPage
from pecia.features.ckf.pages.context import PageContext
from pecia.features.ckf.pages.downloads import PostDownload
from pecia.features.ckf.pages.layout import serve_static
from pecia.features.ckf.pages.picker import PickerPage
from pecia.features.ckf.pages.viewer import ViewerPage
from pecia.features.ckf.tools.compile_llm import TIMEOUT_S
from pecia.kernel.feature import FeatureRoute


def page_routes(context: PageContext) -> tuple[FeatureRoute, ...]:
    viewer, compiler, comparison = (
        ViewerPage(context),
        CompilerPage(context),
        ComparisonPage(context),
    )
    versus = "/compiler-heuristic-vs-llm"
    return (
        FeatureRoute("GET", "/viewer", "ckf/viewer", viewer.show, public=True),
        FeatureRoute("POST", "/viewer", "ckf/viewer", viewer.read, public=True),
        FeatureRoute("GET", "/compiler", "ckf/compiler", compiler.form, public=True),
        FeatureRoute("POST", "/compiler", "ckf/compiler", compiler.compile, True, TIMEOUT_S),
        FeatureRoute(
            "GET", "/compiler/progress/{name}", "ckf/progress", context.progress.show, public=True
        ),
        FeatureRoute("GET", "/compiler/pick", "ckf/pick", PickerPage(context).show, public=True),
        FeatureRoute("GET", versus, "ckf/comparison", comparison.show, public=True),
        FeatureRoute("POST", versus, "ckf/comparison", comparison.compare, True, TIMEOUT_S),
        FeatureRoute(
            "GET", "/news/{slug}.ckf", "ckf/news", PostDownload(context).serve, public=True
        ),
        FeatureRoute("GET", "/ckf/{name}", "ckf/file", serve_static, public=True),
    )
