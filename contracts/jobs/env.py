"""The environment variables of a job of the operator's image, as frozen records.

Uses the standard library. Written by contracts.builders.job, read by baoctl.jobs; both use only the
records, so each variable is named only here. No value is secret: credentials and tokens are files,
and the variables contain their paths.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar, Final, Literal, Self, cast

POD_NAME: Final = "POD_NAME"
"""From the downward API: metadata.name."""
POD_UID: Final = "POD_UID"
"""From the downward API: metadata.uid."""
JOB_UID: Final = "JOB_UID"
"""From the downward API: metadata.labels['batch.kubernetes.io/controller-uid']."""
WEB_IDENTITY_TOKEN: Final = "AWS_WEB_IDENTITY_TOKEN_FILE"  # noqa: S105  the name of a variable
"""Set together with AWS_ROLE_ARN; the path of the projected token for the cloud."""
CREDENTIALS_PATH = "/etc/bao/backup/credentials"
TOKEN_PATH = "/etc/bao/backup/token/token"  # noqa: S105  a path
JWT_PATH = "/var/run/secrets/tokens/openbao-token"
WEB_IDENTITY_PATH = "/var/run/secrets/aws/token"
CA_PATH = "/etc/bao/tls/ca.crt"
VOLUME_PATH = "/var/lib/bao-snapshots"
SCRATCH_PATH = "/scratch"

Auth = Literal["jwt", "token"]
RunResource = Literal["openbaobackups", "openbaorestores"]


class JobEnvError(ValueError):
    """A variable is missing or has an invalid value; the message names it."""


@dataclass(frozen=True, slots=True)
class _Kind:
    """Writes and reads the values of one kind; `read` raises ValueError."""

    write: Callable[[Any], str]
    read: Callable[[str], Any]


def _switch(text: str) -> bool:
    if text not in ("true", "false"):
        raise ValueError("must be true or false")
    return text == "true"


def _number(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _DIGITS):
        raise ValueError(f"must be a whole number of at most {_DIGITS} digits, 0 or more")
    return int(text)


def _moment(text: str) -> str:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        moment = None
    if text and (moment is None or moment.tzinfo is None):
        raise ValueError("must be a time with a time zone, such as 2026-01-01T00:00:00Z")
    return text


def _address(text: str) -> str:
    host, _, port = text.rpartition(":")
    if not host or not (port.isascii() and port.isdigit() and 0 < _number(port) < 65_536):
        raise ValueError("must be HOST:PORT")
    return text


_DIGITS = 18
_TEXT = _Kind(str, str)
_NUMBER = _Kind(str, _number)
_MOMENT = _Kind(str, _moment)
_ADDRESS = _Kind(str, _address)
_SWITCH = _Kind(lambda value: "true" if value else "false", _switch)
# Names of pods, keys and addresses have no commas.
_LIST = _Kind(",".join, lambda text: tuple(filter(None, text.split(","))))


def _one_of(*words: str) -> _Kind:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be one of {', '.join(words)}")
        return text

    return _Kind(str, read)


_PROVIDER = _one_of("s3", "gcs", "azure", "pvc")
_AUTH = _one_of("jwt", "token")
_RESOURCE = _one_of("openbaobackups", "openbaorestores")


def _variable(name: str, kind: _Kind = _TEXT, **options: Any) -> Any:
    return field(metadata={"variable": name, "kind": kind}, **options)


def _downward(name: str) -> Any:
    return field(default="", metadata={"variable": name, "kind": _TEXT, "downward": True})


class Env:
    """A record whose fields are variables or other records of variables."""

    __slots__ = ()
    _parts: ClassVar[Mapping[str, type[Env]]] = {}

    def to_environment(self) -> dict[str, str]:
        """Return the variables, without defaults and without those of the downward API.

        Defaults are omitted, because the webhooks of clouds add variables such as AWS_ROLE_ARN only
        if the container does not have them, even empty.
        """
        variables: dict[str, str] = {}
        for item in dataclasses.fields(cast(Any, self)):
            value = getattr(self, item.name)
            if isinstance(value, Env):
                variables |= value.to_environment()
            elif not item.metadata.get("downward") and value != item.default:
                variables[item.metadata["variable"]] = item.metadata["kind"].write(value)
        return variables

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> Self:
        """Read the record; raises JobEnvError for the first missing or invalid variable."""
        values: dict[str, Any] = {}
        for item in dataclasses.fields(cast(Any, cls)):
            part = cls._parts.get(item.name)
            if part is not None:
                values[item.name] = part.from_environment(environ)
                continue
            name = item.metadata["variable"]
            text = environ.get(name)
            if text is None and item.default is dataclasses.MISSING:
                raise JobEnvError(f"{name} is not set")
            if text is not None:
                try:
                    values[item.name] = item.metadata["kind"].read(text)
                except ValueError as error:
                    raise JobEnvError(f"{name}={text[:80]!r}: {error}") from None
        return cls(**values)


@dataclass(frozen=True, slots=True)
class StoreEnv(Env):
    """The snapshot store: an object store or a volume."""

    provider: Literal["s3", "gcs", "azure", "pvc"] = _variable("BACKUP_PROVIDER", _PROVIDER)
    bucket: str = _variable("BACKUP_BUCKET")
    endpoint: str = _variable("BACKUP_ENDPOINT", default="")
    path_prefix: str = _variable("BACKUP_PATH_PREFIX", default="")
    region: str = _variable("BACKUP_REGION", default="")
    use_path_style: bool = _variable("BACKUP_USE_PATH_STYLE", _SWITCH, default=False)
    insecure_skip_verify: bool = _variable("BACKUP_INSECURE_SKIP_VERIFY", _SWITCH, default=False)
    part_size: int = _variable("BACKUP_PART_SIZE", _NUMBER, default=10 * 1024 * 1024)
    """Bytes."""
    concurrency: int = _variable("BACKUP_CONCURRENCY", _NUMBER, default=3)
    azure_account: str = _variable("BACKUP_AZURE_STORAGE_ACCOUNT", default="")
    azure_container: str = _variable("BACKUP_AZURE_CONTAINER", default="")
    role_arn: str = _variable("AWS_ROLE_ARN", default="")
    web_identity_path: str = _variable(WEB_IDENTITY_TOKEN, default="")
    """Set with role_arn."""
    credentials_path: str = _variable("BACKUP_CREDENTIALS_PATH", default="")
    """Folder of the mounted Secret; "": the job uses the identity of the pod."""
    volume_path: str = _variable("BACKUP_VOLUME_PATH", default="")
    """Mount path of the volume of provider pvc."""
    forbidden: tuple[str, ...] = _variable("BACKUP_FORBIDDEN_ADDRESSES", _LIST, default=())
    """ADDRESS:PORT of the API server, which the job never uses as a store."""


@dataclass(frozen=True, slots=True)
class ServerEnv(Env):
    """The servers of the cluster, and the login to them."""

    namespace: str = _variable("CLUSTER_NAMESPACE")
    cluster: str = _variable("CLUSTER_NAME")
    pods: tuple[str, ...] = _variable("CLUSTER_PODS", _LIST)
    """Names of the pods that may be leader; the job connects through the headless Service."""
    server_name: str = _variable("TLS_SERVER_NAME", default="")
    """Name that the certificate must contain; "": the host of the connection."""
    ca_path: str = _variable("TLS_CA_PATH", default="")
    """PEM file with the CAs; "" for the CAs of the system."""
    auth: Auth = _variable("BACKUP_AUTH_METHOD", _AUTH, default="jwt")  # noqa: RUF009  a field()
    role: str = _variable("BACKUP_JWT_AUTH_ROLE", default="")
    """Role at auth/jwt-operator."""
    jwt_path: str = _variable("JWT_TOKEN_PATH", default=JWT_PATH)
    token_path: str = _variable("BACKUP_TOKEN_PATH", default=TOKEN_PATH)

    @property
    def hosts(self) -> tuple[str, ...]:
        """The DNS name of each pod."""
        return tuple(map(self.host, self.pods))

    def host(self, pod: str) -> str:
        """Return the DNS name of one pod."""
        return f"{pod}.{self.cluster}.{self.namespace}.svc"


@dataclass(frozen=True, slots=True)
class RunEnv(Env):
    """The object of the run, to which the job reports, and the job itself."""

    resource: RunResource = _variable("RUN_RESOURCE", _RESOURCE)  # noqa: RUF009  a field()
    namespace: str = _variable("RUN_NAMESPACE")
    name: str = _variable("RUN_NAME")
    uid: str = _variable("RUN_UID")
    pod_name: str = _downward(POD_NAME)
    pod_uid: str = _downward(POD_UID)
    job_uid: str = _downward(JOB_UID)


@dataclass(frozen=True, slots=True)
class RetentionEnv(Env):
    """The settings that decide which snapshots are deleted."""

    max_count: int = _variable("BACKUP_RETENTION_MAX_COUNT", _NUMBER, default=0)
    """0: no limit."""
    max_age_seconds: int = _variable("BACKUP_RETENTION_MAX_AGE_SECONDS", _NUMBER, default=0)
    """0: no limit."""
    dry_run: bool = _variable("BACKUP_RETENTION_DRY_RUN", _SWITCH, default=False)
    protected: tuple[str, ...] = _variable("BACKUP_RETENTION_PROTECTED_KEYS", _LIST, default=())
    """Keys that are never deleted: the newest, the newest with a passed restore test, those in
    use."""


@dataclass(frozen=True, slots=True)
class BackupEnv(Env):
    """`baoctl job backup`."""

    _parts: ClassVar[Mapping[str, type[Env]]] = {
        "run": RunEnv,
        "store": StoreEnv,
        "server": ServerEnv,
        "retention": RetentionEnv,
    }
    run: RunEnv
    store: StoreEnv
    server: ServerEnv
    key: str = _variable("BACKUP_KEY")
    backup_name: str = _variable("BACKUP_NAME")
    cluster_uid: str = _variable("CLUSTER_UID")
    seal: str = _variable("BACKUP_SEAL_FINGERPRINT", default="")
    """Identity of the seal of the snapshot (contracts.hcl.seal_identity); not secret."""
    canary_path: str = _variable("BACKUP_CANARY_PATH", default="")
    """Path whose content digest is stored in the manifest; "" for none."""
    retention: RetentionEnv = field(default_factory=RetentionEnv)


@dataclass(frozen=True, slots=True)
class RestoreEnv(Env):
    """`baoctl job restore`."""

    _parts: ClassVar[Mapping[str, type[Env]]] = {
        "run": RunEnv,
        "store": StoreEnv,
        "server": ServerEnv,
    }
    run: RunEnv
    store: StoreEnv
    server: ServerEnv
    key: str = _variable("RESTORE_KEY")
    expected_cluster_id: str = _variable("RESTORE_EXPECTED_CLUSTER_ID", default="")
    """Required cluster id of the snapshot, from the spec, or else from the OpenBaoBackup."""
    named_cluster_id: str = _variable("RESTORE_NAMED_CLUSTER_ID", default="")
    """Only the value of spec.source.expectedClusterID: the cluster whose data may replace the data
    of another cluster."""
    any_cluster_id: bool = _variable("RESTORE_ANY_CLUSTER_ID", _SWITCH, default=False)
    """The servers may have another id than the snapshot although no user named it: the operator
    detected that they may have been recreated since the snapshot."""
    expected_version: str = _variable("RESTORE_EXPECTED_VERSION", default="")
    expected_digest: str = _variable("RESTORE_EXPECTED_DIGEST", default="")
    """sha256:HEX."""
    expected_size: int = _variable("RESTORE_EXPECTED_SIZE", _NUMBER, default=0)
    """Bytes; 0: not known."""
    expected_seal: str = _variable("RESTORE_EXPECTED_SEAL", default="")
    """Identity of the seal of the target cluster; "": not checked."""
    force: bool = _variable("RESTORE_FORCE", _SWITCH, default=False)
    deadline: str = _variable("RESTORE_PREPARATION_DEADLINE", _MOMENT, default="")
    """RFC 3339; the job does not send the snapshot after it. "": no deadline."""
    scratch_path: str = _variable("RESTORE_SCRATCH_PATH", default=SCRATCH_PATH)


@dataclass(frozen=True, slots=True)
class TestEnv(Env):
    """`baoctl job restore-test`. The server runs in the same pod, at `address`."""

    # pytest would collect a class of this name as tests.
    __test__: ClassVar[bool] = False
    _parts: ClassVar[Mapping[str, type[Env]]] = {
        "run": RunEnv,
        "store": StoreEnv,
        "server": ServerEnv,
    }
    run: RunEnv
    store: StoreEnv
    server: ServerEnv
    """Name, CA and login; its pods are not used."""
    key: str = _variable("TEST_KEY")
    address: str = _variable("TEST_SERVER_ADDRESS", _ADDRESS, default="127.0.0.1:8200")
    expected_cluster_id: str = _variable("TEST_EXPECTED_CLUSTER_ID", default="")
    expected_version: str = _variable("TEST_EXPECTED_VERSION", default="")
    expected_digest: str = _variable("TEST_EXPECTED_DIGEST", default="")
    """sha256:HEX."""
    expected_size: int = _variable("TEST_EXPECTED_SIZE", _NUMBER, default=0)
    expected_index: int = _variable("TEST_EXPECTED_INDEX", _NUMBER, default=0)
    canary_path: str = _variable("TEST_CANARY_PATH", default="")
    scratch_path: str = _variable("TEST_SCRATCH_PATH", default=SCRATCH_PATH)


@dataclass(frozen=True, slots=True)
class UpgradeEnv(Env):
    """`baoctl job upgrade`. contracts.jobs.upgrade_actions lists the arguments of each action."""

    _parts: ClassVar[Mapping[str, type[Env]]] = {"server": ServerEnv}
    server: ServerEnv
    """All pods of all pools that may be leader."""
    action: str = _variable("UPGRADE_ACTION")
    run_id: str = _variable("UPGRADE_RUN_ID")
    target: str = _variable("UPGRADE_TARGET_POD", default="")
    """Pod that must no longer be leader."""
    blue: tuple[str, ...] = _variable("UPGRADE_BLUE_PODS", _LIST, default=())
    green: tuple[str, ...] = _variable("UPGRADE_GREEN_PODS", _LIST, default=())
    """Names of all pods of a pool, which are the ids of its raft nodes."""
    sync_threshold: int = _variable("UPGRADE_SYNC_THRESHOLD", _NUMBER, default=100)
    """Raft log entries that a server of green may be behind the leader."""
    timeout: int = _variable("UPGRADE_TIMEOUT", _NUMBER, default=0)
    """Seconds for the work; 0: the time of the action."""
