"""exec: no command line, however made, reads a byte outside the space or changes one inside it."""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pecia.features.wiki.shell.parse import COMMANDS, CommandRefused, parse
from pecia.features.wiki.shell.pipeline import needs_timeout, run_pipeline
from pecia.features.wiki.shell.tree import DiskReader, FileTree, NeedsTimeout, TreeFile

CANARY = "OUTSIDE-OF-THE-SPACE"
FILES = {"a.md": "alpha\n", "d/b.md": "beta\n", "d/swapped.md": "gamma\n", ".h/c.md": "delta\n"}
ARGUMENTS = (
    *(
        "a.md",
        "d",
        "d/b.md",
        "d/swapped.md",
        "*",
        "**",
        "d/*",
        ".",
        "./",
        "/",
        "..",
        "../*",
        "../x",
    ),
    *(
        "../outside/secret.md",
        "d/../../outside/secret.md",
        "/etc/passwd",
        "/etc/hostname",
        "~",
        "-",
    ),
    *(
        "linked/secret.md",
        "link.md",
        "OUTSIDE",
        "'a b'",
        '"*"',
        "\\*",
        "{a,b}.md",
        "-n",
        "-r",
        "-l",
    ),
    *("-o", "--output=a.md", "-f", "../outside/secret.md", "-e", "a", "-name", "-delete", "-exec"),
    *(
        "rm",
        "{}",
        "+",
        "-newer",
        "-type",
        "f",
        "-R",
        "-a",
        "-c",
        "-k1",
        "--include=*",
        "-d,",
        "-f1",
    ),
)
JOINTS = ("|", "|", "|", "", ">", ">>", "<", "&&", ";", "||", "&", "$(ls)", "`ls`", "\n", "#")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    top = tmp_path_factory.mktemp("exec")
    outside, root = top / "outside", top / "root"
    outside.mkdir()
    (outside / "secret.md").write_text(CANARY, encoding="utf-8")
    (top / "x").write_text(CANARY, encoding="utf-8")
    for path, text in FILES.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / "linked").symlink_to(outside)
    (root / "link.md").symlink_to(outside / "secret.md")
    # It was a plain file when the space was looked at.
    (root / "d/swapped.md").unlink()
    (root / "d/swapped.md").symlink_to(outside / "secret.md")
    return root


class Watched(DiskReader):
    """Notes what is read, as the tree asks for it."""

    def __call__(self, path: str) -> bytes:
        assert path in FILES
        return super().__call__(path)


INSIDE = ("a.md", "d", "d/b.md", "d/swapped.md", "linked/secret.md", "link.md", "*", "d/*", ".")


@st.composite
def plain_lines(draw: st.DrawFn) -> str:
    """Pipelines that are run, most of them: files that are there, and links that lead out."""
    first = draw(st.sampled_from(("cat", "head", "tail", "sort", "grep -r a", "grep -h '' ", "ls")))
    files = draw(st.lists(st.sampled_from(INSIDE), min_size=1, max_size=3))
    after = draw(st.sampled_from(("", " | sort", " | cut -c1-60", " | grep -v zz", " | uniq")))
    return f"{first} {' '.join(files)}{after}"


@st.composite
def wild_lines(draw: st.DrawFn) -> str:
    words: list[str] = []
    for _ in range(draw(st.integers(1, 3))):
        words.append(draw(st.sampled_from((*COMMANDS, *COMMANDS, "rm", "tee", "sh"))))
        words += draw(st.lists(st.sampled_from(ARGUMENTS), max_size=4))
        words.append(draw(st.sampled_from(JOINTS)))
    return " ".join(words[:-1] if draw(st.booleans()) else words)


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(line=st.one_of(plain_lines(), wild_lines()))
def test_nothing_outside_is_read_and_nothing_inside_is_changed(folder: Path, line: str) -> None:
    before = state(folder.parent)
    tree = FileTree({path: TreeFile(len(it), 0) for path, it in FILES.items()}, Watched(folder))
    try:
        stages = parse(line)
        done = None if needs_timeout(stages) else run_pipeline(stages, tree)
    except (CommandRefused, NeedsTimeout):
        done = None
    if done is not None:
        assert CANARY not in done.stdout
        assert not any(CANARY in it for it in done.stderr)
    assert state(folder.parent) == before


@settings(
    max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(line=st.text(alphabet="cat ls.md/*|><&;$`'\"\\(){}#-ro\n~!", max_size=40))
def test_no_text_at_all_breaks_the_reader(folder: Path, line: str) -> None:
    tree = FileTree({path: TreeFile(len(it), 0) for path, it in FILES.items()}, Watched(folder))
    try:
        done = run_pipeline(parse(line), tree)
    except CommandRefused:
        return
    assert CANARY not in done.stdout


def state(top: Path) -> dict[str, tuple[int, int, bytes]]:
    found: dict[str, tuple[int, int, bytes]] = {}
    for it in sorted(top.rglob("*")):
        facts = it.lstat()
        body = it.read_bytes() if it.is_file() and not it.is_symlink() else b""
        found[str(it)] = (facts.st_mtime_ns, facts.st_ino, body)
    return found
