"""The permission for wide egress ranges in clusters of profile Hardened."""

from typing import Any

import pytest

from runtime.client.client import Client
from runtime.errors import Forbidden
from tests.integration.admission.cases import egress, spec_with_egress
from tests.integration.admission.people import WRITER, People, apply, body, client_as

HOLDER = "use-wide-egress"
WIDE = egress({"ipBlock": {"cidr": "0.0.0.0/0"}})
NARROW = egress({"ipBlock": {"cidr": "198.51.100.0/24"}})
OTHER_WIDE = egress({"ipBlock": {"cidr": "0.0.0.0/0", "except": ["10.0.0.0/8"]}})
REFUSAL = (
    "spec.network.egressRules: needs the verb usewideegress on this OpenBaoCluster, because a "
    "destination is a range wider than /8 in profile Hardened; ask an administrator for "
    "ClusterRole openbao-operator-use-wide-egress, or leave the field as it was"
)
RULES_MAX, PEERS_MAX = 32, 16


def full(*, port: int) -> dict[str, Any]:
    """The maximum of rules and destinations, each rule with a wide range as its last destination.

    The rules differ, so that the comparison with the former rules never ends early.
    """
    peers = [{"ipBlock": {"cidr": f"10.{at}.0.0/16"}} for at in range(PEERS_MAX - 1)]
    last = {"ipBlock": {"cidr": "0.0.0.0/0"}}
    return spec_with_egress(*(egress(*peers, last, port=port + at) for at in range(RULES_MAX)))


async def test_the_refusal_names_the_verb_and_the_role(people: People) -> None:
    async with client_as(people[WRITER]) as writer:
        with pytest.raises(Forbidden) as caught:
            await apply(writer, body("wide", spec_with_egress(WIDE)))
    assert REFUSAL in str(caught.value)


async def test_only_a_wide_rule_needs_the_verb(people: People) -> None:
    elsewhere = {**spec_with_egress(WIDE), "profile": "Development"}
    async with client_as(people[WRITER]) as writer:
        await apply(writer, body("narrow", spec_with_egress(NARROW)))
        await apply(
            writer, body("private", spec_with_egress(egress({"ipBlock": {"cidr": "10.0.0.0/8"}})))
        )
        await apply(writer, body("development", elsewhere))


async def test_other_rules_change_without_the_verb(people: People, client: Client) -> None:
    async with client_as(people[HOLDER]) as holder:
        await apply(holder, body("beside", spec_with_egress(WIDE)), dry_run=False)
    async with client_as(people[WRITER]) as writer:
        await apply(writer, body("beside", spec_with_egress(NARROW, WIDE)), dry_run=False)
        await apply(writer, body("beside", {**spec_with_egress(WIDE, NARROW), "paused": True}))
        await apply(writer, body("beside", spec_with_egress(NARROW)))
        with pytest.raises(Forbidden, match="needs the verb usewideegress"):
            await apply(writer, body("beside", spec_with_egress(NARROW, WIDE, OTHER_WIDE)))


async def test_the_largest_spec_fits_the_cost_budget_of_the_policy(
    people: People, client: Client
) -> None:
    """A policy that exceeds its cost budget refuses all requests, with another message."""
    await apply(client, body("large", full(port=1000)), dry_run=False)
    async with client_as(people[HOLDER]) as holder:
        await apply(holder, body("large", full(port=2000)))
    async with client_as(people[WRITER]) as writer:
        await apply(writer, body("large", {**full(port=1000), "paused": True}))
        with pytest.raises(Forbidden, match="needs the verb usewideegress"):
            await apply(writer, body("large", full(port=2000)))


async def test_both_lists_fit_the_cost_budget_of_the_policy(people: People, client: Client) -> None:
    spec = full(port=1000)
    rules = [{"from": rule["to"][:-1], "ports": rule["ports"]} for rule in _rules(spec)]
    spec["network"]["ingressRules"] = rules
    await apply(client, body("both", spec), dry_run=False)
    async with client_as(people[WRITER]) as writer:
        await apply(writer, body("both", {**spec, "paused": True}))
        spec["network"]["ingressRules"] = [*rules[:-1], {**rules[-1], "ports": [{"port": 9}]}]
        with pytest.raises(Forbidden, match="ingressRules: needs the verb publishnetworking"):
            await apply(writer, body("both", spec))


def _rules(spec: dict[str, Any]) -> list[dict[str, Any]]:
    rules: list[dict[str, Any]] = spec["network"]["egressRules"]
    return rules
