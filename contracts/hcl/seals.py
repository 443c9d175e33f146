"""The seal stanza of config.hcl.

Uses the API model of the seal and contracts.unseal_keys. Called by contracts.hcl.render. The
attribute names are those of go-kms-wrapping in OpenBao 2.4.0. It silently ignores unknown ones, so
tests/contracts/hcl/test_seals.py compares these tables with its source.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from contracts.api.cluster.seal import OciKms, Unseal
from contracts.api.cluster.seal_hsm import Kmip
from contracts.api.meta import ApiModel
from contracts.unseal_keys import KeyRing, UnsealKey

Attributes = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class SealStanza:
    """`seal "<type>" { ... }`: attributes in their order in the file; None is omitted."""

    type: str
    attributes: Attributes


def static_stanza(ring: KeyRing) -> SealStanza:
    """Return the stanza of the static seal for these keys."""
    attributes: dict[str, object] = {
        "current_key": ring.current.uri,
        "current_key_id": ring.current.id,
    }
    if ring.other is not None:
        attributes |= {"previous_key": ring.other.uri, "previous_key_id": ring.other.id}
    return SealStanza("static", attributes)


TRANSIT = (
    "address",
    "key_name",
    "mount_path",
    "token",
    "namespace",
    "disable_renewal",
    "tls_ca_cert",
    "tls_client_cert",
    "tls_client_key",
    "tls_server_name",
    "tls_skip_verify",
)
AWSKMS = ("region", "kms_key_id", "endpoint", "access_key", "secret_key", "session_token")
AZUREKEYVAULT = (
    "vault_name",
    "key_name",
    "tenant_id",
    "client_id",
    "client_secret",
    "resource",
    "environment",
)
GCPCKMS = ("project", "region", "key_ring", "crypto_key", "credentials")
KMIP = (
    "endpoint",
    "kms_key_id",
    "client_cert",
    "client_key",
    "ca_cert",
    "server_name",
    "timeout",
    "encrypt_alg",
    "tls12_ciphers",
    "disabled",
)
OCIKMS = ("key_id", "crypto_endpoint", "management_endpoint", "auth_type_api_key", "disabled")
PKCS11 = (
    "lib",
    "slot",
    "token_label",
    "pin",
    "key_label",
    "key_id",
    "mechanism",
    "disable_software_encryption",
    "rsa_oaep_hash",
    "disabled",
)

ATTRIBUTES: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "transit": TRANSIT,
        "awskms": AWSKMS,
        "azurekeyvault": AZUREKEYVAULT,
        "gcpckms": GCPCKMS,
        "kmip": KMIP,
        "ocikms": OCIKMS,
        "pkcs11": PKCS11,
    }
)
"""All attributes of each built-in seal except static; `_NEWEST` maps fields with other names."""


def block(unseal: Unseal) -> ApiModel | None:
    """Return the settings of the chosen seal type; None if the spec omits them."""
    blocks: Mapping[str, ApiModel | None] = {
        "static": unseal.static_key(),
        "transit": unseal.transit,
        "awskms": unseal.awskms,
        "azurekeyvault": unseal.azure_key_vault,
        "gcpckms": unseal.gcp_cloud_kms,
        "kmip": unseal.kmip,
        "ocikms": unseal.ocikms,
        "pkcs11": unseal.pkcs11,
        "kms": unseal.kms,
    }
    return blocks[unseal.type]


def seal_stanza(unseal: Unseal) -> SealStanza:
    """Return the stanza for `spec.unseal`; for a static seal only with its current key.

    Raises ValueError if the settings of the seal are missing, which a validation rule prevents.
    """
    if unseal.type == "static":
        key = unseal.static_key()
        return static_stanza(KeyRing(UnsealKey(key.current_key_id, key.file)))
    settings = block(unseal)
    if settings is None:
        raise ValueError(f"spec.unseal has no block for the seal {unseal.type}")
    if unseal.kms is not None and unseal.type == "kms":
        # Sorted by name: an object of a user has no order.
        return SealStanza(unseal.kms.plugin_name, dict(sorted((unseal.kms.config or {}).items())))
    newest = _NEWEST.get(unseal.type, _as_is)(settings)
    return SealStanza(
        unseal.type, {name: _text(newest.get(name)) for name in ATTRIBUTES[unseal.type]}
    )


def _as_is(settings: ApiModel) -> Attributes:
    return {name: getattr(settings, name) for name in type(settings).model_fields}


def _kmip(settings: ApiModel) -> Attributes:
    return _as_is(settings.newest() if isinstance(settings, Kmip) else settings)


def _ocikms(settings: ApiModel) -> Attributes:
    by_key = isinstance(settings, OciKms) and settings.by_api_key
    return {**_as_is(settings), "auth_type_api_key": by_key or None}


_NEWEST: Mapping[str, Callable[[ApiModel], Attributes]] = MappingProxyType(
    {"kmip": _kmip, "ocikms": _ocikms}
)


def _text(value: object) -> object:
    """Return an attribute as text: the server expects strings, and reads a bare true as "1"."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return None if value is None else str(value)
