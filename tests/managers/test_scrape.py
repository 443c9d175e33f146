"""The gauges of clusters: a scrape blocks the event loop, so it parses no unchanged object."""

import pytest
from prometheus_client import generate_latest

from contracts.api.group import CLUSTERS
from contracts.api.meta import ApiModel
from managers.backup.metrics import BackupMetrics
from managers.cluster.metrics import ClusterMetrics
from managers.cluster.observe.from_objects import SecretReading, secret_reading
from managers.context.reads.secrets import SecretStore
from managers.restore_test import metrics as restore_test_metrics
from managers.upgrade.metrics import UpgradeMetrics
from runtime.memo import SIZE
from runtime.metrics.metrics import Metrics
from runtime.testing.clock import ManualClock
from runtime.types import Object
from tests import gen
from tests.gen.api import FakeApi, StillInformer

FLEET = 2 * SIZE
"""More clusters than results that a memoized function keeps."""
TEST = {"restoreTest": {"passed": 1}, "consecutiveFailures": 0}


def cluster(number: int, version: int = 1) -> Object:
    changed = gen.cluster(f"c-{number}").initialized().with_status(backup=TEST)
    return changed.with_metadata(resourceVersion=str(version), uid=f"uid-{number}").object()


def test_a_scrape_parses_only_changed_clusters(monkeypatch: pytest.MonkeyPatch) -> None:
    metrics, clusters = Metrics(), StillInformer(CLUSTERS)
    secrets: SecretStore[SecretReading] = SecretStore(FakeApi(), ManualClock(), secret_reading)
    ClusterMetrics(metrics, clusters, secrets)
    UpgradeMetrics(metrics, clusters)
    BackupMetrics(metrics, clusters)
    restore_test_metrics.register(metrics, clusters)
    parsed: list[str] = []
    validate = ApiModel.model_validate.__func__  # type: ignore[attr-defined]  # a classmethod

    def counted(cls: type[ApiModel], /, *args: object, **named: object) -> object:
        parsed.append(cls.__name__)
        return validate(cls, *args, **named)

    monkeypatch.setattr(ApiModel, "model_validate", classmethod(counted))

    def scrape() -> int:
        parsed.clear()
        text = generate_latest(metrics.registry).decode()
        assert text.count("openbao_upgrade_status{") == FLEET
        assert text.count("openbao_restore_test_passed{") == FLEET
        return len(parsed)

    clusters.says(*map(cluster, range(FLEET)))
    of_all = scrape()
    assert of_all >= FLEET
    assert scrape() == 0
    clusters.says(cluster(0, 2), *map(cluster, range(1, FLEET)))
    assert scrape() * FLEET == of_all
