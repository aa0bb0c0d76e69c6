"""The commands of exec: what they say is what the tools of the same names say."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pecia.features.wiki.shell.output import format_output, list_referenced_paths
from pecia.features.wiki.shell.parse import CommandRefused, parse
from pecia.features.wiki.shell.pipeline import PipelineResult, needs_timeout, run_pipeline
from pecia.features.wiki.shell.tree import DiskReader, FileTree, NeedsTimeout, TreeFile

FILES = {
    "a.md": "# Alpha\n\nThe quick brown fox.\nfoo bar\nfoo bar\nFoo (baz) a+b a|b {x}\n",
    "b.md": "one\ttwo\tthree\n10\t2\tx\n9\t33\ty\n\n\nend without a line end",
    "c.txt": "1.5\n-3\n20\nabc\n1.5\n",
    "docs/deep/x.md": "link [[a]] and `code`\nTODO: later\n",
    "docs/y.mdx": "export const a = 1\ntodo\n",
    "docs/node_modules/z.md": "TODO hidden\n",
    "names with space.md": "space\n",
    ".hidden/h.md": "TODO h\n",
    "empty.md": "",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("shell")
    for path, text in FILES.items():
        place = root / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    return root


def tree_of(folder: Path) -> FileTree:
    files = {
        path: TreeFile((folder / path).stat().st_size, (folder / path).stat().st_mtime_ns)
        for path in FILES
    }
    return FileTree(files, DiskReader(folder), str(folder))


def ran(folder: Path, line: str) -> PipelineResult:
    return run_pipeline(parse(line), tree_of(folder))


SAME = [
    "cat a.md",
    "cat -n a.md b.md",
    "cat -b b.md",
    "cat -s b.md",
    "cat -E c.txt",
    "cat 'names with space.md' names\\ with\\ space.md",
    "cat *.md | wc -l",
    "cat empty.md",
    "ls",
    "ls -a docs",
    "ls -1 docs/deep",
    "ls *.md",
    "ls -r",
    "ls -p docs",
    "ls docs/* docs/deep",
    "grep foo a.md",
    "grep -n foo a.md",
    "grep -c foo a.md b.md",
    "grep -i FOO a.md b.md",
    "grep -v foo a.md",
    "grep -o 'o[a-z ]*' a.md",
    "grep -w bar a.md",
    "grep -x 'foo bar' a.md",
    "grep -E '(foo|fox)+' a.md",
    "grep -E 'a\\+b' a.md",
    "grep 'a+b' a.md",
    "grep 'a\\|b' c.txt",
    "grep -F '(baz)' a.md",
    "grep -e foo -e fox a.md",
    "grep '^#' a.md",
    "grep 'bar$' a.md",
    "grep '^$' b.md",
    "grep -n '[[:digit:]]\\{2\\}' b.md",
    "grep -E '^[^[:space:]]+$' c.txt",
    "grep '[]a]' c.txt",
    "grep '\\<foo\\>' a.md",
    "grep -A1 quick a.md",
    "grep -B1 -n quick a.md",
    "grep -C1 -n foo a.md",
    "grep -m1 foo a.md",
    "grep -l foo a.md b.md c.txt",
    "grep -L foo a.md b.md c.txt",
    "grep -h foo a.md b.md",
    "grep -H foo a.md",
    "grep nothing a.md",
    "grep -E '(.)\\1' a.md",
    "head -2 a.md",
    "head -n 2 a.md b.md",
    "head -n -2 a.md",
    "head -c 5 a.md",
    "head --lines=3 a.md",
    "tail -1 b.md",
    "tail -n +3 a.md",
    "tail -n 2 a.md c.txt",
    "tail -c 4 a.md",
    "cat a.md | head -n3 | tail -n1",
    "wc -l a.md",
    "cat a.md | wc -w",
    "cat a.md | wc -c",
    "cat a.md | wc -m",
    "sort c.txt",
    "sort -n c.txt",
    "sort -rn c.txt",
    "sort -u c.txt",
    "sort -k2 -n b.md",
    "sort -k2,2nr b.md",
    "sort -t a -k2 a.md",
    "sort -f a.md",
    "sort a.md | uniq",
    "sort a.md | uniq -c",
    "uniq -d a.md",
    "uniq -u a.md",
    "uniq -i a.md",
    "cut -f2 b.md",
    "cut -f1,3 b.md",
    "cut -f2- b.md",
    "cut -s -f2 b.md",
    "cut -d' ' -f2 a.md",
    "cut -c1-3 a.md",
    "cut -c-2,5 a.md",
    "cut --complement -f1 b.md",
    "cut -d o -f1-2 --output-delimiter=X a.md",
]
SAME_SORTED = [
    "find . -name '*.md' -not -path './docs/*'",
    "find docs -type f -not -path '*/node_modules*'",
    "find docs -type d -path 'docs/d*'",
    "find . -maxdepth 1 -type f -path '*'",
    "find . -mindepth 2 -name '*.md' -path '*'",
    "find . -iname 'A.MD' -o -name c.txt -path '*'",
    "find . \\( -name a.md -o -name b.md \\) -path '*'",
    "find . ! -name '*.md' -type f -path '*'",
    "find . -empty -type f -path '*'",
    "find . -path ./docs -prune -o -name '*.md' -print",
    "find . -size -20c -type f -path '*'",
    "grep -rl --exclude-dir=none TODO docs",
    "grep -rn --include='*.mdx' --exclude-dir=none todo docs",
    "grep -rc --exclude-dir=deep --include=*.md TODO docs",
]


@pytest.mark.skipif(
    "GNU" not in subprocess.run(["grep", "--version"], capture_output=True, text=True).stdout,
    reason="the tools of this machine are not those that we follow",
)
@pytest.mark.parametrize("line", [*SAME, *SAME_SORTED])
def test_a_command_says_what_the_tool_of_that_name_says(folder: Path, line: str) -> None:
    shell = shutil.which("bash")
    assert shell is not None
    real = subprocess.run(
        [shell, "-c", line],
        cwd=folder,
        capture_output=True,
        text=True,
        env={"LC_ALL": "C.UTF-8", "PATH": "/usr/bin:/bin"},
    )
    ours = ran(folder, line)
    mine, theirs = ours.stdout, real.stdout
    if "wc" in line:
        mine, theirs = " ".join(mine.split()), " ".join(theirs.split())
    if line in SAME_SORTED:
        mine, theirs = (
            "".join(sorted(mine.splitlines(True))),
            "".join(sorted(theirs.splitlines(True))),
        )
    assert mine == theirs
    assert bool(ours.code) == bool(real.returncode)


@pytest.mark.requirement("wiki.exec.refuses_other_commands", "wiki.exec.read_only")
@pytest.mark.parametrize(
    ("line", "category"),
    [
        ("", "unknown_command"),
        ("   ", "unknown_command"),
        ("rm a.md", "unknown_command"),
        ("A=1 cat a.md", "unknown_command"),
        ("sed -i s/a/b/ a.md", "unknown_command"),
        ("cat a.md | tee b.md", "unknown_command"),
        ("cat a.md > b.md", "write_blocked"),
        ("cat a.md >> b.md", "write_blocked"),
        ("cat < a.md", "write_blocked"),
        ("cat a.md |& wc", "write_blocked"),
        ("cat a.md 2>&1", "write_blocked"),
        ("sort -o b.md a.md", "write_blocked"),
        ("sort --output=b.md a.md", "write_blocked"),
        ("sort --output b.md a.md", "write_blocked"),
        ("cat --output-file=x a.md", "write_blocked"),
        ("find . -delete", "write_blocked"),
        ("find . -exec rm {} +", "write_blocked"),
        ("find . -execdir rm {} +", "write_blocked"),
        ("find . -fprint out", "write_blocked"),
        ("find . -fprintf out %p", "write_blocked"),
        ("find . -fprint0 out", "write_blocked"),
        ("find . -ok rm {} +", "write_blocked"),
        ("find . -okdir rm {} +", "write_blocked"),
        ("uniq a.md b.md", "write_blocked"),
        ("cat a.md ; rm a.md", "shell_construct_blocked"),
        ("cat a.md && rm a.md", "shell_construct_blocked"),
        ("cat a.md || rm a.md", "shell_construct_blocked"),
        ("cat a.md & rm a.md", "shell_construct_blocked"),
        ("cat a.md ;; rm", "shell_construct_blocked"),
        ("(cat a.md)", "shell_construct_blocked"),
        ("cat <(ls)", "shell_construct_blocked"),
        ("cat >(ls)", "shell_construct_blocked"),
        ("cat << EOF", "shell_construct_blocked"),
        ("cat <<- EOF", "shell_construct_blocked"),
        ("cat a.md # all of it", "shell_construct_blocked"),
        ("cat `ls`", "shell_construct_blocked"),
        ("cat $(ls)", "shell_construct_blocked"),
        ("cat ${HOME}", "shell_construct_blocked"),
        ("cat $'a'", "shell_construct_blocked"),
        ('grep "$(id)" a.md', "shell_construct_blocked"),
        ("cat 'a.md", "shell_construct_blocked"),
        ('cat "a.md', "shell_construct_blocked"),
        ("cat a.md |", "shell_construct_blocked"),
        ("| cat a.md", "shell_construct_blocked"),
        ("cat a.md || | wc", "shell_construct_blocked"),
        ("cat a.md\nrm a.md", "shell_construct_blocked"),
        ("cat a\\", "shell_construct_blocked"),
        ("cat ../../etc/passwd", "path_traversal"),
        ("grep -r root ..", "path_traversal"),
        ("find ../..", "path_traversal"),
        ("ls docs/../..", "path_traversal"),
    ],
)
def test_what_does_more_than_read_is_refused_by_category(
    folder: Path, line: str, category: str
) -> None:
    with pytest.raises(CommandRefused) as caught:
        ran(folder, line)
    assert caught.value.category == category


def test_a_path_of_the_machine_is_looked_for_in_the_space_alone(folder: Path) -> None:
    done = ran(folder, "cat /etc/passwd")
    assert (done.stdout, done.code) == ("", 1)
    assert done.stderr == ("cat: /etc/passwd: No such file or directory",)


def test_the_folder_may_be_named_as_it_is_named_outside(folder: Path) -> None:
    assert ran(folder, f"head -1 {folder}/a.md").stdout == "# Alpha\n"


def test_quotes_take_the_meaning_from_stars(folder: Path) -> None:
    assert ran(folder, "cat '*.md'").code == 1
    assert ran(folder, "ls *.txt").stdout == "c.txt\n"
    assert ran(folder, "ls docs/**/x.md").stdout == "docs/deep/x.md\n"


def test_folders_full_of_others_work_are_passed_by_unless_asked_for(folder: Path) -> None:
    assert ran(folder, "grep -rl TODO docs").stdout == "docs/deep/x.md\n"
    assert "node_modules" not in ran(folder, "find docs").stdout
    assert "node_modules/z.md" in ran(folder, "grep -rl --exclude-dir=deep TODO docs").stdout
    assert "node_modules/z.md" in ran(folder, "find docs -path '*z*'").stdout


def test_an_option_that_nobody_knows_is_named(folder: Path) -> None:
    for line in ("cat --what a.md", "ls -Z", "sort --parallel=2 a.md", "find . -what", "cut a.md"):
        done = ran(folder, line)
        assert done.code == 2
        assert done.stderr
        assert done.stdout == ""


@pytest.mark.parametrize(
    "pattern", ["(a+)+$", "(a|a)*b", "(.*)*x", "\\(a*\\)*b", "(x+x+)+y", "(.)\\1"]
)
def test_a_pattern_that_may_take_for_ever_is_run_where_it_can_be_ended(pattern: str) -> None:
    assert needs_timeout(parse(f"grep -E '{pattern}' a.md"))


def test_plain_patterns_need_no_process_of_their_own() -> None:
    for line in ("grep foo a.md", "grep -F 'a*b*c*' a.md", "grep '^# .*' a.md", "cat a.md"):
        assert not needs_timeout(parse(line))


def test_pythons_own_syntax_means_nothing_in_a_pattern(folder: Path) -> None:
    for pattern in ("(?i)FOO", "(?P<x>foo)", "(?:foo)"):
        assert ran(folder, f"grep -E '{pattern}' a.md").stdout == ""
    assert re.search("foo", FILES["a.md"])


def test_long_output_is_cut_with_a_word_on_how_much_is_left(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("line\n" * 1200, encoding="utf-8")
    tree = FileTree({"long.md": TreeFile(6000, 0)}, DiskReader(tmp_path))
    stages = parse("cat long.md")
    out = format_output(stages, run_pipeline(stages, tree), tree)
    assert out.truncated
    assert out.text.startswith("==> long.md <==\nline\n")
    assert out.text.endswith("truncated: 700 more lines")


def test_more_than_sixteen_megabytes_are_refused(tmp_path: Path) -> None:
    (tmp_path / "big.md").write_bytes(b"x" * 9_000_000)
    tree = FileTree({"big.md": TreeFile(9_000_000, 0)}, DiskReader(tmp_path))
    with pytest.raises(CommandRefused) as caught:
        run_pipeline(parse("cat big.md big.md"), tree)
    assert caught.value.category == "output_overflow"


def test_a_limit_that_was_reached_and_a_binary_file_are_worth_a_warning(folder: Path) -> None:
    tree = tree_of(folder)
    for line, words in (
        ("cat a.md | head -2", "reached its limit of 2 lines"),
        ("tail -n 1 a.md", "reached its limit of 1 lines"),
        ("head --lines=1 a.md", "reached its limit of 1 lines"),
        ("cat picture.png", "looks like a binary file"),
        ("cat missing.md", "No such file"),
    ):
        stages = parse(line)
        assert any(
            words in it for it in format_output(stages, run_pipeline(stages, tree), tree).warnings
        ), line
    stages = parse("head -100 a.md")
    assert format_output(stages, run_pipeline(stages, tree), tree).warnings == ()


@pytest.mark.parametrize(
    ("line", "named"),
    [
        ("grep -rn foo .", ["a.md"]),
        ("grep foo a.md", ["a.md"]),
        ("find docs -name '*.md*'", ["docs/deep/x.md", "docs/y.mdx"]),
        ("ls docs", ["docs/deep", "docs/node_modules", "docs/y.mdx"]),
        ("cat a.md b.md", ["a.md", "b.md"]),
        ("find . -name a.md | sort", ["a.md"]),
        ("wc -l c.txt", []),
    ],
)
def test_the_files_that_an_output_speaks_of_are_found(
    folder: Path, line: str, named: list[str]
) -> None:
    tree = tree_of(folder)
    stages = parse(line)
    assert list_referenced_paths(stages, run_pipeline(stages, tree), tree) == named


def test_a_long_line_under_a_repeating_pattern_asks_for_a_leash(tmp_path: Path) -> None:
    (tmp_path / "long.md").write_text("a" * 10_000, encoding="utf-8")
    tree = FileTree({"long.md": TreeFile(10_000, 0)}, DiskReader(tmp_path))
    assert run_pipeline(parse("grep -c a long.md"), tree).stdout == "1\n"
    with pytest.raises(NeedsTimeout):
        run_pipeline(parse("grep 'a.*b' long.md"), tree)
