"""`python -m bench [NAME …]`: run the named benches, or all of them."""

import sys
from importlib import import_module
from pathlib import Path

NOT_BENCHES = {"__init__", "__main__", "result"}


def names() -> list[str]:
    return sorted(
        it.stem for it in Path(__file__).parent.glob("*.py") if it.stem not in NOT_BENCHES
    )


def main() -> None:
    wanted = sys.argv[1:] or names()
    for name in wanted:
        if name not in names():
            sys.exit(f"no bench {name!r}; there are: {', '.join(names())}")
        print(f"== {name}")
        print(import_module(f"bench.{name}").main())


if __name__ == "__main__":
    main()
