"""What it takes to look for a glob, counted before the keyword index does it. Pure.

The index turns a glob into an automaton, in the process that serves every tenant. How large that
gets follows neither from the glob's length nor from its stars: `*a???????` is larger than any name
of a file. So the same automaton is built here first, over signs instead of bytes, up to a bound.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

from pecia.kernel.text.glob import CharacterSet, GlobToken, Wildcard, parse_glob

OTHER = "\0"
"""A sign that no path holds, for all those that a glob does not name."""


def is_costlier_than(bound: int, glob: str) -> bool:
    """Whether the automaton's states, each counted by its wildcards, come to more than this.

    Wildcards are what costs: each stands for every letter there is, in up to four bytes.
    """
    steps = [*_steps(glob)]
    begin = _epsilon_closure(steps, {0})
    waiting, known, effort = [begin], {begin}, 0
    while waiting:
        state = waiting.pop()
        effort += sum(steps[it].costs for it in state)
        if effort > bound:
            return True
        signs = {"/", OTHER}.union(*(steps[it].named for it in state))
        for sign in signs:
            to = {at + far for at in state for far, on in steps[at].ways if on(sign)}
            after = _epsilon_closure(steps, to)
            if after not in known:
                known.add(after)
                waiting.append(after)
    return False


_On: TypeAlias = Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Step:
    """How far which signs lead from here; `skips` is how far one gets without any."""

    ways: tuple[tuple[int, _On], ...] = ()
    skips: int = 0
    named: frozenset[str] = frozenset()
    costs: int = 1


def _epsilon_closure(steps: list[_Step], places: set[int]) -> frozenset[int]:
    waiting, reached = [*places], set(places)
    while waiting:
        at = waiting.pop()
        if steps[at].skips and (to := at + steps[at].skips) not in reached:
            reached.add(to)
            waiting.append(to)
    return frozenset(reached)


def _steps(glob: str) -> Iterator[_Step]:
    *folders, last = parse_glob(glob)
    for it in folders:
        yield from _FOLDERS if it is None else (*map(_step, it), _SLASH)
    yield from _REST if last is None else map(_step, last)
    yield _Step(costs=0)


def _step(token: GlobToken) -> _Step:
    if isinstance(token, str):
        return _sign(token)
    if isinstance(token, CharacterSet):
        return _set(token)
    return _STAR if token is Wildcard.STAR else _Step(((1, _in_name),))


def _sign(sign: str) -> _Step:
    return _Step(((1, sign.__eq__),), named=frozenset((sign,)), costs=0)


def _set(token: CharacterSet) -> _Step:
    """For each range its ends stand for all of it."""

    def on(sign: str) -> bool:
        return sign != "/" and any(a <= sign <= b for a, b in token.ranges) is not token.is_negated

    named = frozenset(it for ends in token.ranges for it in ends)
    return _Step(((1, on),), named=named, costs=1 + len(token.ranges) // 16)


def _in_name(sign: str) -> bool:
    return sign != "/"


def _any(_sign: str) -> bool:
    return True


_SLASH = _sign("/")
_STAR = _Step(((0, _in_name),), skips=1)
_FOLDERS = (_Step(((1, _in_name),), skips=2), _Step(((0, _in_name), (-1, "/".__eq__))))
_REST = (_Step(((1, _any),)), _Step(((0, _any),), skips=1))
