"""managers.bootstrap.plan: a key is generated once and never while data exists."""

import itertools
from typing import NamedTuple

import pytest

from contracts.naming import names
from contracts.records.desired import Plan
from contracts.records.effects import DrawRootToken, DrawUnsealKey, Effect
from contracts.records.secrets import CredentialFacts, SecretFacts
from managers.bootstrap.plan import plan
from runtime.outcome import Blocked, Done, Wait
from tests import gen

NEW = gen.cluster()
OLD = gen.cluster().initialized()
SELF = gen.cluster().self_init()
SUPPLIED = SELF.with_spec(unseal={"credentialsSecretRef": {"name": "mine"}})
LOGIN = gen.cluster().self_init(login=True)

KEY = gen.secret("x-unseal-key")
TOKEN = gen.secret("x-root-token")
NOTHING = gen.world()
GOOD = {"key": gen.unseal_key("f1")}
KNOWING = gen.world().with_set(gen.stateful_set().with_keys("operator-generated-v1=key@f1"))
DRAW_KEY = DrawUnsealKey("x-unseal-key")
DRAW_TOKEN = DrawRootToken("x-root-token")


def plan_bootstrap(cluster: gen.Cluster, world: gen.World) -> Plan:
    return plan(gen.resolved(cluster, world), world.facts())


class Row(NamedTuple):
    cluster: gen.Cluster
    world: gen.World
    effects: tuple[Effect, ...]
    reason: str


# sentence: (cluster, world, effects, reason; "" without a problem)
ROWS = {
    "no Secret: both are made": Row(NEW, NOTHING, (DRAW_KEY, DRAW_TOKEN), "PrerequisitesMissing"),
    "both exist": Row(NEW, NOTHING.with_secrets(KEY, TOKEN), (), ""),
    "the key exists: only the token is generated": Row(
        NEW, NOTHING.with_secrets(KEY), (DRAW_TOKEN,), "PrerequisitesMissing"
    ),
    "self-init needs no root token": Row(SELF, NOTHING, (DRAW_KEY,), "PrerequisitesMissing"),
    "self-init needs only the key": Row(SELF, NOTHING.with_secrets(KEY), (), ""),
    "a volume exists and the key does not: none is generated": Row(
        SELF, NOTHING.with_claims(0), (), "UnsealKeyMissing"
    ),
    "a volume that is being deleted still has data": Row(
        SELF, NOTHING.with_claims(0, gone=True), (), "UnsealKeyMissing"
    ),
    "a volume of an earlier cluster of this name still has data": Row(
        SELF, NOTHING.with_claims(0, owner="uid-before"), (), "UnsealKeyMissing"
    ),
    "data exists by the status, and there is no volume: no key is generated": Row(
        OLD, NOTHING, (), "UnsealKeyMissing"
    ),
    "a foreign key is not used": Row(
        SELF,
        NOTHING.with_secrets(gen.secret("x-unseal-key", of="Shop s (uid 1)")),
        (),
        "ForeignObject",
    ),
    "a supplied key exists, with any owner": Row(
        SUPPLIED,
        NOTHING.with_secrets(gen.secret("mine", of="an unknown owner", keys=GOOD)),
        (),
        "",
    ),
    "a supplied Secret without the key": Row(
        SUPPLIED, NOTHING.with_secrets(gen.secret("mine")), (), "PrerequisitesMissing"
    ),
    "an invalid supplied key": Row(
        SUPPLIED,
        NOTHING.with_secrets(gen.secret("mine", keys={"key": CredentialFacts(31, False)})),
        (),
        "PrerequisitesMissing",
    ),
    "a supplied key that was removed from its Secret": Row(
        SUPPLIED.initialized(), KNOWING.with_secrets(gen.secret("mine")), (), "UnsealKeyMissing"
    ),
    "a supplied key with other content": Row(
        SUPPLIED.initialized(),
        KNOWING.with_secrets(gen.secret("mine", keys={"key": gen.unseal_key("f2")})),
        (),
        "UnsealKeyChanged",
    ),
    "the key of an earlier cluster under another id": Row(
        SELF.with_spec(unseal={"static": {"currentKeyID": "mine"}}),
        NOTHING.with_secrets(gen.secret("x-unseal-key", key_id="operator-generated-v1")),
        (),
        "UnsealKeyRotationRefused",
    ),
    "a missing supplied key is not generated": Row(SUPPLIED, NOTHING, (), "PrerequisitesMissing"),
    "a deleted supplied key is not generated": Row(
        SUPPLIED.initialized(), NOTHING.with_claims(0), (), "UnsealKeyMissing"
    ),
    "the token was deleted after the volume was created": Row(
        NEW, NOTHING.with_secrets(KEY).with_claims(0), (), "RootTokenMissing"
    ),
    "a foreign token is not registered": Row(
        NEW,
        NOTHING.with_secrets(KEY, gen.secret("x-root-token", of="Shop s (uid 1)")),
        (),
        "ForeignObject",
    ),
    "once data exists the token is not required": Row(OLD, NOTHING.with_secrets(KEY), (), ""),
    "no token issuer": Row(LOGIN, NOTHING.with_secrets(KEY), (), "PrerequisitesMissing"),
    "the token issuer is known": Row(LOGIN, NOTHING.with_secrets(KEY).with_issuer(), (), ""),
    "with data no issuer is needed": Row(LOGIN.initialized(), NOTHING.with_secrets(KEY), (), ""),
}


@pytest.mark.parametrize(("cluster", "world", "effects", "reason"), ROWS.values(), ids=ROWS.keys())
def test_row(
    cluster: gen.Cluster, world: gen.World, effects: tuple[Effect, ...], reason: str
) -> None:
    plan = plan_bootstrap(cluster, world)
    assert plan.effects == effects
    assert ("" if isinstance(plan.outcome, Done) else plan.outcome.reason) == reason
    # Every problem blocks the pods.
    assert plan.gate is bool(reason)
    if effects:
        assert isinstance(plan.outcome, Wait)
        assert plan.outcome.after == 0.0
    elif reason:
        assert isinstance(plan.outcome, Blocked)


def test_no_key_is_generated_while_data_may_exist() -> None:
    """Rules I02 and I03, for every combination of the inputs."""
    drawn = 0
    for cluster, claims, secrets in itertools.product(
        (NEW, OLD, SELF, SUPPLIED, LOGIN), ((), (0,), (1, 2)), ((), (KEY,), (TOKEN,), (KEY, TOKEN))
    ):
        world = NOTHING.with_secrets(*secrets).with_claims(*claims)
        data = bool(claims) or cluster is OLD
        effects = plan_bootstrap(cluster, world).effects
        assert not (data and effects)
        assert not (KEY in secrets and DRAW_KEY in effects)
        drawn += bool(effects)
    assert drawn


# sentence: (cluster, world, words of the message)
MESSAGES: dict[str, tuple[gen.Cluster, gen.World, tuple[str, ...]]] = {
    "a missing key": (OLD, NOTHING, ("Secret x-unseal-key", "backup")),
    "a key that was never supplied": (SUPPLIED, NOTHING, ("Secret mine", "32 bytes")),
    "a foreign Secret": (
        SELF,
        NOTHING.with_secrets(gen.secret("x-unseal-key", of="Shop s (uid 1)")),
        ("Secret x-unseal-key", "Shop s (uid 1)", "openbao.org/adopt"),
    ),
    "an API server that does not answer": (
        LOGIN,
        NOTHING.with_secrets(KEY),
        ("spec.selfInit.oidc.enabled", "/openid/v1/jwks"),
    ),
}


@pytest.mark.parametrize(("cluster", "world", "named"), MESSAGES.values(), ids=MESSAGES.keys())
def test_a_message_names_the_object_and_the_next_step(
    cluster: gen.Cluster, world: gen.World, named: tuple[str, ...]
) -> None:
    outcome = gen.expect(Blocked, plan_bootstrap(cluster, world).outcome)
    for word in named:
        assert word in outcome.message
    # An API server without an answer is queried again.
    assert (outcome.recheck_after is not None) is (cluster is LOGIN)


def test_config_hcl_is_planned_without_the_other_prerequisites() -> None:
    for world in (NOTHING, NOTHING.with_claims(0), NOTHING.with_secrets(KEY, TOKEN)):
        bodies = {i.key.name: i.body for i in plan_bootstrap(NEW, world).intents}
        assert 'seal "static"' in bodies[names.config_map("x")]["data"]["config.hcl"]


def test_joining_pods_cannot_read_the_self_init_configuration() -> None:
    """Rule I05: it is in a separate object, which is removed once data exists."""
    before = {
        i.key.name: i.body for i in plan_bootstrap(NEW, NOTHING.with_secrets(KEY, TOKEN)).intents
    }
    after = [i.key.name for i in plan_bootstrap(OLD, NOTHING.with_secrets(KEY)).intents]
    assert "initialize" not in before[names.config_map("x")]["data"]["config.hcl"]
    assert "initialize" in before[names.self_init_config_map("x")]["data"]["self-init.hcl"]
    assert after == [names.config_map("x")]


def test_no_cluster_is_initialized_while_volumes_of_an_old_one_exist() -> None:
    key = gen.secret(names.unseal_key_secret("x"))
    token = gen.secret(names.root_token_secret("x"))
    old = NOTHING.with_secrets(key, token).with_claims(1, 2, owner="somebody")
    bootstrap_plan = plan(gen.resolved(NEW, old), old.facts())
    assert "data-x-0 does not exist" in gen.expect(Blocked, bootstrap_plan.outcome).message
    assert bootstrap_plan.gate
    whole = NOTHING.with_secrets(key, token).with_claims(0, 1, owner="somebody")
    assert plan(gen.resolved(NEW, whole), whole.facts()).outcome == Done()


@pytest.mark.parametrize(
    ("template", "there", "gone"),
    [
        ("", (), "x-unseal-key"),
        ("two=key-2", (KEY,), "x.2-unseal-key"),
        ("two=key-2,operator-generated-v1=key", (KEY,), "x.2-unseal-key"),
    ],
    ids=["the first key", "a later key", "one of two keys"],
)
def test_b05_a_key_that_data_needs_is_never_regenerated(
    template: str, there: tuple[SecretFacts, ...], gone: str
) -> None:
    world = gen.world().with_set(gen.stateful_set().with_keys(template)).with_secrets(*there)
    spec = {"static": {"currentKeyID": "two" if template else "operator-generated-v1"}}
    plan = plan_bootstrap(OLD.with_spec(unseal=spec), world)
    assert (plan.effects, plan.gate) == ((), True)
    assert isinstance(plan.outcome, Blocked)
    assert plan.outcome.reason == "UnsealKeyMissing"
    assert f"Secret {gone} is missing" in plan.outcome.message
    # Servers that restart keep their current configuration.
    assert names.config_map("x") not in [intent.key.name for intent in plan.intents]
