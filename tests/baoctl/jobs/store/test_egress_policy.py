"""The allowed addresses of a store, in every notation."""

import ipaddress

import pytest

from baoctl.jobs.store.egress_policy import EgressPolicy, policy_of

POLICY = policy_of({"KUBERNETES_SERVICE_HOST": "10.96.0.1"}, ("10.0.0.7:443", "[fd00::7]:443"))


def refusal(address: str, port: int = 443, policy: EgressPolicy = POLICY) -> str:
    return policy.refusal(ipaddress.ip_address(address), port)


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("127.0.0.1", "the pod itself"),
        ("127.8.9.1", "the pod itself"),
        ("0.0.0.0", "the pod itself"),  # noqa: S104  nobody binds to it
        ("0.1.2.3", "the pod itself"),
        ("::1", "the pod itself"),
        ("::", "the pod itself"),
        ("::ffff:127.0.0.1", "the pod itself"),
        ("::127.0.0.1", "the pod itself"),
        ("169.254.169.254", "link"),
        ("169.254.170.2", "link"),
        ("::ffff:169.254.169.254", "link"),
        ("64:ff9b::a9fe:a9fe", "link"),
        ("64:ff9b:1::a9fe:a9fe", "link"),
        ("2002:a9fe:a9fe::1", "link"),
        ("fe80::1", "link"),
        ("100.100.100.200", "a cloud"),
        ("168.63.129.16", "a cloud"),
        ("fd00:ec2::254", "a cloud"),
        ("224.0.0.1", "multicast"),
        ("ff02::1", "multicast"),
        ("10.96.0.1", "the API server"),
        ("::ffff:10.96.0.1", "the API server"),
        ("10.0.0.7", "the API server"),
        ("fd00::7", "the API server"),
    ],
)
def test_a_forbidden_address_is_refused(address: str, words: str) -> None:
    assert words in refusal(address)


@pytest.mark.parametrize("address", ["10.0.0.8", "192.168.1.1", "52.216.0.1", "2600::1", "fd00::8"])
def test_another_address_is_allowed(address: str) -> None:
    assert refusal(address) == ""


@pytest.mark.parametrize("port", [2379, 2380, 6443, 10250, 10255, 10257, 10259])
def test_ports_of_the_control_plane_are_refused(port: int) -> None:
    assert f"at port {port}" in refusal("10.0.0.8", port)


def test_another_port_on_the_host_of_the_api_server_is_allowed() -> None:
    assert refusal("10.0.0.7", 9000) == ""


def test_a_permitted_network_allows_only_its_addresses() -> None:
    loopback = EgressPolicy(permitted=(ipaddress.ip_network("127.0.0.0/8"),))
    assert refusal("127.0.0.1", policy=loopback) == ""
    assert refusal("::1", policy=loopback) == "the pod itself"
    assert refusal("169.254.169.254", policy=loopback)


def test_an_invalid_address_is_an_error() -> None:
    with pytest.raises(ValueError, match="api"):
        policy_of({}, ("api.example.com:443",))
