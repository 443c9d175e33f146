"""The security contexts; test_job compares them with the standard "restricted".

tests/integration/test_children.py tests them with the API server.
"""

from contracts.builders.security_context import container_security, pod_security


def test_the_data_volume_belongs_to_the_group_of_the_non_root_user() -> None:
    context = pod_security()
    assert context["fsGroup"] == context["runAsGroup"] > 0
    assert context["runAsUser"] > 0


def test_each_caller_gets_its_own_dict() -> None:
    container_security()["capabilities"]["drop"].clear()
    assert container_security()["capabilities"]["drop"] == ["ALL"]
    pod_security()["seccompProfile"].clear()
    assert pod_security()["seccompProfile"]
