"""The requests that the policies check and do not check: readable Secrets, the operator, components
of Kubernetes, and removed fields."""

import json
from typing import Any

import pytest

from contracts.admission.policy import PARAMETERS, PREFIX
from contracts.admission.secrets import AT_MOST
from contracts.api.group import CLUSTERS, GROUP
from contracts.naming import labels
from contracts.naming.installation import CONTROLLER, NAMESPACE
from e2e.rig import Rig, RigError
from runtime.client.client import Client
from runtime.errors import Forbidden
from tests.contracts.api.clusters import MANIFESTS
from tests.integration.accounts import make
from tests.integration.admission.cases import OTHER
from tests.integration.admission.people import (
    EDIT,
    MANAGER,
    PLACE,
    READER,
    ROLES,
    WRITER,
    People,
    apply,
    body,
    client_as,
)

BACKUP: dict[str, Any] = {
    "schedule": "0 3 * * *",
    "jwtAuthRole": "backup",
    "target": {"endpoint": "https://s3.example.com", "bucket": "b"},
}
_WHO = f"serviceaccount/{PARAMETERS}"
NODE_PORT = {"service": {"type": "NodePort", "annotations": {"a": "b"}}}


def _pulls(count: int) -> dict[str, Any]:
    return {"imagePullSecrets": [{"name": f"pull-{number}"} for number in range(count)]}


def _allow(rig: Rig, account: str, verb: str, resource: str, *names: str) -> None:
    """Bind a Role to an account; `names` restricts it to objects with these names."""
    rule = {"apiGroups": [""], "resources": [resource], "verbs": [verb]}
    if resource == CLUSTERS.plural:
        rule["apiGroups"] = [CLUSTERS.group]
    if names:
        rule["resourceNames"] = list(names)
    place = {"name": f"{account}-{verb}", "namespace": PLACE}
    kind = {"apiVersion": "rbac.authorization.k8s.io/v1", "metadata": place}
    subject = {"kind": "ServiceAccount", "name": account, "namespace": PLACE}
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": place["name"]}
    items = (
        {**kind, "kind": "Role", "rules": [rule]},
        {**kind, "kind": "RoleBinding", "roleRef": reference, "subjects": [subject]},
    )
    listed = {"apiVersion": "v1", "kind": "List", "items": list(items)}
    rig.kubectl("apply", "--server-side", "-f", "-", input=json.dumps(listed))
    user, what = f"system:serviceaccount:{PLACE}:{account}", "/".join((resource, *names[:1]))
    # RBAC changes take effect after a moment.
    assert any(_may(rig, user, verb, what) for _ in range(100))


def _may(rig: Rig, user: str, verb: str, what: str) -> bool:
    try:
        rig.kubectl("auth", "can-i", verb, what, "-n", PLACE, f"--as={user}")
    except RigError:
        return False
    return True


class TestSecrets:
    async def test_a_user_who_can_read_all_secrets_may_reference_many(self, people: People) -> None:
        async with client_as(people[READER]) as reader:
            await apply(reader, body("many", _pulls(16)))

    async def test_permission_for_one_secret_does_not_cover_another(
        self, people: People, control_plane_with_crds: Rig, tmp_path: Any
    ) -> None:
        allowed = [f"pull-{number}" for number in range(16)]
        one = make(control_plane_with_crds, PLACE, "one-by-one", tmp_path, [EDIT])
        _allow(control_plane_with_crds, one.name, "get", "secrets", *allowed)
        async with client_as(one) as client:
            # The maximum within the cost budget of a policy: each name needs two checks.
            await apply(client, body("few", _pulls(AT_MOST)))
            with pytest.raises(Forbidden, match=rf"spec: names more than {AT_MOST} new Secrets"):
                await apply(client, body("few", _pulls(AT_MOST + 1)))
            with pytest.raises(Forbidden, match="Secret theirs in namespace") as caught:
                await apply(client, body("few", {"imagePullSecrets": [{"name": "theirs"}]}))
        assert "spec.imagePullSecrets[].name: needs the verb get or use" in str(caught.value)

    async def test_only_new_names_count(self, people: People, client: Client) -> None:
        await apply(client, body("grown", _pulls(16)), dry_run=False)
        async with client_as(people[WRITER]) as writer:
            await apply(writer, body("grown", {**_pulls(16), "paused": True}))
            await apply(writer, body("grown", _pulls(3)))

    async def test_permission_in_one_namespace_does_not_cover_another(
        self, people: People, control_plane_with_crds: Rig
    ) -> None:
        # If two policies refuse, the error has the message of either.
        role = ("makes-clusters", "--verb=create", "--resource=openbaoclusters.openbao.org")
        control_plane_with_crds.kubectl("create", "role", *role, "-n", OTHER)
        bound = (role[0], f"--role={role[0]}", f"--serviceaccount={PLACE}:{READER}")
        control_plane_with_crds.kubectl("create", "rolebinding", *bound, "-n", OTHER)
        test = {"schedule": "0 5 * * 0", "namespace": OTHER, "credentialsSecretRef": {"name": "a"}}
        target = {**BACKUP["target"], "credentialsSecretRef": {"name": "a"}}
        backup = {**BACKUP, "target": target, "restoreTest": test}
        async with client_as(people[READER]) as reader:
            with pytest.raises(Forbidden, match=f"Secret a in namespace {OTHER};"):
                await apply(reader, body("tested", {**_pulls(16), "backup": backup}))

    async def test_the_same_name_in_another_namespace_is_another_object(
        self, people: People, client: Client
    ) -> None:
        named = {"serviceAccount": {"name": "other"}}
        test = {"schedule": "0 5 * * 0", "clusterTemplate": named}
        before = body("moved", {"backup": {**BACKUP, "restoreTest": test}})
        await apply(client, before, dry_run=False)
        moved = {**BACKUP, "restoreTest": {**test, "namespace": OTHER}}
        async with client_as(people["use-service-accounts"]) as user:
            with pytest.raises(Forbidden, match=f"serviceaccounts other in namespace {OTHER};"):
                await apply(user, body("moved", {"backup": moved}))

    async def test_names_of_the_clusters_own_objects_need_no_permission(
        self, people: People
    ) -> None:
        external = {
            "serverSecretRef": {"name": "own-tls-server"},
            "caSecretRef": {"name": "own-tls-ca"},
        }
        spec = {
            "tls": {"mode": "External", "external": external},
            "ingress": {"tlsSecretName": "own-tls-server"},
            "serviceAccount": {"name": "own-serviceaccount"},
        }
        async with client_as(people[WRITER]) as writer:
            await apply(writer, body("own", spec))


class TestPeople:
    async def test_removing_a_field_needs_no_permission(
        self, people: People, client: Client
    ) -> None:
        await apply(client, body("less", NODE_PORT), dry_run=False)
        async with client_as(people[WRITER]) as writer:
            await apply(writer, body("less", {}))
            await apply(writer, body("less", {"service": {"type": "ClusterIP"}}))

    async def test_the_older_name_of_a_verb_is_enough(
        self, people: People, control_plane_with_crds: Rig, tmp_path: Any
    ) -> None:
        old = make(control_plane_with_crds, PLACE, "old-name", tmp_path, [EDIT])
        _allow(control_plane_with_crds, old.name, "usehelperimages", CLUSTERS.plural)
        async with client_as(old) as client:
            await apply(client, body("old", {"upgrade": {"image": "registry.example.com/u:1"}}))

    async def test_a_verb_for_one_cluster_does_not_cover_another(
        self, people: People, control_plane_with_crds: Rig, tmp_path: Any
    ) -> None:
        one = make(control_plane_with_crds, PLACE, "of-one", tmp_path, [EDIT])
        _allow(control_plane_with_crds, one.name, "publishnetworking", CLUSTERS.plural, "mine")
        async with client_as(one) as client:
            await apply(client, body("mine", NODE_PORT))
            with pytest.raises(Forbidden, match=r"spec\.service\.type: needs the verb"):
                await apply(client, body("theirs", NODE_PORT))

    async def test_keys_that_no_cloud_uses_need_no_permission(
        self, people: People, client: Client
    ) -> None:
        cloud = {"azure.workload.identity/use": "true"}
        await apply(client, body("cloudy", {"podMetadata": {"labels": cloud}}), dry_run=False)
        async with client_as(people[WRITER]) as writer:
            await apply(writer, body("cloudy", {"podMetadata": {"labels": {**cloud, "a": "b"}}}))
            changed = body("cloudy", {"podMetadata": {"labels": {next(iter(cloud)): "other"}}})
            with pytest.raises(Forbidden, match=r"spec\.podMetadata\.labels: needs the verb"):
                await apply(writer, changed)

    @pytest.mark.parametrize("manifest", MANIFESTS.values(), ids=MANIFESTS.keys())
    async def test_a_user_with_all_permissions_may_use_all_fields(
        self, manifest: dict[str, Any], people: People, control_plane_with_crds: Rig, tmp_path: Any
    ) -> None:
        """Together, the manifests use every field, so all checks fit the cost budgets."""
        # Cluster-wide: some reference Gateways and Secrets of other namespaces.
        roles = [EDIT, *(f"cluster:{PREFIX}{role}" for role in sorted({*ROLES.values()}))]
        owner = make(control_plane_with_crds, PLACE, "owner", tmp_path, roles)
        async with client_as(owner) as client:
            await apply(client, body(manifest["metadata"]["name"], manifest["spec"]))


class TestExempt:
    async def test_the_operator_is_not_checked(self, people: People) -> None:
        async with client_as(people[CONTROLLER]) as operator:
            # As for a restore with a template.
            notes = {labels.RESTORE_ORIGIN: "uid"}
            spec = {**NODE_PORT, **_pulls(13)}
            await apply(operator, body("operated", spec, annotations=notes))

    async def test_another_account_of_the_same_name_is_checked(
        self, people: People, control_plane_with_crds: Rig, tmp_path: Any
    ) -> None:
        twin = make(control_plane_with_crds, PLACE, CONTROLLER, tmp_path, [EDIT])
        async with client_as(twin) as client:
            with pytest.raises(Forbidden, match="needs the verb"):
                await apply(client, body("operated", NODE_PORT))

    async def test_status_writes_and_scaling_are_not_checked(
        self, people: People, control_plane_with_crds: Rig, client: Client
    ) -> None:
        await apply(client, body("seen", NODE_PORT), dry_run=False)
        seen = {**body("seen", {}), "status": {"currentVersion": "2.4.0"}}
        del seen["spec"]
        await client.apply(CLUSTERS, seen, field_manager=MANAGER, force=True, subresource="status")
        user = f"--as={people[WRITER].user}"
        control_plane_with_crds.kubectl("scale", "-n", PLACE, "bao/seen", "--replicas=5", user)

    async def test_components_of_kubernetes_are_not_checked(
        self, people: People, control_plane_with_crds: Rig, client: Client
    ) -> None:
        """Components may change finalizers and owners of foreign objects, and delete them."""
        held = body("held", {**NODE_PORT, **_pulls(3)}, finalizers=["example.com/held"])
        await apply(client, held, dry_run=False)
        collector = "--as=system:serviceaccount:kube-system:generic-garbage-collector"
        cleaner = "--as=system:serviceaccount:kube-system:namespace-controller"
        patch = json.dumps({"metadata": {"finalizers": None, "ownerReferences": None}})
        control_plane_with_crds.kubectl("delete", "-n", PLACE, "bao/held", "--wait=false", cleaner)
        control_plane_with_crds.kubectl(
            "patch", "-n", PLACE, "bao/held", "--type=merge", "-p", patch, collector
        )
        with pytest.raises(RigError, match="NotFound"):
            control_plane_with_crds.kubectl("get", "-n", PLACE, "bao/held")


class TestParameters:
    """Last in this file: changed parameters affect all users."""

    async def test_the_operator_is_the_account_of_the_installation(
        self, people: People, control_plane_with_crds: Rig, tmp_path: Any
    ) -> None:
        renamed = make(control_plane_with_crds, NAMESPACE, "renamed", tmp_path, [f"cluster:{EDIT}"])
        _say(control_plane_with_crds, controller="renamed")
        try:
            await _until(control_plane_with_crds, renamed.user, refused=False)
            await _until(control_plane_with_crds, people[CONTROLLER].user, refused=True)
        finally:
            _say(control_plane_with_crds, controller=CONTROLLER)
        await _until(control_plane_with_crds, people[CONTROLLER].user, refused=False)

    async def test_without_parameters_nothing_is_checked(
        self, people: People, control_plane_with_crds: Rig
    ) -> None:
        kept = control_plane_with_crds.kubectl("get", "-n", NAMESPACE, _WHO, "-o", "json")
        control_plane_with_crds.kubectl("delete", "-n", NAMESPACE, _WHO)
        try:
            await _until(control_plane_with_crds, people[WRITER].user, refused=False)
        finally:
            stored = json.loads(kept)
            stored["metadata"] = {
                key: stored["metadata"][key]
                for key in ("name", "namespace", "labels", "annotations")
            }
            control_plane_with_crds.kubectl(
                "apply", "--server-side", "-f", "-", input=json.dumps(stored)
            )
        await _until(control_plane_with_crds, people[WRITER].user, refused=True)


def _say(rig: Rig, **names: str) -> None:
    annotations = {f"{GROUP}/{key}": name for key, name in names.items()}
    patch = json.dumps({"metadata": {"annotations": annotations}})
    rig.kubectl("patch", "-n", NAMESPACE, _WHO, "--type=merge", "-p", patch)


async def _until(rig: Rig, user: str, *, refused: bool, spec: dict[str, Any] | None = None) -> str:
    """Retry until the response matches; changed parameters take effect after a moment."""
    # The operator creates clusters only for restores.
    notes = {labels.RESTORE_ORIGIN: "uid"}
    text = json.dumps(body("asked", NODE_PORT if spec is None else spec, annotations=notes))
    said = ""
    for _ in range(300):
        try:
            rig.kubectl("create", "--dry-run=server", f"--as={user}", "-f", "-", input=text)
        except RigError as error:
            said = str(error)
            if refused:
                return said
        else:
            if not refused:
                return ""
    raise AssertionError(f"{user} is {'not ' if refused else ''}refused: {said}")
