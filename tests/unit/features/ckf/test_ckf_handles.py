"""Packages kept for their handles: whose they are, how long, how many."""

from dataclasses import dataclass
from uuid import UUID, uuid4

from pecia.features.ckf.handles import KEPT_S, PackageCache
from pecia.features.ckf.package.archive import PackedPackage, pack_package, unpack_package
from pecia.features.ckf.package.model import Package
from pecia.features.ckf.package.outline import render_outline
from pecia.kernel.errors import Json
from pecia.kernel.identity.caller import EVERY_SCOPE, Caller, CredentialKind
from pecia.kernel.text.tokens import estimate_tokens
from tests.unit.features.ckf.ckf_sample import sample

TENANT = uuid4()


def caller(user: UUID | None = None) -> Caller:
    who = user or uuid4()
    return Caller(who, CredentialKind.PAT, TENANT, "north", who, "ana", EVERY_SCOPE)


@dataclass
class Clock:
    now: float = 0.0

    def __call__(self) -> float:
        return self.now


def packed(number: int, size: int = 10) -> PackedPackage:
    return PackedPackage(f"{number:0{size}}".encode())


def test_a_package_comes_back_as_it_was() -> None:
    package = Package(sample())
    assert unpack_package(pack_package(package)).body == package.body
    assert pack_package(package).handle == pack_package(Package(sample())).handle


def test_a_handle_is_valid_for_an_hour_since_its_last_use_and_for_its_caller() -> None:
    clock, ana, bo = Clock(), caller(), caller()
    cache = PackageCache(clock=clock)
    cache.put(ana, packed(1))
    assert cache.get(bo, packed(1).id) is None
    for _ in range(3):
        clock.now += KEPT_S
        assert cache.get(ana, packed(1).id) == packed(1)
    clock.now += KEPT_S + 1
    assert cache.get(ana, packed(1).id) is None


def test_the_least_recently_used_give_way_and_the_newest_stays() -> None:
    ana, bo = caller(), caller()
    cache = PackageCache(max_bytes=60, max_bytes_per_caller=30)
    cache.put(bo, packed(100))
    for it in range(4):
        cache.put(ana, packed(it))
    # Ana's limit takes nothing away from Bo.
    assert [bool(cache.get(ana, packed(it).id)) for it in range(4)] == [False, True, True, True]
    assert cache.get(bo, packed(100).id)
    cache.put(bo, packed(5, size=200))
    assert cache.get(bo, packed(5, size=200).id)


def test_an_outline_keeps_its_budget_and_says_what_it_leaves_out() -> None:
    body = sample()
    rules: list[Json] = [
        {
            "id": f"pri_{it}",
            "statement": f"Loan {it} must be repaid within {it} days.",
            "confidence": 0.9 if it % 2 else 0.3,
            "source_basis": "explicit" if it % 2 else "uncertain",
        }
        for it in range(200)
    ]
    package = Package({**body, "principles": rules})
    text = render_outline(package, "Package pecia://package/0", "More.", 400)
    assert estimate_tokens(text) <= 400
    assert "of 100" in text or "of 10" in text
    assert "more are only possible" in text
    assert "Loan 2 must" not in text
