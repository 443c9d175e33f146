"""All rendered configuration keys are known to the server, according to its source.

`validate-config` reports unknown keys of some stanzas only: it treats storage, joins and the
options of audit devices as free-form maps, and ignores wrong keys there.
"""

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from contracts.api.cluster.audit import ACCEPTED_OPTIONS
from contracts.hcl.render import RELOADED_SETTINGS, render_config
from e2e.rig.builds import toolchain
from e2e.rig.paths import TOOLS, Cache, cache_root
from e2e.rig.progress import to_stderr
from e2e.rig.versions import OPENBAO_OLDEST
from tests.contracts.hcl.golden_cases import CASES, read_case
from tests.contracts.hcl.parse_back import parse
from tests.integration.server_features import UNKNOWN_TO_THIS_SERVER, is_newer

# Read by newer servers only, or by none: raft ignores unknown keys.
TOLERATED = {"election_timeout"}


@pytest.fixture(scope="session")
def source() -> Path:
    """The source of the server, in the module cache."""
    go = toolchain(Cache(cache_root()), to_stderr()).go
    done = subprocess.run(
        [go, "list", "-m", "-f", "{{.Dir}}", "github.com/openbao/openbao"],
        cwd=TOOLS / "bao",
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.strip())


def tags(source: Path, *files: str, kind: str = "hcl") -> set[str]:
    text = "".join((source / file).read_text(encoding="utf-8") for file in files)
    return {tag.split(",")[0] for tag in re.findall(rf'{kind}:"([^"]+)"', text)}


def keys_in_source(source: Path, file: str, name: str) -> set[str]:
    text = (source / file).read_text(encoding="utf-8")
    return set(re.findall(rf'{re.escape(name)}\["([a-z_]+)"\]', text))


def documents() -> Iterator[tuple[str, Any]]:
    for case in CASES:
        yield case, parse(render_config(read_case(case)))


def bodies(document: Any, stanza: str) -> Iterator[Any]:
    for block in document.get(stanza, []):
        yield from [block] if stanza == "telemetry" else block.values()


def test_b31_root_keys_are_those_of_the_server(source: Path) -> None:
    accepted = tags(source, "command/server/config.go", "internalshared/configutil/config.go")
    stanzas = {"audit", "listener", "plugin", "seal", "service_registration", "storage"}
    for case, document in documents():
        known = accepted | (UNKNOWN_TO_THIS_SERVER if is_newer(case, OPENBAO_OLDEST) else set())
        assert set(document) - stanzas - {"telemetry"} <= known, case
    assert accepted >= RELOADED_SETTINGS


@pytest.mark.parametrize(
    ("stanza", "file"),
    [
        ("listener", "internalshared/configutil/listener.go"),
        ("telemetry", "internalshared/configutil/telemetry.go"),
    ],
)
def test_b31_keys_of_a_stanza_are_those_of_the_server(source: Path, stanza: str, file: str) -> None:
    accepted = tags(source, file)
    for case, document in documents():
        known = accepted | (UNKNOWN_TO_THIS_SERVER if is_newer(case, OPENBAO_OLDEST) else set())
        for body in bodies(document, stanza):
            assert set(body) <= known, case


def test_b31_keys_of_storage_and_joins_are_those_of_the_server(source: Path) -> None:
    file = "physical/raft/raft.go"
    storage = (
        keys_in_source(source, file, "conf")
        | keys_in_source(source, file, "b.conf")
        | {"retry_join"}
    )
    non_voter = re.search(r'"(retry_join_as_non_voter)"', (source / file).read_text())
    assert non_voter
    join = tags(source, file, kind="json")
    for case, document in documents():
        for body in bodies(document, "storage"):
            assert set(body) <= storage | {non_voter[1]} | TOLERATED, case
            for item in body.get("retry_join", []):
                assert set(item) <= join, case


@pytest.mark.parametrize("kind", ["file", "socket", "syslog"])
def test_b31_options_of_an_audit_device_are_those_of_the_server(source: Path, kind: str) -> None:
    """The alternative spelling of file_path is intentionally not accepted."""
    accepted = keys_in_source(source, f"builtin/audit/{kind}/backend.go", "conf.Config") - {"path"}
    assert set(ACCEPTED_OPTIONS[kind]) == accepted


def test_the_http_device_is_not_in_this_server(source: Path) -> None:
    """As in the table of versions."""
    assert sorted(path.name for path in (source / "builtin/audit").iterdir()) == [
        "file",
        "socket",
        "syslog",
    ]
