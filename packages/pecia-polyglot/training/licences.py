"""Which origins are not taught from, by their licence: `python licences.py DATA > left_out.txt`.

Debian's section main is free software and documentation. A package is left out if its copyright
file is not at hand (many share one through a link), or if the file speaks of use that is not
commercial, outside the sentence of the GFDL that allows both. So are the sky cultures of Stellarium
whose text may not be changed, or not be used commercially.
"""

import re
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from readers.repositories import contents

_BOTH = re.compile(r"commercially\s+or\s+non-?commercially", re.I)
_RESTRICTED = re.compile(r"non-?\s?commercial|CC-BY-NC|no\s+derivative|CC-BY-ND", re.I)
KINDS = {
    "GPL": r"\bGPL|GNU General Public",
    "LGPL": r"LGPL|Lesser General",
    "BSD": r"\bBSD\b",
    "MIT": r"\bMIT\b|Expat",
    "Apache": r"Apache",
    "MPL": r"\bMPL\b|Mozilla Public",
    "CC0": r"CC0",
    "CC BY-SA": r"CC[- ]BY[- ]SA|Attribution[- ]Share",
    "GFDL": r"GFDL|Free Documentation",
}


def main() -> None:
    counts: Counter[str] = Counter()
    for folder in sorted((Path(sys.argv[1]) / "x").iterdir()):
        files = [it for it in folder.rglob("copyright") if it.is_file() and not it.is_symlink()]
        text = " ".join(it.read_text("utf-8", "replace") for it in files)
        if not text:
            why = "no copyright file"
        elif _RESTRICTED.search(_BOTH.sub(" ", text)):
            why = "not commercial"
        else:
            counts.update(name for name, words in KINDS.items() if re.search(words, text))
            continue
        counts[why] += 1
        sys.stdout.write(f"{folder.name} {why}\n")
    for repository in sorted((Path(sys.argv[1]) / "repos").glob("Stellarium+*")):
        for name, content in contents(repository, r"^[^/]+/description\.md$"):
            terms = content.decode("utf-8", "replace").rpartition("\n## License")[2]
            if re.search(r"CC[- ]BY[- ](NC|ND)", terms):
                sys.stdout.write(f"po-{repository.name}-{name.split('/')[0]} not commercial\n")
    sys.stderr.write(f"{dict(counts.most_common())}\n")


if __name__ == "__main__":
    main()
