"""Applies samples in parallel, waits for what their comments wait for, and deletes them."""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field

import yaml

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from e2e.harness.clusters import Cluster
from e2e.harness.kubernetes import Api, Object
from e2e.harness.samples import FOLDER, objects
from e2e.harness.waiting import ExpectationError, Stopwatch
from runtime.builtin_kinds import NAMESPACE
from runtime.types import Resource

# Long, because all clusters of a rig share its processors.
SECONDS = 240.0
# The rig does not have their kinds; the condition reports it, and the cluster is Ready without.
ABSENT = ("GatewayIntegrationReady", "ServiceMonitorReady")
_WAIT = re.compile(
    r"^#   kubectl -n (?P<namespace>\S+) wait "
    r"(?:--for=condition=(?P<condition>\w+)|--for=jsonpath='{\.status\.phase}'=(?P<phase>\w+)) "
    r"(?P<kind>bao|obackup|obrestore)/(?P<name>\S+)",
    re.MULTILINE,
)
_KINDS: Mapping[str, Resource] = {"bao": CLUSTERS, "obackup": BACKUPS, "obrestore": RESTORES}


@dataclass(frozen=True, slots=True)
class Replacements:
    """Replacements for the placeholders of a sample: texts, and the entries of its Secrets."""

    text: Mapping[str, str] = field(default_factory=dict)
    secrets: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    def apply(self, text: str) -> str:
        """Return the manifest with all replacements; fails if a placeholder is missing."""
        for old, new in self.text.items():
            assert old in text, f"{old} is no placeholder"
            text = text.replace(old, new)
        documents = objects(text)
        secrets = {obj["metadata"]["name"]: obj for obj in documents if obj["kind"] == "Secret"}
        for name, entries in self.secrets.items():
            assert secrets[name]["stringData"].keys() <= entries.keys(), f"Secret {name}"
            secrets[name]["stringData"] = dict(entries)
        return yaml.safe_dump_all(documents, sort_keys=False)


@dataclass(slots=True)
class Sample:
    """One sample: what its comment waits for, and the time until that was reached."""

    api: Api
    name: str
    filled: Replacements | None = None
    after: str = ""
    """The sample that has to be ready before."""
    watch: Stopwatch | None = None
    seconds: float | None = None

    @property
    def text(self) -> str:
        """The contents of the file."""
        return (FOLDER / self.name).read_text()

    def apply(self) -> None:
        """Apply the file, with replaced placeholders if there are replacements."""
        self.watch = Stopwatch()
        if self.filled is None:
            self.api.rig.kubectl("apply", "-f", str(FOLDER / self.name))
        else:
            self.api.rig.kubectl("apply", "-f", "-", input=self.filled.apply(self.text))

    def missing(self) -> list[str]:
        """Return the waits of the comment that are not met yet."""
        waits = list(_WAIT.finditer(self.text))
        assert waits, f"{self.name} waits for nothing"
        return [
            wait[0] for wait in waits if wait["condition"] not in ABSENT and not self._is_met(wait)
        ]

    def _is_met(self, wait: re.Match[str]) -> bool:
        if wait["condition"]:
            cluster = Cluster(self.api, wait["namespace"], wait["name"])
            return cluster.condition(wait["condition"], "True") is not None
        live = self.api.get(_KINDS[wait["kind"]], wait["namespace"], wait["name"])
        phase = (live.get("status") or {}).get("phase")
        assert phase not in {"Failed", "Unknown"}, f"{self.name}: {live['status']}"
        return bool(phase == wait["phase"])

    def describe(self) -> str:
        """Return the waits that are not met, and the state of its clusters."""
        clusters = [obj for obj in objects(self.text) if obj["kind"] == CLUSTERS.kind]
        where = ((obj["metadata"]["namespace"], obj["metadata"]["name"]) for obj in clusters)
        states = (Cluster(self.api, *key).describe() for key in where)
        return "\n".join([f"{self.name}: {self.missing()}", *states])


@contextmanager
def apply_samples(samples: "list[Sample]") -> Iterator[None]:
    """Apply samples, wait until all of them are ready, and delete them at the end."""
    try:
        for sample in samples:
            if not sample.after:
                sample.apply()
        _await_ready(samples)
        yield
    finally:
        _delete(samples)


def _await_ready(samples: "list[Sample]") -> None:
    end = time.monotonic() + SECONDS
    while late := [sample for sample in samples if sample.seconds is None]:
        ready = {sample.name for sample in samples if sample.seconds is not None}
        for sample in late:
            if sample.watch is None and sample.after in ready:
                sample.apply()
            if sample.watch is not None and not sample.missing():
                sample.seconds = sample.watch.seconds
        if time.monotonic() > end:
            raise ExpectationError("\n".join(sample.describe() for sample in late))
        time.sleep(0.2)


def _delete(samples: "list[Sample]") -> None:
    """Delete all objects of the files; the namespaces after their clusters are deleted."""
    api = samples[0].api
    documents = [obj for sample in samples for obj in objects(sample.text)]
    rest = [obj for obj in documents if obj["kind"] != NAMESPACE.kind]
    text = yaml.safe_dump_all(rest)
    api.rig.kubectl("delete", "--wait=false", "--ignore-not-found", "-f", "-", input=text)
    spaces = {str(obj["metadata"]["name"]) for obj in documents if obj["kind"] == NAMESPACE.kind}
    end = time.monotonic() + SECONDS
    while left := [cluster for cluster in api.list(CLUSTERS, None) if _space(cluster) in spaces]:
        if time.monotonic() > end:
            raise ExpectationError(f"not deleted: {left}")
        time.sleep(0.2)
    for name in spaces:
        api.delete(NAMESPACE, None, name)


def _space(obj: Object) -> str:
    return str(obj["metadata"]["namespace"])
