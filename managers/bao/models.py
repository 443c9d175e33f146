"""Answers of the OpenBao API, as far as the operator reads them. No I/O. OpenBao 2.4.0."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import BaseModel, Field


class Health(BaseModel):
    """`GET sys/health`."""

    initialized: bool
    sealed: bool
    standby: bool
    version: str = ""
    cluster_id: str = ""


class Member(BaseModel):
    """One server in the raft configuration."""

    node_id: str
    leader: bool = False
    voter: bool = False


class RaftConfig(BaseModel):
    """The raft configuration; no servers at all is an empty one."""

    servers: tuple[Member, ...] | None = None


class RaftData(BaseModel):
    """`data` of the answer below."""

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
    """One server, as the autopilot of the leader sees it."""

    healthy: bool = False
    status: str = ""
    """leader, voter or non-voter."""
    last_index: int = 0
    """Last entry of its log that the leader knows of."""


class AutopilotState(BaseModel):
    """`data` of `GET sys/storage/raft/autopilot/state`."""

    healthy: bool = False
    failure_tolerance: int = 0
    leader: str = ""
    voters: tuple[str, ...] | None = None
    servers: dict[str, ServerState] | None = None


class LeaderAnswer(BaseModel):
    """`GET sys/leader`: what a server says of its leader, and of its own copy of the data."""

    leader_address: str = ""
    """Where it sends what only a leader can answer; "" while it knows of none."""
    raft_applied_index: int = 0
    raft_committed_index: int = 0
    """In spite of its name the last index of the server's log (physical/raft, LastIndex)."""


class JoinAnswer(BaseModel):
    """`PUT sys/storage/raft/join`: false for a server that has data already."""

    joined: bool = False


class RecoveryShares(BaseModel):
    """`GET sys/rotate/recovery/backup`: encrypted shares by the fingerprint of their key."""

    nonce: str = ""
    keys_base64: Mapping[str, tuple[str, ...]] = Field(repr=False)


class Login(BaseModel):
    """A token and how long it lives, in seconds."""

    client_token: str = Field(repr=False)
    lease_duration: int = 0
