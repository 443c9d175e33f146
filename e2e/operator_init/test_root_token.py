"""Without selfInit a first boot creates a root token, stored before the server creates it.

e2e/delete_policies deletes such clusters with the other policies, and their tokens with them.
"""

import base64

from contracts.api.group import CLUSTERS
from contracts.naming import names
from e2e.harness.audit import AuditLog
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from e2e.harness.waiting import until
from runtime.builtin_kinds import POD, PVC


def test_the_root_token_is_stored_before_the_server_starts_and_kept_with_its_volume(
    api: Api, operator: Operator, audit: AuditLog, controller: Identity, namespace: str
) -> None:
    start = audit.mark()
    api.create(CLUSTERS, manifest(namespace, "plain", deletionPolicy="Retain"))
    cluster = Cluster(api, namespace, "plain")
    cluster.await_available()

    secret = cluster.secret(names.root_token_secret("plain"))
    assert secret is not None
    token = base64.b64decode(secret["data"]["token"]).decode()
    assert cluster.server().get("auth/token/lookup-self", token)["data"]["policies"] == ["root"]

    entries = audit.since(start)
    (stored,) = [
        e.at
        for e in entries
        if (e.user, e.verb, e.name) == (controller.user, "create", secret["metadata"]["name"])
    ]
    pods = [e.at for e in entries if (e.verb, e.resource) == ("create", POD.plural)]
    assert pods
    assert stored < min(pods)

    cluster.await_condition("RaftMembershipReady", reason="AllVoters")
    assert cluster.live()["status"]["adminOps"]["raft"]["voters"] == 1

    # It is in no ConfigMap, log or pod spec: the server read it from the mounted Secret.
    rig = cluster.api.rig
    assert token not in rig.kubectl("-n", namespace, "logs", names.pod("plain", 0))
    assert token not in rig.kubectl("-n", namespace, "get", "pods,configmaps", "-o", "yaml")
    cluster.await_condition("UserAccessBootstrap", reason="RootTokenStored")

    api.delete(CLUSTERS, namespace, "plain")
    until("the cluster is gone", lambda: cluster.find() is None, 60.0)
    kept = cluster.secret(secret["metadata"]["name"])
    assert kept is not None
    assert kept["data"] == secret["data"]
    assert not kept["metadata"].get("ownerReferences")
    assert api.find(PVC, namespace, names.data_claim("plain", 0)) is not None
