"""All admission policies, in the order of the files in deploy/admission.

Uses the modules of this package. Called by `baoctl.generate admission` and by
contracts.admission.installed.
"""

from typing import Final

from contracts.admission.backups_and_restores import RUN_POLICIES
from contracts.admission.clusters import VALIDATE_CLUSTER, VALIDATE_CLUSTER_SECRETS
from contracts.admission.datacenters import DATACENTER_POLICIES
from contracts.admission.managed_objects import LOCK_MANAGED, LOCK_SCALE
from contracts.admission.operator_pods import LOCK_PODS
from contracts.admission.operator_writes import CONTROLLER_POLICIES
from contracts.admission.policy import AdmissionPolicy
from contracts.admission.provisioner_writes import PROVISIONER_POLICIES
from contracts.admission.tenants import VALIDATE_TENANT
from contracts.admission.unstructured_fields import VALIDATE_FREE_DATA

POLICIES: Final[tuple[AdmissionPolicy, ...]] = (
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
