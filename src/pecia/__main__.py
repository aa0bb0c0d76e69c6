"""`python -m pecia` is the same as `pecia`. It holds no behaviour of its own."""

from pecia.interfaces.cli.main import main

if __name__ == "__main__":
    main()
