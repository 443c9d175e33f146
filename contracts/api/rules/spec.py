"""Rules about the name of a cluster, its ServiceAccount and the operator's tokens.

Uses contracts.naming.names and the API models. Collected by contracts.api.rules.cluster.
"""

from collections.abc import Iterator

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.rule import Offence, Rule, either, is_set
from contracts.api.values.pattern import Pattern
from contracts.naming import names

Old = OpenBaoCluster | None

_NAME = Pattern(names.CLUSTER_NAME_PATTERN)
_RESERVED_NAME = f"({'|'.join(names.RESERVED_SUFFIXES)})$"
_REVISION = Pattern(names.REVISION_SUFFIX)

_JOB_ACCOUNT = f"({'|'.join(names.JOB_ACCOUNT_SUFFIXES)})$"


def _name(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    name = new.metadata.name
    if len(name) > names.CLUSTER_NAME_MAX or not _NAME.found_in(name):
        yield "metadata.name", name


def _reserved_name(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if new.metadata.name.endswith(names.RESERVED_SUFFIXES):
        yield "metadata.name", new.metadata.name


def _revision_name(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if _REVISION.found_in(new.metadata.name):
        yield "metadata.name", new.metadata.name


def _default_account(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    account = new.spec.service_account
    if account and account.name == "default":
        yield "spec.serviceAccount.name", "default"


def _job_account(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    account = new.spec.service_account
    if account and account.name and account.name.endswith(names.JOB_ACCOUNT_SUFFIXES):
        yield "spec.serviceAccount.name", account.name


def _target_login(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    if new.spec.controller_jwt_mode == "Target" and not new.spec.wants_operator_login:
        yield "spec.controllerJWTMode", "Target"


def _target_stays(new: OpenBaoCluster, old: Old) -> Iterator[Offence]:
    was = old is not None and old.spec.controller_jwt_mode == "Target"
    if was and new.spec.controller_jwt_mode != "Target":
        yield "spec.controllerJWTMode", new.spec.controller_jwt_mode or "Shared"


_SHARED = "'Shared'"
_MODE = {of: either("controllerJWTMode", _SHARED, of) for of in ("self", "oldSelf")}

SPEC_RULES: tuple[Rule, ...] = (
    Rule(
        id="cluster-name",
        at="",
        field="metadata.name",
        message=(
            "metadata.name must be 1 to 40 lower-case letters, digits and dashes that start with a "
            "letter and end with a letter or digit; choose another name"
        ),
        broken=_name,
        cel=(
            f"self.metadata.name.size() <= {names.CLUSTER_NAME_MAX} && "
            f"self.metadata.name.matches(r'{names.CLUSTER_NAME_PATTERN}')"
        ),
        got="self.metadata.name",
    ),
    Rule(
        id="cluster-name-reserved",
        at="",
        field="metadata.name",
        message=(
            "metadata.name must not end in -acme, -public or -read, which are names of Services of "
            "other clusters; choose another name"
        ),
        broken=_reserved_name,
        cel=f"!self.metadata.name.matches('{_RESERVED_NAME}')",
        got="self.metadata.name",
    ),
    Rule(
        id="cluster-name-of-a-set",
        at="",
        field="metadata.name",
        message=(
            "metadata.name must not end in a dash and 16 hexadecimal digits, which is how the "
            "second set of servers of another cluster is called; choose another name"
        ),
        broken=_revision_name,
        cel=f"!{_REVISION.cel('self.metadata.name')}",
        got="self.metadata.name",
    ),
    Rule(
        id="service-account",
        at="spec.serviceAccount",
        field="spec.serviceAccount.name",
        message=(
            "must not be default, because the operator gives this ServiceAccount rights, and every "
            "pod that names none runs under it; choose another name or remove the field"
        ),
        broken=_default_account,
        cel="!has(self.name) || self.name != 'default'",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="service-account-of-jobs",
        at="spec.serviceAccount",
        field="spec.serviceAccount.name",
        message=(
            "must not be the ServiceAccount of the jobs of a cluster, which may read or replace "
            "all of its data; choose another name"
        ),
        broken=_job_account,
        cel=f"!has(self.name) || !self.name.matches('{_JOB_ACCOUNT}')",
        reason="FieldValueForbidden",
    ),
    Rule(
        id="target-token-login",
        at="spec",
        field="spec.controllerJWTMode",
        message=(
            "must be Shared unless selfInit.oidc.enabled is true, which makes the login that "
            "checks the audience; enable that or change it"
        ),
        broken=_target_login,
        cel=(
            f"{_MODE['self']} != 'Target' || ({is_set('selfInit.oidc.enabled')} && "
            "self.selfInit.enabled && self.selfInit.oidc.enabled)"
        ),
    ),
    Rule(
        id="target-token-stays",
        at="spec",
        field="spec.controllerJWTMode",
        message="must stay Target once it is, because the login knows no other; restore it",
        broken=_target_stays,
        cel=f"{_MODE['oldSelf']} != 'Target' || {_MODE['self']} == 'Target'",
        got=_MODE["self"],
        reason="FieldValueForbidden",
    ),
)
