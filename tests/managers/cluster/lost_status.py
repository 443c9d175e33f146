"""A healthy cluster whose status is lost, edited, or restored from an old backup.

After each reconcile, all rules are checked, whatever the row.
"""

import copy
from collections.abc import Mapping
from typing import Any

import pytest

from contracts.api.group import CLUSTERS
from contracts.naming import names
from runtime.builtin_kinds import POD, PVC, SECRET, STATEFUL_SET
from runtime.types import Object, ObjectKey
from tests import gen
from tests.managers.cluster.bench import KEY
from tests.managers.upgrade.life import NEW, OLD, SIZE, UpgradeLife, serving

__all__ = ["KEY", "NEW", "OLD", "SIZE", "WatchedCluster", "healthy"]


class WatchedCluster:
    """A life, and its objects before the status was changed."""

    def __init__(self, life: UpgradeLife) -> None:
        self.life = life
        self.secrets = self._secrets()
        self.claims = self._uids(PVC)
        self.broken: list[str] = []

    @property
    def api(self) -> Any:
        """The API server of the operator."""
        return self.life.api

    def _secrets(self) -> dict[str, str]:
        return {
            secret["metadata"]["name"]: secret["metadata"]["uid"] for secret in self.api.of(SECRET)
        }

    def _uids(self, kind: Any) -> dict[str, str]:
        return {obj["metadata"]["name"]: obj["metadata"]["uid"] for obj in self.api.of(kind)}

    def write_status(self, change: Any) -> None:
        """Write the status as another client: `change` modifies it in place."""
        live = copy.deepcopy(self.life.cluster)
        change(live.setdefault("status", {}))
        if not live["status"]:
            del live["status"]
        self.api.with_objects((CLUSTERS, live))

    def lose(self, *fields: str) -> None:
        """Remove these fields; all of them without a name."""

        def cut(status: Object) -> None:
            for field in fields or tuple(status):
                drop(status, field.split("."))

        self.write_status(cut)

    def edit(self, values: Mapping[str, Any]) -> None:
        """Write these values, by their path."""

        def write(status: Object) -> None:
            for path, value in values.items():
                *above, last = path.split(".")
                part = status
                for step in above:
                    part = part.setdefault(step, {})
                part[last] = value

        self.write_status(write)

    async def passes(self, number: int = 12) -> None:
        """Reconcile, and check the rules after each reconcile."""
        for _ in range(number):
            before = self.life.status.operation_lock
            pods = self.pods()
            await self.life.turn()
            self.look(before is not None and before.operation == "Upgrade", pods)
            self.life.revive()
            await self.life.outside.clock.advance(2.0)

    def pods(self) -> dict[str, str]:
        """Version of each existing pod."""
        pods = ((pod["metadata"]["name"], pod["spec"]["containers"][0]) for pod in self.api.of(POD))
        return {name: version_of(container["image"]) for name, container in pods}

    def look(self, locked: bool, pods: Mapping[str, str]) -> None:
        """Record every rule that the last reconcile broke."""
        if self._uids(PVC) != self.claims:
            self.broken.append("a volume claim was deleted or made anew")
        now = self._secrets()
        if any(now.get(name) != uid for name, uid in self.secrets.items()):
            self.broken.append("a Secret was deleted or drawn anew")
        if {name for name in now if "unseal" in name} != {n for n in self.secrets if "unseal" in n}:
            self.broken.append("another seal key was drawn")
        live = self.api.objects.get((STATEFUL_SET, KEY))
        if live is not None:
            self._look_at_template(live, locked, pods)
        sets = [live["metadata"]["name"] for live in self.api.of(STATEFUL_SET)]
        other = [name for name in sets if name != "x"]
        if other:
            self.broken.append(f"a second StatefulSet was made: {other[0]['metadata']['name']}")

    def _look_at_template(self, live: Object, locked: bool, pods: Mapping[str, str]) -> None:
        spec = live["spec"]["template"]["spec"]
        if any(volume["name"] == "init" for volume in spec["volumes"]):
            self.broken.append("servers would initialize data a second time")
        version = version_of(spec["containers"][0]["image"])
        newest = max(map(number, pods.values()), default=number(version))
        if number(version) < newest:
            self.broken.append(f"downgrade: the template names {version}")
        if version not in pods.values() and pods and not locked:
            self.broken.append(f"upgrade without a lock: the template names {version}")


def number(version: str) -> tuple[int, ...]:
    """The sort key of a version."""
    return tuple(int(part) if part.isdigit() else 0 for part in version.split("."))


def drop(status: Object, path: list[str]) -> None:
    """Remove a field, and parents that become empty."""
    first, *rest = path
    if rest and isinstance(status.get(first), dict):
        drop(status[first], rest)
    elif not rest:
        status.pop(first, None)


def version_of(image: str) -> str:
    """The tag of an image."""
    return image.rpartition(":")[2]


async def healthy(monkeypatch: pytest.MonkeyPatch, **spec: Any) -> WatchedCluster:
    """Three servers of the old version with their volumes, and a complete status."""
    life = await serving(monkeypatch, **spec)
    for ordinal in range(SIZE):
        life.api.with_objects((PVC, gen.claim(names.data_claim("x", ordinal))))
    await life.until_quiet()
    return WatchedCluster(life)


def pod_key(ordinal: int) -> tuple[Any, ObjectKey]:
    """The key of a pod."""
    return POD, ObjectKey(gen.NAMESPACE, f"x-{ordinal}")
