"""The status of read replicas, and of the operator's policies.

Uses contracts.api.meta. Part of ClusterStatus. managers.workload.read_conditions computes the
status of read replicas; this version does not write PolicyReconciliation.
"""

from pydantic import Field

from contracts.api.cluster.status_errors import Count, LastError, Name, Word
from contracts.api.meta import ApiModel, Options, Timestamp


class ReadStorageStatus(ApiModel):
    """Volumes of the read replicas."""

    desired_pvcs: Count | None = Field(
        default=None, alias="desiredPVCs", description="Desired number of PersistentVolumeClaims."
    )
    bound_pvcs: Count | None = Field(
        default=None, alias="boundPVCs", description="Number of bound PersistentVolumeClaims."
    )
    storage_class_name: Name | None = Field(
        default=None, description="StorageClass of the volumes."
    )


class ReadReplicasStatus(ApiModel):
    """Servers without a vote."""

    desired_replicas: Count | None = Field(default=None, description="Desired number.")
    ready_replicas: Count | None = Field(default=None, description="Number of ready servers.")
    registered_replicas: Count | None = Field(
        default=None, description="Number of servers in the raft configuration."
    )
    healthy_replicas: Count | None = Field(
        default=None, description="Number of servers that autopilot reports healthy."
    )
    storage: ReadStorageStatus | None = Field(default=None, description="Volumes of the servers.")


class PolicyReconciliation(ApiModel):
    """Repair of the operator's policies in OpenBao."""

    revisions: Options | None = Field(default=None, description="Revision of each policy.")
    attempted_revision: Word | None = Field(
        default=None, description="Revision of the last attempt."
    )
    last_verified: Timestamp | None = Field(
        default=None, description="Time of the last check without a difference."
    )
    retry_after: Timestamp | None = Field(default=None, description="Time of the next attempt.")
    last_error: LastError | None = Field(
        default=None, description="The last error; absent if none."
    )
