"""Rows of test_conditions about seals."""

from tests import gen
from tests.managers.cluster.passes import Row

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
CLOUD = {"type": "awskms", "awskms": {"region": "r", "kmsKeyID": "k"}}

SEAL_ROWS = {
    "a seal of a cloud without anything": Row(
        OLD.with_spec(unseal=CLOUD), FINE, "CloudUnsealIdentityReady=Unknown AmbientIdentityAssumed"
    ),
    "a seal of a cloud without its Secret": Row(
        OLD.with_spec(unseal={**CLOUD, "credentialsSecretRef": {"name": "mine"}}),
        FINE,
        "CloudUnsealIdentityReady=False CredentialsSecretMissing",
    ),
}
