"""A commit of a git repository as a layer: what is committed counts, not what lies about."""

from pecia.kernel.compute.pool import compute
from pecia.kernel.errors import PeciaError
from pecia.rooms.cascade.layers.reading import Reading, Report, quiet, read_files
from pecia.rooms.cascade.manifest import LayerSpec
from pecia.rooms.cascade.model import Problem
from pecia.rooms.cascade.ports import GitFiles


class GitLayer:
    """The concepts of one commit, dated by who last changed each file."""

    def __init__(self, spec: LayerSpec, git: GitFiles) -> None:
        self.spec = spec
        self._git = git

    async def read(self, report: Report = quiet) -> Reading:
        spec = self.spec
        place = spec.path if spec.path is not None else spec.url
        assert place is not None
        try:
            files, refused = await self._git.files(place, spec.ref, spec.subdir)
        except PeciaError as error:
            return Reading(degraded=error.message)
        found = await compute(spec.name, read_files, spec.name, files, len(files))
        report(len(files), len(files))
        passed = tuple(
            Problem(spec.name, path, "unreadable", reason) for path, reason in refused.items()
        )
        return Reading(found.documents, (*found.problems, *passed))
