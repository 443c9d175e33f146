"""Two listed namespaces, one of them created later, and one that is not listed.

The operator has rights only in the namespaces of the list: it cannot read any other.
"""

import uuid
from collections.abc import Iterator

import pytest

from contracts.api.group import CLUSTERS
from e2e.conftest import MakeNamespace, sweep
from e2e.harness.audit import AuditLog, refusals
from e2e.harness.clusters import Cluster
from e2e.harness.installation import Identity
from e2e.harness.kubernetes import Api
from e2e.harness.manifests import cluster as manifest
from e2e.harness.modes import as_in_a_pod, bind_namespace, namespace_controller
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.harness.waiting import until
from e2e.rig import Rig
from runtime.builtin_kinds import NAMESPACE


@pytest.fixture(scope="module")
def account(rig: Rig, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """The controller, with rights only in its own namespace."""
    return namespace_controller(rig, api, tmp_path_factory.mktemp("namespaces"))


@pytest.fixture
def late_namespace(api: Api) -> Iterator[str]:
    """The name of a namespace that does not exist yet."""
    name = f"e2e-{uuid.uuid4().hex[:8]}"
    yield name
    if api.find(NAMESPACE, None, name) is not None:
        sweep(api, name)


def start(api: Api, launcher: Launcher, account: Identity, namespaces: str) -> Operator:
    """Start an operator for a list of namespaces."""
    environment = {"WATCH_NAMESPACE": namespaces, **as_in_a_pod(api)}
    return launcher.start(account, NO_ELECTION, environment=environment)


def make(api: Api, namespace: str, name: str) -> Cluster:
    """Create a cluster of one server."""
    body = manifest(namespace, name, replicas=1, deletionPolicy="DeleteAll")
    api.create(CLUSTERS, body)
    return Cluster(api, namespace, name)


@pytest.mark.timeout(300)
def test_only_listed_namespaces_are_watched(
    api: Api,
    launcher: Launcher,
    account: Identity,
    audit: AuditLog,
    make_namespace: MakeNamespace,
    late_namespace: str,
) -> None:
    first, other = make_namespace(), make_namespace()
    bind_namespace(api, first)
    mark = audit.mark()
    # One namespace twice, and one that does not exist yet.
    operator = start(api, launcher, account, f"{first},{late_namespace},{first}")
    here, there = make(api, first, "here"), make(api, other, "there")
    here.await_available()
    print("\nthe first namespace does not wait for the second")

    api.make_namespace(late_namespace)
    bind_namespace(api, late_namespace)
    cluster = make(api, late_namespace, "made")
    cluster.await_available()
    print("a namespace that is created later is watched")
    assert there.live().get("status") is None
    assert "finalizers" not in there.live()["metadata"]

    api.delete(CLUSTERS, late_namespace, "made")
    until("the cluster is gone", lambda: cluster.find() is None, 60.0)
    api.delete(NAMESPACE, None, late_namespace)
    until("the namespace is gone", lambda: api.find(NAMESPACE, None, late_namespace) is None, 60.0)
    api.patch(CLUSTERS, first, "here", {"spec": {"replicas": 3}})
    here.await_available()
    print("a deleted namespace does not block the others")

    requests = audit.since(mark, account.user)
    assert other not in {entry.namespace for entry in requests}
    assert {e.namespace for e in refusals(requests)} <= {late_namespace}, (
        "before and after its rights"
    )
    api.delete(CLUSTERS, first, "here")
    until("the first cluster is gone", lambda: here.find() is None, 60.0)
    assert operator.stop() == 0


@pytest.mark.timeout(200)
def test_only_the_one_namespace_is_watched(
    api: Api,
    launcher: Launcher,
    account: Identity,
    audit: AuditLog,
    make_namespace: MakeNamespace,
) -> None:
    namespace = make_namespace()
    bind_namespace(api, namespace)
    mark = audit.mark()
    operator = start(api, launcher, account, namespace)
    cluster = make(api, namespace, "alone")
    cluster.await_available()
    api.delete(CLUSTERS, namespace, "alone")
    until("the cluster is gone", lambda: cluster.find() is None, 60.0)
    assert operator.stop() == 0
    assert not refusals(audit.since(mark, account.user))
