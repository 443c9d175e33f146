"""What the conditions say of seals: rows of test_conditions."""

from runtime.outcome import Done, Outcome
from tests import gen

OLD = gen.cluster().initialized()
FINE = gen.running(OLD)
CLOUD = {"type": "awskms", "awskms": {"region": "r", "kmsKeyID": "k"}}

SEAL_ROWS: dict[str, tuple[gen.Cluster, gen.World, Outcome, str, str]] = {
    "a seal of a cloud without anything": (
        OLD.wanting(unseal=CLOUD),
        FINE,
        Done(),
        "CloudUnsealIdentityReady",
        "Unknown AmbientIdentityAssumed",
    ),
    "a seal of a cloud without its Secret": (
        OLD.wanting(unseal={**CLOUD, "credentialsSecretRef": {"name": "mine"}}),
        FINE,
        Done(),
        "CloudUnsealIdentityReady",
        "False CredentialsSecretMissing",
    ),
}
