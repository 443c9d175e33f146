"""Without requests of the user the first boot leaves a root token, stored before it exists."""

import base64

from contracts import names
from contracts.api.group import CLUSTERS
from e2e.harness.audit import AuditLog
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.operator import Operator
from runtime.resources import POD


def test_the_stored_token_is_root_and_was_there_before_the_server(
    api: Api, operator: Operator, audit: AuditLog, controller: Identity, namespace: str
) -> None:
    start = audit.mark()
    api.create(CLUSTERS, manifest(namespace, "plain"))
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
