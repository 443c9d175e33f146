"""Fixtures of the scenarios: one rig per session, operators and namespaces per scenario.

    python -m pytest e2e                       all scenarios, on their own rig
    python -m pytest e2e -n 2 --dist loadfile  the same on two rigs in parallel
    E2E_RIG=mine E2E_KEEP=1 pytest e2e/drift   one scenario, on a rig that is kept

E2E_RIG is the name of the rig (default `e2e`); with several workers the number of the worker is
appended. The rig is removed at the end, unless E2E_KEEP=1.
"""

import os
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from contracts.api.group import BACKUPS, CLUSTERS, RESTORES
from e2e.harness import budgets
from e2e.harness.audit import AuditLog
from e2e.harness.fault_proxy import FaultProxy, fault_proxy
from e2e.harness.forked_process import ForkedProcesses
from e2e.harness.installation import Identity, identity, install
from e2e.harness.kubernetes import Api, missing_ok
from e2e.harness.leaks import leaks
from e2e.harness.operator import NO_ELECTION, Launcher, Operator, run_without_refusals
from e2e.harness.plugins import PluginRegistry, plugin_registry
from e2e.harness.stopped_upgrade import POD_DEADLINE
from e2e.harness.stores import ServerHost, Store, s3_store
from e2e.harness.upgrades import Requests
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.builtin_kinds import NAMESPACE

MakeNamespace = Callable[[], str]
# After it, kubelet and scheduler need a minute or two to reconnect to the API server.
LAST = "apiserver_outage"
# The longest scenarios run first, so that no worker starts one when the others are done.
LONG = (
    "lost_status",
    "upgrade_bluegreen",
    "crash",
    "config_change",
    "backup_faults",
    "restore",
    "samples",
    "doctor",
    "cli",
    "backup_schedule",
    "fencing",
    "upgrade_rolling",
    "upgrade_faults",
    "versions",
    "operator_init",
    "multi_tenant",
    "operator_upgrade",
    "zombie",
    "tls_external",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest scenarios first."""
    items.sort(key=lambda item: _place(item.path.parent.name))


def _place(scenario: str) -> int:
    order = (*LONG, "", LAST)
    return order.index(scenario if scenario in order else "")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add the measured values to the report of each phase, which workers send."""
    report = yield
    budgets.add_to_report(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List all measured values with their budgets."""
    stats = terminalreporter.stats
    if measured := budgets.as_table(report for reports in stats.values() for report in reports):
        terminalreporter.section("budgets")
        terminalreporter.write_line(measured)


@pytest.fixture(scope="session")
def rig() -> Iterator[Rig]:
    """A full node with the CRDs, ServiceAccount and RBAC of the operator."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    rig = Rig("-".join(filter(None, (os.environ.get("E2E_RIG", "e2e"), worker))))
    rig.up()
    install(rig)
    yield rig
    if os.environ.get("E2E_KEEP") != "1":
        rig.down()


@pytest.fixture(scope="session")
def api(rig: Rig) -> Api:
    """An API client with administrator permissions."""
    return Api(rig)


@pytest.fixture(scope="session")
def audit(rig: Rig) -> AuditLog:
    """The audit log: all requests to the API server."""
    return AuditLog(rig.audit_log)


@pytest.fixture(scope="session")
def controller(rig: Rig, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """The operator's own ServiceAccount."""
    return identity(rig, api, tmp_path_factory.mktemp("identity"))


@pytest.fixture(scope="session")
def requests(audit: AuditLog, controller: Identity) -> Requests:
    """The requests of operators to the API server."""
    return Requests(audit, controller.user)


@pytest.fixture(scope="session")
def forks(rig: Rig) -> Iterator[ForkedProcesses]:
    """The fork server, which loads the code of operators once for all scenarios."""
    forks = ForkedProcesses(rig.inside, REPOSITORY)
    yield forks
    forks.close()


@pytest.fixture(scope="module")
def launcher(
    rig: Rig,
    forks: ForkedProcesses,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Launcher]:
    """Starts operators; they are stopped after the scenario, which fails if one logged errors."""
    launcher = Launcher(rig, tmp_path_factory.mktemp(Path(str(request.path)).stem), forks)
    yield launcher
    launcher.stop_all()


@pytest.fixture(scope="module")
def operator(launcher: Launcher, audit: AuditLog, controller: Identity) -> Iterator[Operator]:
    """One operator for the whole scenario; fails if the API server refuses one of its requests."""
    yield from run_without_refusals(launcher, audit, controller)


@pytest.fixture(scope="module")
def reloading_operator(
    rig: Rig, launcher: Launcher, audit: AuditLog, controller: Identity
) -> Iterator[Operator]:
    """Like `operator`, with its own image in the environment, so that servers can reload files."""
    environment = {"OPERATOR_IMAGE": rig.load_operator_image()}
    yield from run_without_refusals(launcher, audit, controller, environment)


@pytest.fixture(scope="module")
def short_deadline_operator(
    rig: Rig, launcher: Launcher, controller: Identity
) -> Iterator[Operator]:
    """Like `reloading_operator`, but an upgrade waits only POD_DEADLINE seconds for a server.

    The node has the images of all versions.
    """
    rig.load_openbao(OPENBAO_UPGRADES)
    environment = {
        "OPERATOR_IMAGE": rig.load_operator_image(),
        "UPGRADE_POD_DEADLINE_SECONDS": str(POD_DEADLINE),
    }
    started = launcher.start(controller, NO_ELECTION, environment=environment)
    yield started
    assert started.alive, started.tail()


@pytest.fixture(scope="module")
def store(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    """An S3 store in the network of the rig; scenarios of other stores have their own."""
    with s3_store(ServerHost.of_rig(rig), tmp_path_factory.mktemp("store")) as server:
        yield server


@pytest.fixture(scope="module")
def plugins(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginRegistry]:
    """A registry of plugins in the network of the rig."""
    with plugin_registry(ServerHost.of_rig(rig), tmp_path_factory.mktemp("plugins")) as registry:
        yield registry


@pytest.fixture(scope="module")
def proxy(rig: Rig, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultProxy]:
    """The same store, through a fault-injecting proxy."""
    with fault_proxy(ServerHost.of_rig(rig), store, tmp_path_factory.mktemp("proxy")) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def make_namespace(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeNamespace]:
    """Create namespaces that are emptied and deleted at the end of the scenario.

    Fails if the content of their Secrets is in another object or in the log of an operator.
    """
    namespaces: list[str] = []

    def make() -> str:
        name = f"e2e-{uuid.uuid4().hex[:8]}"
        api.make_namespace(name)
        namespaces.append(name)
        return name

    yield make
    leaked = leaks(api, namespaces, tmp_path_factory.getbasetemp().rglob("operator-*.log"))
    for name in namespaces:
        sweep(api, name)
    assert not leaked, "\n".join(leaked)


@pytest.fixture
def namespace(make_namespace: MakeNamespace) -> str:
    """A namespace for this test."""
    return make_namespace()


def sweep(api: Api, namespace: str) -> None:
    """Delete a namespace and our objects in it; works without a running operator."""
    for kind in (RESTORES, BACKUPS, CLUSTERS):
        for live in api.list(kind, namespace):
            name = live["metadata"]["name"]
            api.delete(kind, namespace, name)
            with missing_ok():
                api.patch(kind, namespace, name, {"metadata": {"finalizers": None}})
    api.delete(NAMESPACE, None, namespace)
