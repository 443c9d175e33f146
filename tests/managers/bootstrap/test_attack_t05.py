"""Attack T05: the seal references a Secret of the operator."""

import pytest

from contracts.api.rules.cluster import violations
from contracts.naming import names
from tests.contracts.api.clusters import cluster

SYSTEM = (
    names.unseal_key_secret("other"),
    names.unseal_key_secret("other", 2),
    names.root_token_secret("other"),
    names.tls_ca_secret("other"),
    names.tls_server_secret("other"),
)
TRANSIT = {"address": "https://kms.example.com", "keyName": "k", "mountPath": "m"}


@pytest.mark.parametrize("name", SYSTEM)
@pytest.mark.parametrize("seal", ["static", "transit"])
def test_attack_t05_no_key_of_the_operator_is_mounted_by_name(name: str, seal: str) -> None:
    block = {"transit": TRANSIT} if seal == "transit" else {}
    spec = {"type": seal, "credentialsSecretRef": {"name": name}, **block}
    results = [v for v in violations(cluster(unseal=spec)) if v.rule == "system-secret"]
    assert [v.field for v in results] == ["spec.unseal.credentialsSecretRef.name"]
    assert results[0].value == name
