"""Manifests of small clusters."""

from typing import Any

from contracts.api.group import API_VERSION, CLUSTER_KIND
from e2e.harness.bao import AUDIENCE, MOUNT
from e2e.rig.versions import OPENBAO
from runtime.types import Object

VERSION = OPENBAO
CLIENT = "client"
SECRETS = "secret"
# Clusters of tests keep nothing, unless a scenario overrides this.
_SPEC: dict[str, Any] = {
    "version": VERSION,
    "profile": "Development",
    "replicas": 1,
    "storage": {"size": "64Mi"},
    "deletionPolicy": "DeleteAll",
}

# A leader may lose contact for one second instead of half a second. On two cores that also run the
# whole node, the start of a server may take that long, and the election that follows would disturb
# a test of a planned change.
STEADY: dict[str, Any] = {"raft": {"performanceMultiplier": 2}}
# The same for two and a half seconds, for tests that count leaders while other tests run. Such a
# server also takes longer to become the leader if the former leader does not step down.
STEADFAST: dict[str, Any] = {"raft": {"performanceMultiplier": 5}}


def cluster(namespace: str, name: str, **spec: Any) -> Object:
    """Return a cluster that keeps a root token; `spec` adds or replaces fields."""
    return {
        "apiVersion": API_VERSION,
        "kind": CLUSTER_KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": {**_SPEC, **spec},
    }


def self_init(*requests: Object) -> Object:
    """Return spec.selfInit with a login for the operator and these requests."""
    return {"enabled": True, "oidc": {"enabled": True}, "requests": list(requests)}


def key_value_engine() -> Object:
    """Return the request that mounts key-value secrets."""
    return {
        "name": "enable_kv",
        "operation": "update",
        "path": f"sys/mounts/{SECRETS}",
        "secretEngine": {"type": "kv", "options": {"version": "1"}},
    }


def client_login(namespace: str) -> tuple[Object, Object]:
    """Return the requests that allow ServiceAccount CLIENT of the namespace to use the secrets."""
    policy = f'path "{SECRETS}/*" {{ capabilities = ["create", "read", "update"] }}'
    return account_login(AUDIENCE, namespace, CLIENT, policy)


def account_login(
    audience: str, namespace: str, account: str, policy: str
) -> tuple[Object, Object]:
    """Return the requests that create a policy and a role of a ServiceAccount, with its name."""
    return (
        {
            "name": f"{account}_policy",
            "operation": "update",
            "path": f"sys/policies/acl/{account}",
            "policy": {"policy": policy},
        },
        {
            "name": f"{account}_role",
            "operation": "update",
            "path": f"auth/{MOUNT}/role/{account}",
            "data": {
                "role_type": "jwt",
                "user_claim": "sub",
                "bound_audiences": [audience],
                "bound_subject": f"system:serviceaccount:{namespace}:{account}",
                "token_policies": [account],
                "token_ttl": "1h",
            },
        },
    )
