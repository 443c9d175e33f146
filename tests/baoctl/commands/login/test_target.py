"""baoctl.commands.login.target: the server, its authority, and the environment of a command."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from baoctl.commands.login.target import (
    Connection,
    authority_in,
    check_authority,
    environment_of,
    forward_error,
    forwarded_port,
    leader_of,
    trust_of,
)
from baoctl.exit_codes import ExitCode, VerbError
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.naming import labels
from contracts.tls_names import tls_fields
from runtime.types import Object
from tests.baoctl.commands.cluster.recorded_cluster import healthy, with_pod, with_spec


def led_by(*ordinals: int) -> list[Object]:
    pods = list(healthy().pods)
    for ordinal, pod in enumerate(pods):
        pod["metadata"]["labels"][labels.SERVER_ACTIVE] = str(ordinal in ordinals).lower()
    return pods


def test_the_active_server_is_chosen() -> None:
    assert leader_of("first", led_by(1)) == "first-1"


def test_a_leader_that_is_unready_or_terminating_is_not_active() -> None:
    pods = list(with_pod(healthy(), 1).pods)
    for ordinal, pod in enumerate(pods):
        pod["metadata"]["labels"][labels.SERVER_ACTIVE] = str(ordinal == 1).lower()
    with pytest.raises(VerbError, match="no active server"):
        leader_of("first", pods)
    going = led_by(2)
    going[2]["metadata"]["deletionTimestamp"] = "2026-11-26T12:00:00Z"
    with pytest.raises(VerbError, match="no active server"):
        leader_of("first", going)


def test_a_missing_active_server_is_explained_with_a_next_step() -> None:
    sealed = led_by()
    for pod in sealed:
        pod["metadata"]["labels"][labels.SERVER_SEALED] = "true"
    for pods, reason in (
        ([], "no server; kubectl bao status"),
        (sealed, "sealed on every server"),
    ):
        with pytest.raises(VerbError, match=reason) as error:
            leader_of("first", pods)
        assert error.value.exit_code == ExitCode.NOT_READY


# spec.tls: (verified name, Secret, entry)
TRUSTS: dict[str, tuple[Object | None, str, str | None, str]] = {
    "its own": (None, "openbao-cluster-first.local", "first-tls-ca", "ca.crt"),
    "external": (
        {"mode": "External", "external": {"caSecretRef": {"name": "mine"}}},
        "openbao-cluster-first.local",
        "mine",
        "ca.crt",
    ),
    "ACME, public": (
        {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/d",
                                  "domains": ["bao.example.com"]}},
        "bao.example.com",
        None,
        "pki-ca.crt",
    ),
    "ACME, private": (
        {"mode": "ACME", "acme": {"directoryURL": "https://acme.example.com/d",
                                  "domains": ["bao.example.com"],
                                  "caSecretRef": {"name": "acme"}}},
        "bao.example.com",
        "acme",
        "pki-ca.crt",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", TRUSTS)
def test_the_ca_and_server_name_depend_on_the_tls_mode(case: str) -> None:
    tls, name, secret, entry = TRUSTS[case]
    observation = healthy() if tls is None else with_spec(healthy(), tls=tls)
    trust = trust_of(observation.cluster)
    assert (trust.server_name, trust.secret, trust.entry) == (name, secret, entry)


def test_a_mode_of_another_version_is_told_in_one_line() -> None:
    with pytest.raises(VerbError, match=r"spec\.tls\.mode 'Mesh': this client does not know it"):
        trust_of(with_spec(healthy(), tls={"mode": "Mesh"}).cluster)


ACME = {"directoryURL": "https://acme.example.com/d"}
CREDENTIALS = {"type": "transit", "credentialsSecretRef": {"name": "seal"}}
# sentence: fields of a spec
SPECS: dict[str, Object] = {
    "no mode": {"tls": {}},
    "a Secret that another mode uses": {"tls": {"external": {"caSecretRef": {"name": "mine"}}}},
    "external, default names": {"tls": {"mode": "External"}},
    "ACME, default name": {"tls": {"mode": "ACME", "acme": ACME}},
    "ACME, deprecated field": {"tls": {"mode": "ACME", "acme": {**ACME, "domain": "A.example"}}},
    "ACME, a name within the cluster": {
        "tls": {"mode": "ACME", "acme": {**ACME, "domains": ["a.example", "first.ns.svc"]}}
    },
    "ACME, a CA file of the seal": {
        "tls": {"mode": "ACME", "acme": {**ACME, "caSecretRef": {"name": "acme"}}},
        "configuration": {"acmeCARoot": "/etc/bao/seal-creds/ca.crt"},
        "unseal": CREDENTIALS,
    },
    "ACME, a CA file of the image": {
        "tls": {"mode": "ACME", "acme": ACME}, "configuration": {"acmeCARoot": "/etc/ssl/ca.crt"},
    },
}  # fmt: skip


@pytest.mark.parametrize("spec", SPECS.values(), ids=SPECS.keys())
def test_the_fields_are_read_like_those_of_the_model(spec: Object) -> None:
    live = with_spec(healthy(), **spec).cluster
    read = OpenBaoCluster.from_object(live)
    trust, fields = trust_of(live), tls_fields(read)
    acme = fields.mode == "ACME"
    secret = fields.acme_issuer_secret if acme else fields.authority_secret
    assert (trust.server_name, trust.secret) == (fields.server_name, secret)


@pytest.mark.parametrize(
    "data",
    [None, {}, {"ca.crt": "%%%"}, {"ca.crt": 7}, {"ca.crt": base64.b64encode(b"no PEM").decode()},
     {"ca.crt": base64.b64encode(b"\xff\xfe").decode()}],
)  # fmt: skip
def test_an_invalid_ca_is_refused(data: Any) -> None:
    with pytest.raises(VerbError, match=r"Secret a/b, entry ca\.crt: not a valid CA.*--ca-file"):
        authority_in("Secret a/b", data, "ca.crt")


def test_a_ca_file_that_is_too_large_is_refused() -> None:
    with pytest.raises(VerbError, match="longer than"):
        check_authority("file", (2 << 20) * "x")


@pytest.mark.parametrize(
    ("output", "port"),
    [
        ("Forwarding from 127.0.0.1:40321 -> 8200\n", 40321),
        ("x\nForwarding from 127.0.0.1:1 -> 8200\nHandling connection for 1\n", 1),
        ("", None),
        ("Forwarding from 127.0.0.1:99999 -> 8200", None),
        ("error: unable to listen", None),
    ],
)
def test_the_port_is_parsed_from_the_output_of_kubectl(output: str, port: int | None) -> None:
    assert forwarded_port(output) == port


def test_a_failed_port_forward_is_reported_with_a_next_step() -> None:
    denied = forward_error(
        "first-0", 'Error from server (Forbidden): pods "first-0" is forbidden: User "u" cannot\n'
    )
    assert denied.exit_code == ExitCode.NO_ACCESS
    assert "pods/portforward" in str(denied)
    lost = forward_error("first-0", "a\nerror: lost\x1b[2J connection\n\n")
    assert lost.exit_code == ExitCode.ERROR
    assert "lost\\x1b[2J connection; try again" in str(lost)
    assert "no reason" in str(forward_error("first-0", ""))


def test_the_environment_of_a_command_names_only_this_server() -> None:
    inherited = {
        "PATH": "/bin", "BAO_FORMAT": "json", "BAO_NAMESPACE": "team", "VAULT_ADDR": "https://x",
        "VAULT_TOKEN": "old", "BAO_SKIP_VERIFY": "1", "BAO_CLIENT_CERT": "/x", "BAO_TOKEN": "old",
    }  # fmt: skip
    environment = environment_of(
        inherited, Connection(40321, "openbao-cluster-a.local", "/d/ca", "hvs.x")
    )
    assert environment == {
        "PATH": "/bin",
        "BAO_FORMAT": "json",
        "BAO_NAMESPACE": "team",
        "BAO_ADDR": "https://127.0.0.1:40321",
        "BAO_CACERT": "/d/ca",
        "BAO_TLS_SERVER_NAME": "openbao-cluster-a.local",
        "BAO_TOKEN": "hvs.x",
    }


def test_a_public_ca_needs_no_file_and_a_token_is_not_printed() -> None:
    connection = Connection(1, "a", None, "hvs.x")
    assert "BAO_CACERT" not in environment_of({"BAO_CACERT": "/other"}, connection)
    assert "hvs.x" not in repr(connection)
