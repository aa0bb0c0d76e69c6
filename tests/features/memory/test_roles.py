"""The same words in the order that grammar allows are one fact; in any other they are two."""

import pytest

from pecia.features.memory.core.compare.relation import may_say_same, says_same

SAME = [
    ("The bakery opens at 6:15.", "At 6:15 the bakery opens."),
    ("The shop is open only on Sundays.", "Only on Sundays the shop is open."),
    ("The door is locked if the alarm rings.", "If the alarm rings, the door is locked."),
    ("Our notary is Mrs Falk.", "Mrs Falk is our notary."),
    ("The boss of Kai is Helga.", "Helga is Kai's boss."),
    ("The pump is serviced by Olga.", "Olga services the pump."),
    ("Olga repaired the pump.", "The pump was repaired by Olga."),
    ("We rotate keys with Vault.", "Keys are rotated with Vault."),
    ("Lena works at Bosch.", "Bosch is where Lena works."),
    ("Oskar is a violin player.", "Oskar plays the violin."),
]
OTHER = [
    ("The shop is open only on Sundays.", "Only the shop is open on Sundays."),
    ("Kai's boss is Helga.", "Helga's boss is Kai."),
    ("Helga is the boss of Kai.", "Kai is the boss of Helga."),
    ("The server trusts the client.", "The server is trusted by the client."),
    ("Ana helped Bo.", "Ana was helped by Bo."),
    ("Port 80 is forwarded to port 8080.", "Port 8080 is forwarded to port 80."),
    ("We test in Bonn and deploy in Graz.", "We test in Graz and deploy in Bonn."),
    ("The 3 rooms have 5 beds.", "The 5 rooms have 3 beds."),
    ("Ana has a guard dog.", "Ana has a dog guard."),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_an_order_that_grammar_allows_is_the_same_fact(one: str, other: str) -> None:
    assert says_same(one, other)
    assert says_same(other, one)


@pytest.mark.parametrize(("one", "other"), OTHER)
def test_another_role_is_another_fact_whatever_a_model_says(one: str, other: str) -> None:
    assert not says_same(one, other)
    assert not may_say_same(one, other)
