"""Plan of the bootstrap: config.hcl, the static unseal key, and the self-init configuration. Pure.

Enforces rules I02, I03 and I05 of the safety list: a key is generated once, and never while data
exists; the self-init configuration exists only until data exists. Called by
`managers.cluster.plan.steps`.
"""

from __future__ import annotations

from contracts.builders.metadata import cluster_object
from contracts.hcl.render import render_self_init
from contracts.naming import names
from contracts.ownership_conflict import foreign_secret
from contracts.records.desired import Plan
from contracts.records.effects import DrawRootToken, Effect
from contracts.records.observed import Observed
from contracts.records.resolved import Resolved
from managers.bootstrap.seal.gate import seal_step
from runtime.apply.intent import Intent
from runtime.builtin_kinds import CONFIG_MAP
from runtime.memo import memoize
from runtime.outcome import Blocked, Outcome, Wait, combine

TOKEN_ISSUER_RECHECK = 30.0


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Plan the configuration and the secrets of the first boot."""
    intents: list[Intent] = [config_map(resolved), *_read_config(resolved)]
    if not resolved.initialized:
        intents.append(_first_boot_document(resolved))
    seal = seal_step(resolved, observed)
    if seal.gate and resolved.initialized:
        # Keep the current configuration until the change is complete: a server that restarts in
        # the meantime must not read an incomplete change.
        intents = []
    token = _root_token(resolved, observed)
    effects = tuple(step for step in (seal.effect, token) if isinstance(step, Effect))
    first_boot = (_first_volume(resolved, observed), token, _token_issuer(resolved))
    blocked = tuple(step for step in first_boot if isinstance(step, Blocked))
    outcomes: list[Outcome] = [*blocked, *([seal.outcome] if seal.outcome else [])]
    if isinstance(token, Effect):
        outcomes.append(Wait("PrerequisitesMissing", "the operator creates the root token", 0.0))
    gate = seal.gate or bool(blocked) or isinstance(token, Effect)
    return Plan(tuple(intents), effects, combine(*outcomes), gate=gate)


@memoize
def config_map(resolved: Resolved) -> Intent:
    """Build the ConfigMap with config.hcl of the resolved pool of voters."""
    return cluster_object(
        resolved,
        CONFIG_MAP,
        resolved.voter_pool.config_map,
        {"data": {"config.hcl": resolved.config_text}},
    )


@memoize
def _read_config(resolved: Resolved) -> tuple[Intent, ...]:
    """Return the ConfigMap of the read replicas; empty before the cluster is initialized."""
    if resolved.read is None or not resolved.initialized:
        return ()
    name, content = names.read_config_map(resolved.name), resolved.read.config_text
    return (cluster_object(resolved, CONFIG_MAP, name, {"data": {"config.hcl": content}}),)


@memoize
def _first_boot_document(resolved: Resolved) -> Intent:
    # Not part of config.hcl: the pods that join must not be able to read it (rule I05).
    return cluster_object(
        resolved,
        CONFIG_MAP,
        names.self_init_config_map(resolved.name),
        {"data": {"self-init.hcl": render_self_init(resolved.config)}},
    )


def _first_volume(resolved: Resolved, observed: Observed) -> Blocked | None:
    """Refuse to initialize a new cluster while volumes of an old one exist.

    The first server initializes an empty volume. If its own volume is missing, it would not use the
    data in the other volumes.
    """
    first_claim = resolved.voter_pool.data_claim(0)
    # The volume of a read replica contains a full copy.
    claims = (*observed.claims, *observed.read.claims)
    if resolved.initialized or not claims or any(claim.name == first_claim for claim in claims):
        return None
    others = ", ".join(claim.name for claim in claims)
    return Blocked(
        "PrerequisitesMissing",
        f"PersistentVolumeClaim {first_claim} does not exist, and {others} may contain "
        "the data of an earlier cluster of this name: restore it, or delete the others to start "
        "without data",
    )


def _token_issuer(resolved: Resolved) -> Blocked | None:
    """Check the keys for the login of the operator, which only the first boot can set up."""
    oidc = resolved.config.oidc
    if resolved.initialized or not resolved.wants_operator_login:
        return None
    if oidc is not None and oidc.public_keys:
        return None
    if oidc is not None:
        return Blocked(
            "OIDCBootstrapConfigurationInvalid",
            "spec.selfInit.oidc.enabled: the API server signs ServiceAccount tokens with keys that "
            "OpenBao cannot verify: neither RSA nor ECDSA",
            recheck_after=TOKEN_ISSUER_RECHECK,
        )
    return Blocked(
        "PrerequisitesMissing",
        "spec.selfInit.oidc.enabled: the API server did not return the issuer and the keys of its "
        "ServiceAccount tokens. Allow the operator to GET /.well-known/openid-configuration and "
        "/openid/v1/jwks",
        recheck_after=TOKEN_ISSUER_RECHECK,
    )


def _root_token(resolved: Resolved, observed: Observed) -> Effect | Blocked | None:
    """Plan the Secret with the root token, if the spec has no self-init requests.

    Once data exists, the operator does not need the Secret, and the user may delete it.
    """
    if resolved.self_init or resolved.initialized:
        return None
    name = names.root_token_secret(resolved.name)
    secret = observed.secrets.get(name)
    if secret is not None:
        return foreign_secret(name, secret.owner) if not secret.owned else None
    if observed.holds_data:
        return Blocked(
            "RootTokenMissing",
            f"Secret {name} was deleted before the first server reported that it is initialized: "
            "restore it, or delete the PersistentVolumeClaims of the cluster to start again",
        )
    return DrawRootToken(name)
