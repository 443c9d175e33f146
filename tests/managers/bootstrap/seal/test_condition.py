"""managers.bootstrap.seal.condition: the credentials of the servers for a cloud's key service."""

from typing import Any

import pytest

from contracts.records.secrets import CredentialFacts
from managers.bootstrap.seal.condition import IDENTITY_ANNOTATIONS, unseal_identity
from tests import gen

AWS = {"type": "awskms", "awskms": {"region": "r", "kmsKeyID": "k"}}
NAMED = {**AWS, "credentialsSecretRef": {"name": "mine"}}
TEXT = CredentialFacts(9, False)
PAIR = {"AWS_ACCESS_KEY_ID": TEXT, "AWS_SECRET_ACCESS_KEY": TEXT}


def condition_of(world: gen.World, **spec: Any) -> tuple[str, str, str]:
    cluster = gen.cluster().with_spec(**spec).read()
    update = gen.present(unseal_identity(cluster.spec, world.facts()))
    return update.status, update.reason, update.message


def test_a_seal_without_a_cloud_needs_no_identity() -> None:
    assert unseal_identity(gen.cluster().read().spec, gen.world().facts()) is None


@pytest.mark.parametrize("mark", IDENTITY_ANNOTATIONS)
def test_an_identity_of_the_service_account_is_reported(mark: str) -> None:
    account = {"name": "a", "annotations": {mark: "me"}}
    status, reason, message = condition_of(gen.world(), unseal=AWS, serviceAccount=account)
    assert (status, reason) == ("True", "WorkloadIdentityConfigured")
    assert mark in message


def test_without_credentials_an_ambient_identity_is_assumed() -> None:
    status, reason, _ = condition_of(gen.world(), unseal=AWS)
    assert (status, reason) == ("Unknown", "AmbientIdentityAssumed")


def test_a_secret_counts_if_it_is_complete() -> None:
    complete = gen.world().with_secrets(gen.secret("mine", of="a user", keys=PAIR))
    assert condition_of(complete, unseal=NAMED)[:2] == ("True", "CredentialsSecretConfigured")
    status, reason, message = condition_of(gen.world(), unseal=NAMED)
    assert (status, reason) == ("False", "CredentialsSecretMissing")
    assert "Secret mine does not exist" in message
