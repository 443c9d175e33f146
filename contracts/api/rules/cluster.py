"""All rules about an OpenBaoCluster that the schema of a field cannot express.

Uses the rule modules of this package. Called by contracts.spec_refusal (`violations`) and by
contracts.api.schema.crd, which writes the same rules and messages into the CRD. The operator
repeats the checks of the API server, because an object may be older than a rule.
"""

from contracts.api.cluster.spec import OpenBaoCluster
from contracts.api.rules.audit import AUDIT_RULES
from contracts.api.rules.backup import BACKUP_RULES
from contracts.api.rules.exposure import ACCESS_RULES
from contracts.api.rules.hardened import HARDENED_RULES
from contracts.api.rules.images import IMAGE_RULES
from contracts.api.rules.network import NETWORK_RULES
from contracts.api.rules.observability import OBSERVABILITY_RULES
from contracts.api.rules.plugins import PLUGIN_RULES
from contracts.api.rules.recovery import RECOVERY_RULES
from contracts.api.rules.reserved_names import RESERVED_RULES, SECRET_RULES
from contracts.api.rules.rule import RuleOf, broken_rules
from contracts.api.rules.seal import SEAL_RULES
from contracts.api.rules.seal_settings import SEAL_BLOCK_RULES
from contracts.api.rules.self_init import SELF_INIT_RULES
from contracts.api.rules.self_init_requests import REQUEST_RULES
from contracts.api.rules.server import SERVER_RULES
from contracts.api.rules.spec import LIFE_RULES, POD_RULES, SPEC_RULES, STORAGE_RULES
from contracts.api.rules.tls import TLS_RULES
from contracts.api.rules.upgrade import UPGRADE_RULES
from contracts.api.rules.urls import URL_RULES
from contracts.api.rules.versions import VERSION_RULES
from contracts.api.violation import Violation

RULES: tuple[RuleOf[OpenBaoCluster], ...] = (
    *SPEC_RULES,
    *TLS_RULES,
    *STORAGE_RULES,
    *LIFE_RULES,
    *POD_RULES,
    *SEAL_RULES,
    *SEAL_BLOCK_RULES,
    *SERVER_RULES,
    *VERSION_RULES,
    *AUDIT_RULES,
    *PLUGIN_RULES,
    *NETWORK_RULES,
    *IMAGE_RULES,
    *SELF_INIT_RULES,
    *REQUEST_RULES,
    *RECOVERY_RULES,
    *ACCESS_RULES,
    *BACKUP_RULES,
    *UPGRADE_RULES,
    *OBSERVABILITY_RULES,
    *SECRET_RULES,
    *URL_RULES,
    *RESERVED_RULES,
    *HARDENED_RULES,
)


def violations(cluster: OpenBaoCluster, old: OpenBaoCluster | None = None) -> tuple[Violation, ...]:
    """Return the violations of a cluster, in the order of the rules.

    `old` is the object before the update; without it, rules about updates are not checked.
    """
    return tuple(broken_rules(RULES, cluster, old))
