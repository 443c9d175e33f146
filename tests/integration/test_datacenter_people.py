"""deploy/people for datacenters: platform administrators have access, tenants have none."""

from collections.abc import Iterator

import pytest

from contracts.api.group import GROUP
from contracts.datacenter.kinds import DATACENTERS, SERVICE_SETS, WORKLOADS
from e2e.harness.kubernetes import Api
from e2e.harness.policies import PEOPLE
from e2e.harness.waiting import until
from e2e.rbac_minimal.mutation import REVIEW
from e2e.rig import Rig
from runtime.types import Resource

ROLES = ("view", "edit", "admin", "datacenter-view", "datacenter-admin")
READS, WRITES = ("get", "list", "watch"), ("create", "update", "patch", "delete")
READERS, KEEPERS = ("datacenter-view", "datacenter-admin"), ("datacenter-admin",)
# kind, subresource, verbs, who may
EXPECTED: tuple[tuple[Resource, str, tuple[str, ...], tuple[str, ...]], ...] = (
    (DATACENTERS, "", READS, READERS),
    (DATACENTERS, "", WRITES, KEEPERS),
    (SERVICE_SETS, "", READS, READERS),
    (SERVICE_SETS, "", WRITES, KEEPERS),
    (WORKLOADS, "", READS, ("datacenter-view",)),
    (WORKLOADS, "", WRITES, ()),
    (DATACENTERS, "status", ("get",), ("datacenter-view",)),
    (DATACENTERS, "status", WRITES, ()),
    (WORKLOADS, "status", WRITES, ()),
)


def may(api: Api, role: str, verb: str, kind: Resource, subresource: str = "") -> bool:
    """Whether a user with a cluster-wide binding of that role may do this (SubjectAccessReview)."""
    attributes = {"group": GROUP, "resource": kind.plural, "subresource": subresource, "verb": verb}
    spec = {"user": f"holder-of-{role}", "resourceAttributes": attributes}
    return bool(api.create(REVIEW, {"metadata": {}, "spec": spec})["status"]["allowed"])


@pytest.fixture(scope="module")
def api(control_plane: Rig) -> Iterator[Api]:
    """An administrator client; each role is bound to one user."""
    control_plane.kubectl("apply", "-k", str(PEOPLE))
    names = [f"holder-of-{role}" for role in ROLES]
    for role, name in zip(ROLES, names, strict=True):
        arguments = (f"--clusterrole=openbao-operator-{role}", f"--user={name}")
        control_plane.kubectl("create", "clusterrolebinding", name, *arguments)
    api = Api(control_plane)
    until("the bindings are effective", lambda: may(api, ROLES[-1], "get", DATACENTERS), 30.0)
    yield api
    control_plane.kubectl("delete", "clusterrolebinding", *names)


@pytest.mark.parametrize("role", ROLES)
def test_the_permissions_of_each_role(api: Api, role: str) -> None:
    rights = {
        (kind.plural, subresource, verb): may(api, role, verb, kind, subresource)
        for kind, subresource, verbs, _ in EXPECTED
        for verb in verbs
    }
    assert rights == {
        (kind.plural, subresource, verb): role in holders
        for kind, subresource, verbs, holders in EXPECTED
        for verb in verbs
    }
