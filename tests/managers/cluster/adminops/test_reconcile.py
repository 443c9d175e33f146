"""When the servers are queried, with which login, and what is written."""

import base64
from collections.abc import Callable
from functools import partial

import pytest

from contracts.api.group import CLUSTERS
from contracts.records.observed import TokenIssuer
from managers.autopilot.decide import desired_settings
from managers.bao import login
from managers.bao.client import Denied
from managers.bao.models import LoginToken, Member
from managers.certs.x509 import issue_server, make_authority
from managers.cluster.adminops import check_schedule
from managers.cluster.adminops.reconcile import AdminOpsReconciler
from managers.cluster.apply.status_writer import StatusWriter
from managers.cluster.observe.observer import ClusterObserver
from managers.context.secret_builder import secret_object
from managers.context.service_account_token import REFUSED_SECONDS
from managers.membership.decide import CONVERGING_RECHECK, QUIET_RECHECK
from runtime.builtin_kinds import POD, PVC, SECRET, STATEFUL_SET
from runtime.client.write_guard import Guard
from runtime.errors import TransportError
from runtime.outcome import Done, Outcome, Wait
from runtime.types import Object, ObjectKey
from tests import gen
from tests.gen.api import FakeApi, Outside, StillInformer, api_error
from tests.managers.cluster.parts import observer_of
from tests.managers.membership.servers import Servers

KEY = ObjectKey(gen.NAMESPACE, "x")
WRITE = "apply/status OpenBaoCluster x"
OLD = gen.cluster(replicas=1).initialized().with_login()
LOGIN = gen.cluster(replicas=1).initialized().self_init(login=True)
AUTHORITY = make_authority("x", gen.NOW)
SERVER = issue_server(AUTHORITY, ("openbao-cluster-x.local",), (), gen.NOW)
TLS = secret_object(
    OLD.owner(),
    "x-tls-server",
    {"tls.crt": SERVER.certificate, "tls.key": SERVER.key, "ca.crt": AUTHORITY.certificate},
)
TOKEN = secret_object(OLD.owner(), "x-root-token", {"token": b"root-abc"})
LEADER = Member(node_id="x-0", leader=True, voter=True)


class Bench:
    """One reconciler with sessions to servers in memory."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, cluster: gen.Cluster, *secrets: Object
    ) -> None:
        self.api = FakeApi().with_objects(
            (CLUSTERS, cluster.object()), *((SECRET, secret) for secret in secrets)
        )
        self.servers = Servers()
        self.servers.raft = (LEADER,)
        self.sessions: list[tuple[str, str]] = []
        monkeypatch.setattr(login, "Bao", self.session)
        outside = Outside(self.api)
        logins = outside.logins
        self.logins, self.clock = logins, outside.clock
        self.clusters = StillInformer(CLUSTERS)
        caches = {kind: StillInformer(kind) for kind in (POD, PVC, STATEFUL_SET)}
        observer = observer_of(outside, caches)
        self.pods = caches[POD]
        self.pods.says(gen.pod(0).ready(leading=True).object())
        self.reconcile = AdminOpsReconciler(
            self.clusters,
            caches,
            observer,
            StatusWriter(self.api, self.clusters, outside.events, outside.clock),
            outside.context,
            logins,
        )

    def session(self, authority: str, server_name: str, *, guard: Guard) -> Servers:
        self.sessions.append((authority, server_name))
        return self.servers

    async def turn(self) -> Outcome:
        self.clusters.says(*self.api.of(CLUSTERS))
        self.api.calls.clear()
        return await self.reconcile(KEY)

    @property
    def admin_ops(self) -> Object:
        status = self.api.objects[(CLUSTERS, KEY)].get("status", {})
        part: Object = status.get("adminOps", {})
        return part


Make = Callable[..., Bench]


@pytest.fixture
def make(monkeypatch: pytest.MonkeyPatch) -> Make:
    return partial(Bench, monkeypatch)


SILENT: dict[str, gen.Cluster] = {
    "a cluster without data": gen.cluster(),
    "a paused cluster": OLD.with_spec(paused=True),
    "a hibernated cluster": OLD.with_spec(hibernate=True),
    "a cluster that is being deleted": OLD.with_metadata(deletionTimestamp="2030-01-01T00:00:00Z"),
    "an unreadable spec": OLD.with_spec(replicas="many"),
}


@pytest.mark.parametrize("cluster", SILENT.values(), ids=SILENT)
async def test_no_server_is_queried(make: Make, cluster: gen.Cluster) -> None:
    bench = make(cluster, TLS, TOKEN)
    assert await bench.turn() == Done()
    assert (bench.sessions, bench.api.take_requests()) == ([], [])


async def test_the_leader_is_queried_and_not_a_former_one_with_a_stale_label(make: Make) -> None:
    bench = make(OLD, TLS, TOKEN)
    bench.pods.says(
        gen.pod(0).ready(leading=True).object(), gen.pod(1).ready(leading=True).object()
    )
    bench.servers.standby = {"10.0.0.1"}
    await bench.turn()
    assert "members 10.0.0.2 t1" in bench.servers.requests
    assert "members 10.0.0.1 t1" not in bench.servers.requests


async def test_the_root_token_of_the_first_boot_is_the_login(make: Make) -> None:
    bench = make(OLD, TLS, TOKEN)
    assert await bench.turn() == Done(QUIET_RECHECK)
    assert bench.servers.requests[-4:] == [
        "members 10.0.0.1 t1",
        "autopilot 10.0.0.1 t1",
        "set autopilot 10.0.0.1 t1",
        "bye",
    ]
    assert bench.admin_ops["raft"]["voters"] == 1
    # Only servers with the CA and the name of the cluster are queried.
    assert bench.sessions == [(AUTHORITY.certificate.decode(), "openbao-cluster-x.local")]


async def test_the_autopilot_is_set_once_and_read_as_often_as_the_members(make: Make) -> None:
    bench = make(OLD, TLS, TOKEN)
    for _ in range(3):
        await bench.turn()
    calls = bench.servers.requests
    read = [line for line in calls if line.startswith("autopilot")]
    assert len(read) == len([line for line in calls if line.startswith("members")]) == 3
    assert calls.count("set autopilot 10.0.0.1 t1") == bench.servers.logins == 1
    assert bench.admin_ops["autopilot"]["applied"] is True


async def test_the_short_stabilization_time_of_the_first_boot_ends_when_all_vote(
    make: Make,
) -> None:
    three = gen.cluster(replicas=3).initialized().with_login()
    bench = make(three, TLS, TOKEN)
    bench.servers.autopilot = {
        **desired_settings(three.read().spec, voters=3),
        "server_stabilization_time": "2s",
    }
    bench.pods.says(
        *(gen.pod(ordinal).ready(leading=ordinal == 0).object() for ordinal in range(3))
    )
    joining = tuple(Member(node_id=f"x-{number}", voter=number == 0) for number in range(3))
    bench.servers.raft = joining
    await bench.turn()
    assert bench.servers.autopilot["server_stabilization_time"] == "2s"
    bench.servers.raft = tuple(member.model_copy(update={"voter": True}) for member in joining)
    await bench.turn()
    assert bench.servers.autopilot["server_stabilization_time"] == "10s"


async def test_the_login_of_a_deleted_cluster_is_dropped(make: Make) -> None:
    bench = make(LOGIN, TLS)
    gone = gen.cluster("gone").self_init(login=True)
    bench.logins.for_cluster(gone.read(), gone.owner())
    assert len(bench.logins) == 1
    assert await bench.reconcile(gone.owner().key) == Done()
    assert len(bench.logins) == 0


async def test_an_unchanged_result_is_written_once_and_reads_no_root_token(make: Make) -> None:
    bench = make(OLD, TLS, TOKEN)
    await bench.turn()
    assert WRITE in bench.api.take_requests()
    await bench.turn()
    calls = bench.api.take_requests()
    assert WRITE not in calls
    assert not any("root-token" in line for line in calls)


async def test_a_root_token_missing_before_the_set_up_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Bench(monkeypatch, gen.cluster(replicas=1).initialized(), TLS)
    monkeypatch.setattr(bench.servers, "login", refused_login)
    await bench.turn()
    operator_login = bench.admin_ops["operatorLogin"]
    assert operator_login["reason"] == "RootTokenMissing"
    assert "Secret x-root-token" in operator_login["problem"]
    # From now on the cluster has no login.
    bench.servers.requests.clear()
    await bench.turn()
    assert bench.admin_ops["lastError"]["reason"] == "MembershipUnknown"
    assert bench.servers.requests == ["health 10.0.0.1", "bye"]
    calls = bench.api.take_requests()
    assert calls.count("peek Secret x-root-token") == 1
    assert WRITE in calls
    await bench.turn()
    assert WRITE not in bench.api.take_requests()


async def test_a_denied_root_token_is_used_once_a_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, gen.cluster(replicas=1).initialized(), TLS, TOKEN)
    monkeypatch.setattr(bench.servers, "login", refused_login)
    monkeypatch.setattr(bench.servers, "enable_login", refused_login_setup, raising=False)
    monkeypatch.setattr(ClusterObserver, "token_issuer", an_issuer)
    await bench.turn()
    assert bench.api.take_requests().count("get Secret x-root-token") == 1
    assert bench.admin_ops["operatorLogin"]["reason"] == "OperatorLoginRefused"
    assert bench.admin_ops["operatorLogin"]["rootTokenSecret"]


async def test_a_removed_login_is_reported_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, OLD.with_login(keys="k"), TLS)
    await bench.turn()
    bench.servers.valid = lambda token: False
    monkeypatch.setattr(bench.servers, "login", refused_login)
    await bench.turn()
    assert bench.admin_ops["operatorLogin"]["reason"] == "OperatorLoginRefused"
    assert bench.admin_ops["operatorLogin"]["keys"] == "k"


def no_answer(body: Object) -> Object:
    raise TransportError("away")


async def an_issuer(observer: ClusterObserver) -> TokenIssuer:
    return TokenIssuer("https://issuer.example.com", ("PEM",))


async def refused_login_setup(address: str, token: str) -> None:
    raise Denied("sys/auth/jwt-operator answered 403: permission denied", 403)


async def refused_login(address: str, mount: str, role: str, token: str) -> LoginToken:
    raise Denied("auth/jwt-operator/login answered 403: permission denied", 403)


async def test_without_a_login_only_the_health_is_read(make: Make) -> None:
    bench = make(OLD.self_init(), TLS, TOKEN)
    await bench.turn()
    assert bench.servers.requests == ["health 10.0.0.1", "bye"]
    assert not any("root-token" in line for line in bench.api.take_requests())


async def test_an_unusable_response_is_reported_until_all_are_read(make: Make) -> None:
    bench = make(OLD, TLS, TOKEN)
    bench.servers.unusable = "sys/health of 10.0.0.1: the answer is longer than 262144 bytes"
    assert await bench.turn() == Done(QUIET_RECHECK)
    assert bench.admin_ops["lastError"]["reason"] == "AnswerUnusable"
    assert bench.servers.unusable in bench.admin_ops["lastError"]["message"]
    bench.servers.unusable = ""
    await bench.turn()
    assert "lastError" not in bench.admin_ops


async def test_a_refused_token_request_is_reported(make: Make) -> None:
    bench = make(LOGIN, TLS)
    bench.api.refuse("create/token ServiceAccount the-operator", api_error(403))
    await bench.turn()
    assert bench.servers.logins == 0
    assert "ServiceAccount operators/the-operator" in bench.admin_ops["lastError"]["message"]
    operator_login = bench.admin_ops["operatorLogin"]
    assert operator_login["reason"] == "OperatorLoginMissing"
    assert "serviceaccounts/token" in operator_login["problem"]
    assert requests(bench) == 1, "many callers share one refusal"
    await bench.clock.advance(REFUSED_SECONDS)
    await bench.turn()
    assert bench.servers.logins == 1
    assert not bench.api.body_of(WRITE)["status"]["adminOps"]["operatorLogin"]["problem"]


async def test_an_unavailable_api_server_is_no_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    bench = Bench(monkeypatch, LOGIN, TLS)
    monkeypatch.setattr(bench.api, "_token", no_answer)
    await bench.turn()
    assert bench.admin_ops["lastError"]["reason"] == "MembershipUnknown"
    assert "operatorLogin" not in bench.admin_ops


def requests(bench: Bench) -> int:
    return bench.api.take_requests().count("create/token ServiceAccount the-operator")


async def test_only_a_settled_cluster_waits_for_the_budget_of_the_fleet(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(check_schedule, "BUDGET", 1 / 1000)
    bench = make(OLD, TLS, TOKEN)
    assert await bench.turn() == Done(QUIET_RECHECK), "the status has changed"
    settled = await bench.turn()
    assert isinstance(settled, Done)
    assert settled.recheck_after is not None
    assert settled.recheck_after >= 900.0
    bench.servers.unusable = "sys/health of 10.0.0.1: the answer is longer than 262144 bytes"
    for _ in range(2):
        assert await bench.turn() == Done(QUIET_RECHECK), "an error is checked every minute"


async def test_missing_members_are_checked_again_soon(make: Make) -> None:
    bench = make(OLD.with_spec(replicas=3), TLS, TOKEN)
    bench.pods.says(gen.pod(0).ready(leading=True).object(), gen.pod(1).ready().object())
    bench.servers.raft = (LEADER, Member(node_id="x-1"))
    outcome = await bench.turn()
    assert outcome == Wait("VotersMissing", "1 of 3 servers are voters", CONVERGING_RECHECK)


# sentence: the Secret with the server certificate; None: it does not exist
UNKNOWN: dict[str, Object | None] = {
    "a missing Secret": None,
    "a foreign Secret": secret_object(
        OLD.with_metadata(uid="uid-2").owner(), "x-tls-server", {"tls.crt": b"x"}
    ),
    "an unreadable Secret": {**TLS, "data": {"tls.crt": base64.b64encode(b"garbage").decode()}},
}


@pytest.mark.parametrize("secret", UNKNOWN.values(), ids=UNKNOWN)
async def test_without_a_known_ca_no_server_is_queried_and_the_check_is_retried(
    make: Make, secret: Object | None
) -> None:
    bench = make(OLD, *([] if secret is None else [secret]), TOKEN)
    assert gen.expect(Wait, await bench.turn()).after == gen.INSTALLATION.secret_recheck
    assert bench.sessions == []
    assert bench.admin_ops == OLD.status["adminOps"]
