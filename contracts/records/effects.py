"""Effects: the actions of a reconcile besides the apply of objects, each with its arguments.

A plan returns them; an upgrade decision also those of contracts.records.upgrade_effects.
`managers.cluster.apply.actions` dispatches them by type. Each is safe to repeat. No I/O. An effect
without arguments of its own is no dataclass, but inherits the methods of one: it takes 0.3 ms to
generate them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from contracts.records.foreign_stateful_set import Pairs


@dataclass(frozen=True, slots=True)
class Effect:
    """An action on one object, or the creation of one; the base of all effects."""

    name: ClassVar[str]
    """Name of the effect in diagrams and in the log of attempts."""

    target: str
    """Name of the object."""


@dataclass(frozen=True, slots=True)
class EffectByUid(Effect):
    """An effect on the observed object; another object of the same name is not changed."""

    uid: str
    """UID of the object; for upgrade effects that create an object, UID of the cluster."""


@dataclass(frozen=True, slots=True)
class ServerEndpoint:
    """Address and TLS settings for requests to one server."""

    address: str
    authority: str
    """PEM of the trusted CAs; "" for the system CAs of the operator."""
    server_name: str
    """TLS name, independent of the address."""


# Secrets and certificates.


class DrawUnsealKey(Effect):
    """Create the Secret with the key of the static seal."""

    __slots__ = ()
    name = "draw-unseal-key"


class DrawRootToken(Effect):
    """Create the Secret with the root token."""

    __slots__ = ()
    name = "draw-root-token"


class IssueAuthority(Effect):
    """Create the Secret of the first CA."""

    __slots__ = ()
    name = "issue-authority"


@dataclass(frozen=True, slots=True)
class IssueServerCertificate(Effect):
    """Issue the certificate of the servers."""

    name = "issue-server-certificate"
    uid: str = ""
    """UID of the Secret whose content is replaced; "" if there is none."""


class PrepareAuthority(EffectByUid):
    """Create the next CA and trust it."""

    __slots__ = ()
    name = "prepare-authority"


class PromoteAuthority(EffectByUid):
    """Sign with the next CA."""

    __slots__ = ()
    name = "promote-authority"


class DropAuthority(EffectByUid):
    """Stop trusting the former CA."""

    __slots__ = ()
    name = "drop-authority"


# Volumes.


class MakeAuditClaim(Effect):
    """Create the PVC for the files of audit devices."""

    __slots__ = ()
    name = "make-audit-claim"


class MakeAcmeCacheClaim(Effect):
    """Create the PVC for the certificates of mode ACME."""

    __slots__ = ()
    name = "make-acme-cache-claim"


@dataclass(frozen=True, slots=True)
class GrowClaim(EffectByUid):
    """Request a larger volume."""

    name = "grow-claim"
    current_size: str
    """Size that the PVC requests now, as a Kubernetes quantity."""
    size: str


class AdoptPvc(EffectByUid):
    """Adopt a PVC that a user annotated with the name of the cluster."""

    __slots__ = ()
    name = "take-claim"


class DeleteClaim(EffectByUid):
    """Delete the data volume of a server that was removed."""

    __slots__ = ()
    name = "delete-claim"


# Pods, StatefulSets and raft peers.


@dataclass(frozen=True, slots=True)
class ReplacePod(EffectByUid):
    """Remove a pod, so that the StatefulSet creates it again from its newest template."""

    name = "replace-pod"
    evict: bool = False
    """Evict it, which respects its PodDisruptionBudget; otherwise delete it."""


class ReplaceUnstarted(EffectByUid):
    """Delete a pod whose server never ran."""

    __slots__ = ()
    name = "replace-unstarted"


@dataclass(frozen=True, slots=True)
class ReloadPod(EffectByUid):
    """Make a server reload its files."""

    name = "reload-pod"
    container: Mapping[str, Any] = field(hash=False)
    """The ephemeral container to add."""


class FencePod(EffectByUid):
    """Stop a pod that spec.fencedPods names."""

    __slots__ = ()
    name = "fence-pod"


class UngatePod(EffectByUid):
    """Remove our scheduling gate from a pod."""

    __slots__ = ()
    name = "ungate-pod"


@dataclass(frozen=True, slots=True)
class MarkPod(EffectByUid):
    """Set the maintenance annotation of a pod, or remove it."""

    name = "mark-pod"
    maintenance: bool


class MarkFirst(EffectByUid):
    """Label a pod as one of the pool without a revision."""

    __slots__ = ()
    name = "mark-first-set"


@dataclass(frozen=True, slots=True)
class LabelPod(EffectByUid):
    """Add the labels of this operator to a pod that another operator created."""

    name = "label-pod"
    controller: str
    """UID of the StatefulSet that must own the pod."""
    labels: Pairs


@dataclass(frozen=True, slots=True)
class RecreateStatefulSet(EffectByUid):
    """Delete a StatefulSet without its pods, so that it can be recreated with them."""

    name = "recreate-stateful-set"
    version: str
    """Its observed resourceVersion."""


class DeleteReadStatefulSet(EffectByUid):
    """Delete the empty StatefulSet of the read replicas."""

    __slots__ = ()
    name = "delete-read-set"


@dataclass(frozen=True, slots=True)
class StepDown(EffectByUid):
    """Ask a leader to step down; `target` is its pod."""

    name = "step-down"
    endpoint: ServerEndpoint


@dataclass(frozen=True, slots=True)
class MarkLog(EffectByUid):
    """Make the leader add an entry to the raft log, to see whether `target` follows."""

    name = "mark-log"
    endpoint: ServerEndpoint
    """Endpoint of the leader."""


@dataclass(frozen=True, slots=True)
class RemovePeer(EffectByUid):
    """Make the leader remove the raft peer `target`; `uid` is that of its pod, "" without a pod."""

    name = "remove-peer"
    endpoint: ServerEndpoint
    """Endpoint of the leader."""
    claim: str = ""
    """The data PVC to annotate first; "" for none."""
    claim_uid: str = ""


@dataclass(frozen=True, slots=True)
class MakeStepDownJob(EffectByUid):
    """Create the Job that asks the leader `target` to step down."""

    name = "make-step-down-job"
    run: str
    job: str
    """Name of the Job."""
