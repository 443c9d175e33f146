"""Answers of the OpenBao API, as far as the operator reads them. No I/O. OpenBao 2.4.0."""

from __future__ import annotations

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


class Login(BaseModel):
    """A token and how long it lives, in seconds."""

    client_token: str = Field(repr=False)
    lease_duration: int = 0
