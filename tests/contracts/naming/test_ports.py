"""The two ports, in the three spellings of Kubernetes."""

import pytest

from contracts.naming.ports import API, CLUSTER, Port


def test_the_numbers_are_those_of_the_server() -> None:
    assert (API.number, CLUSTER.number) == (8200, 8201)


@pytest.mark.parametrize("port", [API, CLUSTER], ids=lambda port: port.name)
def test_every_spelling_names_the_protocol(port: Port) -> None:
    """It is part of the key by which server-side apply tells ports apart."""
    service, container, policy = port.service_port(), port.container_port(), port.policy_port()
    assert {spelled["protocol"] for spelled in (service, container, policy)} == {"TCP"}
    assert service["port"] == service["targetPort"] == container["containerPort"] == policy["port"]
    assert service["name"] == container["name"] == port.name


def test_a_port_name_is_short_enough() -> None:
    """A container port's name has at most 15 characters (IANA_SVC_NAME)."""
    assert len(API.name) <= 15
    assert len(CLUSTER.name) <= 15
