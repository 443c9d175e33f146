"""Fixtures of the scenarios: one rig per session, operators and namespaces per scenario.

    python -m pytest e2e                     everything, on a rig of its own
    python -m pytest e2e -n 2 --dist loadfile  the same on two rigs side by side
    E2E_RIG=mine E2E_KEEP=1 pytest e2e/drift one scenario, on a rig that stays up

The rig is named by E2E_RIG (default `e2e`), and by the number of the worker where there are
several. It is taken down at the end, unless E2E_KEEP=1.
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
from e2e.harness.operator import NO_ELECTION, Launcher, Operator, unrefused
from e2e.harness.plugins import PluginRegistry, plugin_registry
from e2e.harness.stopped_upgrade import POD_DEADLINE
from e2e.harness.stores import Ground, Store, s3_store
from e2e.harness.upgrades import Requests
from e2e.rig import Rig
from e2e.rig.paths import REPOSITORY
from e2e.rig.versions import OPENBAO_UPGRADES
from runtime.builtin_kinds import NAMESPACE

MakeNamespace = Callable[[], str]
# After it, kubelet and scheduler need a minute or two to find back to the API server.
LAST = "apiserver_outage"
# The longest, so that no worker begins one when the others have done.
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
    "upgrade_crash_sweep",
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
    """Begin with the longest files."""
    items.sort(key=lambda item: _place(item.path.parent.name))


def _place(scenario: str) -> int:
    order = (*LONG, "", LAST)
    return order.index(scenario if scenario in order else "")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Let the report of each phase carry what was measured in it; workers send their reports."""
    report = yield
    budgets.hand_over(report)
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """List all measured values with their budgets."""
    stats = terminalreporter.stats
    if measured := budgets.as_table(report for reports in stats.values() for report in reports):
        terminalreporter.section("budgets")
        terminalreporter.write_line(measured)


@pytest.fixture(scope="session")
def rig() -> Iterator[Rig]:
    """A whole node, with CRD, ServiceAccount and rights of the operator in place."""
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    made = Rig("-".join(filter(None, (os.environ.get("E2E_RIG", "e2e"), worker))))
    made.up()
    install(made)
    yield made
    if os.environ.get("E2E_KEEP") != "1":
        made.down()


@pytest.fixture(scope="session")
def api(rig: Rig) -> Api:
    """The API as its administrator."""
    return Api(rig)


@pytest.fixture(scope="session")
def audit(rig: Rig) -> AuditLog:
    """Everything the API server was asked."""
    return AuditLog(rig.audit_log)


@pytest.fixture(scope="session")
def controller(rig: Rig, api: Api, tmp_path_factory: pytest.TempPathFactory) -> Identity:
    """The operator's own ServiceAccount."""
    return identity(rig, api, tmp_path_factory.mktemp("identity"))


@pytest.fixture(scope="session")
def requests(audit: AuditLog, controller: Identity) -> Requests:
    """What operators asked the API server for."""
    return Requests(audit, controller.user)


@pytest.fixture(scope="session")
def forks(rig: Rig) -> Iterator[ForkedProcesses]:
    """Operators whose code is loaded once for all scenarios."""
    made = ForkedProcesses(rig.inside, REPOSITORY)
    yield made
    made.close()


@pytest.fixture(scope="module")
def launcher(
    rig: Rig,
    forks: ForkedProcesses,
    tmp_path_factory: pytest.TempPathFactory,
    request: pytest.FixtureRequest,
) -> Iterator[Launcher]:
    """Starts operators; none of them outlives the scenario, and each must have run soundly."""
    made = Launcher(rig, tmp_path_factory.mktemp(Path(str(request.path)).stem), forks)
    yield made
    made.stop_all()


@pytest.fixture(scope="module")
def operator(launcher: Launcher, audit: AuditLog, controller: Identity) -> Iterator[Operator]:
    """One operator for the whole scenario. Nothing that it asked for may have been refused."""
    yield from unrefused(launcher, audit, controller)


@pytest.fixture(scope="module")
def reloading_operator(
    rig: Rig, launcher: Launcher, audit: AuditLog, controller: Identity
) -> Iterator[Operator]:
    """Like `operator`, and it knows its own image, so that it can let servers read files anew."""
    environment = {"OPERATOR_IMAGE": rig.load_operator_image()}
    yield from unrefused(launcher, audit, controller, environment)


@pytest.fixture(scope="module")
def impatient(rig: Rig, launcher: Launcher, controller: Identity) -> Iterator[Operator]:
    """Like `reloading_operator`, and an upgrade gives a server POD_DEADLINE seconds to come back.

    The images of all versions are on the node.
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
    """An S3 store in the network of the rig; a scenario of another store has its own."""
    with s3_store(Ground.of_rig(rig), tmp_path_factory.mktemp("store")) as made:
        yield made


@pytest.fixture(scope="module")
def plugins(rig: Rig, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PluginRegistry]:
    """A registry of plugins in the network of the rig."""
    with plugin_registry(Ground.of_rig(rig), tmp_path_factory.mktemp("plugins")) as made:
        yield made


@pytest.fixture(scope="module")
def proxy(rig: Rig, store: Store, tmp_path_factory: pytest.TempPathFactory) -> Iterator[FaultProxy]:
    """The same store, through a proxy that plays faults."""
    with fault_proxy(Ground.of_rig(rig), store, tmp_path_factory.mktemp("proxy")) as made:
        yield made


@pytest.fixture(scope="module")
def make_namespace(api: Api, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MakeNamespace]:
    """Make namespaces that are emptied and deleted at the end of the scenario.

    What is secret in them must stand in Secrets alone, and in no log of an operator.
    """
    made: list[str] = []

    def make() -> str:
        name = f"e2e-{uuid.uuid4().hex[:8]}"
        api.make_namespace(name)
        made.append(name)
        return name

    yield make
    leaked = leaks(api, made, tmp_path_factory.getbasetemp().rglob("operator-*.log"))
    for name in made:
        sweep(api, name)
    assert not leaked, "\n".join(leaked)


@pytest.fixture
def namespace(make_namespace: MakeNamespace) -> str:
    """A namespace of this test alone."""
    return make_namespace()


def sweep(api: Api, namespace: str) -> None:
    """Delete a namespace and our objects in it, also without a running operator."""
    for kind in (RESTORES, BACKUPS, CLUSTERS):
        for live in api.list(kind, namespace):
            name = live["metadata"]["name"]
            api.delete(kind, namespace, name)
            with missing_ok():
                api.patch(kind, namespace, name, {"metadata": {"finalizers": None}})
    api.delete(NAMESPACE, None, namespace)
