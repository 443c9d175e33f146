"""What profile Hardened refuses, collected.

Uses the modules of its topics. Collected by contracts.api.rules.cluster. Every rule is checked by
the API server and again by the operator, which builds nothing for a spec that breaks one.
"""

from contracts.api.rules.hardened_network import NETWORK_RULES
from contracts.api.rules.hardened_pods import POD_RULES
from contracts.api.rules.hardened_server import SERVER_RULES
from contracts.api.rules.rule import Rule

HARDENED_RULES: tuple[Rule, ...] = (*SERVER_RULES, *POD_RULES, *NETWORK_RULES)
