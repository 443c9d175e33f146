"""Rules about spec.ingress and spec.gateway.

Uses the API models. Collected by contracts.api.rules.cluster.
"""

from contracts.api.rules.checks import either, group, has, is_set, it
from contracts.api.rules.combinators import rule
from contracts.api.rules.rule import REQUIRED, Rule
from contracts.api.values.pattern import Pattern

# RFC 3986, without the semicolon, which ends a statement in proxy configurations.
_PATH = Pattern(r"^/[A-Za-z0-9/._~!$&\x27()*+,=:@%-]*$")
_CLIMBS = Pattern(r"(?i)(^|/)(\.|%2e){1,2}(/|$)")
_ON = group(has("enabled") & it("enabled").is_true())
_INGRESS_ON = group(is_set("ingress.enabled") & it("ingress.enabled").is_true())
_PEERS = "network.trustedIngressPeers"


def _path_rule(where: str) -> Rule:
    return rule(
        f"{where}-path",
        f"spec.{where}.path",
        "",
        "must be the path of a URL: letters, digits, slashes and -._~!$&'()*+,=:@%, without .. "
        "between slashes; for example /",
        it().matches(_PATH) & ~it().matches(_CLIMBS),
        got=it(),
    )


ACCESS_RULES: tuple[Rule, ...] = (
    *map(_path_rule, ("ingress", "gateway")),
    rule(
        "ingress-host",
        "spec.ingress",
        "host",
        "must be set when ingress.enabled is true; set the host that clients use",
        ~_ON | has("host"),
        reason=REQUIRED,
    ),
    rule(
        "ingress-peers",
        "spec",
        _PEERS,
        "must not be empty when ingress.enabled is true, because the NetworkPolicy blocks all "
        "other pods; add the pods of the ingress controller",
        ~_INGRESS_ON | group(is_set(_PEERS) & it(_PEERS).size().above(0)),
        shows=None,
        reason=REQUIRED,
    ),
    rule(
        "gateway-name",
        "spec.gateway",
        "gatewayRef",
        "must refer to a Gateway when gateway.enabled is true; set gatewayRef.name",
        ~_ON | is_set("gatewayRef.name"),
        names="gatewayRef.name",
        reason=REQUIRED,
    ),
    rule(
        "gateway-hostname",
        "spec.gateway",
        "hostname",
        "must be set when gateway.enabled is true; set the host that clients use",
        ~_ON | has("hostname"),
        reason=REQUIRED,
    ),
    rule(
        "gateway-acme",
        "spec",
        "gateway.tlsPassthrough",
        "must be true when tls.mode is ACME, because the servers answer the ACME challenges and "
        "the operator has no CA certificate with which a Gateway could verify the servers",
        ~group(either("gateway.enabled", False).is_true())
        | either("tls.mode", "OperatorManaged").differs("ACME")
        | either("gateway.tlsPassthrough", False).is_true(),
        shows=None,
    ),
)
