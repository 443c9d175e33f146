"""Every rule about an OpenBaoCluster that goes beyond the shape of one field.

Uses the rule modules beside it. Called by resolve (`violations`) and by contracts.api.schema, which
writes the same rules in the same words into the CRD. The operator checks again what the API server
checked: an object may be older than a rule.
"""

from contracts.api.cluster import OpenBaoCluster
from contracts.api.rule import RuleOf, broken_rules
from contracts.api.rules_access import ACCESS_RULES
from contracts.api.rules_audit import AUDIT_RULES
from contracts.api.rules_backup import BACKUP_RULES
from contracts.api.rules_hardened import HARDENED_RULES
from contracts.api.rules_images import IMAGE_RULES
from contracts.api.rules_life import LIFE_RULES
from contracts.api.rules_network import NETWORK_RULES
from contracts.api.rules_observability import OBSERVABILITY_RULES
from contracts.api.rules_plugins import PLUGIN_RULES
from contracts.api.rules_pods import POD_RULES
from contracts.api.rules_recovery import RECOVERY_RULES
from contracts.api.rules_request import REQUEST_RULES
from contracts.api.rules_reserved import RESERVED_RULES
from contracts.api.rules_seal import SEAL_RULES
from contracts.api.rules_seal_blocks import SEAL_BLOCK_RULES
from contracts.api.rules_secrets import SECRET_RULES
from contracts.api.rules_selfinit import SELF_INIT_RULES
from contracts.api.rules_server import SERVER_RULES
from contracts.api.rules_spec import SPEC_RULES
from contracts.api.rules_storage import STORAGE_RULES
from contracts.api.rules_tls import TLS_RULES
from contracts.api.rules_upgrade import UPGRADE_RULES
from contracts.api.rules_urls import URL_RULES
from contracts.api.rules_versions import VERSION_RULES
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
    """What is wrong with a cluster, in the order of the rules; empty when nothing is.

    `old` is the object before the update; without it the rules about changes say nothing.
    """
    return tuple(broken_rules(RULES, cluster, old))
