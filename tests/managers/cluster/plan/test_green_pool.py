"""managers.cluster.plan.green_pool: the objects of a green pool, during and after the upgrade."""

from dataclasses import replace
from typing import Any

import pytest

from contracts.hcl.render import restart_text
from contracts.naming import labels
from contracts.records.resolved import ImageChoice, PoolSpec, Resolved
from contracts.records.upgrade import Release
from managers.bootstrap.plan import config_map
from managers.workload.green_pool import green_inputs, green_shape, green_stateful_set, green_view
from managers.workload.objects.statefulset import disruption_budget, template_digest
from managers.workload.plan import Inputs
from managers.workload.rollout.reload import Files
from runtime.apply.intent import Intent
from tests import gen

REVISION, BEFORE = "0123456789abcdef", "fedcba9876543210"
GREEN = PoolSpec(
    REVISION,
    Release("2.5.0"),
    5,
    images=ImageChoice("registry.example.com/openbao@sha256:1", records=(("proof", "it"),)),
)
OLD = gen.cluster().initialized()
BLUES = {"the first pool": "", "a pool with a revision": BEFORE}


def serving(blue: str, cluster: gen.Cluster = OLD) -> Resolved:
    return gen.resolved(cluster.with_status(blueGreen={"blueRevision": blue}))


def inputs(meant: Resolved) -> Inputs:
    return Inputs(meant.restart_text, Files(meant.config_text, "fingerprint", "authority"))


def green_pool(meant: Resolved, green: PoolSpec, read: Inputs) -> tuple[Intent, Intent]:
    view = green_view(meant, green)
    return config_map(view), green_stateful_set(
        view, green_shape(view, green_inputs(view, read), None)
    )


def pool_plan(
    blue: str = "", cluster: gen.Cluster = OLD, green: PoolSpec = GREEN
) -> tuple[Any, Any]:
    meant = serving(blue, cluster)
    config, servers = green_pool(meant, green, inputs(meant))
    return config.body, servers.body


def pod_of(servers: Any) -> Any:
    return servers["spec"]["template"]["spec"]


def test_green_has_its_own_names_labels_and_configuration() -> None:
    config, servers = pool_plan()
    template = servers["spec"]["template"]
    assert servers["metadata"]["name"] == f"x-{REVISION}"
    assert config["metadata"]["name"] == f"x-{REVISION}-config"
    assert servers["spec"]["selector"]["matchLabels"][labels.REVISION] == REVISION
    assert template["metadata"]["labels"].items() >= labels.servers("x").items()
    assert template["metadata"]["labels"][labels.REVISION] == REVISION
    (mounted,) = (volume for volume in pod_of(servers)["volumes"] if volume["name"] == "config")
    assert mounted["configMap"]["name"] == f"x-{REVISION}-config"


def test_green_has_the_replicas_and_the_image_of_the_upgrade() -> None:
    servers = pool_plan()[1]
    assert (servers["spec"]["replicas"], servers["spec"]["serviceName"]) == (5, "x")
    assert pod_of(servers)["containers"][0]["image"] == GREEN.images.server
    assert servers["metadata"]["annotations"]["proof"] == "it"
    # Its controller never replaces a pod.
    assert servers["spec"]["updateStrategy"] == {"type": "OnDelete"}


@pytest.mark.parametrize("cluster", [OLD, gen.cluster()], ids=["with data", "before any"])
def test_green_never_initializes_a_cluster(cluster: gen.Cluster) -> None:
    servers = pool_plan("", cluster)[1]
    assert {volume["name"] for volume in pod_of(servers)["volumes"]}.isdisjoint(
        {"init", "root-token"}
    )
    assert len(pod_of(servers)["containers"][0]["command"]) == 3


def test_fences_of_blue_do_not_affect_green() -> None:
    fenced = OLD.with_spec(fencedPods=["x-1"])
    assert "schedulingGates" not in pod_of(pool_plan("", fenced)[1])


class TestJoining:
    @pytest.mark.parametrize("blue", BLUES.values(), ids=BLUES)
    def test_green_joins_the_serving_pods_without_a_vote(self, blue: str) -> None:
        text = pool_plan(blue)[0]["data"]["config.hcl"]
        hosts = serving(blue).voter_pool
        assert "retry_join_as_non_voter = true" in " ".join(text.split())
        assert all(f"https://{hosts.pod_dns(gen.NAMESPACE, n)}:8200" in text for n in range(3))
        assert text.count("leader_api_addr") == 3
        assert f"x-{REVISION}" not in text

    @pytest.mark.parametrize("blue", BLUES.values(), ids=BLUES)
    def test_the_rest_of_the_configuration_is_the_same(self, blue: str) -> None:
        ours, theirs = (
            [" ".join(line.split()) for line in text.splitlines()]
            for text in (pool_plan(blue)[0]["data"]["config.hcl"], serving(blue).config_text)
        )
        differing = [line for line in ours if line not in theirs]
        # The second one comes from the version of green.
        assert set(differing) == {"disable_standby_reads = true", "retry_join_as_non_voter = true"}

    @pytest.mark.parametrize("blue", BLUES.values(), ids=BLUES)
    def test_no_green_pod_is_replaced_when_green_serves(self, blue: str) -> None:
        before = serving(blue)
        view = green_view(before, GREEN)
        # The same servers after the upgrade.
        later = serving(REVISION)
        config = replace(later.config, version=GREEN.release.version)
        after = replace(
            later,
            config=config,
            restart_text=restart_text(config),
            pod=replace(before.pod, image=GREEN.images.server),
            replicas=5,
        )
        assert template_digest(view, green_inputs(view, inputs(before)).restart) == (
            template_digest(after, after.restart_text)
        )

    def test_a_change_that_needs_a_restart_applies_to_green_too(self) -> None:
        quiet = serving("")
        config = replace(quiet.config, performance_multiplier=5)
        other = replace(quiet, config=config, restart_text=restart_text(config))
        views = [green_view(meant, GREEN) for meant in (quiet, other)]
        digests = {template_digest(view, view.restart_text) for view in views}
        assert len(digests) == 2


class TestServingPool:
    def test_the_serving_pool_is_not_changed(self) -> None:
        meant = serving("")
        mine = {
            intent.body["metadata"]["name"] for intent in green_pool(meant, GREEN, inputs(meant))
        }
        theirs = {config_map(meant).body["metadata"]["name"], meant.voter_pool.stateful_set}
        assert not mine & theirs

    def test_one_disruption_budget_covers_both_pools(self) -> None:
        budget = gen.expect(Intent, disruption_budget(serving(""), 6))
        selector = budget.body["spec"]["selector"]["matchLabels"]
        for servers in (pool_plan()[1], pool_plan(BEFORE)[1]):
            assert selector.items() <= servers["spec"]["template"]["metadata"]["labels"].items()
        assert disruption_budget(serving(BEFORE), 6) == budget
