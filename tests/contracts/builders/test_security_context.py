"""The security contexts, against the words of the Pod Security Standard "restricted".

The API server's own judgement is in tests/integration/test_children.py.
"""

from contracts.builders.security_context import container_security, pod_security


def test_a_container_may_nothing() -> None:
    made = container_security()
    assert made["allowPrivilegeEscalation"] is False
    assert made["capabilities"] == {"drop": ["ALL"]}
    assert made["privileged"] is False
    assert made["readOnlyRootFilesystem"] is True


def test_a_pod_runs_as_nobody_special() -> None:
    made = pod_security()
    assert made["runAsNonRoot"] is True
    assert made["runAsUser"] > 0
    assert made["runAsGroup"] > 0
    assert made["seccompProfile"] == {"type": "RuntimeDefault"}


def test_the_data_volume_is_readable_for_the_user_that_runs() -> None:
    made = pod_security()
    assert made["fsGroup"] == made["runAsGroup"]


def test_nobody_shares_the_dicts() -> None:
    container_security()["capabilities"]["drop"].clear()
    assert container_security()["capabilities"]["drop"] == ["ALL"]
    pod_security()["seccompProfile"].clear()
    assert pod_security()["seccompProfile"]
