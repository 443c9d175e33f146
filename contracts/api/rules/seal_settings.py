"""Rules about the settings of one seal.

Uses contracts.api.rules.reserved_names and the API models. Collected by
contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.seal_hsm import Kmip, Pkcs11Runtime
from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.checks import exactly_one, has, it
from contracts.api.rules.combinators import duplicates, invalid_fields, rule
from contracts.api.rules.reserved_names import CLOUD_VARIABLE, RESERVED_VARIABLE
from contracts.api.rules.rule import FORBIDDEN, REQUIRED, InvalidField, Old, Rule, RuleOf
from contracts.api.values.field_path import value_at, values_at
from contracts.api.values.pattern import Pattern

_HTTPS = Pattern(
    r"^https://([A-Za-z0-9]([A-Za-z0-9.-]*[A-Za-z0-9])?|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?/?$"
)
_ATTRIBUTE = Pattern(r"^[A-Za-z_][A-Za-z0-9_-]*$")
# The server reads these itself and does not pass them to the plugin.
_NOT_FOR_PLUGINS = frozenset({"disabled", "purpose"})
_VARIABLES = ("env[].name", "fileEnv[].name")
_BUILT_IN = ("shamir", "static", "transit", "kmip", "aead")


def _kmip_fields(kmip: Kmip) -> Iterator[InvalidField]:
    newest = kmip.newest()
    for field in ("endpoint", "kmsKeyID", "clientCert", "clientKey"):
        if value_at(newest, field) is None:
            yield field, None


def _oci_login(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    unseal = new.spec.unseal
    if unseal.ocikms is not None and unseal.secret_name and not unseal.ocikms.by_api_key:
        yield "spec.unseal.ocikms.authTypeAPIKey", False


def _runtime_taken(runtime: Pkcs11Runtime) -> Iterator[InvalidField]:
    for path in _VARIABLES:
        for field, name in values_at(runtime, path):
            if RESERVED_VARIABLE.found_in(name) or CLOUD_VARIABLE.found_in(name):
                yield field, name


def _kms_plugin(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    kms = new.spec.unseal.kms
    if kms is None:
        return
    names = (plugin.name for plugin in new.spec.plugins if plugin.type == "kms")
    if kms.plugin_name not in names or kms.plugin_name in _BUILT_IN:
        yield "spec.unseal.kms.pluginName", kms.plugin_name


def _kms_config(new: OpenBaoCluster, old: Old) -> Iterator[InvalidField]:
    kms = new.spec.unseal.kms
    for name in (kms.config if kms else None) or {}:
        if not _ATTRIBUTE.found_in(name) or name in _NOT_FOR_PLUGINS:
            yield "spec.unseal.kms.config", name


_TRANSIT, _RUNTIME = "spec.unseal.transit", "spec.unseal.pkcs11.runtime"
_FREE = f"!{RESERVED_VARIABLE.cel('e.name')} && !{CLOUD_VARIABLE.cel('e.name')}"

SEAL_BLOCK_RULES: tuple[Rule, ...] = (
    rule(
        "transit-address",
        _TRANSIT,
        "address",
        "must be an https URL of another machine, with a host and at most a port, such as "
        "https://bao.example.com:8200; correct it",
        it("address").matches(_HTTPS) & it("address").is_elsewhere(),
        got=it("address"),
    ),
    rule(
        "transit-client",
        _TRANSIT,
        "",
        "must set tlsClientCert and tlsClientKey together; add the other one",
        has("tlsClientCert").iff(has("tlsClientKey")),
        shows=lambda transit: transit.tls_client_cert or transit.tls_client_key,
    ),
    RuleOf(
        "kmip-fields",
        "spec.unseal.kmip",
        "spec.unseal.kmip",
        "must be set for the seal kmip; add it",
        invalid_fields("spec.unseal.kmip", _kmip_fields),
        reason=REQUIRED,
    ),
    RuleOf(
        "ocikms-login",
        "spec.unseal",
        "spec.unseal.ocikms.authTypeAPIKey",
        "must be true when credentialsSecretRef is set, because the login of an instance does not "
        "use a Secret; set it, or remove credentialsSecretRef",
        _oci_login,
    ),
    rule(
        "pkcs11-place",
        "spec.unseal.pkcs11",
        "",
        "must have either slot or tokenLabel; set exactly one of them",
        exactly_one("slot", "tokenLabel"),
        shows="slot",
    ),
    RuleOf(
        "pkcs11-variable",
        _RUNTIME,
        _RUNTIME,
        "must not set variables that start with LD_, BAO_, VAULT_, KUBERNETES_, PYTHON, AWS_, "
        "AZURE_ or GOOGLE_, nor HOME, PATH, GODEBUG or GOTRACEBACK: they are reserved for the "
        "server; use libraryPath for libraries",
        invalid_fields(_RUNTIME, _runtime_taken),
        cel=(
            f"(!has(self.env) || self.env.all(e, {_FREE})) && "
            f"(!has(self.fileEnv) || self.fileEnv.all(e, {_FREE}))"
        ),
        reason=FORBIDDEN,
    ),
    RuleOf(
        "pkcs11-variable-twice",
        _RUNTIME,
        _RUNTIME,
        "must be unique in env and fileEnv; remove one of the variables",
        invalid_fields(_RUNTIME, lambda runtime: duplicates(runtime, *_VARIABLES)),
    ),
    RuleOf(
        "kms-plugin",
        "spec",
        "spec.unseal.kms.pluginName",
        "must be the name of a plugin of type kms in spec.plugins, and not a built-in seal of the "
        f"server ({', '.join(_BUILT_IN)}); add the plugin",
        _kms_plugin,
    ),
    RuleOf(
        "kms-config",
        "spec.unseal.kms",
        "spec.unseal.kms.config",
        "must have names of attributes (letters, digits, _ and -), and not disabled or "
        "purpose; rename or remove it",
        _kms_config,
        cel=(
            f"!has(self.config) || self.config.all(key, {_ATTRIBUTE.cel('key')} && "
            f"!(key in {sorted(_NOT_FOR_PLUGINS)}))"
        ),
    ),
)
