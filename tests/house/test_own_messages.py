"""What we say ourselves is never taken for a secret: errors hide secrets, and not instructions."""

import ast
from collections.abc import Iterator

from pecia.kernel import errors
from pecia.kernel.errors import PeciaError
from pecia.kernel.redaction import redact
from tests.house.source_tree import SOURCE, modules, parsed

ERRORS = {
    name for name, it in vars(errors).items() if isinstance(it, type) and issubclass(it, PeciaError)
}


def message(node: ast.AST) -> str | None:
    """The words of a literal; what is filled in stands as a plain word."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(values):
            return "".join(
                str(it.value) if isinstance(it, ast.Constant) else "word" for it in values
            )
        case _:
            return None


def literals(tree: ast.Module) -> Iterator[str]:
    """Those of errors that are raised, and of constants, which errors often show."""
    for node in ast.walk(tree):
        is_error = (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ERRORS
        )
        if is_error or (isinstance(node, ast.Assign) and node in tree.body):
            inside = {
                id(part)
                for it in ast.walk(node)
                if isinstance(it, ast.JoinedStr)
                for part in it.values
            }
            for it in ast.walk(node):
                if id(it) not in inside and " " in (text := message(it) or ""):
                    yield text


def test_no_message_of_ours_is_redacted() -> None:
    found = {
        (path.relative_to(SOURCE).as_posix(), text)
        for path in modules()
        if "redaction" not in path.parts
        for text in literals(parsed(path))
        if redact(text) != text
    }
    assert found == set()
