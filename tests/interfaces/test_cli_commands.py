"""The other commands, as processes, on a database of the test's own."""

import signal
from collections.abc import Iterator
from pathlib import Path

import httpx
import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict

from pecia.interfaces.cli.server.lock import claim_home
from pecia.kernel.store.cluster import Cluster, DatabaseLogins
from tests.interfaces.shell import Shell, opened_shell

pytestmark = pytest.mark.slow


@pytest.fixture
def shell(database: DatabaseLogins) -> Iterator[Shell]:
    """A shell whose database is an external one, as far as Pecia knows."""
    with opened_shell(external(database)) as made:
        yield made


def external(database: DatabaseLogins) -> dict[str, str]:
    return {
        "PECIA_DATABASE_URL": database.app,
        "PECIA_DATABASE_OWNER_URL": database.owner,
        "PECIA_DATABASE_SYSTEM_URL": database.system,
    }


def test_a_tenant_is_added_with_a_way_in_and_can_be_shut_and_bounded(shell: Shell) -> None:
    made = shell.ok("tenant", "add", "acme", "--admin", "ana", "--json").document
    env = {"PECIA_TOKEN": made["token"]}
    me = shell.ok("call", "whoami", "--json", env=env).document
    assert (me["tenant"], me["user"], me["is_admin"]) == ("acme", "ana", True)
    shell.ok("tenant", "suspend", "acme")
    refused = shell.run("call", "whoami", "--json", env=env)
    assert refused.document["error"]["message"] == "this tenant is suspended"
    shell.ok("tenant", "resume", "acme")
    shown = shell.ok("tenant", "quota", "acme", "--set", "files=7", "--set", "bytes=none", "--json")
    most = {it["kind"]: it["most"] for it in shown.document["quotas"]}
    assert (most["files"], most["bytes"]) == (7, None)
    rows = shell.ok("audit", "--json", env=env).document["rows"]
    deeds = [
        (it["tool"], it["interface"], it["status"]) for it in rows if it["tool"][:7] == "tenant."
    ]
    assert deeds == [(f"tenant.{it}", "cli", "ok") for it in ("quota", "resume", "suspend", "add")]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("add", "Not A Name"), "INVALID_FORMAT"),
        (("add", "acme"), "CONFLICT"),
        (("suspend", "nobody"), "NOT_FOUND"),
    ],
)
def test_a_tenant_that_cannot_be_is_refused(
    shell: Shell, words: tuple[str, ...], code: str
) -> None:
    shell.ok("tenant", "add", "acme")
    done = shell.run("tenant", *words, "--json")
    assert (done.code, done.document["error"]["code"]) == (1, code)


def test_an_operators_token_reaches_no_tool_and_can_be_revoked(shell: Shell) -> None:
    made = shell.ok("operator", "token", "make", "ci", "--json").document
    env = {"PECIA_TOKEN": made["token"]}
    assert "[FORBIDDEN]" in shell.run("call", "whoami", env=env).err
    shell.ok("operator", "token", "revoke", made["id"])
    assert "this token was revoked" in shell.run("call", "whoami", env=env).err
    listed = shell.ok("operator", "token", "list", "--json").document["tokens"]
    assert [(it["id"], it["revoked_at"] is not None) for it in listed] == [(made["id"], True)]
    assert "token" not in listed[0]


def test_an_operator_reads_who_was_refused_before_anybody_was_known(shell: Shell) -> None:
    made = shell.ok("tenant", "add", "acme", "--json").document
    shell.ok("operator", "token", "make", "ci")
    assert shell.run("call", "whoami", env={"PECIA_TOKEN": "guessed"}).code == 1
    env = {"PECIA_TOKEN": made["token"]}
    assert "authenticate" not in shell.ok("audit", env=env).out
    [refused] = shell.ok("operator", "audit", "--status", "denied", "--json").document["rows"]
    assert (refused["tool"], refused["interface"]) == ("authenticate", "cli")
    assert (refused["status"], refused["code"]) == ("denied", "AUTH_REQUIRED")
    rows = shell.ok("operator", "audit", "--json").document["rows"]
    assert {it["tool"] for it in rows} == {"authenticate", "operator.make_token"}
    assert len(shell.ok("operator", "audit", "--limit", "1", "--json").document["rows"]) == 1


def test_a_wrong_option_is_named_with_the_command_whose_help_says_what_is_right(
    shell: Shell,
) -> None:
    for words, field in (
        (("operator", "audit", "--limit", "0"), "limit"),
        (("operator", "audit", "--status", "never"), "status"),
        (("operator", "audit", "--nope"), "command"),
    ):
        done = shell.run(*words, "--json")
        error = done.document["error"]
        assert (done.code, error["field"]) == (2, field)
        assert error["hint"] == "pecia operator audit --help"


def test_people_and_rights_are_kept_by_short_commands(shell: Shell) -> None:
    assert shell.ok("user", "add", "bo", "--known-as", "email::bo@example.org").code == 0
    shell.ok("group", "add", "staff")
    assert shell.ok("group", "join", "staff", "bo", "--json").document["members"] == ["bo"]
    assert shell.ok("user", "set", "bo", "--role", "admin", "--json").document["role"] == "admin"
    shell.ok("source", "add", "s1", "--protocol", "upload", "--trim-mode", "source_only")
    granted = shell.ok("source", "grant", "s1", "group:staff", "reader", "--json").document
    assert [it["role"] for it in granted["grants"]] == ["reader"]
    rows = shell.ok("source", "grant", "s1", "group:staff", "reader", "--folder", "/").out
    # The grant of all files beside the role, each said to be what it is.
    assert [it.split("\t")[2] for it in rows.splitlines() if "staff" in it] == ["role", "all_files"]
    shell.ok("source", "grant", "s1", "group:staff", "null", "--folder", "/")
    taken = shell.ok("source", "grant", "s1", "group:staff", "null", "--json").document
    assert taken["grants"] == []
    assert shell.ok("group", "leave", "staff", "bo", "--json").document["members"] == []
    listed = shell.ok("source", "list").out
    assert listed.splitlines()[1].split("\t")[0] == "s1"


def test_groups_come_from_a_file_that_a_directory_wrote(shell: Shell, tmp_path: Path) -> None:
    shell.ok("user", "add", "bo", "--known-as", "email::bo@example.org")
    file = tmp_path / "groups.json"
    file.write_text('{"staff": ["bo@example.org", "nobody"]}')
    done = shell.ok("group", "import", str(file), "--json").document
    assert (done["added"], done["joined"]) == (["staff"], 1)
    assert done["unknown"] == [{"group": "staff", "member": "nobody"}]
    file.write_text('{"staff": "bo"}')
    refused = shell.run("group", "import", str(file), "--json")
    assert (refused.code, refused.document["error"]["field"]) == (1, "file")


def test_a_secret_comes_from_stdin_or_a_variable_and_is_never_shown(
    shell: Shell, database: DatabaseLogins
) -> None:
    shell.ok("secret", "set", "nas", "--purpose", "source", stdin="hunter2\n")
    env = {"KEY_OF_HUB": "hunter3"}
    shell.ok("secret", "set", "hub", "--purpose", "upstream", "--from-env", "KEY_OF_HUB", env=env)
    listed = shell.ok("secret", "list", "--json")
    assert [it["name"] for it in listed.document["secrets"]] == ["nas", "hub"]
    assert "hunter" not in listed.out
    with psycopg.connect(database.system) as connection:
        found = connection.execute("SELECT tool || arguments FROM kernel.audit").fetchall()
        kept = connection.execute("SELECT ciphertext FROM kernel.secret").fetchall()
    assert "hunter" not in str(found)
    assert all(b"hunter" not in it[0] for it in kept)


def test_a_secret_without_a_value_is_misuse(shell: Shell) -> None:
    assert shell.run("secret", "set", "nas", "--purpose", "source").code == 2
    missing = shell.run("secret", "set", "nas", "--purpose", "source", "--from-env", "NOT_SET")
    assert "the variable NOT_SET is not set" in missing.err


def test_rotation_seals_every_secret_under_a_new_key(shell: Shell) -> None:
    shell.ok("secret", "set", "nas", "--purpose", "source", stdin="hunter2")
    before = shell.ok("secret", "list", "--json").document["secrets"][0]["key_id"]
    rotated = shell.ok("secret", "rotate", "--purpose", "source", "--json").document["rotated"]
    assert [it["resealed"] for it in rotated] == [1]
    after = shell.ok("secret", "list", "--json").document["secrets"][0]["key_id"]
    assert after == rotated[0]["key_id"] != before


def test_keys_are_not_rotated_under_a_server_that_runs(shell: Shell) -> None:
    shell.home.mkdir()
    with claim_home(shell.home) as ours:
        assert ours
        done = shell.run("secret", "rotate")
    assert done.code == 1
    assert "[CONFLICT]" in done.err


def test_the_doctor_finds_a_sound_install_sound(shell: Shell) -> None:
    document = shell.ok("doctor", "--json").document
    assert document["healthy"] is True
    checks = {it["check"]: it["state"] for it in document["findings"]}
    # Another program may hold the default port, and root may have databases of deleted homes:
    # both are of the machine, not of this install.
    del checks["port"]
    checks.pop("orphan", None)
    assert set(checks) == {
        "python",
        "home",
        "disk",
        "keys",
        "database",
        "migrations",
        "round trip",
        "index",
        "sources",
        "worker",
    }
    assert set(checks.values()) == {"ok"}


def test_the_doctor_leaves_no_tenant_behind(shell: Shell) -> None:
    shell.ok("doctor")
    names = [it["name"] for it in shell.ok("tenant", "list", "--json").document["tenants"]]
    assert names == []


def test_the_doctor_says_what_to_do_about_a_key_that_others_can_read(shell: Shell) -> None:
    shell.ok("call", "whoami")
    keys = shell.home / "keys.json"
    keys.chmod(0o644)
    done = shell.run("doctor", "--json")
    assert done.code == 1
    found = next(it for it in done.document["findings"] if it["check"] == "keys")
    assert (found["state"], found["advice"]) == ("fail", f"chmod 600 {keys}")


def test_the_printed_script_makes_the_same_database_as_the_migrations(
    shell: Shell, empty_database: DatabaseLogins, cluster: Cluster
) -> None:
    script = shell.ok("migrate", "--print-sql").out
    assert "CREATE ROLE" in script
    # Roles and the database are there already, in a cluster that all tests share.
    _, _, rest = script.partition("\\connect pecia\n")
    name = str(conninfo_to_dict(empty_database.owner)["dbname"])
    with psycopg.connect(cluster.conninfo("superuser", name), autocommit=True) as connection:
        connection.execute(rest)  # pyright: ignore[reportArgumentType, reportCallIssue] - what we printed
    env = external(empty_database)
    assert shell.ok("migrate", "--json", env=env).document == {"applied": []}
    assert shell.ok("doctor", "--json", env=env).document["healthy"] is True


def test_a_database_of_a_development_version_is_refused_with_what_to_do(
    shell: Shell, empty_database: DatabaseLogins
) -> None:
    with psycopg.connect(empty_database.owner, autocommit=True) as connection:
        connection.execute(
            "CREATE SCHEMA kernel;"
            " CREATE TABLE kernel.migration (part text, name text, sha256 text);"
            " INSERT INTO kernel.migration VALUES ('kernel', '0001_pre_identity.sql', '')"
        )
    for command in ("migrate", "doctor"):
        done = shell.run(command, env=external(empty_database))
        assert done.code != 0
        assert "made by a development version of Pecia" in done.out + done.err
        assert "use an empty database" in done.out + done.err


def test_config_tells_where_a_value_came_from(shell: Shell) -> None:
    env = {"PECIA_PORT": "7000", "PECIA_PROT": "7001"}
    done = shell.ok("config", "port", "--json", env=env)
    assert done.document["value"] == 7000
    assert done.document["origin"]["where"] == "PECIA_PORT"
    assert "PECIA_PROT is not a setting; did you mean PECIA_PORT?" in done.err
    everything = shell.ok("config", "--json", env=env)
    assert "••••" in everything.out
    assert shell.env["PECIA_DATABASE_URL"] not in everything.out
    assert "did you mean port?" in shell.run("config", "prot").err


def test_a_mistake_is_told_before_anything_is_opened() -> None:
    with opened_shell() as shell:
        done = shell.run("token", "make")
        assert done.code == 2
        assert "LABEL is missing" in done.err
        assert "pecia token make --help" in done.err
        assert shell.run("call", "list_files", "--sourceid", "x").code == 2
        assert "Usage: pecia call whoami" in shell.ok("call", "whoami", "--help").out
        for group in (["source"], ["operator", "token"]):
            plain = shell.ok(*group, "--help").out
            assert shell.ok("--config", "team.yml", *group, "--help").out == plain
        assert not shell.home.exists()


def test_arguments_may_come_as_one_document_on_stdin(shell: Shell) -> None:
    done = shell.ok("call", "admin.add_user", "--args", "-", "--json", stdin='{"name": "bo"}')
    assert done.document["name"] == "bo"


def test_every_failure_under_json_is_one_document(shell: Shell) -> None:
    for words in (
        ("call", "lake.nothing"),
        ("call", "list_files", "--source-id", "none"),
        ("call", "list_files", "--limit", "many"),
        ("user", "add"),
        ("config", "nothing"),
        ("nothing",),
    ):
        done = shell.run(*words, "--json")
        assert done.code in (1, 2)
        assert set(done.document) == {"error"}
        assert done.err.startswith(f"[{done.document['error']['code']}] ")
        assert "Traceback" not in done.err


def test_a_worker_works_until_it_is_told_to_stop(shell: Shell) -> None:
    shell.ok("call", "lake.list_sources")
    with shell.foreground("worker", "--concurrency", 1) as worker:
        assert worker.stderr is not None
        assert any("jobs.worker_registered" in line for line in worker.stderr)
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(timeout=30) == 0


@pytest.fixture
def config(shell: Shell) -> Path:
    path = shell.root / "server.yml"
    path.write_text("mode: server\nhost: 0.0.0.0\nport: 0\n")
    return path


def test_serve_wants_a_file_and_one_process(shell: Shell, config: Path) -> None:
    assert shell.run("serve").code == 2
    refused = shell.run("serve", "--config", config, "--workers", 4)
    assert refused.code == 2
    assert "a node runs one API process" in refused.err


def test_a_server_that_nobody_could_get_into_is_not_opened_to_the_network(
    shell: Shell, config: Path
) -> None:
    done = shell.run("serve", "--config", config, "--json")
    assert done.code == 1
    assert "no authentication is configured" in done.document["error"]["message"]
    assert "pecia tenant add" in done.document["error"]["hint"]
    assert not (shell.home / "server.lock").exists()


def test_a_server_lets_in_whoever_has_a_token_and_nobody_else(shell: Shell, config: Path) -> None:
    made = shell.ok("--config", config, "tenant", "add", "acme", "--json").document
    with shell.foreground("serve", "--config", config) as server:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        asked = f"{url}/api/v1/admin/whoami"
        assert httpx.get(asked).status_code == 401
        headers = {"authorization": f"Bearer {made['token']}"}
        assert httpx.get(asked, headers=headers).json()["tenant"] == "acme"
        env = {"PECIA_TOKEN": made["token"]}
        assert shell.ok("call", "whoami", "--json", env=env).document["tenant"] == "acme"
        assert "[AUTH_REQUIRED]" in shell.run("call", "whoami").err
        assert "a server runs already" in shell.run("serve", "--config", config).err
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=30) == 0


@pytest.mark.parametrize(
    "words",
    [
        ("audit",),
        ("index", "status"),
        ("tenant", "list"),
        ("secret", "rotate"),
        ("worker",),
    ],
)
def test_a_command_makes_no_home(words: tuple[str, ...]) -> None:
    with opened_shell() as empty:
        done = empty.run(*words, "--json")
        assert done.code == 1
        assert str(empty.home) in done.out + done.err
        assert not empty.home.exists() or not [*empty.home.iterdir()]


def test_a_worker_that_was_not_told_of_its_server_makes_no_tenant(
    database: DatabaseLogins, shell: Shell
) -> None:
    logins = {
        "PECIA_DATABASE_URL": database.app,
        "PECIA_DATABASE_OWNER_URL": database.owner,
        "PECIA_DATABASE_SYSTEM_URL": database.system,
    }
    shell.ok("tenant", "add", "acme", env=logins)
    done = shell.run("worker", env=logins)
    assert done.code == 1
    assert "--config" in done.err
    listed = shell.ok("tenant", "list", "--json", env=logins).document
    assert [it["name"] for it in listed["tenants"]] == ["acme"]
