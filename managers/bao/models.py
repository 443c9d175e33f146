"""The fields of OpenBao API answers that the operator reads. No I/O. OpenBao 2.4.0.

Texts that become part of a status, a message or a request have the length limits of the status.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from pydantic import BaseModel, Field

Word = Annotated[str, Field(max_length=64)]
NodeId = Annotated[str, Field(max_length=253)]
Count = Annotated[int, Field(ge=0, lt=2**64)]
Fingerprint = Annotated[str, Field(pattern=r"^[0-9A-Za-z]{1,64}$")]
Share = Annotated[
    str,
    Field(pattern=r"^([0-9A-Za-z+/]{4})*([0-9A-Za-z+/]{2}==|[0-9A-Za-z+/]{3}=)?$", min_length=4),
]
"""A message in base64."""


class ServerHealth(BaseModel):
    """`GET sys/health`."""

    initialized: bool
    sealed: bool
    standby: bool
    version: Word = ""
    cluster_id: Word = ""

    @property
    def leads(self) -> bool:
        """Whether the server is the active node."""
        return self.initialized and not self.sealed and not self.standby


class Member(BaseModel):
    """One server in the raft configuration."""

    node_id: NodeId
    leader: bool = False
    voter: bool = False


class RaftConfig(BaseModel):
    """The raft configuration; `servers` may be null."""

    servers: tuple[Member, ...] | None = None


class RaftData(BaseModel):
    """`data` of RaftAnswer."""

    config: RaftConfig | None = None


class RaftAnswer(BaseModel):
    """`GET sys/storage/raft/configuration`."""

    data: RaftData | None = None

    @property
    def members(self) -> tuple[Member, ...]:
        """The servers, in the order of the answer."""
        config = self.data.config if self.data else None
        return (config.servers if config else None) or ()


class ServerState(BaseModel):
    """One server, as the autopilot of the leader reports it."""

    healthy: bool = False
    status: Word = ""
    """leader, voter or non-voter."""
    node_type: Word = ""
    """voter or non-voter: its final role, as the autopilot assigns it."""
    last_index: Count = 0
    """Index of the last entry of its log that the leader knows."""


class AutopilotState(BaseModel):
    """`data` of `GET sys/storage/raft/autopilot/state`."""

    healthy: bool = False
    failure_tolerance: Count = 0
    leader: NodeId = ""
    voters: tuple[NodeId, ...] | None = None
    servers: dict[NodeId, ServerState] | None = None


class LeaderAnswer(BaseModel):
    """`GET sys/leader`: the leader that a server knows, and the indexes of its raft log."""

    leader_address: Annotated[str, Field(max_length=1024)] = ""
    """The address to which it forwards requests; "" while it knows no leader."""
    raft_applied_index: Count = 0
    raft_committed_index: Count = 0
    """The last index of the server's log, despite its name (physical/raft, LastIndex)."""


class JoinAnswer(BaseModel):
    """`PUT sys/storage/raft/join`: false for a server that already has data."""

    joined: bool = False


class RecoveryShares(BaseModel):
    """`GET sys/rotate/recovery/backup`: encrypted shares by the fingerprint of their key."""

    nonce: Word = ""
    keys_base64: Mapping[Fingerprint, tuple[Share, ...]] = Field(repr=False)


class LoginToken(BaseModel):
    """A token and its lifetime in seconds."""

    client_token: str = Field(repr=False, pattern=r"^[\x21-\x7e]+$", max_length=4096)
    lease_duration: Annotated[int, Field(ge=0, lt=2**53)] = 0
