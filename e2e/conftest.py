"""Fixtures of the scenarios: one rig per session, operators and namespaces per scenario.

    python -m pytest e2e                     everything, on a rig of its own
    python -m pytest e2e -n 2 --dist loadfile  the same on two rigs side by side
    E2E_RIG=mine E2E_KEEP=1 pytest e2e/drift one scenario, on a rig that stays up

The rig is named by E2E_RIG (default `e2e`), and by the number of the worker where there are
several. It is taken down at the end, unless E2E_KEEP=1.
"""

import fcntl
import os
import uuid
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TextIO

import pytest

from contracts.api.group import CLUSTERS
from e2e.harness.audit import AuditLog, refused
from e2e.harness.installation import Identity, identity, install
from e2e.harness.kubernetes import Api, missing_ok
from e2e.harness.leaks import leaks
from e2e.harness.operator import NO_ELECTION, Launcher, Operator
from e2e.rig import Rig
from e2e.rig.paths import Cache, cache_root
from runtime.resources import NAMESPACE

MakeNamespace = Callable[[], str]
# After it, kubelet and scheduler need a minute or two to find back to the API server.
LAST = Path(__file__).parent / "apiserver_outage"
TURN = pytest.StashKey[TextIO]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what has to run alone; end with what disturbs the rig itself."""
    items.sort(key=lambda item: (LAST in item.path.parents, not is_alone(item)))


def is_alone(item: pytest.Item | pytest.Collector) -> bool:
    """Tell whether nothing else may run on this machine beside a scenario."""
    return item.get_closest_marker("alone") is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(
    item: pytest.Item, nextitem: pytest.Item | None
) -> Generator[None, object, object]:
    """Let scenarios that measure what clients feel run while nobody else does.

    Around everything, so that nobody's timeout runs while it waits for its turn.
    """
    if TURN not in item.session.stash:
        item.session.stash[TURN] = take_turn(alone=is_alone(item))
    try:
        return (yield)
    finally:
        if nextitem is None or nextitem.path != item.path:
            item.session.stash[TURN].close()
            del item.session.stash[TURN]


def take_turn(*, alone: bool) -> TextIO:
    """Hold the machine together with other workers, or alone, until what is returned is closed."""
    folder = Cache(cache_root()).locks
    folder.mkdir(parents=True, exist_ok=True)
    held = (folder / "turn.lock").open("a")
    # Whoever waits holds the door: or those who share would go on to share past one who waits.
    with (folder / "door.lock").open("a") as door:
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(held, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
    return held


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
    said = leaks(api, made, tmp_path_factory.getbasetemp().rglob("operator-*.log"))
    for name in made:
        sweep(api, name)
    assert not said, "\n".join(said)


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
