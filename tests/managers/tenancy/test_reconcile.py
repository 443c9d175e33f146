"""managers.tenancy.reconcile: who gets a namespace, and the objects written to it."""

import asyncio
from typing import Any

import pytest

from contracts import tenancy
from contracts.api.group import TENANTS
from contracts.api.tenant import TenantStatus
from contracts.naming.labels import OWNER_UID
from contracts.tenancy import GRANT_FINALIZER, access_of
from managers.tenancy.plan import LIMIT_RANGE, POD_SECURITY, POD_SECURITY_OWNER, QUOTA
from managers.tenancy.revocation_delay import SECONDS
from runtime.builtin_kinds import NAMESPACE, ROLE, ROLE_BINDING
from runtime.errors import Transient, status_error
from runtime.outcome import Blocked, Done, Wait
from runtime.types import Object, ObjectKey
from tests import gen
from tests.managers.tenancy.bench import HOME, PERIOD, TARGET, Bench, namespace, tenant

KINDS = ("backup", "cluster", "restore")


def cluster(name: str = "x", **spec: Any) -> Object:
    cluster = gen.cluster(name, **spec).object()
    cluster["metadata"]["namespace"] = TARGET
    return cluster


async def onboard(*clusters: Object) -> Bench:
    bench = Bench(tenant(), space=namespace())
    bench.says(*clusters)
    await bench.settle()
    return bench


def names_of(role: Object) -> list[str]:
    return [name for rule in role["rules"] for name in rule.get("resourceNames", ())]


def terminating(live: Object) -> None:
    live["metadata"]["deletionTimestamp"] = "2030-01-01T01:00:00Z"


class TestOnboarding:
    async def test_a_tenant_is_ready_once_its_quota_is_counted(self) -> None:
        bench = Bench(tenant(), space=namespace())
        bench.delegate.counts = False
        assert await bench.run() == Wait("Provisioning", bench.status()["lastError"], 1.0)
        assert bench.reason() == ("False", "Provisioning")
        assert "has not counted count/openbaobackups.openbao.org" in bench.status()["lastError"]
        bench.object(QUOTA, tenancy.QUOTA)["status"] = {
            "used": {f"count/openbao{kind}s.openbao.org": "0" for kind in KINDS}
        }
        await bench.run()
        assert bench.reason() == ("True", "Provisioned")

    async def test_a_tenant_stays_ready_while_a_new_quota_is_counted(self) -> None:
        bench = await onboard()
        bench.delegate.counts = False
        stored = bench.object(TENANTS, "t", HOME)
        stored["spec"]["quota"] = {"hard": {"count/openbaoclusters.openbao.org": "7"}}
        await bench.run()
        assert bench.reason() == ("True", "Provisioned")

    async def test_roles_and_quotas_are_written_before_the_status(self) -> None:
        bench = Bench(tenant(), space=namespace())
        await bench.run()
        assert bench.names(ROLE) == [tenancy.TENANT_ROLE]
        assert bench.names(ROLE_BINDING) == [tenancy.TENANT_BINDING]
        hard = bench.object(QUOTA, tenancy.QUOTA)["spec"]["hard"]
        assert (hard["pods"], hard["count/openbaoclusters.openbao.org"]) == ("50", "20")
        (limit,) = bench.object(LIMIT_RANGE, tenancy.LIMITS)["spec"]["limits"]
        assert limit["default"] == {"cpu": "500m", "memory": "512Mi"}
        assert bench.reason() == ("True", "Provisioned")
        assert bench.status()["provisioned"] is True
        assert bench.status()["observedGeneration"] == 1
        assert bench.api.take_requests()[-1] == "apply/status OpenBaoTenant t"
        roles = [call for call in bench.delegate.take_requests() if call.startswith("apply")]
        assert roles.index(f"apply Role {tenancy.TENANT_ROLE}") < roles.index(
            f"apply RoleBinding {tenancy.TENANT_BINDING}"
        )

    async def test_an_unchanged_tenant_causes_no_requests_until_the_next_check(self) -> None:
        bench = await onboard(cluster())
        outcome = await bench.run()
        assert bench.take_requests() == []
        assert isinstance(outcome, Done)
        assert gen.present(outcome.recheck_after) >= 0.8 * PERIOD

    async def test_the_next_check_reads_by_name_and_writes_nothing(self) -> None:
        bench = await onboard(cluster())
        await bench.clock.advance(2 * PERIOD)
        await bench.run()
        requests = bench.take_requests()
        assert requests
        assert all(call.startswith("get ") for call in requests)

    async def test_drift_is_repaired_at_the_next_check(self) -> None:
        bench = await onboard(cluster())
        rules = list(bench.object(ROLE, tenancy.TENANT_ROLE)["rules"])
        bench.object(ROLE, tenancy.TENANT_ROLE)["rules"] = []
        await bench.clock.advance(2 * PERIOD)
        await bench.run()
        assert bench.object(ROLE, tenancy.TENANT_ROLE)["rules"] == rules

    async def test_the_role_has_no_secrets_and_no_wildcards(self) -> None:
        bench = await onboard()
        for rule in bench.object(ROLE, tenancy.TENANT_ROLE)["rules"]:
            assert "secrets" not in rule["resources"]
            assert not {"*", "bind", "escalate", "impersonate"} & {*rule["verbs"]}
            assert not {"list", "watch"} & {*rule["verbs"]}

    async def test_the_spec_overrides_quota_and_limits(self) -> None:
        wish = tenant()
        wish["spec"] |= {
            "quota": {"hard": {"pods": 7, "requests.cpu": "1000m"}},
            "limitRange": {"limits": [{"type": "Container", "default": {"cpu": "1"}}]},
        }
        bench = Bench(wish, space=namespace())
        await bench.settle()
        hard = bench.object(QUOTA, tenancy.QUOTA)["spec"]["hard"]
        assert hard == {"pods": "7", "requests.cpu": "1"}
        (limit,) = bench.object(LIMIT_RANGE, tenancy.LIMITS)["spec"]["limits"]
        assert limit == {"type": "Container", "default": {"cpu": "1"}}

    async def test_other_scopes_replace_the_quota(self) -> None:
        """The scopes of a ResourceQuota are immutable."""
        bench = await onboard()
        wish, scopes = bench.object(TENANTS, "t", HOME), ["NotBestEffort", "Terminating"]
        wish["spec"]["quota"] = {"hard": {"pods": "7"}, "scopes": scopes}
        bench.api.with_objects((TENANTS, wish))
        await bench.run()
        assert f"delete ResourceQuota {tenancy.QUOTA}" in bench.take_requests()
        quota = bench.object(QUOTA, tenancy.QUOTA)
        assert quota["spec"] == {"hard": {"pods": "7"}, "scopes": scopes}
        quota["spec"]["scopes"].reverse()
        await bench.clock.advance(2 * PERIOD)
        bench.take_requests()
        await bench.run()
        assert not [call for call in bench.take_requests() if call.startswith("delete")]


class TestPodSecurity:
    async def test_labels_are_written_only_when_they_differ(self) -> None:
        bench = Bench(tenant(), space=namespace())
        await bench.settle()
        assert bench.object(NAMESPACE, TARGET, "")["metadata"]["labels"] == POD_SECURITY
        again = Bench(tenant(), space=namespace(labels={**POD_SECURITY, "a": "b"}))
        await again.run()
        assert f"apply Namespace {TARGET}" not in again.take_requests()

    async def test_labels_of_another_owner_are_not_changed(self) -> None:
        marked = namespace(annotations={POD_SECURITY_OWNER: "external"})
        bench = Bench(tenant(), space=marked)
        await bench.settle()
        assert "labels" not in bench.object(NAMESPACE, TARGET, "")["metadata"]


class TestSecrets:
    async def test_the_roles_of_a_new_cluster_exist_before_the_status_lists_it(self) -> None:
        bench = await onboard()
        one = cluster()
        bench.says(one)
        await bench.run()
        writer = bench.object(ROLE, tenancy.WRITER_ROLE)
        assert {"x-tls-ca", "x-tls-server", "x-unseal-key", "x-root-token"} <= {*names_of(writer)}
        (grant,) = bench.status()["grants"]
        assert grant == {"cluster": "x", "secrets": access_of(one).digest}
        assert GRANT_FINALIZER in bench.object(ROLE, tenancy.TENANT_ROLE)["metadata"]["finalizers"]

    async def test_new_references_are_added_immediately_and_removed_later(self) -> None:
        external = {
            "mode": "External",
            "external": {"serverSecretRef": {"name": "mine"}, "caSecretRef": {"name": "ca"}},
        }
        bench = await onboard(cluster(tls=external))
        assert {"mine", "ca"} <= {*names_of(bench.object(ROLE, tenancy.READER_ROLE))}
        bench.says(cluster())
        outcome = await bench.run()
        assert "mine" in names_of(bench.object(ROLE, tenancy.READER_ROLE))
        assert isinstance(outcome, Done)
        assert gen.present(outcome.recheck_after) <= SECONDS
        await bench.clock.advance(SECONDS + 1)
        await bench.run()
        assert "mine" not in str(bench.api.of(ROLE))

    async def test_without_clusters_the_secret_roles_are_deleted(self) -> None:
        bench = await onboard(cluster())
        bench.says()
        await bench.settle()
        assert bench.names(ROLE) == [tenancy.TENANT_ROLE]
        assert bench.names(ROLE_BINDING) == [tenancy.TENANT_BINDING]
        assert bench.status()["grants"] == []


class TestRefusals:
    @pytest.mark.parametrize(
        ("target", "home"),
        [(TARGET, "team-b"), ("kube-system", HOME), (HOME, HOME), ("kube-public", "kube-public")],
    )
    async def test_a_namespace_of_another_tenant_is_refused(self, target: str, home: str) -> None:
        bench = Bench(tenant(target=target, home=home), space=namespace(target))
        assert isinstance(await bench.run(home=home), Blocked)
        assert bench.reason(home=home) == ("False", "SecurityViolation")
        assert bench.status(home=home)["lastError"].startswith("spec.targetNamespace: ")
        assert bench.take_requests() == ["apply/status OpenBaoTenant t"]

    async def test_a_tenant_may_open_its_own_namespace(self) -> None:
        bench = Bench(tenant(home=TARGET), space=namespace())
        await bench.run(home=TARGET)
        assert bench.reason(home=TARGET) == ("True", "Provisioned")

    async def test_a_missing_namespace_is_checked_again(self) -> None:
        bench = Bench(tenant())
        outcome = gen.expect(Wait, await bench.run())
        assert bench.reason() == ("False", "NamespaceNotFound")
        assert outcome.after is not None
        bench.api.with_objects((NAMESPACE, namespace()))
        await bench.clock.advance(outcome.after + 0.1)
        await bench.run()
        assert bench.reason() == ("True", "Provisioned")

    async def test_a_recreated_namespace_is_provisioned_immediately(self) -> None:
        bench, going = await onboard(cluster()), cluster()
        roles = bench.names(ROLE)
        terminating(going)
        bench.says(going)
        for resource, key in [*bench.api.objects]:
            if resource != TENANTS:
                del bench.api.objects[resource, key]
        outcome = gen.expect(Wait, await bench.run())
        assert bench.reason() == ("False", "NamespaceNotFound")
        bench.says(cluster())
        bench.api.with_objects((NAMESPACE, namespace()))
        await bench.clock.advance(gen.present(outcome.after) + 0.1)
        await bench.run()
        assert bench.names(ROLE) == roles

    async def test_an_invalid_spec_is_reported(self) -> None:
        wish = tenant()
        wish["spec"]["quota"] = {"hard": 7}
        bench = Bench(wish, space=namespace())
        await bench.run()
        assert bench.reason() == ("False", "InvalidSpec")
        assert "spec.quota.hard" in bench.status()["lastError"]

    async def test_the_older_of_two_tenants_wins_until_it_is_deleted(self) -> None:
        late = tenant("late", creationTimestamp="2030-01-02T00:00:00Z")
        bench = Bench(tenant(), late, space=namespace())
        await bench.settle()
        await bench.run("late")
        assert bench.reason("late") == ("False", "Conflict")
        assert f"{HOME}/t" in bench.status("late")["lastError"]
        bench.delete()
        await bench.run()
        assert not bench.is_gone()
        await bench.settle("late")
        assert bench.reason("late") == ("True", "Provisioned")
        notes = bench.object(ROLE, tenancy.TENANT_ROLE)["metadata"]["annotations"]
        assert notes[OWNER_UID] == "uid-late"
        await bench.run()
        assert bench.is_gone()
        assert bench.names(ROLE) == [tenancy.TENANT_ROLE]

    async def test_a_successor_with_an_invalid_spec_does_not_block_the_deletion(self) -> None:
        late = tenant("late", creationTimestamp="2030-01-02T00:00:00Z")
        late["spec"]["quota"] = {"hard": 7}
        bench = Bench(tenant(), late, space=namespace())
        bench.says(cluster())
        await bench.settle()
        bench.delete()
        outcome = gen.expect(Wait, await bench.run())
        assert "still has 1 OpenBaoClusters" in outcome.message
        bench.says()
        await bench.run()
        assert bench.is_gone()
        assert bench.names(ROLE) == []
        await bench.run("late")
        assert bench.reason("late") == ("False", "InvalidSpec")

    async def test_a_tenant_without_permission_does_not_block_others(self) -> None:
        rogue = tenant("rogue", home="team-b", creationTimestamp="2029-01-01T00:00:00Z")
        bench = Bench(rogue, tenant(), space=namespace())
        await bench.run()
        assert bench.reason() == ("True", "Provisioned")

    async def test_a_foreign_object_is_not_changed(self) -> None:
        forged = {"metadata": {"name": tenancy.TENANT_ROLE, "namespace": TARGET}, "rules": []}
        bench = Bench(tenant(), space=namespace())
        bench.api.with_objects((ROLE, {"apiVersion": ROLE.api_version, "kind": "Role", **forged}))
        await bench.run()
        assert bench.reason() == ("False", "ForeignObject")
        assert bench.object(ROLE, tenancy.TENANT_ROLE)["rules"] == []
        bench.delete()
        await bench.run()
        assert bench.names(ROLE) == [tenancy.TENANT_ROLE]
        assert bench.is_gone()

    @pytest.mark.parametrize(("code", "reason"), [(403, "Forbidden"), (422, "Invalid")])
    async def test_a_refused_write_is_reported(self, code: int, reason: str) -> None:
        bench = Bench(tenant(), space=namespace())
        error = status_error({"code": code, "reason": reason, "message": "the policy says no"})
        bench.delegate.refuse(f"apply Role {tenancy.TENANT_ROLE}", error)
        await bench.run()
        assert bench.reason() == ("False", "RejectedByServer")
        assert "the policy says no" in bench.status()["lastError"]


class TestDeletion:
    async def test_the_deletion_waits_for_clusters_and_keeps_their_roles(self) -> None:
        bench = await onboard(cluster())
        bench.delete()
        assert isinstance(await bench.run(), Wait)
        assert bench.reason() == ("True", "Deleting")
        assert " x" in bench.status()["conditions"][0]["message"]
        bench.says(cluster(), cluster("y"))
        await bench.run()
        assert len(bench.status()["grants"]) == 2
        assert not bench.is_gone()

    async def test_bindings_are_deleted_before_roles(self) -> None:
        bench = await onboard(cluster())
        bench.says()
        bench.delete()
        bench.take_requests()
        assert await bench.run() == Done()
        gone = [call.split()[1] for call in bench.take_requests() if call.startswith("delete")]
        assert gone == ["RoleBinding"] * 2 + ["Role"] * 2 + ["ResourceQuota", "LimitRange"]
        assert bench.is_gone()
        for resource in (ROLE, ROLE_BINDING, QUOTA, LIMIT_RANGE):
            assert bench.names(resource) == []

    async def test_a_terminating_namespace_keeps_its_roles_until_its_clusters_are_deleted(
        self,
    ) -> None:
        bench = await onboard(cluster())
        for resource in (ROLE, ROLE_BINDING):
            for name in bench.names(resource):
                terminating(bench.object(resource, name))
        terminating(bench.object(NAMESPACE, TARGET, ""))
        going = cluster()
        terminating(going)
        bench.says(going)
        await bench.clock.advance(2 * PERIOD)
        await bench.run()
        assert bench.reason() == ("True", "NamespaceTerminating")
        assert GRANT_FINALIZER in bench.object(ROLE, tenancy.WRITER_ROLE)["metadata"]["finalizers"]
        bench.says()
        await bench.run()
        assert GRANT_FINALIZER not in str(bench.api.of(ROLE) + bench.api.of(ROLE_BINDING))
        assert bench.reason() == ("False", "NamespaceTerminating")

    async def test_a_deleted_role_is_recreated(self) -> None:
        bench = await onboard(cluster())
        old = bench.object(ROLE, tenancy.TENANT_ROLE)
        terminating(old)
        await bench.clock.advance(2 * PERIOD)
        await bench.run()
        assert bench.reason() == ("False", "Provisioning")
        with pytest.raises(Transient):
            await bench.run()
        assert f"patch Role {tenancy.TENANT_ROLE}" in bench.take_requests()
        # The server does so when the last finalizer is removed.
        del bench.api.objects[(ROLE, ObjectKey(TARGET, tenancy.TENANT_ROLE))]
        await bench.run()
        assert bench.reason() == ("True", "Provisioned")


class TestPace:
    async def test_writes_of_the_delegate_are_rate_limited_and_reads_are_not(self) -> None:
        bench = Bench(tenant(), space=namespace(), pace=2)
        running = asyncio.create_task(bench.run())
        await bench.clock.advance(0.5)
        requests = bench.delegate.take_requests()
        assert [call.split()[0] for call in requests].count("apply") == 2
        # Both quotas were read and wait for their writes, one per second.
        assert f"get LimitRange {tenancy.LIMITS}" in requests
        await bench.clock.advance(3.0)
        await running
        assert bench.reason() == ("True", "Provisioned")


def test_every_status_fits_its_schema() -> None:
    assert TenantStatus.lenient({"grants": 7}) == TenantStatus()
    assert str(TENANTS) == "openbaotenants.openbao.org"
