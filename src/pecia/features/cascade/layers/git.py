"""A commit of a git repository as a layer; the work tree is ignored."""

from pecia.features.cascade.layers.layer import (
    LayerContent,
    ReportProgress,
    no_progress,
    parse_files,
)
from pecia.features.cascade.manifest import LayerSpec
from pecia.features.cascade.model import LayerProblem
from pecia.features.cascade.ports import GitFiles
from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import PeciaError


class GitLayer:
    """The concepts of one commit, dated by the last commit of each file."""

    def __init__(self, spec: LayerSpec, git: GitFiles) -> None:
        self.spec = spec
        self._git = git

    async def read(self, report: ReportProgress = no_progress) -> LayerContent:
        spec = self.spec
        place = spec.path if spec.path is not None else spec.url
        assert place is not None
        try:
            files, refused = await self._git.files(place, spec.ref, spec.subdir)
        except PeciaError as error:
            return LayerContent(degraded=error.message)
        found = await compute(spec.name, parse_files, spec.name, files, len(files))
        report(len(files), len(files))
        passed = tuple(
            LayerProblem(spec.name, path, "unreadable", reason) for path, reason in refused.items()
        )
        return LayerContent(found.documents, (*found.problems, *passed))
