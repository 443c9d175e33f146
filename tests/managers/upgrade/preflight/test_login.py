"""managers.upgrade.preflight.login: the logins that an upgrade needs."""

from __future__ import annotations

from typing import Any

import pytest

from tests import gen
from tests.managers.upgrade.preflight.cases import CLUSTER, FINE, failed_messages
from tests.managers.upgrade.preflight.questions import (
    ALONE,
    NOBODY,
    OIDC,
    SECOND,
    message_of,
    observe,
    run_checks,
)

REFUSED = {"reason": "OperatorLoginRefused", "problem": "403; put a token into Secret x-root-token"}


class TestLogin:
    def test_an_operator_without_a_login_is_refused(self) -> None:
        verdict = run_checks(SECOND.with_spec(selfInit=NOBODY), observe(answers=False))
        assert failed_messages(verdict) == ["login stop OperatorLoginMissing"]
        assert "set spec.upgrade.strategy to RollingUpdate" in message_of(verdict, "login")

    def test_jobs_that_cannot_log_in_are_refused(self) -> None:
        verdict = run_checks(SECOND.with_spec(upgrade=ALONE), observe())
        assert "login stop OperatorLoginMissing" in failed_messages(verdict)
        assert "spec.upgrade.jwtAuthRole" in message_of(verdict, "login")

    @pytest.mark.parametrize("wish", [{}, {"selfInit": OIDC}], ids=["set up", "first boot"])
    def test_the_upgrade_waits_while_the_leader_does_not_respond(
        self, wish: dict[str, Any]
    ) -> None:
        verdict = run_checks(SECOND.with_spec(**wish), observe(answers=False))
        assert failed_messages(verdict) == ["login wait OperatorLoginMissing"]
        assert "condition OperatorLoginReady" in message_of(verdict, "login")

    def test_without_an_observation_nothing_is_refused(self) -> None:
        """`baoctl upgrade plan` queries no server."""
        assert failed_messages(run_checks(SECOND, FINE.with_quorum(None).facts())) == []

    def test_the_configured_role_of_jobs_is_accepted(self) -> None:
        both = SECOND.with_spec(upgrade=ALONE).with_login(keys="k")
        assert failed_messages(run_checks(both, observe())) == []


class TestRootToken:
    """No upgrade uses a root token, so the login comes first."""

    @pytest.mark.parametrize("cluster", [CLUSTER, SECOND], ids=["in place", "a green pool"])
    def test_the_upgrade_waits_for_the_login_set_up(self, cluster: gen.Cluster) -> None:
        verdict = run_checks(cluster.with_status(adminOps={}), observe())
        assert failed_messages(verdict) == ["login wait OperatorLoginMissing"]
        assert "Secret x-root-token" in message_of(verdict, "login")

    @pytest.mark.parametrize("reason", ["RootTokenMissing", "OperatorLoginRefused"])
    @pytest.mark.parametrize("keys", ["", "k"], ids=["never set up", "removed"])
    def test_the_message_has_the_reason_and_the_next_step(self, reason: str, keys: str) -> None:
        cluster = CLUSTER.with_login(**{**REFUSED, "reason": reason, "keys": keys})
        verdict = run_checks(cluster, observe())
        assert failed_messages(verdict) == [f"login wait {reason}"]
        assert message_of(verdict, "login") == REFUSED["problem"]

    def test_a_started_upgrade_continues(self) -> None:
        verdict = run_checks(CLUSTER.with_login(**REFUSED), observe(), resuming=True)
        assert failed_messages(verdict) == []

    def test_a_first_boot_without_a_login_needs_none(self) -> None:
        cluster = CLUSTER.with_spec(selfInit=NOBODY).with_status(adminOps={})
        assert failed_messages(run_checks(cluster, observe())) == []
