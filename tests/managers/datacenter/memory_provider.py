"""A provider that runs nothing: it keeps workloads in memory and counts its calls.

Uses contracts.datacenter. A provisioned workload is healthy at once, unless a test sets otherwise.
"""

from dataclasses import dataclass, replace

from contracts.datacenter.workload_records import Observation, ServiceRecord, Vault
from managers.datacenter.interfaces import ProviderError


@dataclass(frozen=True, slots=True)
class MemoryWorkload:
    """The workload of a record, as it was provisioned last."""

    record_id: str
    digest: str
    vaults: tuple[Vault, ...] = ()
    deleting: bool = False


class MemoryProvider:
    """A managers.datacenter.interfaces.Provider.

    `calls` are all calls so far, such as "provision shipper"; `workloads` are those that exist, by
    id of the record. The methods after `deprovision` set the health of services and the results of
    later calls, by name of the service.
    """

    def __init__(self, name: str = "memory") -> None:
        self._name = name
        self.calls: list[str] = []
        self.workloads: dict[str, MemoryWorkload] = {}
        self._unhealthy: dict[str, str] = {}
        self._errors: dict[str, list[ProviderError]] = {}
        self._deletion_calls: dict[str, int] = {}

    @property
    def name(self) -> str:
        """The value of spec.provider of a datacenter that selects it."""
        return self._name

    async def observe(self, record: ServiceRecord) -> Observation:
        """Return the state of the workload."""
        self._count("observe", record)
        workload = self.workloads.get(record.id)
        if workload is None:
            return Observation()
        service = record.desired.service
        healthy = record.name not in self._unhealthy and not workload.deleting
        desired = service.desired_replicas
        vault = self._vault(record) if healthy and service.kind == "OpenBaoCluster" else None
        return Observation(
            present=True,
            digest="" if workload.deleting else workload.digest,
            healthy=healthy,
            ready=desired if healthy else 0,
            desired=desired,
            message=self._unhealthy.get(record.name, ""),
            provider_ref=f"{self._name}/{record.id}",
            service_refs=tuple(
                sorted((item.name, f"{record.id}/{item.name}") for item in service.services)
            ),
            vault=vault,
        )

    async def provision(self, record: ServiceRecord, vaults: tuple[Vault, ...]) -> None:
        """Create or update the workload of a record."""
        self._count("provision", record)
        self.workloads[record.id] = MemoryWorkload(record.id, record.desired.digest, vaults)

    async def deprovision(self, record: ServiceRecord) -> bool:
        """Delete the workload of a record; False while its deletion is delayed."""
        self._count("deprovision", record)
        workload = self.workloads.get(record.id)
        if workload is None:
            return True
        left = self._deletion_calls.get(record.name, 0)
        if left:
            self._deletion_calls[record.name] = left - 1
            self.workloads[record.id] = replace(workload, deleting=True)
            return False
        del self.workloads[record.id]
        return True

    def fail(self, call: str, *errors: ProviderError) -> None:
        """Raise these errors from the next calls equal to `call` ("provision shipper"), in turn."""
        self._errors.setdefault(call, []).extend(errors)

    def make_unhealthy(self, name: str, message: str = "") -> None:
        """Make a service unhealthy until `make_healthy`; `message` is what it waits for."""
        self._unhealthy[name] = message

    def make_healthy(self, name: str) -> None:
        """Make a service healthy again."""
        self._unhealthy.pop(name, None)

    def delay_deletion(self, name: str, calls: int) -> None:
        """Keep the workload of a service for that many further calls of `deprovision`."""
        self._deletion_calls[name] = calls

    def names_of(self, verb: str) -> list[str]:
        """The names of the services for which `verb` was called, in order."""
        return [call.partition(" ")[2] for call in self.calls if call.startswith(f"{verb} ")]

    def _count(self, verb: str, record: ServiceRecord) -> None:
        call = f"{verb} {record.name}"
        self.calls.append(call)
        if errors := self._errors.get(call):
            raise errors.pop(0)

    def _vault(self, record: ServiceRecord) -> Vault:
        address = f"https://{record.name}.{record.datacenter.namespace}.svc:8200"
        return Vault(record.name, address, ca_secret=record.name, roles=("jwt/reader",))
