"""The security contexts, against the words of the Pod Security Standard "restricted".

The API server's own judgement is in tests/integration/test_children.py.
"""

from contracts.builders.security_context import container_security, pod_security


def test_a_container_may_nothing() -> None:
    security = container_security()
    assert security["allowPrivilegeEscalation"] is False
    assert security["capabilities"] == {"drop": ["ALL"]}
    assert security["privileged"] is False
    assert security["readOnlyRootFilesystem"] is True


def test_a_pod_runs_as_nobody_special() -> None:
    context = pod_security()
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] > 0
    assert context["runAsGroup"] > 0
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}


def test_the_data_volume_is_readable_for_the_user_that_runs() -> None:
    context = pod_security()
    assert context["fsGroup"] == context["runAsGroup"]


def test_nobody_shares_the_dicts() -> None:
    container_security()["capabilities"]["drop"].clear()
    assert container_security()["capabilities"]["drop"] == ["ALL"]
    pod_security()["seccompProfile"].clear()
    assert pod_security()["seccompProfile"]
