"""managers.bootstrap.seal.rotation: every server can unseal after a restart at any time."""

import functools
import random
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from contracts.api.cluster.seal import Unseal
from contracts.naming import names
from contracts.records.observed import Observed
from contracts.unseal_keys import KeyRing, Rotation
from managers.bootstrap.seal.keys import unseal_secrets
from managers.bootstrap.seal.pod_part import seal_part
from managers.bootstrap.seal.rotation import REFUSED, rotation
from tests import gen
from tests.managers.bootstrap.seal.key_rings import FIRST, NEW, OLD, RING_NEW, RING_OLD, world

SPREAD, SWITCH = f"{RING_OLD},{RING_NEW}", f"{RING_NEW},{RING_OLD}"
SECOND = gen.secret("x.2-unseal-key", key_id=NEW)


def unseal(key: str = NEW, **fields: object) -> Unseal:
    return Unseal.model_validate({"static": {"currentKeyID": key, **fields}})


def decide_rotation(spec: Unseal, facts: gen.World, told: str = "") -> Rotation:
    return rotation("x", spec, facts.facts(), told)


class Row(NamedTuple):
    key: str
    facts: gen.World
    ring: str
    step: str


ROWS = {
    "no server runs yet": Row(NEW, gen.world(), f"{NEW}=key", "Settled"),
    "the servers have the spec's key": Row(OLD, world(RING_OLD, RING_OLD), RING_OLD, "Settled"),
    "a new key is generated first": Row(NEW, world(RING_OLD, RING_OLD), RING_OLD, "Drawing"),
    "no key is generated while a server is unhealthy": Row(
        NEW, world(RING_OLD, RING_OLD, ready=False), RING_OLD, "Gathering"
    ),
    "no key is generated during a rollout": Row(
        NEW, world(RING_OLD, RING_OLD, ""), RING_OLD, "Gathering"
    ),
    "a generated key is rolled out": Row(
        NEW, world(RING_OLD, RING_OLD).with_secrets(FIRST, SECOND), SPREAD, "Spreading"
    ),
    "no server encrypts with it before all have it": Row(
        NEW, world(SPREAD, SPREAD, RING_OLD).with_secrets(FIRST, SECOND), SPREAD, "Spreading"
    ),
    "all have it: it becomes the first": Row(
        NEW, world(SPREAD, SPREAD, SPREAD).with_secrets(FIRST, SECOND), SWITCH, "Switching"
    ),
    "some still encrypt with the old one": Row(
        NEW,
        world(SWITCH, SWITCH, SPREAD, rewrap_key=NEW).with_secrets(FIRST, SECOND),
        SWITCH,
        "Switching",
    ),
    "all encrypt with it, and the root key is not wrapped with it": Row(
        NEW, world(SWITCH, SWITCH, SWITCH).with_secrets(FIRST, SECOND), SWITCH, "Rewrapping"
    ),
    "an annotation for another key is ignored": Row(
        NEW,
        world(SWITCH, SWITCH, SWITCH, rewrap_key=OLD).with_secrets(FIRST, SECOND),
        SWITCH,
        "Rewrapping",
    ),
    "the root key is wrapped: the old key is removed": Row(
        NEW,
        world(SWITCH, SWITCH, SWITCH, rewrap_key=NEW).with_secrets(FIRST, SECOND),
        RING_NEW,
        "Retiring",
    ),
    "the servers have only the new key": Row(
        NEW, world(RING_NEW, RING_NEW).with_secrets(SECOND), RING_NEW, "Settled"
    ),
    "a reverted rotation uses the same steps": Row(
        OLD, world(SPREAD, SPREAD, SPREAD).with_secrets(FIRST, SECOND), SPREAD, "Rewrapping"
    ),
    "a third key waits until the second is settled": Row(
        "three",
        world(SWITCH, SWITCH, SWITCH, rewrap_key=NEW).with_secrets(FIRST, SECOND),
        RING_NEW,
        "Retiring",
    ),
    "a third key does not start earlier": Row(
        "three", world(SPREAD, SPREAD, SPREAD).with_secrets(FIRST, SECOND), SPREAD, "Rewrapping"
    ),
}


@pytest.mark.parametrize(("key", "facts", "ring", "step"), ROWS.values(), ids=ROWS.keys())
def test_row(key: str, facts: gen.World, ring: str, step: str) -> None:
    key_rotation = decide_rotation(unseal(key), facts)
    assert (str(key_rotation.ring), key_rotation.step) == (ring, step)
    assert key_rotation.refusal is None
    assert key_rotation.draw == ("x.2-unseal-key" if step == "Drawing" else "")


def test_without_the_stateful_set_the_last_status_has_the_key_ring() -> None:
    key_rotation = decide_rotation(unseal(), gen.world().with_secrets(FIRST, SECOND), SWITCH)
    assert str(key_rotation.ring) == SWITCH


REFUSALS: dict[str, tuple[Unseal, gen.World, str]] = {
    "the id of an older key": (
        unseal(OLD),
        world(RING_NEW, RING_NEW).with_secrets(FIRST, SECOND),
        "is the id of an older key (Secret x-unseal-key)",
    ),
    "a key that was generated with another id": (
        unseal("three"),
        world(RING_OLD, RING_OLD).with_secrets(FIRST, SECOND),
        "was already generated with the id two",
    ),
}


@pytest.mark.parametrize(("spec", "facts", "words"), REFUSALS.values(), ids=REFUSALS.keys())
def test_an_id_cannot_be_reused(spec: Unseal, facts: gen.World, words: str) -> None:
    key_rotation = decide_rotation(spec, facts)
    assert key_rotation.refusal is not None
    assert (key_rotation.refusal.reason, key_rotation.step) == (REFUSED, "Refused")
    assert words in key_rotation.refusal.message
    # The servers keep their keys.
    assert str(key_rotation.ring) == gen.present(facts.stateful_set).keys


def test_a_foreign_secret_is_not_the_next_key() -> None:
    foreign = gen.secret("x.2-unseal-key", of="Shop s (uid 1)")
    key_rotation = decide_rotation(unseal(), world(RING_OLD, RING_OLD).with_secrets(FIRST, foreign))
    assert gen.present(key_rotation.refusal).reason == "ForeignObject"


# --- a key that the user supplied ---------------------------------------------------------------

OWN_OLD, OWN_NEW = "one=a@f1", "two=b@f2"


def supplied_key(key: str, file: str) -> Unseal:
    return Unseal.model_validate(
        {
            "static": {"currentKeyID": key, "currentKey": f"file:///etc/bao/unseal/{file}"},
            "credentialsSecretRef": {"name": "mine"},
        }
    )


def holding(**fingerprints: str) -> gen.World:
    keys = {name: gen.unseal_key(mark) for name, mark in fingerprints.items()}
    return world(OWN_OLD, OWN_OLD).with_secrets(gen.secret("mine", of="a user", keys=keys))


def test_a_second_supplied_key_is_rolled_out() -> None:
    key_rotation = decide_rotation(supplied_key("two", "b"), holding(a="f1", b="f2"))
    assert (str(key_rotation.ring), key_rotation.step) == (f"{OWN_OLD},{OWN_NEW}", "Spreading")


@pytest.mark.parametrize(
    ("spec", "facts", "words"),
    [
        (supplied_key("two", "a"), holding(a="f1"), "this file contains the key one"),
        (supplied_key("one", "b"), holding(a="f1", b="f2"), "the key one is in file a"),
        (supplied_key("two", "b"), holding(a="f1", b="f1"), "the bytes of the old key"),
        (supplied_key("two", "b"), holding(a="f1"), "no such key in the Secret"),
    ],
)
def test_an_invalid_next_key_is_refused(spec: Unseal, facts: gen.World, words: str) -> None:
    key_rotation = decide_rotation(spec, facts)
    assert words in gen.present(key_rotation.refusal).message
    assert str(key_rotation.ring) == OWN_OLD


# --- the Secrets to read ------------------------------------------------------------------------


def test_a_settled_cluster_reads_only_its_own_key() -> None:
    assert unseal_secrets("x", unseal(), RING_NEW) == ("x.2-unseal-key",)
    assert unseal_secrets("x", unseal(OLD), "") == ("x-unseal-key",)


def test_a_new_id_is_compared_with_every_older_one() -> None:
    expected = ("x-unseal-key", "x.2-unseal-key", "x.3-unseal-key")
    assert unseal_secrets("x", unseal("three"), RING_NEW) == expected


# --- simulation: every server may restart at any time -------------------------------------------


@dataclass(slots=True)
class Server:
    """One server: the key ring of its template and the files that this template mounts."""

    row: KeyRing
    mounts: frozenset[str]
    optional: frozenset[str]
    wrapped: str = OLD
    """The key that wraps the root key in its copy of the data, which may be behind the leader."""


# Few states come up, and each of them thousands of times.
@functools.cache
def observe(
    template: str, rows: tuple[str, ...], leader: int, mark: str, files: frozenset[str]
) -> Observed:
    """Observe servers with these key rings, and Secrets with these files."""
    pods = [
        gen.pod(n).with_keys(row, mark if n == leader else "").ready(leading=n == 0)
        for n, row in enumerate(rows)
    ]
    known = {"key": (1, OLD), "key-2": (2, NEW), "key-3": (3, "three")}
    secrets = [
        gen.secret(names.unseal_key_secret("x", known[file][0]), key_id=known[file][1])
        for file in files
    ]
    return world(template, *rows).with_pods(*pods).with_secrets(*secrets).facts()


@dataclass(slots=True)
class Cluster:
    """A cluster that rolls out, elects, rewraps and replicates.

    `wrapped` is the key that wraps the root key in the leader's copy.
    """

    chance: random.Random
    recovery: bool
    wanted: str = NEW
    template: KeyRing = field(default_factory=lambda: parse_ring(RING_OLD))
    secrets: set[str] = field(default_factory=lambda: {"key"})
    servers: list[Server] = field(default_factory=list)
    leader: int = 0
    mark: str = ""
    has_request: bool = False
    wrapped: str = OLD

    def start(self) -> None:
        self.servers = [self._server() for _ in range(3)]

    def observed(self) -> Observed:
        rows = tuple(str(server.row) for server in self.servers)
        return observe(str(self.template), rows, self.leader, self.mark, frozenset(self.secrets))

    def reconcile(self) -> None:
        key_rotation = rotation("x", unseal(self.wanted), self.observed(), "")
        if key_rotation.draw:
            self.secrets.add(key_rotation.target.file)
            return
        self.template = key_rotation.ring
        if key_rotation.step == "Rewrapping":
            self.rewrap()

    def rewrap(self) -> None:
        """Rewrap on the leader; set the annotation when every copy has the change."""
        current = self.servers[self.leader].row.current.id
        if self.has_request and all(server.wrapped == current for server in self.servers):
            self.mark = current
        self.write(current)
        self.has_request = True

    def write(self, key: str) -> None:
        self.wrapped = self.servers[self.leader].wrapped = key

    def replicate(self) -> None:
        """Let one server catch up with the leader."""
        self.chance.choice(self.servers).wrapped = self.wrapped

    def roll(self) -> None:
        """Replace one outdated pod; if it is the leader, another one is elected."""
        behind = [n for n, server in enumerate(self.servers) if server.row != self.template]
        if not behind:
            return
        number = self.chance.choice(behind)
        copy = self.servers[number].wrapped
        self.servers[number] = self._server()
        self.servers[number].wrapped = copy
        if number == self.leader:
            self.elect()

    def elect(self) -> None:
        """Elect a leader; with a recovery key the new leader rewraps automatically."""
        self.mark, self.has_request = "", False
        # Raft elects no server whose copy is behind.
        candidates = [n for n, server in enumerate(self.servers) if server.wrapped == self.wrapped]
        self.leader = self.chance.choice(candidates)
        if self.recovery:
            self.write(self.servers[self.leader].row.current.id)

    def _server(self) -> Server:
        part = seal_part("x", unseal(self.wanted), self.template)
        sources = [source["secret"] for source in part.volumes[0]["projected"]["sources"]]
        paths = {source["items"][0]["path"]: source.get("optional", False) for source in sources}
        return Server(
            self.template,
            frozenset(path for path, optional in paths.items() if not optional),
            frozenset(path for path, optional in paths.items() if optional),
        )

    def check(self) -> None:
        """Check that each server could unseal after a restart, with its own or the new config."""
        for server in self.servers:
            files = server.mounts | (server.optional & self.secrets)
            for config in (server.row, self.template):
                assert {key.file for key in config.keys} <= files, (server, config)
                assert server.wrapped in {key.id for key in config.keys}, (server, config)


def parse_ring(text: str) -> KeyRing:
    return gen.present(KeyRing.parse(text))


@pytest.mark.parametrize("recovery", [True, False])
@pytest.mark.parametrize("seed", range(60))
def test_every_server_can_restart_at_any_time(seed: int, recovery: bool) -> None:
    cluster = Cluster(random.Random(seed), recovery)
    cluster.start()
    cluster.check()
    for _ in range(400):
        acts = (cluster.reconcile, cluster.roll, cluster.elect, cluster.replicate)
        (act,) = cluster.chance.choices(acts, (5, 5, 1, 3))
        act()
        cluster.check()
    assert {str(server.row) for server in cluster.servers} == {RING_NEW}
    assert cluster.wrapped == NEW
