"""The bootstrap step: config.hcl, the static unseal key, and what makes an empty volume a cluster.

Rules I02, I03 and I05 of the safety list are decided here: a key is drawn once and never while
data exists; the document of the first boot is wanted only until data exists.
"""

from __future__ import annotations

from contracts import names
from contracts.desired import Effect, Plan
from contracts.hcl.render import render_self_init
from contracts.observed import Observed
from contracts.resolved import Resolved
from contracts.shapes.metadata import cluster_object
from runtime.intent import Intent
from runtime.memo import remembered
from runtime.outcome import Blocked, Outcome, Wait
from runtime.resources import CONFIG_MAP

DRAW_UNSEAL_KEY = "draw-unseal-key"
TOKEN_ISSUER_RECHECK = 30.0
DRAW_ROOT_TOKEN = "draw-root-token"  # noqa: S105  the name of an effect


def plan(resolved: Resolved, observed: Observed) -> Plan:
    """Want the configuration and the secrets of the first boot."""
    intents: list[Intent] = [_config(resolved)]
    if not resolved.initialized:
        intents.append(_first_boot_document(resolved))
    key = _unseal_key(resolved, observed)
    token = _root_token(resolved, observed)
    effects = tuple(step for step in (key, token) if isinstance(step, Effect))
    lost = _first_volume(resolved, observed)
    steps = (lost, key, token, _token_issuer(resolved))
    blocked = [step for step in steps if isinstance(step, Blocked)]
    outcome: Outcome | None = None
    if blocked:
        outcome = blocked[0]
    elif effects:
        outcome = Wait("PrerequisitesMissing", "secrets of the first boot are made", 0.0)
    if outcome is None:
        return Plan(tuple(intents))
    return Plan(tuple(intents), effects, outcome, gate=True)


@remembered
def _config(resolved: Resolved) -> Intent:
    return cluster_object(
        resolved,
        CONFIG_MAP,
        names.config_map(resolved.name),
        {"data": {"config.hcl": resolved.config_text}},
    )


@remembered
def _first_boot_document(resolved: Resolved) -> Intent:
    # Not part of config.hcl: the pods that join must have no way to see it (rule I05).
    return cluster_object(
        resolved,
        CONFIG_MAP,
        names.self_init_config_map(resolved.name),
        {"data": {"self-init.hcl": render_self_init(resolved.config)}},
    )


def _first_volume(resolved: Resolved, observed: Observed) -> Blocked | None:
    """Refuse to make a new cluster beside the volumes of an old one.

    The first server initialises whatever is empty. That its own volume is gone while others are
    there means that these hold data which it would never join.
    """
    claim = names.data_claim(resolved.name, 0)
    if resolved.initialized or not observed.claims:
        return None
    if any(found.name == claim for found in observed.claims):
        return None
    others = ", ".join(found.name for found in observed.claims)
    return Blocked(
        "PrerequisitesMissing",
        f"PersistentVolumeClaim {claim} does not exist and {others} may hold the data of an "
        "earlier cluster of this name: restore it, or delete them too to start from nothing",
    )


def _token_issuer(resolved: Resolved) -> Blocked | None:
    """The operator's own login is part of the first boot and cannot be added later."""
    if resolved.initialized or not resolved.wants_operator_login or resolved.config.oidc:
        return None
    return Blocked(
        "PrerequisitesMissing",
        "spec.selfInit.oidc.enabled: the API server did not tell who signs its ServiceAccount "
        "tokens. Allow the operator to GET /.well-known/openid-configuration and /openid/v1/jwks",
        recheck_after=TOKEN_ISSUER_RECHECK,
    )


def _unseal_key(resolved: Resolved, observed: Observed) -> Effect | Blocked | None:
    name = resolved.unseal_secret
    secret = observed.secrets.get(name)
    if resolved.unseal_supplied:
        return None if secret is not None else _not_supplied(name)
    if secret is not None:
        return _foreign(name, secret.owner) if not secret.mine else None
    if resolved.initialized or observed.holds_data:
        return Blocked(
            "UnsealKeyMissing",
            f"Secret {name} is gone and data exists that only its key can unseal: no other key "
            "is ever made. Restore the Secret from a backup; running servers keep serving until "
            "they restart",
        )
    return Effect(DRAW_UNSEAL_KEY, name)


def _root_token(resolved: Resolved, observed: Observed) -> Effect | Blocked | None:
    """Without the user's own requests we leave a root token, and store it before it exists.

    Once data exists the Secret is the user's to delete; nothing here needs it.
    """
    if resolved.self_init or resolved.initialized:
        return None
    name = names.root_token_secret(resolved.name)
    secret = observed.secrets.get(name)
    if secret is not None:
        return _foreign(name, secret.owner) if not secret.mine else None
    if observed.holds_data:
        return Blocked(
            "RootTokenMissing",
            f"Secret {name} is gone before the first server reported that it is initialised: "
            "restore it, or delete the cluster's volume claims to start again",
        )
    return Effect(DRAW_ROOT_TOKEN, name)


def _not_supplied(name: str) -> Blocked:
    return Blocked(
        "PrerequisitesMissing",
        f"spec.unseal.credentialsSecretRef.name: Secret {name} does not exist. Create it with the "
        "32 bytes of the key under `key`",
    )


def _foreign(name: str, owner: str) -> Blocked:
    return Blocked(
        "ForeignObject",
        f"Secret {name} exists and belongs to {owner}: it is neither used nor changed. Rename or "
        "delete it, or hand it over with the annotation openbao.org/adopt set to the name of "
        "the cluster",
    )
