"""The messages of the rules about recovery keys, which apply before the first boot only."""

from typing import Any

import pytest

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.cluster import violations
from tests.contracts.api.cases_recovery import CODE_CASES
from tests.contracts.api.clusters import cluster_object
from tests.contracts.api.pgp_keys import BAD

CASE = CODE_CASES["a recovery share for an RSA subkey that may only sign"]


def _rule_ids(status: dict[str, Any]) -> list[str]:
    read = OpenBaoCluster.from_object({**cluster_object(**CASE.spec), "status": status})
    return [str(violation) for violation in violations(read)]


def test_the_message_has_the_field_the_key_the_rule_and_the_next_step() -> None:
    (message,) = _rule_ids({})
    for part in (
        "spec.recoveryKeys.initial.recipients[0].pgpPublicKey: must be an OpenPGP public key",
        "gpg --quick-add-key <fingerprint> default encr",
        "it cannot be repeated",
        f"({BAD['an RSA subkey that may only sign'][1]})",
    ):
        assert part in message


@pytest.mark.parametrize("status", [{"initialized": True}])
def test_an_initialized_cluster_is_accepted(status: dict[str, Any]) -> None:
    assert _rule_ids(status) == []
