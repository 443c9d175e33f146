"""Rules about spec.unseal.

Uses the API models and contracts.server_features. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.seal import KEY_ID, KEY_PATH, Unseal
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.checks import Predicate, all_of, both, either, group, has, it
from contracts.api.rules.combinators import rule
from contracts.api.rules.reserved_names import SYSTEM_NAME
from contracts.api.rules.rule import FORBIDDEN, REQUIRED, InvalidField, Old, Rule, RuleOf
from contracts.api.values.pattern import Pattern
from contracts.server_features import FEATURES, offers

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

_TOO_OLD = Pattern(r"^v?([01]\.|2\.[0-3]\.)")


def _block_of_another(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    unseal = new.spec.unseal
    for seal, block in BLOCKS.items():
        if seal != unseal.type and getattr(unseal, block) is not None:
            yield "spec.unseal", Unseal.model_fields[block].alias


def _seal_plugin(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    seal, version = new.spec.unseal.type, new.spec.version
    if seal not in _PLUGIN_SEALS or offers(version, "built-in-cloud-kms"):
        return
    if not any(plugin.type == "kms" and plugin.name == seal for plugin in new.spec.plugins):
        yield "spec.unseal.type", seal


_SEAL, _FORMER_SEAL = both("unseal.type", "static")
_KEY, _FORMER_KEY = both("unseal.static.currentKey", f"file://{KEY_PATH}")
_KEY_ID, _FORMER_KEY_ID = both("unseal.static.currentKeyID", KEY_ID)
_SECRET, _FORMER_SECRET = both("unseal.credentialsSecretRef.name", "")
_TYPE = either("type", "static")
_FILE = either("static.currentKey", f"file://{KEY_PATH}")


def _block(name: str) -> Predicate:
    return has(str(Unseal.model_fields[BLOCKS[name]].alias))


SEAL_RULES: tuple[Rule, ...] = (
    rule(
        "seal-immutable",
        "spec",
        "unseal.type",
        "cannot change once the cluster exists, because the data is sealed with it; restore "
        "the previous value",
        _SEAL.equals(_FORMER_SEAL),
        got=f"{_SEAL} + ' after ' + {_FORMER_SEAL}",
        reason=FORBIDDEN,
    ),
    # An id always identifies the same key: another file is another key, and needs another id.
    rule(
        "static-key-id",
        "spec",
        "unseal.static.currentKeyID",
        "must change together with currentKey, because an id permanently identifies one key; set a "
        "new id for the new key",
        ~_SEAL.equals("static") | _KEY.equals(_FORMER_KEY) | _KEY_ID.differs(_FORMER_KEY_ID),
        got=_KEY_ID,
    ),
    rule(
        "static-key-file",
        "spec.unseal",
        "static.currentKey",
        "is a file of your own Secret and needs credentialsSecretRef; set the Secret, or remove "
        "the field so that the operator generates the key",
        _TYPE.differs("static") | has("credentialsSecretRef") | _FILE.equals(f"file://{KEY_PATH}"),
        got=_FILE,
    ),
    rule(
        "seal-block",
        "spec.unseal",
        "",
        "needs the settings of the seal in type; add the block with its name",
        all_of(group(_TYPE.differs(name) | _block(name)) for name in BLOCKS if name != "static"),
        got=_TYPE,
        reason=REQUIRED,
    ),
    RuleOf(
        "seal-other-block",
        "spec.unseal",
        "spec.unseal",
        "must not have the settings of another seal than type; remove them",
        _block_of_another,
        cel=all_of(group(_TYPE.equals(name) | ~_block(name)) for name in BLOCKS).cel,
        got=_TYPE.cel,
        reason=FORBIDDEN,
    ),
    rule(
        "static-secret-immutable",
        "spec",
        "unseal.credentialsSecretRef",
        "cannot be set, changed or removed for a static seal once the cluster exists; restore "
        "the previous value",
        ~_SEAL.equals("static") | _SECRET.equals(_FORMER_SECRET),
        got=_SECRET,
        shows="unseal.credentialsSecretRef.name",
        reason=FORBIDDEN,
    ),
    rule(
        "system-secret",
        "spec.unseal.credentialsSecretRef",
        "name",
        "must not name a Secret of the operator (-root-token, -tls-ca, -tls-server, "
        "-unseal-key); copy the required keys to your own Secret",
        ~it("name").matches(SYSTEM_NAME, mark=""),
        got=it("name"),
        reason=FORBIDDEN,
    ),
    rule(
        "static-seal-version",
        "spec",
        "version",
        "must be 2.4.0 or newer, the first version with a static seal; choose a newer one",
        ~_SEAL.equals("static") | ~it("version").matches(_TOO_OLD),
        got=it("version"),
    ),
    RuleOf(
        "seal-plugin",
        "spec",
        "spec.unseal.type",
        f"is available in OpenBao {FEATURES['built-in-cloud-kms'].until} and newer only as a "
        "plugin; add a plugin of type kms with this name to spec.plugins, or use an older version",
        _seal_plugin,
    ),
)
