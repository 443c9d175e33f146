"""All admission policies, in the order of the files in deploy/admission.

Uses the modules beside it. Called by `baoctl.generate admission` and by who looks whether they
stand.
"""

from typing import Final

from contracts.admission.clusters import VALIDATE_CLUSTER, VALIDATE_CLUSTER_SECRETS
from contracts.admission.datacenters import DATACENTER_POLICIES
from contracts.admission.free_data import VALIDATE_FREE_DATA
from contracts.admission.locks import LOCK_MANAGED, LOCK_SCALE
from contracts.admission.locks_controller import CONTROLLER_POLICIES
from contracts.admission.locks_pods import LOCK_PODS
from contracts.admission.locks_provisioner import PROVISIONER_POLICIES
from contracts.admission.policy import Policy
from contracts.admission.runs import RUN_POLICIES
from contracts.admission.tenants import VALIDATE_TENANT

POLICIES: Final[tuple[Policy, ...]] = (
    VALIDATE_CLUSTER,
    VALIDATE_CLUSTER_SECRETS,
    VALIDATE_FREE_DATA,
    VALIDATE_TENANT,
    *RUN_POLICIES,
    LOCK_MANAGED,
    LOCK_SCALE,
    LOCK_PODS,
    *CONTROLLER_POLICIES,
    *PROVISIONER_POLICIES,
    *DATACENTER_POLICIES,
)
