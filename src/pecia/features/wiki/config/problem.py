"""Configuration errors, in the reference's format. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from pecia.features.wiki.config.schema import ConfigPath
from pecia.kernel.errors import (
    BadArgument,
    InvalidFormat,
    InvalidInput,
    Json,
    MixedScope,
    NotAgentSettable,
    PeciaError,
    Unprocessable,
)


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """`code` is stable; `fields` go with it; `hint` says what to send instead."""

    code: str
    message: str
    hint: str
    fields: Mapping[str, Json] = field(default_factory=dict[str, Json])

    def to_json(self) -> dict[str, Json]:
        return {"code": self.code, "message": self.message, "hint": self.hint, **self.fields}

    def failure(self, field: str) -> PeciaError:
        """The same as a PeciaError. `field` is the argument that caused it."""
        if kind := _KINDS.get(self.code):
            return kind(self.message, field=field, hint=self.hint)
        return Unprocessable(self.message, hint=self.hint)


class InvalidConfig(Exception):
    """An invalid configuration, or one that cannot be written: then `failure` says why."""

    def __init__(self, problem: ConfigProblem, failure: PeciaError | None = None) -> None:
        super().__init__(problem.message)
        self.problem = problem
        self.failure = failure


def bad_yaml(name: str, error: InvalidFormat) -> ConfigProblem:
    return ConfigProblem(
        "YAML_PARSE",
        f"{name} cannot be read: {error.message}",
        "Fix the file by hand, then send the patch again.",
        {"detail": error.message, **{k: error.fields[k] for k in _PLACE if k in error.fields}},
    )


def bad_shape(error: ValidationError, name: str) -> ConfigProblem:
    """All pydantic errors, with their paths."""
    issues: list[Json] = [
        {
            "path": [*map(str, it["loc"])],
            "message": it["msg"].removeprefix("Value error, "),
            "issueCode": it["type"],
        }
        for it in error.errors(include_url=False, include_context=False, include_input=False)
    ]
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    where = ".".join(map(str, first["loc"]))
    return ConfigProblem(
        "SCHEMA_INVALID",
        f"{name}: {where}: {first['msg'].removeprefix('Value error, ')}",
        "Change the values that `issues` names, then send the patch again.",
        {"issues": issues},
    )


def empty_patch() -> ConfigProblem:
    issue: Json = {"path": [], "message": "the patch has no field", "issueCode": "empty_patch"}
    return ConfigProblem(
        "SCHEMA_INVALID",
        "The patch has no field.",
        "Name at least one field to set, or null to clear it.",
        {"issues": [issue]},
    )


def not_settable(path: ConfigPath, allowed: Sequence[ConfigPath]) -> ConfigProblem:
    named = ", ".join(".".join(it) for it in allowed)
    return ConfigProblem(
        "NOT_AGENT_SETTABLE",
        f"{'.'.join(path)} may be set by people only.",
        f"Agents may set: {named}. Ask the user to change the rest.",
        {"path": [*path]},
    )


def protected_rule() -> ConfigProblem:
    return ConfigProblem(
        "NOT_AGENT_SETTABLE",
        "folders[].locked and folders[].suggest may be set by people only.",
        "Keep rules that have one as they are. People change them in .pecia/config.yml.",
        {"path": ["folders"]},
    )


def mixed_scope(scopes: Sequence[tuple[ConfigPath, str]]) -> ConfigProblem:
    rows: list[Json] = [{"path": [*path], "scope": scope} for path, scope in scopes]
    return ConfigProblem(
        "MIXED_SCOPE",
        "The fields of this patch belong to two files.",
        "Send one patch for each scope that `paths` names.",
        {"paths": rows},
    )


def wrong_scope(path: ConfigPath, expected: str, actual: str) -> ConfigProblem:
    return ConfigProblem(
        "SCOPE_VIOLATION",
        f"{'.'.join(path)} is in the {actual} file, but belongs in the {expected} one.",
        f"Move {'.'.join(path)} to the {expected} file by hand, then send the patch again.",
        {"path": [*path], "expectedScope": expected, "actualScope": actual},
    )


def removed_key(path: ConfigPath, redirect: str) -> ConfigProblem:
    return ConfigProblem(
        "REMOVED_KEY",
        f"{'.'.join(path)} is no longer a setting.",
        redirect,
        {"path": [*path], "redirect": redirect},
    )


def write_error(detail: str) -> ConfigProblem:
    return ConfigProblem(
        "WRITE_ERROR",
        f"The file could not be written: {detail}.",
        "Try again; if it persists, check the folder and its disk.",
        {"detail": detail},
    )


def unknown(message: str) -> ConfigProblem:
    return ConfigProblem("UNKNOWN", message, "Change the file by hand.", {})


_PLACE = ("line", "column")
# Errors in the arguments. All others are errors in the files.
_KINDS: Mapping[str, type[BadArgument]] = {
    "SCHEMA_INVALID": InvalidInput,
    "NOT_AGENT_SETTABLE": NotAgentSettable,
    "MIXED_SCOPE": MixedScope,
}
