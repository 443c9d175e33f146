"""contracts.jobs.cloud_identity: the metadata addresses that a Job needs."""

import ipaddress
from typing import Any, get_args

import pytest

from contracts.api.cluster.snapshot_store import Provider
from contracts.cloud_metadata import is_metadata
from contracts.jobs.cloud_identity import ADDRESSES, metadata_addresses
from tests.gen.job_templates import target

SECRET = {"credentialsSecretRef": {"name": "store"}}
# sentence: (provider, fields of the target, provider of the addresses)
STORES: dict[str, tuple[str, dict[str, Any], Provider | None]] = {
    "s3 uses AWS": ("s3", {}, "s3"),
    "an http endpoint uses AWS": ("s3", {"endpoint": "http://minio.example.com"}, "s3"),
    "gcs uses Google": ("gcs", {}, "gcs"),
    "an alias of gcs uses Google": ("gcs", {"endpoint": "https://gcs.example.com"}, "gcs"),
    "a Google account of the pod uses the identity of the pod": (
        "gcs", {"workloadIdentity": {"serviceAccountAnnotations": {"iam.gke.io/x": "y"}}}, "gcs",
    ),
    "azure uses Azure": ("azure", {}, "azure"),
    "labels of a mesh change nothing": (
        "azure", {"workloadIdentity": {"podLabels": {"sidecar.istio.io/inject": "true"}}}, "azure",
    ),
    "s3 with a Secret uses none": ("s3", SECRET, None),
    "gcs with a Secret uses none": ("gcs", SECRET, None),
    "azure with a Secret uses none": ("azure", SECRET, None),
    "a role uses a token": ("s3", {"roleArn": "arn:aws:iam::1:role/x"}, None),
    "a role of the webhook uses a token": (
        "s3",
        {"workloadIdentity": {"serviceAccountAnnotations": {"eks.amazonaws.com/role-arn": "a"}}},
        None,
    ),
    "a token of the webhook of Azure": (
        "azure", {"workloadIdentity": {"podLabels": {"azure.workload.identity/use": "true"}}}, None,
    ),
    "an emulator of Google has no login": ("gcs", {"endpoint": "HTTP://gcs:4443"}, None),
    "a volume needs no login": ("pvc", {"pvc": {"claimName": "v"}}, None),
}  # fmt: skip


@pytest.mark.parametrize(("provider", "fields", "asked"), STORES.values(), ids=STORES.keys())
def test_which_metadata_service_a_store_uses(
    provider: str, fields: dict[str, Any], asked: Provider | None
) -> None:
    addresses = metadata_addresses(target(provider, **fields))
    assert addresses == (ADDRESSES[asked] if asked else ())


def test_every_address_is_link_local_or_a_metadata_address() -> None:
    for item in (address for addresses in ADDRESSES.values() for address in addresses):
        address = ipaddress.ip_address(item.address)
        assert address.is_link_local or is_metadata(address)


def test_every_provider_has_its_addresses() -> None:
    assert ADDRESSES.keys() == set(get_args(Provider))
