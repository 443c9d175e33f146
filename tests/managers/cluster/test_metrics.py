"""managers.cluster.metrics: the series of clusters, and their lifetime."""

import re
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from contracts.api.group import CLUSTERS
from managers.certs.secret_content import CertificateContent
from managers.cluster.metrics import (
    REPORTED_CONDITIONS,
    SERIES_PER_CLUSTER,
    ClusterMetrics,
    count_reconciles,
)
from managers.cluster.observe.from_objects import SecretReading
from managers.context.reads.secrets import SecretStore
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Object, ObjectKey, Request
from tests import gen
from tests.gen.api import FakeApi, StillInformer
from tests.managers.cluster.passes import status_of

OLD = gen.cluster(replicas=3).initialized()
STEADY = status_of(OLD, gen.running(OLD)).to_object()
FINE = OLD.with_status(**STEADY)
KEY = ObjectKey(gen.NAMESPACE, "x")
PAGE = (Path(__file__).parents[3] / "docs" / "status.md").read_text(encoding="utf-8")
MINE = '{name="x",namespace="ns"'


def reading(live: Object) -> SecretReading:
    """A Secret whose certificate has its resourceVersion as fingerprint."""
    certificate = gen.certificate(fingerprint=live["metadata"]["resourceVersion"])
    return SecretReading(live, CertificateContent(certificate=certificate))


class Bench:
    def __init__(self) -> None:
        self.metrics = Metrics()
        self.cache = StillInformer(CLUSTERS)
        self.secrets: SecretStore[SecretReading] = SecretStore(FakeApi(), ManualClock(), reading)
        self.version = 0
        self.ours = ClusterMetrics(self.metrics, self.cache, self.secrets)

    def show(self, *clusters: gen.Cluster) -> None:
        """Store exactly these clusters, and end a reconcile of each."""
        self.version += 1
        version = str(self.version)
        self.cache.says(
            *(cluster.with_metadata(resourceVersion=version).object() for cluster in clusters)
        )
        for cluster in clusters:
            self.ours.record(ObjectKey(gen.NAMESPACE, cluster.name))

    def serves(self, certificate: str) -> None:
        """Store a certificate with that fingerprint in the Secret of the servers."""
        metadata = {"name": "x-tls-server", "namespace": gen.NAMESPACE}
        self.secrets.store({"metadata": {**metadata, "resourceVersion": certificate}})
        self.ours.record(KEY)

    def series(self, word: str = "openbao_") -> dict[str, float]:
        """Every series whose line begins with that word."""
        lines = generate_latest(self.metrics.registry).decode().splitlines()
        pairs = (line.rpartition(" ") for line in lines if line.startswith(word))
        return {name: float(value) for name, _, value in pairs}

    def names(self) -> set[str]:
        return {series.partition("{")[0] for series in self.series()}


def test_the_series_of_a_cluster() -> None:
    bench = Bench()
    reading = {"desiredReplicas": 2, "readyReplicas": 1, "registeredReplicas": 2}
    operation = {"kind": "Rolling", "done": 1, "total": 3, "summary": "Rolling 1/3"}
    bench.show(FINE.with_status(readReplicas=reading, operation=operation))
    bench.serves("first")
    series = bench.series()
    assert series[f"openbao_cluster_ready_replicas{MINE}}}"] == 3
    assert series[f"openbao_cluster_desired_replicas{MINE}}}"] == 3
    assert series[f"openbao_cluster_read_replicas_desired{MINE}}}"] == 2
    assert series[f"openbao_cluster_read_replicas_ready{MINE}}}"] == 1
    assert series['openbao_cluster_operation{kind="Rolling",name="x",namespace="ns"}'] == 1
    ready = 'openbao_cluster_condition{name="x",namespace="ns",status="true",type="Ready"}'
    assert series[ready] == 1
    expiry = f'openbao_tls_cert_expiry_timestamp{MINE},type="OperatorManaged"}}'
    assert series[expiry] == gen.certificate().not_after.timestamp()
    assert not [name for name in series if "read_replicas_healthy" in name]
    bench.show(FINE)
    assert not bench.series("openbao_cluster_operation{"), "it is over"


def test_b17_a_cluster_is_in_one_phase_at_a_time() -> None:
    bench = Bench()
    for phase in ("Initializing", "Running", "Upgrading", "Failed", "Running"):
        bench.show(FINE.with_status(phase=phase))
        series = bench.series("openbao_cluster_phase{")
        assert series == {f'openbao_cluster_phase{MINE},phase="{phase}"}}': 1.0}


def test_a_condition_has_one_status_at_a_time() -> None:
    bench = Bench()
    for status in ("True", "False", "Unknown"):
        condition = {"type": "Ready", "status": status, "reason": "Ready", "message": "m"}
        bench.show(OLD.with_status(conditions=[condition, condition]))
        (only,) = bench.series("openbao_cluster_condition")
        assert f'status="{status.lower()}",type="Ready"' in only


class TestRotations:
    ROTATED = f"openbao_tls_rotation_total{MINE}}}"

    def test_each_new_certificate_except_the_first_is_a_rotation(self) -> None:
        bench = Bench()
        bench.show(FINE)
        assert bench.series()[self.ROTATED] == 0
        rotated = (("first", 0), ("first", 0), ("second", 1), ("second", 1), ("third", 2))
        for certificate, count in rotated:
            bench.serves(certificate)
            assert bench.series()[self.ROTATED] == count

    def test_an_unreadable_certificate_is_not_a_rotation(self) -> None:
        bench = Bench()
        bench.show(FINE)
        bench.serves("first")
        bench.secrets.drop(ObjectKey(gen.NAMESPACE, "x-tls-server"))
        bench.ours.record(KEY)
        assert not bench.series("openbao_tls_cert_expiry_timestamp{")
        bench.serves("first")
        assert bench.series()[self.ROTATED] == 0


def test_only_a_new_leader_counts_as_a_change() -> None:
    bench = Bench()
    for leader in ("", "x-0", "x-0", "", "x-0", "x-1", "", "x-2"):
        bench.show(FINE.with_status(activeLeader=leader))
    assert bench.series()[f"openbao_cluster_leader_changes_total{MINE}}}"] == 2


def test_the_series_of_a_cluster_end_with_it() -> None:
    bench = Bench()
    bench.show(FINE)
    bench.serves("first")
    bench.serves("second")
    assert len(bench.names()) >= 7
    bench.cache.says()
    bench.ours.record(KEY)
    assert not bench.series()
    bench.show(FINE)
    # A new cluster of the same name starts with new series.
    assert bench.series()[TestRotations.ROTATED] == 0


async def test_a_failed_reconcile_is_counted_too() -> None:
    bench = Bench()
    bench.cache.says(FINE.object())

    async def fails(request: Request, /) -> Outcome:
        raise RuntimeError("no")

    async def works(request: Request, /) -> Outcome:
        return Done(7.0)

    with pytest.raises(RuntimeError):
        await count_reconciles(fails, bench.ours)(KEY)
    assert bench.series()[TestRotations.ROTATED] == 0
    assert await count_reconciles(works, bench.ours)(KEY) == Done(7.0)


SPOILED: tuple[Any, ...] = (None, 7, "text", [], [7], {"a": {}}, True, ["Ready"], -1, "\n\x1b[31m")
FIELDS = ("phase", "readyReplicas", "conditions", "operation", "readReplicas", "activeLeader")


@pytest.mark.parametrize("value", SPOILED, ids=repr)
def test_attack_t13_nothing_that_a_user_writes_makes_a_scrape_fail(value: Any) -> None:
    bench = Bench()
    for field in FIELDS:
        spoiled = FINE.object()
        spoiled["status"][field] = value
        bench.cache.says(spoiled)
        bench.ours.record(KEY)
        assert f"openbao_cluster_desired_replicas{MINE}}}" in bench.series()
    for part in ("spec", "status"):
        bench.cache.says({**FINE.object(), part: value})
        bench.ours.record(KEY)
        bench.series()


def test_attack_t18_a_thousand_clusters_make_a_bounded_number_of_series() -> None:
    """Whatever users write to fields that appear in a status."""
    bench = Bench()
    hostile = []
    for number in range(1000):
        text = {"reason": "R", "message": "m"}
        conditions = [{"type": f"T{number}-{n}", "status": f"s{n}", **text} for n in range(20)]
        words = {"phase": f"phase-{number}", "operation": {"kind": f"kind-{number}"}}
        status = {**STEADY, **words, "conditions": conditions}
        hostile.append(gen.cluster(f"x-{number}", replicas=3).with_status(**status))
    bench.show(*hostile)
    hostile_series = len(bench.series())
    bench.show(*(gen.cluster(f"x-{n}", replicas=3).with_status(**STEADY) for n in range(1000)))
    assert hostile_series <= len(bench.series()) <= 1000 * SERIES_PER_CLUSTER
    assert not bench.series("openbao_cluster_phase{phase-")


def families(text: str) -> dict[str, tuple[str, frozenset[str]]]:
    """Type and labels of each family of ours in a scrape."""
    kinds: dict[str, str] = {}
    labels: dict[str, set[str]] = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith("openbao_"):
                kinds[sample.name] = family.type
                labels.setdefault(sample.name, set()).update(sample.labels)
    return {name: (kinds[name], frozenset(labels[name])) for name in kinds}


def test_the_page_lists_what_a_scrape_shows() -> None:
    bench = Bench()
    count = {"desired": 1, "ready": 1, "registered": 1, "healthy": 1}
    readers = {f"{word}Replicas": number for word, number in count.items()}
    bench.show(FINE.with_status(readReplicas=readers, operation={"kind": "Rolling"}))
    bench.serves("first")
    shown = families(generate_latest(bench.metrics.registry).decode())
    kinds = {}
    for row in re.findall(r"^\| `(openbao_\w+)` \| (\w+) \| ([\w, ]*) ?\|", PAGE, re.MULTILINE):
        more = {word.strip() for word in row[2].split(",")} - {""}
        kinds[row[0]] = (row[1], frozenset({"namespace", "name"} | more))
    assert kinds == shown
    assert f"at most {SERIES_PER_CLUSTER} series" in PAGE
    (listed,) = re.findall(r"Conditions with a metric: ([\w, \n]+)\.", PAGE)
    assert {word.strip() for word in listed.split(",")} == REPORTED_CONDITIONS
