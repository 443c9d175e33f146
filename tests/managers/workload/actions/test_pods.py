"""managers.workload.actions.pods: effects on pods and servers."""

from dataclasses import replace

import pytest

from contracts.records.effects import MarkLog, ReloadPod, ServerEndpoint, StepDown
from managers.bao.client import BaoError, Denied
from managers.workload.actions.pods import mark_log, reload_pod, replace_pod, step_down
from runtime.builtin_kinds import POD
from tests import gen
from tests.gen.api import FakeApi, Outside, api_error
from tests.managers.membership.servers import Servers
from tests.managers.workload.actions.bench import EFFECT, MEANT, outside


async def test_a_pod_is_deleted_by_uid_with_an_event() -> None:
    there = outside()
    await replace_pod(there.context, MEANT, EFFECT)
    assert there.api.body_of("delete Pod x-2")["uid"] == "uid-x-2"
    assert there.api.take_requests() == ["delete Pod x-2"]
    assert await there.flush_events() == [
        ("Normal", "PodReplaced", "Replaced pod x-2: it was outdated")
    ]


RELOAD = ReloadPod("x-2", "uid-x-2", {"name": "reload-1-abcdef01", "image": "i"})


class TestReload:
    async def test_the_reload_container_is_added_by_uid_with_an_event(self) -> None:
        pod = gen.pod(2).reloading("0123456789", 0).object()
        there = Outside(FakeApi().with_objects((POD, pod)))
        await reload_pod(there.context, MEANT, RELOAD)
        test, *_ = there.api.body_of("patch Pod x-2")
        assert test == {"op": "test", "path": "/metadata/uid", "value": "uid-x-2"}
        (live,) = there.api.of(POD)
        former, added = live["spec"]["ephemeralContainers"]
        assert (former["name"], added) == ("reload-1-01234567", RELOAD.container)
        ((kind, reason, text),) = await there.flush_events()
        assert (kind, reason, "x-2" in text) == ("Normal", "PodReloaded", True)
        there.api.calls.clear()
        await reload_pod(there.context, MEANT, RELOAD)
        assert there.api.take_requests() == ["get Pod x-2"], (
            "one event, even if the reconcile is repeated"
        )

    @pytest.mark.parametrize("code", [403, 422])
    async def test_a_refusal_is_recorded_with_an_event(self, code: int) -> None:
        there = outside()
        there.api.refuse("patch Pod x-2", api_error(code))
        await reload_pod(there.context, MEANT, RELOAD)
        assert gen.present(there.context.attempts.last("reload-pod", "uid-x-2")).refusal
        ((kind, reason, _),) = await there.flush_events()
        assert (kind, reason) == ("Warning", "ReloadRefused")

    @pytest.mark.parametrize("code", [404, 409])
    async def test_a_deleted_pod_is_ignored(self, code: int) -> None:
        there = outside()
        there.api.refuse("get Pod x-2", api_error(code))
        await reload_pod(there.context, MEANT, RELOAD)
        assert there.context.attempts.last("reload-pod", "uid-x-2") is None


STEP_DOWN = StepDown("x-0", "uid-x-0", ServerEndpoint("10.0.0.1", "the authority", "the name"))


MARK = MarkLog("x-2", "uid-x-2", STEP_DOWN.endpoint)


WITHOUT = replace(MEANT, has_operator_login=False)
LOGIN = "login 10.0.0.1 jwt-operator openbao-operator jwt-1"


class TestServers:
    async def test_step_down_uses_the_login_of_the_operator(self, servers: Servers) -> None:
        there = Outside(FakeApi())
        await step_down(there.context, there.logins, MEANT, STEP_DOWN)
        assert servers.requests == [LOGIN, "step-down 10.0.0.1 t1", "bye"]
        assert gen.present(there.context.attempts.last("step-down", "uid-x-0")).refusal == ""
        ((_, reason, text),) = await there.flush_events()
        assert reason == "LeaderSteppedDown"
        assert "t1" not in text

    async def test_a_refusal_is_recorded(self, servers: Servers) -> None:
        servers.error = Denied("permission denied", 403)
        there = Outside(FakeApi())
        await step_down(there.context, there.logins, MEANT, STEP_DOWN)
        await mark_log(there.context, there.logins, MEANT, MARK)
        for effect, uid in (("step-down", "uid-x-0"), ("mark-log", "uid-x-2")):
            noted = gen.present(there.context.attempts.last(effect, uid))
            assert "permission denied" in noted.refusal
        there.api.calls.clear()
        assert await there.flush_events() == []
        # So is a login that was removed.
        there = Outside(FakeApi())
        servers.requests.clear()
        await step_down(there.context, there.logins, WITHOUT, STEP_DOWN)
        assert gen.present(there.context.attempts.last("step-down", "uid-x-0")).refusal
        assert servers.requests == []

    async def test_a_lost_response_is_not_a_refusal(self, servers: Servers) -> None:
        """A step-down is not repeated immediately; a log mark is retried later."""
        servers.error = BaoError("no answer")
        there = Outside(FakeApi())
        await step_down(there.context, there.logins, MEANT, STEP_DOWN)
        assert gen.present(there.context.attempts.last("step-down", "uid-x-0")).refusal == ""
        await mark_log(there.context, there.logins, MEANT, MARK)
        assert there.context.attempts.last("mark-log", "uid-x-2") is None

    async def test_mark_log_writes_the_present_setting_again(self, servers: Servers) -> None:
        servers.autopilot = {"max_trailing_logs": 7, "min_quorum": 3}
        there = Outside(FakeApi())
        await mark_log(there.context, there.logins, MEANT, MARK)
        written = ["autopilot 10.0.0.1 t1", "set autopilot 10.0.0.1 t1"]
        assert servers.requests == [LOGIN, *written, "bye"]
        assert servers.autopilot == {"max_trailing_logs": 7, "min_quorum": 3}
        assert gen.present(there.context.attempts.last("mark-log", "uid-x-2")).refusal == ""
