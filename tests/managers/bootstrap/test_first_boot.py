"""The first boot waits for a stored root token and for token keys that OpenBao can verify."""

from dataclasses import replace

from contracts.records.observed import TokenIssuer
from managers.bootstrap.plan import plan
from managers.cluster.plan.steps import merge_plans
from runtime.outcome import Blocked
from tests import gen

PLAIN = gen.cluster()
LOGIN = gen.cluster().self_init(login=True)
KEY, TOKEN = gen.secret("x-unseal-key"), gen.secret("x-root-token")


def test_b06_no_server_starts_before_its_root_token_is_stored() -> None:
    without = gen.world().with_secrets(KEY)
    resolved = gen.resolved(PLAIN, without)
    plans = merge_plans(resolved, without.facts())
    assert not any(intent.resource.kind == "StatefulSet" for intent in plans.workload)
    assert [effect.target for effect in plans.effects if "token" in effect.name] == ["x-root-token"]


def test_b06_the_token_of_an_earlier_cluster_of_this_name_is_neither_kept_nor_replaced() -> None:
    world = gen.world().with_secrets(KEY, replace(TOKEN, owned=False, owner="a former owner"))
    planned = plan(gen.resolved(PLAIN, world), world.facts())
    assert planned.gate
    assert gen.expect(Blocked, planned.outcome).reason == "ForeignObject"
    assert not planned.effects


def test_token_keys_that_openbao_cannot_verify_block_the_first_boot() -> None:
    world = replace(
        gen.world().with_secrets(KEY), issuer=TokenIssuer("https://issuer.example.com", ())
    )
    planned = plan(gen.resolved(LOGIN, world), world.facts())
    assert gen.expect(Blocked, planned.outcome).reason == "OIDCBootstrapConfigurationInvalid"
