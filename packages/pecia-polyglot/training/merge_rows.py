"""Joins shards of collect.py into one: `python merge_rows.py OUT SHARD...`."""

import sys
from pathlib import Path


def main() -> None:
    out, shards = Path(sys.argv[1]), [Path(it) for it in sys.argv[2:]]
    out.mkdir(parents=True, exist_ok=True)
    numbers: dict[str, int] = {}
    for shard in shards:
        lines = (shard / "english.txt").read_text("utf-8", "replace").split("\n")[:-1]
        known = [numbers.setdefault(it, len(numbers)) for it in lines]
        for path in sorted(shard.glob("*.tsv")):
            with path.open(encoding="utf-8", errors="replace") as rows:
                renumbered = []
                for row in rows:
                    number, _, rest = row.partition("\t")
                    # A shard that was stopped may lack its last lines.
                    if rest.endswith("\n") and int(number) < len(known):
                        renumbered.append(f"{known[int(number)]}\t{rest}")
            with (out / path.name).open("a", encoding="utf-8") as joined:
                joined.writelines(renumbered)
    (out / "english.txt").write_text("".join(f"{it}\n" for it in numbers), "utf-8")
    sys.stdout.write(f"{len(numbers)} English strings\n")


if __name__ == "__main__":
    main()
