"""The lock policies on a real API server: all refused and allowed requests."""

from collections.abc import Iterator

import pytest

from contracts.admission.managed_objects import LOCK_MANAGED, LOCK_SCALE
from contracts.naming import labels, names
from e2e.harness.impersonation import account
from e2e.rig import Rig
from e2e.rig.kube import ApiError
from runtime import builtin_kinds as kinds
from tests.integration import locked
from tests.integration.lock_cases import (
    ALLOWED,
    CLAIM,
    CONFIG,
    EDIT,
    GC,
    POD,
    REFUSED,
    SET,
    SETS,
    UNSEAL,
    WITHOUT_OWNER,
    with_annotation,
)
from tests.integration.locked import CLUSTER, NODE, OPERATOR, TENANT, Place, meta

LOCKS = (LOCK_MANAGED, LOCK_SCALE)
WORDS = "OpenBaoCluster"


@pytest.fixture(scope="module")
def place(control_plane: Rig) -> Iterator[Place]:
    """The control plane with both lock policies."""
    place = locked.prepare(control_plane, LOCKS)
    where = place.namespace()
    canary = locked.config_map(where, "canary")
    locked.await_refusal(place.client(TENANT), kinds.CONFIG_MAP, canary, WORDS)
    sets = locked.stateful_set(where)
    place.client(OPERATOR).create(kinds.STATEFUL_SET, sets)
    yield place
    locked.remove(control_plane, LOCKS)


@pytest.fixture
def home(place: Place) -> str:
    """A namespace with the objects of one cluster, created by the operator and by controllers."""
    where = place.namespace()
    operator = place.client(OPERATOR)
    operator.create(
        kinds.SERVICE_ACCOUNT, {"metadata": meta(where, names.service_account(CLUSTER))}
    )
    operator.create(kinds.CONFIG_MAP, locked.config_map(where))
    operator.create(kinds.SERVICE, locked.service(where))
    operator.create(kinds.STATEFUL_SET, locked.stateful_set(where))
    for name in (
        names.unseal_key_secret(CLUSTER),
        names.tls_server_secret(CLUSTER),
        names.root_token_secret(CLUSTER),
        names.tls_ca_secret(CLUSTER),
    ):
        operator.create(kinds.SECRET, locked.secret(where, name))
    place.client(SETS).create(kinds.PVC, locked.claim(where))
    place.client(SETS).create(kinds.POD, locked.pod(where))
    return where


@pytest.mark.parametrize("what", REFUSED)
def test_a_request_is_refused(place: Place, home: str, what: str) -> None:
    who, act = REFUSED[what]
    if not who.name:
        who = account(home, names.service_account(CLUSTER), pod="c-1")
    with pytest.raises(ApiError) as caught:
        act(place.client(who), home)
    assert caught.value.code == 403
    assert "denied request" in str(caught.value), str(caught.value)
    assert "error" not in str(caught.value), str(caught.value)
    assert WORDS in str(caught.value)


@pytest.mark.parametrize("what", ALLOWED)
def test_a_request_is_allowed(place: Place, home: str, what: str) -> None:
    who, act = ALLOWED[what]
    if not who.name:
        who = account(home, names.service_account(CLUSTER), pod=POD)
    act(place.client(who), home)


def test_b39_the_garbage_collector_and_a_node_complete_a_deletion(place: Place, home: str) -> None:
    """Foreground deletion in the steps of the controllers of Kubernetes."""
    place.client(OPERATOR).delete(kinds.STATEFUL_SET, home, SET, propagationPolicy="Foreground")
    live = place.client(GC).get(kinds.STATEFUL_SET, home, SET)
    assert live["metadata"]["finalizers"] == ["foregroundDeletion"]
    place.client(GC).delete(kinds.POD, home, POD, propagationPolicy="Background")
    place.client(NODE).delete(kinds.POD, home, POD, gracePeriodSeconds=0)
    place.client(GC).patch(kinds.STATEFUL_SET, home, SET, {"metadata": {"finalizers": None}})
    with pytest.raises(ApiError, match="not found"):
        place.client().get(kinds.STATEFUL_SET, home, SET)


def test_a_retained_secret_may_be_deleted_by_users(place: Place, home: str) -> None:
    WITHOUT_OWNER(place.client(OPERATOR), home)
    place.client(TENANT).delete(kinds.SECRET, home, UNSEAL)


def test_a_volume_of_a_removed_server_may_be_deleted_by_users(place: Place, home: str) -> None:
    place.client(OPERATOR).patch(
        kinds.PVC, home, CLAIM, with_annotation(labels.REMOVED_PEER, "c-0")
    )
    place.client(TENANT).delete(kinds.PVC, home, CLAIM)


def test_a_refusal_names_the_owner_and_the_next_step(place: Place, home: str) -> None:
    with pytest.raises(ApiError) as caught:
        EDIT(place.client(TENANT), home)
    value = str(caught.value)
    assert "configmaps c-config belongs to OpenBaoCluster c" in value
    assert "change the cluster instead" in value
    assert "verb maintain" in value
    assert f"{labels.MAINTENANCE}=true" in value


def test_without_parameters_no_user_is_locked_out(place: Place, home: str) -> None:
    """A user who may delete them may replace the operator, too; others must not be blocked."""
    gone = place.client().get(kinds.SERVICE_ACCOUNT, locked.NAMESPACE, locked.PARAMETERS)
    place.client().delete(kinds.SERVICE_ACCOUNT, locked.NAMESPACE, locked.PARAMETERS)
    try:
        locked.await_allowed(lambda: EDIT(place.client(TENANT), home))
        place.client(GC).delete(kinds.CONFIG_MAP, home, CONFIG)
    finally:
        del gone["metadata"]["resourceVersion"], gone["metadata"]["uid"]
        place.client().create(kinds.SERVICE_ACCOUNT, gone)
        canary = locked.config_map(home, "canary")
        locked.await_refusal(place.client(TENANT), kinds.CONFIG_MAP, canary, WORDS)
