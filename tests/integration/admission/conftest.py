"""Fixtures: a control plane with CRDs, policies and roles, and the users."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from baoctl.generate.admission import FOLDER, PEOPLE
from baoctl.generate.main import ROOT
from contracts.admission.policy import PREFIX
from contracts.naming.installation import CONTROLLER, NAMESPACE
from e2e.rig import Rig, RigError
from tests.contracts.api.clusters import cluster_object
from tests.integration.accounts import make
from tests.integration.admission.cases import OTHER
from tests.integration.admission.people import EDIT, PLACE, READER, ROLES, WIDE, WRITER, People


@pytest.fixture(scope="package")
def control_plane_with_crds(control_plane_with_crds: Rig) -> Iterator[Rig]:
    """The control plane with CRDs, roles and policies; --warnings-as-errors is part of the test."""
    for name in (NAMESPACE, PLACE, OTHER):
        # Tests of other folders may have created it.
        body = json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        control_plane_with_crds.kubectl("apply", "--server-side", "-f", "-", input=body)
    for folder in (PEOPLE, FOLDER):
        control_plane_with_crds.kubectl(
            "apply", "--server-side", "--warnings-as-errors", "-k", str(ROOT / folder)
        )
    yield control_plane_with_crds
    for folder in (FOLDER, PEOPLE):
        control_plane_with_crds.kubectl("delete", "-k", str(ROOT / folder))


@pytest.fixture(scope="package")
def people(control_plane_with_crds: Rig, tmp_path_factory: pytest.TempPathFactory) -> People:
    """A user who may write clusters, and for each ClusterRole one who has that role as well."""
    folder = tmp_path_factory.mktemp("people")
    accounts = {
        WRITER: make(control_plane_with_crds, PLACE, WRITER, folder, [EDIT, f"{PREFIX}view"])
    }
    for role in sorted({*ROLES.values(), READER}):
        bound = f"cluster:{PREFIX}{role}" if role in WIDE else f"{PREFIX}{role}"
        # The role `edit` of Kubernetes includes reading Secrets.
        bound = "system:aggregate-to-edit" if role == READER else bound
        accounts[role] = make(control_plane_with_crds, PLACE, role, folder, [EDIT, bound])
    accounts[CONTROLLER] = make(
        control_plane_with_crds, NAMESPACE, CONTROLLER, folder, [f"cluster:{EDIT}"]
    )
    _wait_until_asked(control_plane_with_crds, accounts)
    return accounts


def _wait_until_asked(rig: Rig, people: People) -> None:
    """Wait until the API server enforces the policies and knows the roles."""
    gated: tuple[dict[str, Any], ...] = (
        {"service": {"type": "NodePort"}},
        {"imagePullSecrets": [{"name": "mine"}]},
    )
    for spec in gated:
        # Each request of kubectl takes a tenth of a second.
        refusals = (_refusal(rig, people[WRITER].user, spec) for _ in range(300))
        assert any("needs the verb" in text for text in refusals)


def _refusal(rig: Rig, user: str, spec: dict[str, Any]) -> str:
    body = cluster_object("asked", **spec)
    body["metadata"]["namespace"] = PLACE
    try:
        rig.kubectl("create", "--dry-run=server", f"--as={user}", "-f", "-", input=json.dumps(body))
    except RigError as error:
        return str(error)
    return ""
