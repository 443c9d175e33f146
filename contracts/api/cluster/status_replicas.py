"""What status says about servers without a vote, and about the operator's own policies.

Uses contracts.api.meta. Part of ClusterStatus. Written by nobody yet.
"""

from pydantic import Field

from contracts.api.cluster.status_errors import Count, LastError, Name, Word
from contracts.api.meta import ApiModel, Options, Timestamp


class ReadStorageStatus(ApiModel):
    """The volumes of the read replicas."""

    desired_pvcs: Count | None = Field(
        default=None, alias="desiredPVCs", description="Volume claims that should be."
    )
    bound_pvcs: Count | None = Field(
        default=None, alias="boundPVCs", description="Volume claims that are bound."
    )
    storage_class_name: Name | None = Field(default=None, description="Their StorageClass.")


class ReadReplicasStatus(ApiModel):
    """The servers without a vote."""

    desired_replicas: Count | None = Field(default=None, description="Number that should be.")
    ready_replicas: Count | None = Field(default=None, description="Number that is ready.")
    registered_replicas: Count | None = Field(
        default=None, description="Number that the raft cluster knows."
    )
    healthy_replicas: Count | None = Field(
        default=None, description="Number that autopilot calls healthy."
    )
    storage: ReadStorageStatus | None = Field(default=None, description="Their volumes.")


class PolicyReconciliation(ApiModel):
    """Repair of the operator's own policies in OpenBao."""

    revisions: Options | None = Field(default=None, description="Revision of each policy.")
    attempted_revision: Word | None = Field(
        default=None, description="Revision that was last tried."
    )
    last_verified: Timestamp | None = Field(
        default=None, description="When the policies were last seen to be right."
    )
    retry_after: Timestamp | None = Field(default=None, description="When it is tried again.")
    last_error: LastError | None = Field(
        default=None, description="The last error; absent if none."
    )
