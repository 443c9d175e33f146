"""The security contexts; test_job holds them against the standard "restricted".

The API server's own judgement is in tests/integration/test_children.py.
"""

from contracts.builders.security_context import container_security, pod_security


def test_the_data_volume_is_readable_for_the_user_that_runs_who_is_not_root() -> None:
    context = pod_security()
    assert context["fsGroup"] == context["runAsGroup"] > 0
    assert context["runAsUser"] > 0


def test_nobody_shares_the_dicts() -> None:
    container_security()["capabilities"]["drop"].clear()
    assert container_security()["capabilities"]["drop"] == ["ALL"]
    pod_security()["seccompProfile"].clear()
    assert pod_security()["seccompProfile"]
