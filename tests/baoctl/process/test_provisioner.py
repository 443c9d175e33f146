"""`baoctl provision`: its settings and its watches."""

from baoctl.controllers.tenant import watch_tenants
from baoctl.settings import provisioner_from_environment
from contracts.api.group import CLUSTERS, TENANTS
from managers.tenancy.gate import TARGET_INDEX, by_target
from runtime.controller.controller import Controller
from runtime.metrics.metrics import Metrics
from runtime.outcome import Done, Outcome
from runtime.testing.clock import ManualClock
from runtime.types import Request
from tests.gen.api import StillInformer


def test_the_settings_of_a_pod() -> None:
    env = {
        "KUBERNETES_SERVICE_HOST": "192.0.2.1",
        "POD_NAMESPACE": "operators",
        "OPERATOR_SERVICE_ACCOUNT_NAME": "controller",
        "PROVISIONER_DELEGATE_SERVICE_ACCOUNT_NAME": "delegate",
        "TENANT_READS": "watch",
        "TENANT_RECHECK_SECONDS": "30",
        "WATCH_NAMESPACE": "of-another-process",
    }
    provisioner = provisioner_from_environment(env)
    assert (provisioner.delegate, provisioner.reads, provisioner.recheck) == (
        "delegate",
        "watch",
        30.0,
    )
    assert provisioner.process.installation.service_account == "controller"
    assert provisioner_from_environment({}).reads == "poll"


def test_a_cluster_enqueues_the_tenants_of_its_namespace() -> None:
    async def nothing(_: Request) -> Outcome:
        return Done()

    controller = Controller("t", nothing, clock=ManualClock(), metrics=Metrics())
    tenants, clusters = StillInformer(TENANTS), StillInformer(CLUSTERS)
    tenants.add_index(TARGET_INDEX, by_target)
    watch_tenants(controller, tenants, clusters)
    tenants.says(
        {
            "metadata": {"name": "t", "namespace": "operators", "uid": "1", "resourceVersion": "1"},
            "spec": {"targetNamespace": "team-a"},
        }
    )
    assert len(controller._queue) == 1
    clusters.says(
        {"metadata": {"name": "x", "namespace": "team-b", "uid": "2", "resourceVersion": "2"}}
    )
    assert len(controller._queue) == 1
