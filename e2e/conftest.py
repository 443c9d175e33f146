"""Fixtures of the scenarios: one rig per session, operators and namespaces per scenario.

    python -m pytest e2e                     everything, on a rig of its own
    E2E_RIG=mine E2E_KEEP=1 pytest e2e/drift one scenario, on a rig that stays up

The rig is named by E2E_RIG (default `e2e`). It is taken down at the end, unless E2E_KEEP=1.
"""

import os
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from contracts.api.group import CLUSTERS
from e2e.harness.audit import AuditLog, refused
from e2e.harness.installation import Identity, identity, install
from e2e.harness.kubernetes import Api, missing_ok
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.rig import Rig
from runtime.resources import NAMESPACE

MakeNamespace = Callable[[], str]
# After it, kubelet and scheduler need a minute or two to find back to the API server.
LAST = Path(__file__).parent / "apiserver_outage"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what disturbs the rig itself after everything else."""
    items.sort(key=lambda item: LAST in item.path.parents)


@pytest.fixture(scope="session")
def rig() -> Iterator[Rig]:
    """A whole node, with CRD, ServiceAccount and rights of the operator in place."""
    made = Rig(os.environ.get("E2E_RIG", "e2e"))
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


@pytest.fixture(scope="module")
def launcher(
    rig: Rig, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Launcher]:
    """Starts operators; none of them outlives the scenario, and each must have run soundly."""
    made = Launcher(rig, tmp_path_factory.mktemp(Path(str(request.path)).stem))
    yield made
    made.stop_all()


@pytest.fixture(scope="module")
def operator(launcher: Launcher, audit: AuditLog, controller: Identity) -> Iterator[Operator]:
    """One operator for the whole scenario. Nothing that it asked for may have been refused."""
    mark = audit.mark()
    started = launcher.start(controller, NO_ELECTION)
    yield started
    assert started.alive, started.tail()
    assert not (no := refused(audit.since(mark, controller.user))), "\n".join(map(str, no))


@pytest.fixture(scope="module")
def reloading_operator(
    rig: Rig, launcher: Launcher, audit: AuditLog, controller: Identity
) -> Iterator[Operator]:
    """Like `operator`, and it knows its own image, so that it can let servers read files anew."""
    mark = audit.mark()
    environment = {"OPERATOR_IMAGE": rig.load_operator_image()}
    started = launcher.start(controller, NO_ELECTION, environment=environment)
    yield started
    assert started.alive, started.tail()
    assert not (no := refused(audit.since(mark, controller.user))), "\n".join(map(str, no))


@pytest.fixture(scope="module")
def make_namespace(api: Api) -> Iterator[MakeNamespace]:
    """Make namespaces that are emptied and deleted at the end of the scenario."""
    made: list[str] = []

    def make() -> str:
        name = f"e2e-{uuid.uuid4().hex[:8]}"
        api.make_namespace(name)
        made.append(name)
        return name

    yield make
    for name in made:
        sweep(api, name)


@pytest.fixture
def namespace(make_namespace: MakeNamespace) -> str:
    """A namespace of this test alone."""
    return make_namespace()


def sweep(api: Api, namespace: str) -> None:
    """Delete a namespace and its clusters, whether or not an operator is there to help."""
    for live in api.list(CLUSTERS, namespace):
        name = live["metadata"]["name"]
        api.delete(CLUSTERS, namespace, name)
        with missing_ok():
            api.patch(CLUSTERS, namespace, name, {"metadata": {"finalizers": None}})
    api.delete(NAMESPACE, None, namespace)
