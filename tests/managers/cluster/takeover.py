"""A complete blue/green upgrade through the reconciler, with an API server in a dict.

`Takeover.kubernetes` acts as the controllers, the kubelet, the servers and the Jobs. `restart`
drops the whole state of the operator.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.jobs import upgrade_actions
from contracts.naming import labels, names
from contracts.pools.voter_pool import ServerPool
from managers.bao import login
from managers.bao.models import AutopilotState, Member, ServerState
from runtime.builtin_kinds import JOB, POD, PVC, SERVICE, STATEFUL_SET
from runtime.client.client import ApplyResult
from runtime.outcome import Outcome
from runtime.types import Object, ObjectKey, Resource, key_of, uid_of
from tests import gen
from tests.gen.api import FakeApi
from tests.managers.cluster.bench import KEY, Bench
from tests.managers.membership.servers import Servers
from tests.managers.upgrade.two_pools import WHOLE

OLD, NEW = "2.4.0", "2.4.1"
TICK = 3.0
PHASES = WHOLE[:-1]


class OwningApi(FakeApi):
    """An API server that removes selector keys that an apply no longer names.

    As server-side apply does for a manager that owns the whole map.
    """

    async def apply(
        self, resource: Resource, body: Object, *, field_manager: str, force: bool, **more: Any
    ) -> ApplyResult:
        live = self.objects.get((resource, key_of(body)))
        selector = (body.get("spec") or {}).get("selector")
        if resource == SERVICE and live is not None and live["spec"].get("selector") != selector:
            changed = copy.deepcopy(live)
            changed["spec"]["selector"] = {}
            self.objects[(resource, key_of(body))] = changed
        return await super().apply(resource, body, field_manager=field_manager, force=force, **more)


def spec_of(**changes: Any) -> dict[str, Any]:
    """The spec of a cluster with blue/green upgrades."""
    upgrade = {"strategy": "BlueGreen", "jwtAuthRole": "upgrader", **changes.pop("upgrade", {})}
    upgrade.setdefault("blueGreen", {"autoRollback": {"stabilizationSeconds": 10}})
    return {"deletionPolicy": "DeletePVCs", "upgrade": upgrade, **changes}


class Takeover:
    """A cluster in a dict, its servers, and an operator that can be restarted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, **spec: Any) -> None:
        self._serve(monkeypatch)
        self.api = OwningApi()
        self.manifest = gen.cluster(**spec_of(**spec)).with_login()
        self.bench = Bench(self.manifest, self.api)
        self.raft: dict[str, bool] = {}
        """Members, and whether they vote."""
        self.leader = "x-0"
        self.restarts = False
        """A new operator takes over before every pass."""
        self.age = 0.0
        self.phases: list[str] = []
        self.flips: list[str] = []
        """What the public Service selected, each time another revision."""

        self.deletions: list[tuple[str, str]] = []
        """StatefulSets and claims that were deleted, with the UID that was named."""
        self.actions: list[str] = []
        self.fails: set[str] = set()
        """Actions whose Jobs fail."""
        self.event_reasons: list[str] = []

        self.pod_count = 0

    def _serve(self, monkeypatch: pytest.MonkeyPatch) -> None:
        # Without an operator image no server reloads its files, and all are replaced.
        here = replace(gen.INSTALLATION, operator_image="registry.example.com/operator:1")
        monkeypatch.setattr(gen, "INSTALLATION", here)
        monkeypatch.setattr(login, "Bao", lambda authority, name, guard: RaftServers(self))

    async def copied(self, monkeypatch: pytest.MonkeyPatch) -> Takeover:
        """Another world in the same state, with a new operator."""
        other = copy.copy(self)
        other.__dict__ |= {
            name: value.copy()
            for name, value in vars(self).items()
            if isinstance(value, dict | list | set)
        }
        other.api = self.api.copied()
        other._serve(monkeypatch)
        await other.restart()
        return other

    # --- reconciles -----------------------------------------------------------------------------

    async def turn(self) -> Outcome:
        """Run one reconcile and record its requests; then act as Kubernetes."""
        if self.restarts:
            await self.restart()
        outcome = await self.bench.turn()
        self._note()
        self.event_reasons += [reason for _, reason, _ in await self._events()]
        self.kubernetes()
        await self.bench.outside.clock.advance(TICK)
        self.age += TICK
        return outcome

    async def turns(self, number: int) -> None:
        """Run so many reconciles."""
        for _ in range(number):
            await self.turn()

    async def _events(self) -> list[tuple[str, str, str]]:
        calls = list(self.api.calls)
        events = await self.bench.outside.flush_events()
        self.api.calls[:] = calls
        return events

    async def restart(self) -> None:
        """Start another operator without any state."""
        live = self.api.objects[(CLUSTERS, KEY)]
        self.bench = Bench(self.manifest, self.api)
        self.api.objects[(CLUSTERS, KEY)] = live
        await self.bench.outside.clock.advance(self.age)

    async def boot(self) -> None:
        """Reconcile until three servers are ready."""
        await self.turns(12)
        assert self.status["phase"] == "Running", self.status
        assert set(self.raft) >= {f"x-{n}" for n in range(3)}
        self.forget()

    def forget(self) -> None:
        """Drop the recorded requests."""
        for log in (self.phases, self.flips, self.deletions, self.event_reasons, self.actions):
            log.clear()

    async def until(self, phase: str, turns: int = 60) -> None:
        """Reconcile until a phase begins."""
        for _ in range(turns):
            await self.turn()
            if self.phase == phase:
                return
        raise AssertionError(f"{phase} does not come: {self.explain()}")

    async def settle(self, turns: int = 80) -> None:
        """Reconcile until the upgrade is complete and a reconcile writes nothing."""
        for _ in range(turns):
            await self.turn()
            over = self.phase == "Idle" and not self.status["blueGreen"].get("greenRevision")
            if over and not self.writes and len(self.phases) > 1:
                return
        raise AssertionError(f"not settled: {self.explain()}")

    @property
    def writes(self) -> list[str]:
        """The writes of the last reconcile. A token request of a new operator is no write."""
        return [call for call in self.bench.writes if not call.startswith("create/token ")]

    def explain(self) -> str:
        """Describe the state of the upgrade."""
        reasons = {c["type"]: (c["reason"], c["message"]) for c in self.status["conditions"]}
        return f"{self.phases} {self.status.get('blueGreen')} {reasons.get('Reconciling')}"

    # --- objects --------------------------------------------------------------------------------

    @property
    def status(self) -> dict[str, Any]:
        status: dict[str, Any] = self.api.objects[(CLUSTERS, KEY)].get("status") or {}
        return status

    @property
    def phase(self) -> str:
        phase: str = (self.status.get("blueGreen") or {}).get("phase", "Idle")
        return phase

    @property
    def green(self) -> ServerPool:
        """The green pool in the status."""
        return ServerPool("x", self.status["blueGreen"]["greenRevision"])

    def selected(self) -> Mapping[str, str]:
        """The selector of the public Service."""
        live = self.api.objects[(SERVICE, ObjectKey(gen.NAMESPACE, "x-public"))]
        selector: dict[str, str] = live["spec"]["selector"]
        return selector

    def names_of(self, kind: Resource) -> set[str]:
        """Names of all objects of a kind."""
        return {obj["metadata"]["name"] for obj in self.api.of(kind)}

    def ask_for(self, **fields: Any) -> None:
        """Change the spec as a user."""
        self.bench.ask_for(**fields)

    def _note(self) -> None:
        if not self.phases or self.phases[-1] != self.phase:
            self.phases.append(self.phase)
        for call in self.api.calls:
            if call.verb == "delete" and call.kind in ("StatefulSet", "PersistentVolumeClaim"):
                self.deletions.append((call.name, call.body["uid"]))
        revision = self.selected().get(labels.REVISION, "") if self._serves() else ""
        if not self.flips or self.flips[-1] != revision:
            self.flips.append(revision)

    def _serves(self) -> bool:
        return (SERVICE, ObjectKey(gen.NAMESPACE, "x-public")) in self.api.objects

    # --- Kubernetes and the servers -------------------------------------------------------------

    def kubernetes(self) -> None:
        """Act as controllers, kubelet, servers and Jobs."""
        for job in self.api.of(JOB):
            self._work(job)
        expected: set[str] = set()
        for live in self.api.of(STATEFUL_SET):
            if live.get("status") != {"observedGeneration": 99}:
                self.api.with_objects(
                    (STATEFUL_SET, {**live, "status": {"observedGeneration": 99}})
                )
            expected |= self._fill(live)
        for pod in self.api.of(POD):
            name = pod["metadata"]["name"]
            if name not in expected:
                del self.api.objects[(POD, key_of(pod))]
                self._down(name)
            else:
                self._reload(pod)
        for pod in self.api.of(POD):
            leads = str(pod["metadata"]["name"] == self.leader).lower()
            if pod["metadata"]["labels"].get(labels.SERVER_ACTIVE) not in (leads, None):
                pod["metadata"]["labels"][labels.SERVER_ACTIVE] = leads
                self.api.with_objects((POD, pod))

    def _reload(self, pod: Object) -> None:
        """Complete all ephemeral containers."""
        ended = [
            {"name": ephemeral_container["name"], "state": {"terminated": {"exitCode": 0}}}
            for ephemeral_container in pod["spec"].get("ephemeralContainers") or ()
        ]
        if ended != (pod["status"].get("ephemeralContainerStatuses") or []):
            pod["status"]["ephemeralContainerStatuses"] = ended
            self.api.with_objects((POD, pod))

    def _down(self, name: str) -> None:
        if self.leader == name:
            self.leader = next(
                pod_name for pod_name, votes in self.raft.items() if votes and pod_name != name
            )

    def step_down(self) -> None:
        """Make another voter the leader."""
        self.leader = max(
            pod_name for pod_name, votes in self.raft.items() if votes and pod_name != self.leader
        )

    def _fill(self, live: Object) -> set[str]:
        name = live["metadata"]["name"]
        reads = name == names.read_stateful_set("x")
        revision = "" if name in ("x", names.read_stateful_set("x")) else name.removeprefix("x-")
        expected = set()
        for ordinal in range(live["spec"]["replicas"]):
            pod = gen.read_pod(ordinal) if reads else gen.pod(ordinal).of(revision)
            key = key_of(pod.object())
            expected.add(key.name)
            if (POD, key) not in self.api.objects:
                self._make(pod, live, joins=not reads and not revision)
        return expected

    def _make(self, pod: gen.Pod, live: Object, *, joins: bool) -> None:
        template = live["spec"]["template"]
        notes = template["metadata"]["annotations"]
        version = template["spec"]["containers"][0]["image"].rpartition(":")[2]
        name = key_of(pod.object()).name
        obj = (
            pod.with_template(notes[labels.TEMPLATE_HASH])
            .with_files(notes[labels.RELOAD_HASH])
            .ready(leading=name == self.leader, version=version)
            .object()
        )
        self.pod_count += 1
        obj["metadata"]["uid"] = f"uid-{name}-{self.pod_count}"
        self.api.with_objects((POD, obj))
        self.raft.setdefault(name, joins)
        claim = (PVC, ObjectKey(gen.NAMESPACE, names.claim_of_pod(name)))
        if claim not in self.api.objects:
            self.api.with_objects(
                (PVC, gen.claim(claim[1].name, uid=f"uid-{claim[1].name}-{self.pod_count}"))
            )

    def _work(self, job: Object) -> None:
        """Complete a Job; a successful Job performs its action."""
        if (job.get("status") or {}).get("conditions") or job["spec"].get("suspend"):
            return
        action = (job["metadata"].get("annotations") or {}).get(labels.UPGRADE_ACTION, "")
        fails = action in self.fails
        if not fails:
            self._act(action)
        self.actions.append(action)
        end = {"type": "Failed" if fails else "Complete", "status": "True"}
        self.api.with_objects((JOB, {**job, "status": {"conditions": [end]}}))

    def _act(self, action: str) -> None:
        if action == upgrade_actions.STEP_DOWN:
            self.step_down()
        known = self.status.get("blueGreen") or {}
        if not known.get("greenRevision"):
            return
        green = ServerPool("x", known["greenRevision"])
        blue = ServerPool("x", known.get("blueRevision") or "")
        ours = {name for name in self.raft if green.ordinal_of(name) is not None}
        theirs = {name for name in self.raft if blue.ordinal_of(name) is not None}
        if action in (upgrade_actions.PROMOTE, upgrade_actions.REPAIR):
            self.raft |= dict.fromkeys(ours if action == upgrade_actions.PROMOTE else theirs, True)
        if action == upgrade_actions.DEMOTE:
            self.leader = green.pod(0)
            self.raft |= dict.fromkeys(theirs, False)
        if action == upgrade_actions.REPAIR:
            self.leader = blue.pod(0)
            self.raft |= dict.fromkeys(ours, False)
        gone = {upgrade_actions.REMOVE_BLUE: theirs, upgrade_actions.REMOVE_GREEN: ours}
        for name in gone.get(action, ()):
            del self.raft[name]


class RaftServers(Servers):
    """Servers that return the members of a takeover."""

    def __init__(self, world: Takeover) -> None:
        super().__init__()
        self._world = world
        members = world.raft
        self.raft = tuple(
            Member(node_id=name, leader=name == world.leader, voter=votes)
            for name, votes in members.items()
        )
        self.state = AutopilotState(
            healthy=True,
            failure_tolerance=1,
            leader=world.leader,
            voters=tuple(name for name, votes in members.items() if votes),
            servers={name: ServerState(healthy=True) for name in members},
        )

    async def step_down(self, address: str, token: str) -> None:
        await super().step_down(address, token)
        self._world.step_down()


def live_uid(world: Takeover, resource: Resource, name: str) -> str:
    """UID of an existing object."""
    return uid_of(world.api.objects[(resource, ObjectKey(gen.NAMESPACE, name))])
