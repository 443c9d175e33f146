"""The policy about fields of an OpenBaoCluster without a schema, which CRD rules cannot read.

Uses the messages of contracts.api.rules.cluster: the operator checks the same rules, at all depths
of the data. Collected by contracts.admission.policies.
"""

from typing import Final

from contracts.admission.cel import IS_CHANGE, NOW, text
from contracts.admission.policy import AdmissionPolicy, Match, NamedExpression, Validation
from contracts.api.cluster.audit import ACCEPTED_OPTIONS
from contracts.api.group import CLUSTERS, GROUP, VERSION
from contracts.api.rules.audit import NO_FILE
from contracts.api.rules.cluster import RULES
from contracts.api.values.pod_paths import is_below_cel

_RULES: Final = {rule.id: rule for rule in RULES}
_DEVICES: Final = f"{NOW}.?audit.orValue([])"
_REQUESTS: Final = f"{NOW}.?selfInit.?requests.orValue([])"
_FILE: Final = "device.options.file_path"
_MOUNT: Final = "variables.mount"
# CEL cannot traverse data without a schema, but it can print it: this matches at any depth.
_READS_POD: Final = r"\beval_source\W{1,4}(env|file)\b"


def _validation(name: str, expression: str) -> Validation:
    rule = _RULES[name]
    return Validation(rule_id=name, field=rule.field, expression=expression, message=rule.message)


def _keys() -> str:
    table = ", ".join(f"{text(kind)}: {list(keys)}" for kind, keys in ACCEPTED_OPTIONS.items())
    return f"{{{table}}}"


def _computes(part: str) -> str:
    return (
        f"{_REQUESTS}.all(r, !has(r.{part}) || !'%s'.format([r.{part}]).matches(r'{_READS_POD}'))"
    )


VALIDATE_FREE_DATA = AdmissionPolicy(
    name="validate-openbaocluster-free-data",
    why="Options and payloads without a schema that would read or overwrite files of the servers.",
    matches=(
        Match(GROUP, (CLUSTERS.plural,), ("CREATE", "UPDATE"), (VERSION,), scope="Namespaced"),
    ),
    conditions=(NamedExpression("spec-changes", IS_CHANGE),),
    # Without BEFORE: the rules do not depend on the old spec.
    variables=(
        NamedExpression(NOW.removeprefix("variables."), "dyn(object.spec)"),
        NamedExpression(
            _MOUNT.removeprefix("variables."), f"{NOW}.?auditFileStorage.?mountPath.orValue('')"
        ),
    ),
    validations=(
        _validation(
            "audit-options-known",
            f"{_DEVICES}.all(device, !has(device.options) || "
            f"device.options.all(key, key in {_keys()}[device.type]))",
        ),
        _validation(
            "audit-file-place-options",
            f"{_DEVICES}.all(device, !has(device.options) || !has({_FILE}) || "
            f"device.type != 'file' || has(device.fileOptions) || {_FILE} in {list(NO_FILE)} || "
            f"({_MOUNT} != '' && {is_below_cel(f'string({_FILE})', _MOUNT)}))",
        ),
        _validation("request-computed", _computes("data")),
        _validation("request-when-computed", _computes("when")),
    ),
)
