"""contracts.tenancy: the Secrets that a cluster needs, and their digest."""

import html
from typing import Any

import pytest

from contracts import tenancy
from contracts.conditions.reasons_tenant import TENANT_REASONS
from contracts.naming import names
from contracts.tenancy import SecretAccess, access_of, kept_secrets, secret_access
from e2e.rig.paths import REPOSITORY
from tests import gen

EXTERNAL = {
    "mode": "External",
    "external": {"serverSecretRef": {"name": "mine"}, "caSecretRef": {"name": "ca"}},
}


def access(status: dict[str, Any] | None = None, **spec: Any) -> SecretAccess:
    cluster = gen.cluster(**spec)
    return secret_access((cluster.with_status(**status) if status else cluster).read())


def test_a_plain_cluster_writes_the_secrets_of_the_operator() -> None:
    secret_access = access()
    assert secret_access.readers == frozenset()
    assert {"x-tls-ca", "x-tls-server", "x-unseal-key", "x-root-token"} <= secret_access.writers


def test_with_self_init_there_is_no_root_token() -> None:
    made = gen.cluster().self_init({"name": "kv", "path": "sys/mounts/kv", "operation": "update"})
    assert "x-root-token" not in secret_access(made.read()).writers
    # Enabled later: the root token of the first boot exists.
    later = made.with_status(initialized=True, selfInitialized=False)
    assert "x-root-token" in secret_access(later.read()).writers


def test_certificates_of_the_user_are_only_read() -> None:
    secret_access = access(tls=EXTERNAL)
    assert {"mine", "ca"} <= secret_access.readers
    assert "x-tls-ca" not in secret_access.writers
    assert secret_access.allows("mine")
    assert not secret_access.allows("theirs")


def test_former_secrets_are_readable_until_the_pods_are_replaced() -> None:
    secret_access = access({"tlsSecrets": ["before"]}, tls=EXTERNAL)
    assert "before" in secret_access.readers


def test_access_includes_the_next_keys_of_a_rotation() -> None:
    secret_access = access({"unseal": {"keys": "k2=key-2,k1=key", "step": "Spreading"}})
    unseal_key_secrets = {names.unseal_key_secret("x", number) for number in range(1, 6)}
    assert unseal_key_secrets <= secret_access.writers


def test_a_lost_status_keeps_access_to_every_key() -> None:
    """A rotated cluster without a status can read its key, and Retain keeps the key."""
    thirteenth = names.unseal_key_secret("x", 13)
    assert thirteenth in access().writers
    assert thirteenth in kept_secrets(gen.cluster().read(), "x")
    assert thirteenth in kept_secrets(None, "x")


def test_a_huge_key_number_gives_a_bounded_access() -> None:
    secret_access = access({"unseal": {"keys": "k=key-999999999999", "step": "Settled"}})
    assert len(secret_access.writers) < 2 * tenancy.KEYS_MAX


def test_the_digest_depends_on_names_and_access() -> None:
    access = SecretAccess(frozenset({"a"}), frozenset({"b"}))
    assert access.digest == SecretAccess(frozenset({"a"}), frozenset({"b"})).digest
    assert access.digest != SecretAccess(frozenset({"b"}), frozenset({"a"})).digest
    assert len(access.digest) == tenancy.DIGEST


@pytest.mark.parametrize("spec", [{}, {"version": 7}, None])
def test_a_spec_that_cannot_be_read_keeps_the_keys(spec: Any) -> None:
    live = gen.cluster().object() | {"spec": spec}
    live["status"] = {"unseal": {"keys": "k5=key-5"}}
    access = access_of(live)
    assert access.readers == frozenset()
    assert names.unseal_key_secret("x", 5) in access.writers


def test_kept_secrets_are_within_the_access_of_the_cluster() -> None:
    cluster = gen.cluster().read()
    assert frozenset(kept_secrets(cluster, "x")) <= secret_access(cluster).writers
    assert "x-root-token" in kept_secrets(None, "x")


def test_every_reason_is_documented() -> None:
    page = html.unescape((REPOSITORY / "docs" / "tenants.md").read_text(encoding="utf-8"))
    for reason in TENANT_REASONS.values():
        assert f"| {reason.name} | {reason.meaning} | {reason.next_step} |" in page


def test_a_first_boot_does_not_change_the_access() -> None:
    """Otherwise each first boot would wait for the provisioner a second time."""
    assert access({"unseal": {"keys": "k1=key", "step": "Settled"}}) == access({})
