"""The NetworkPolicies of a Hardened cluster, without its servers.

Such a cluster needs a key service and external certificates before a server starts. Its policies
need neither: they are rendered as the operator would create them, and select pods by label.

Each is applied as two, one for each direction, which is equivalent (policies add up). The enforcer
has one chain for both directions of a policy: between two pods of the same policy it would pass a
connection that only one of the two directions allows.
"""

import subprocess
import sys
from collections.abc import Iterator

import orjson
import yaml

from contracts.api.group import API_VERSION, CLUSTER_KIND
from e2e.harness.manifests import VERSION, key_value_engine, self_init
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from runtime.builtin_kinds import NETWORK_POLICY
from runtime.types import Object

_TRANSIT = {"address": "https://kms.example.com", "keyName": "unseal", "mountPath": "transit"}


def apply_hardened(rig: Rig, namespace: str, name: str, network: Object) -> None:
    """Apply the policies of a Hardened cluster with a metrics port."""
    spec = {
        "version": VERSION,
        "profile": "Hardened",
        "replicas": 3,
        "storage": {"size": "1Gi"},
        "tls": {"mode": "External"},
        "unseal": {"type": "transit", "transit": _TRANSIT},
        "selfInit": self_init(key_value_engine()),
        "observability": {"metrics": {"enabled": True, "scrapeProfile": "AllNodes"}},
        "network": network,
    }
    manifest = {
        "apiVersion": API_VERSION,
        "kind": CLUSTER_KIND,
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }
    host = str(rig.layout.slot.api_service)
    command = ("render", "-f", "-", "--namespace", namespace, "--api-server-host", host)
    done = subprocess.run(
        [sys.executable, "-m", "baoctl", *command],
        input=orjson.dumps(manifest),
        capture_output=True,
        cwd=REPOSITORY,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode()
    for document in yaml.safe_load_all(done.stdout):
        if document["kind"] == NETWORK_POLICY.kind:
            for policy in _split(document):
                rig.kubectl(
                    "-n", namespace, "apply", "-f", "-", input=orjson.dumps(policy).decode()
                )


def _split(policy: Object) -> Iterator[Object]:
    for direction in policy["spec"]["policyTypes"]:
        rules = direction.lower()
        spec = {
            "podSelector": policy["spec"]["podSelector"],
            "policyTypes": [direction],
            rules: policy["spec"].get(rules, []),
        }
        name = f"{policy['metadata']['name']}-{rules}"
        yield {**policy, "metadata": {"name": name}, "spec": spec}
