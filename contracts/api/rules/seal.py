"""Rules about spec.unseal.

Uses contracts.naming.names and the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.seal import KEY_ID, KEY_PATH, Unseal
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Offence, Rule, either
from contracts.api.values.pattern import Pattern
from contracts.naming import names
from contracts.server_features import FEATURES, offers

Old = OpenBaoCluster | None

BLOCKS = {
    "static": "static",
    "transit": "transit",
    "awskms": "awskms",
    "azurekeyvault": "azure_key_vault",
    "gcpckms": "gcp_cloud_kms",
    "kmip": "kmip",
    "ocikms": "ocikms",
    "pkcs11": "pkcs11",
    "kms": "kms",
}
"""The field of each seal's settings."""
_PLUGIN_SEALS = ("awskms", "azurekeyvault", "gcpckms", "ocikms", "pkcs11")

_TOO_OLD = r"^v?([01]\.|2\.[0-3]\.)"
_IS_TOO_OLD = Pattern(_TOO_OLD)
_SYSTEM_NAME = f"({'|'.join(names.SYSTEM_SECRET_SUFFIXES)})$"


def _seal_type(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if old and new.spec.unseal.type != old.spec.unseal.type:
        yield "spec.unseal.type", new.spec.unseal.type


def _static_key(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    """An id stays tied to its key: another file is another key, and has another id."""
    if old is None or new.spec.unseal.type != "static":
        return
    key, former = new.spec.unseal.static_key(), old.spec.unseal.static_key()
    if key.current_key != former.current_key and key.current_key_id == former.current_key_id:
        yield "spec.unseal.static.currentKeyID", key.current_key_id


def _static_file(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    unseal = new.spec.unseal
    key = unseal.static_key().current_key
    own = unseal.type == "static" and unseal.secret_name is None
    if own and key != f"file://{KEY_PATH}":
        yield "spec.unseal.static.currentKey", key


def _block_missing(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    unseal = new.spec.unseal
    if unseal.type != "static" and getattr(unseal, BLOCKS[unseal.type]) is None:
        yield "spec.unseal", unseal.type


def _block_of_another(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    unseal = new.spec.unseal
    for seal, block in BLOCKS.items():
        if seal != unseal.type and getattr(unseal, block) is not None:
            yield "spec.unseal", Unseal.model_fields[block].alias


def _secret_of(cluster: OpenBaoCluster) -> str | None:
    reference = cluster.spec.unseal.credentials_secret_ref
    return reference.name if reference else None


def _static_secret(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    changed = old is not None and _secret_of(new) != _secret_of(old)
    if changed and new.spec.unseal.type == "static":
        yield "spec.unseal.credentialsSecretRef", _secret_of(new)


def _system_secret(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    name = _secret_of(new)
    if name and name.endswith(names.SYSTEM_SECRET_SUFFIXES):
        yield "spec.unseal.credentialsSecretRef.name", name


def _static_seal_version(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if new.spec.unseal.type == "static" and _IS_TOO_OLD.found_in(new.spec.version):
        yield "spec.version", new.spec.version


def _seal_plugin(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    seal, version = new.spec.unseal.type, new.spec.version
    if seal not in _PLUGIN_SEALS or offers(version, "built-in-cloud-kms"):
        return
    if not any(plugin.type == "kms" and plugin.name == seal for plugin in new.spec.plugins):
        yield "spec.unseal.type", seal


def _seal_of(of: str) -> str:
    return either("unseal.type", "'static'", of)


def _key_of(of: str) -> str:
    return either("unseal.static.currentKey", f"'file://{KEY_PATH}'", of)


def _key_id_of(of: str) -> str:
    return either("unseal.static.currentKeyID", f"'{KEY_ID}'", of)


def _credentials_of(of: str) -> str:
    return either("unseal.credentialsSecretRef.name", "''", of)


_STATIC = "'static'"
_DEFAULT_FILE = f"'file://{KEY_PATH}'"


def _has_block() -> str:
    seal = either("type", _STATIC)
    expressions = [
        f"({seal} != '{name}' || has(self.{Unseal.model_fields[block].alias}))"
        for name, block in BLOCKS.items()
        if name != "static"
    ]
    return " && ".join(expressions)


def _has_no_other_block() -> str:
    seal = either("type", _STATIC)
    expressions = [
        f"({seal} == '{name}' || !has(self.{Unseal.model_fields[block].alias}))"
        for name, block in BLOCKS.items()
    ]
    return " && ".join(expressions)


_IS_STATIC = f"{_seal_of('self')} == 'static'"

SEAL_RULES: tuple[Rule, ...] = (
    Rule(
        id="seal-immutable",
        at="spec",
        field="spec.unseal.type",
        message=(
            "cannot change once the cluster exists, because the data is sealed with it; restore "
            "the former value"
        ),
        broken=_seal_type,
        cel=f"{_seal_of('self')} == {_seal_of('oldSelf')}",
        got=f"{_seal_of('self')} + ' after ' + {_seal_of('oldSelf')}",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="static-key-id",
        at="spec",
        field="spec.unseal.static.currentKeyID",
        message=(
            "must change together with currentKey, because an id stays tied to its key for ever; "
            "give the new key an id of its own"
        ),
        broken=_static_key,
        cel=(
            f"!({_IS_STATIC}) || {_key_of('self')} == {_key_of('oldSelf')} || "
            f"{_key_id_of('self')} != {_key_id_of('oldSelf')}"
        ),
        got=_key_id_of("self"),
    ),
    Rule(
        id="static-key-file",
        at="spec.unseal",
        field="spec.unseal.static.currentKey",
        message=(
            "names a file of a Secret of yours and needs credentialsSecretRef; name the Secret, or "
            "remove the field so that the operator makes the key"
        ),
        broken=_static_file,
        cel=(
            f"{either('type', _STATIC)} != {_STATIC} || has(self.credentialsSecretRef) || "
            f"{either('static.currentKey', _DEFAULT_FILE)} == {_DEFAULT_FILE}"
        ),
        got=either("static.currentKey", _DEFAULT_FILE),
    ),
    Rule(
        id="seal-block",
        at="spec.unseal",
        field="spec.unseal",
        message="needs the settings of the seal that type names; add the block of its name",
        broken=_block_missing,
        cel=_has_block(),
        got=either("type", _STATIC),
        reason="FieldValueRequired",
    ),
    Rule(
        id="seal-other-block",
        at="spec.unseal",
        field="spec.unseal",
        message=(
            "must not hold the settings of another seal than the one that type names; remove them"
        ),
        broken=_block_of_another,
        cel=_has_no_other_block(),
        got=either("type", _STATIC),
        reason="FieldValueForbidden",
    ),
    Rule(
        id="static-secret-immutable",
        at="spec",
        field="spec.unseal.credentialsSecretRef",
        message=(
            "cannot be set, changed or removed for a static seal once the cluster exists; restore "
            "the former value"
        ),
        broken=_static_secret,
        cel=f"!({_IS_STATIC}) || {_credentials_of('self')} == {_credentials_of('oldSelf')}",
        got=_credentials_of("self"),
        reason="FieldValueForbidden",
    ),
    Rule(
        id="system-secret",
        at="spec.unseal.credentialsSecretRef",
        field="spec.unseal.credentialsSecretRef.name",
        message=(
            "must not name a Secret of the operator (-root-token, -tls-ca, -tls-server, "
            "-unseal-key); copy what is needed to a Secret of your own"
        ),
        broken=_system_secret,
        cel=f"!self.name.matches('{_SYSTEM_NAME}')",
        got="self.name",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="static-seal-version",
        at="spec",
        field="spec.version",
        message="must be 2.4.0 or newer, the first version with a static seal; choose a newer one",
        broken=_static_seal_version,
        cel=f"!({_IS_STATIC}) || !self.version.matches(r'{_TOO_OLD}')",
        got="self.version",
    ),
    Rule(
        id="seal-plugin",
        at="spec",
        field="spec.unseal.type",
        message=(
            f"is a seal that OpenBao has from {FEATURES['built-in-cloud-kms'].until} on only as a "
            "plugin; add a plugin of type kms and of this name to spec.plugins, or stay below "
            "that version"
        ),
        broken=_seal_plugin,
    ),
)
