"""contracts.cloud_metadata: the ranges where clouds serve metadata."""

import ipaddress

import pytest

from contracts.cloud_metadata import LINK_LOCAL, METADATA, is_metadata


@pytest.mark.parametrize(
    ("address", "serves"),
    [
        ("100.100.100.200", True),
        ("168.63.129.16", True),
        ("192.0.0.192", True),
        ("fd00:42::42", True),
        ("fd00:100::100:200", True),
        ("fd00:a9fe:a9fe::1", True),
        ("fd00:c1::a9fe:a9fe", True),
        ("fd00:ec2::23", True),
        ("fd00:ec2::254", True),
        ("fd20:ce::254", True),
        ("100.100.100.201", False),
        ("52.216.0.1", False),
        ("fd00:ec3::254", False),
        ("2600:1f00::1", False),
    ],
)
def test_metadata_addresses_of_clouds(address: str, serves: bool) -> None:
    assert is_metadata(ipaddress.ip_address(address)) is serves


def test_link_local_ranges_are_those_of_the_standards() -> None:
    assert all(network.is_link_local for network in LINK_LOCAL)
    assert not any(network.is_link_local for network in METADATA)
