"""Rules inside of the settings of one seal.

Uses contracts.api.values.url, contracts.naming.mount_paths and the API models. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.seal_hsm import Pkcs11
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.reserved_names import CLOUD_VARIABLE, RESERVED_VARIABLE
from contracts.api.rules.rule import Offence, Rule
from contracts.api.values.pattern import Pattern
from contracts.api.values.url import is_elsewhere, is_elsewhere_cel

Old = OpenBaoCluster | None

_HTTPS = Pattern(
    r"^https://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$"
)
_ATTRIBUTE = Pattern(r"^[A-Za-z_][A-Za-z0-9_-]*$")
# Read by the server before it hands the rest to the seal; none of them is for the plugin.
_NOT_FOR_PLUGINS = frozenset({"disabled", "purpose"})
_BUILT_IN = ("shamir", "static", "transit", "kmip", "aead")


def _transit_address(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    transit = new.spec.unseal.transit
    if transit is None:
        return
    if not _HTTPS.found_in(transit.address) or not is_elsewhere(transit.address):
        yield "spec.unseal.transit.address", transit.address


def _transit_pair(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    transit = new.spec.unseal.transit
    if transit is not None and (transit.tls_client_cert is None) != (
        transit.tls_client_key is None
    ):
        yield "spec.unseal.transit", transit.tls_client_cert or transit.tls_client_key


def _kmip_fields(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if new.spec.unseal.kmip is None:
        return
    kmip = new.spec.unseal.kmip.newest()
    needed = {
        "endpoint": kmip.endpoint,
        "kmsKeyID": kmip.kms_key_id,
        "clientCert": kmip.client_cert,
        "clientKey": kmip.client_key,
    }
    for name, value in needed.items():
        if value is None:
            yield f"spec.unseal.kmip.{name}", None


def _oci_login(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    unseal = new.spec.unseal
    if unseal.ocikms is not None and unseal.secret_name and not unseal.ocikms.by_api_key:
        yield "spec.unseal.ocikms.authTypeAPIKey", False


def _pkcs11_place(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    pkcs11 = new.spec.unseal.pkcs11
    if pkcs11 is not None and (pkcs11.slot is None) == (pkcs11.token_label is None):
        yield "spec.unseal.pkcs11", pkcs11.slot


def _runtime_names(pkcs11: Pkcs11 | None) -> list[tuple[str, str]]:
    if pkcs11 is None or pkcs11.runtime is None:
        return []
    kinds = {"env": pkcs11.runtime.env, "fileEnv": pkcs11.runtime.file_env}
    return [
        (f"spec.unseal.pkcs11.runtime.{kind}[{position}].name", source.name)
        for kind, sources in kinds.items()
        for position, source in enumerate(sources)
    ]


def _runtime_taken(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    for path, name in _runtime_names(new.spec.unseal.pkcs11):
        if RESERVED_VARIABLE.found_in(name) or CLOUD_VARIABLE.found_in(name):
            yield path, name


def _runtime_twice(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    seen: set[str] = set()
    for path, name in _runtime_names(new.spec.unseal.pkcs11):
        if name in seen:
            yield path, name
        seen.add(name)


def _kms_plugin(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    kms = new.spec.unseal.kms
    if kms is None:
        return
    names = (plugin.name for plugin in new.spec.plugins if plugin.type == "kms")
    if kms.plugin_name not in names or kms.plugin_name in _BUILT_IN:
        yield "spec.unseal.kms.pluginName", kms.plugin_name


def _kms_config(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    kms = new.spec.unseal.kms
    for name in (kms.config if kms else None) or {}:
        if not _ATTRIBUTE.found_in(name) or name in _NOT_FOR_PLUGINS:
            yield "spec.unseal.kms.config", name


_TRANSIT, _RUNTIME = "spec.unseal.transit", "spec.unseal.pkcs11.runtime"
_FREE = f"!{RESERVED_VARIABLE.cel('e.name')} && !{CLOUD_VARIABLE.cel('e.name')}"
_PAIR = "has(self.tlsClientCert) == has(self.tlsClientKey)"

SEAL_BLOCK_RULES: tuple[Rule, ...] = (
    Rule(
        id="transit-address",
        at=_TRANSIT,
        field=f"{_TRANSIT}.address",
        message=(
            "must be an https URL of another machine, with a host and at most a port, such as "
            "https://bao.example.com:8200; correct it"
        ),
        broken=_transit_address,
        cel=f"{_HTTPS.cel('self.address')} && {is_elsewhere_cel('self.address')}",
        got="self.address",
    ),
    Rule(
        id="transit-client",
        at=_TRANSIT,
        field=_TRANSIT,
        message="must set tlsClientCert and tlsClientKey together; add the other one",
        broken=_transit_pair,
        cel=_PAIR,
    ),
    Rule(
        id="kmip-fields",
        at="spec.unseal.kmip",
        field="spec.unseal.kmip",
        message="is needed by the seal kmip; add it",
        broken=_kmip_fields,
        reason="FieldValueRequired",
    ),
    Rule(
        id="ocikms-login",
        at="spec.unseal",
        field="spec.unseal.ocikms.authTypeAPIKey",
        message=(
            "must be true when credentialsSecretRef is set, because a login as the instance reads "
            "no Secret; set it, or remove the Secret"
        ),
        broken=_oci_login,
    ),
    Rule(
        id="pkcs11-place",
        at="spec.unseal.pkcs11",
        field="spec.unseal.pkcs11",
        message="must name either slot or tokenLabel; set exactly one of them",
        broken=_pkcs11_place,
        cel="has(self.slot) != has(self.tokenLabel)",
    ),
    Rule(
        id="pkcs11-variable",
        at=_RUNTIME,
        field=_RUNTIME,
        message=(
            "must not set variables that start with LD_, BAO_, VAULT_, KUBERNETES_, PYTHON, AWS_, "
            "AZURE_ or GOOGLE_, nor HOME, PATH, GODEBUG or GOTRACEBACK: they are the server's own; "
            "use libraryPath for libraries"
        ),
        broken=_runtime_taken,
        cel=(
            f"(!has(self.env) || self.env.all(e, {_FREE})) && "
            f"(!has(self.fileEnv) || self.fileEnv.all(e, {_FREE}))"
        ),
        reason="FieldValueForbidden",
    ),
    Rule(
        id="pkcs11-variable-twice",
        at=_RUNTIME,
        field=_RUNTIME,
        message="must name each variable once, in env or in fileEnv; remove the other one",
        broken=_runtime_twice,
    ),
    Rule(
        id="kms-plugin",
        at="spec",
        field="spec.unseal.kms.pluginName",
        message=(
            "must be the name of a plugin of type kms in spec.plugins, and none of the seals that "
            f"the server has itself ({', '.join(_BUILT_IN)}); add the plugin"
        ),
        broken=_kms_plugin,
    ),
    Rule(
        id="kms-config",
        at="spec.unseal.kms",
        field="spec.unseal.kms.config",
        message=(
            "must hold names of attributes (letters, digits, _ and -), and not disabled or "
            "purpose; rename or remove it"
        ),
        broken=_kms_config,
        cel=(
            f"!has(self.config) || self.config.all(key, {_ATTRIBUTE.cel('key')} && "
            f"!(key in {sorted(_NOT_FOR_PLUGINS)}))"
        ),
    ),
)
