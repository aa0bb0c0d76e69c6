"""Groups as directories write them down."""

import pytest

from pecia.features.admin.core.ldif import parse_directory
from pecia.kernel.errors import InvalidFormat

LDIF = """\
version: 1

# A comment
 that goes on.
dn: uid=ana,ou=people,dc=example,dc=org
objectClass: inetOrgPerson
uid: ana
cn: Ana
mail: ana@example.org

dn: CN=Bo Example,OU=People,DC=example,DC=org
objectClass: user
sAMAccountName: bo

dn: cn=staff,ou=groups,dc=example,dc=org
objectClass: top
objectClass: groupOfNames
cn: staff
member: uid=ana, ou=people, dc=example, dc=org
member: CN=Bo Example,OU=People,DC=example,D
 C=org
member: uid=gone,ou=people,dc=example,dc=org

dn: cn=all,ou=groups,dc=example,dc=org
objectClass: groupOfUniqueNames
cn:: YWxsIMOpcXVpcGU=
uniqueMember: cn=staff,ou=groups,dc=example,dc=org
uniqueMember: cn=all,ou=groups,dc=example,dc=org
uniqueMember: uid=cy,ou=people,dc=example,dc=org

dn: cn=unix,ou=groups,dc=example,dc=org
objectClass: posixGroup
cn: unix
memberUid: ana
memberUid: ana
"""


@pytest.mark.parametrize("ends", ["\n", "\r\n"])
def test_groups_of_ldif_are_read_with_the_people_of_groups_in_them(ends: str) -> None:
    assert parse_directory(LDIF.replace("\n", ends)) == {
        "staff": ("ana", "bo", "gone"),
        "all équipe": ("ana", "bo", "gone", "cy"),
        "unix": ("ana",),
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"groups": [{"name": "staff", "members": ["ana", "bo", "ana"]}]}',
        '\ufeff {"staff": ["ana", "bo"]}',
    ],
)
def test_groups_of_json_are_read_in_both_shapes(text: str) -> None:
    assert parse_directory(text) == {"staff": ("ana", "bo")}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        "[]",
        '{"groups": ["staff"]}',
        '{"groups": [{"name": "staff"}]}',
        '{"groups": [{"name": "staff", "members": [], "more": 1}]}',
        '{"staff": "ana"}',
        '{"staff": [1]}',
        "dn: uid=ana\nuid: ana\n",
        "cn: staff\nobjectClass: group\n",
        "no attribute at all",
        "dn: cn=a\ncn:: ***\nobjectClass: group\n",
    ],
)
def test_a_file_that_names_no_groups_is_an_error_of_the_file(text: str) -> None:
    with pytest.raises(InvalidFormat) as caught:
        parse_directory(text)
    assert caught.value.fields["field"] == "file"


@pytest.mark.parametrize(
    "text",
    [
        '{"staff": ["ana"], "staff": ["bo"]}',
        '{"groups": [{"name": "staff", "members": []}, {"name": "staff", "members": ["bo"]}]}',
        "dn: cn=staff,ou=a\ncn: staff\nobjectClass: group\n\n"
        "dn: cn=staff,ou=b\ncn: staff\nobjectClass: group\nmemberUid: bo\n",
    ],
)
def test_a_group_that_is_named_twice_loses_nobody_silently(text: str) -> None:
    with pytest.raises(InvalidFormat, match="'staff' is named twice"):
        parse_directory(text)


def test_json_without_end_is_an_error_of_the_file() -> None:
    with pytest.raises(InvalidFormat, match="the file is not valid JSON"):
        parse_directory("[" * 100_000)
