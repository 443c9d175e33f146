"""What the rules about spec.audit and spec.auditFileStorage refuse."""

from typing import Any

from tests.contracts.api.case import Case
from tests.contracts.api.clusters import with_request

STORAGE = "spec.auditFileStorage"
STDOUT = {"filePath": "stdout"}


def device(**fields: Any) -> dict[str, Any]:
    return {"audit": [{"type": "file", "path": "f", **fields}]}


def storage(mode: str, **fields: Any) -> dict[str, Any]:
    return {"auditFileStorage": {"mode": mode, **fields}}


CASES: dict[str, Case] = {
    "a device that climbs": Case(
        "audit-name", "spec.audit[0].path", {"audit": [{"type": "syslog", "path": "a/../b"}]}
    ),
    "options of another type": Case(
        "audit-options-type",
        "spec.audit[0]",
        device(fileOptions=STDOUT, syslogOptions={"tag": "x"}),
    ),
    "an audit volume of nothing": Case(
        "audit-storage-size", f"{STORAGE}.size", storage("ManagedPVC", size="0")
    ),
    "an audit volume that shrinks": Case(
        "audit-storage-shrinks",
        f"{STORAGE}.size",
        storage("ManagedPVC", size="1Gi"),
        before=storage("ManagedPVC", size="2Gi"),
    ),
    "a claim that nobody named": Case(
        "audit-storage-existingclaimname-existingpvc",
        f"{STORAGE}.existingClaimName",
        storage("ExistingPVC"),
    ),
    "a claim of the user in the operator's mode": Case(
        "audit-storage-existingclaimname-managedpvc",
        f"{STORAGE}.existingClaimName",
        storage("ManagedPVC", size="1Gi", existingClaimName="mine"),
    ),
    "a claim without a size": Case(
        "audit-storage-size-managedpvc", f"{STORAGE}.size", storage("ManagedPVC")
    ),
    "the size of a claim that is not ours": Case(
        "audit-storage-size-existingpvc",
        f"{STORAGE}.size",
        storage("ExistingPVC", existingClaimName="mine", size="1Gi"),
    ),
    "the class of a claim that is not ours": Case(
        "audit-storage-storageclassname-existingpvc",
        f"{STORAGE}.storageClassName",
        storage("ExistingPVC", existingClaimName="mine", storageClassName="fast"),
    ),
    "an audit file over the data": Case(
        "audit-file-place",
        "spec.audit[0].fileOptions.filePath",
        device(fileOptions={"filePath": "/bao/data/raft/raft.db"}),
    ),
    "an audit file that climbs": Case(
        "audit-file-place",
        "spec.audit[0].fileOptions.filePath",
        {
            **device(fileOptions={"filePath": "/openbao/audit/../../bao/data/raft/raft.db"}),
            **storage("ExistingPVC", existingClaimName="mine"),
        },
    ),
    "an audit file outside of its volume": Case(
        "audit-file-place",
        "spec.audit[0].fileOptions.filePath",
        {
            **device(fileOptions={"filePath": "/openbao/logs/a.log"}),
            **storage("ExistingPVC", existingClaimName="mine"),
        },
    ),
    "an audit file without a volume": Case(
        "audit-file-place",
        "spec.audit[0].fileOptions.filePath",
        device(fileOptions={"filePath": "/openbao/audit/a.log"}),
    ),
    "an audit file of the first boot over the data": Case(
        "audit-file-place-request",
        "spec.selfInit.requests[0].auditDevice.fileOptions.filePath",
        {
            "configuration": {"unsafeAllowAPIAuditCreation": True},
            "selfInit": with_request(
                path="sys/audit/x",
                data=None,
                auditDevice={"type": "file", "fileOptions": {"filePath": "/bao/data/vault.db"}},
            ),
        },
    ),
    "a volume over the server's own files": Case(
        "audit-mount-place",
        f"{STORAGE}.mountPath",
        storage("ManagedPVC", size="1Gi", mountPath="/etc/bao/tls"),
    ),
    "a volume around the server's own files": Case(
        "audit-mount-place",
        f"{STORAGE}.mountPath",
        storage("ManagedPVC", size="1Gi", mountPath="/openbao"),
    ),
}

CODE_CASES: dict[str, Case] = {
    "an audit file over the data, among the free options": Case(
        "audit-file-place-options",
        "spec.audit[0].options",
        device(options={"file_path": "/bao/data/raft/raft.db"}),
    ),
    "a file device without a file": Case(
        "audit-options-missing", "spec.audit[0].fileOptions", device()
    ),
    "an option that no file device reads": Case(
        "audit-options-known",
        "spec.audit[0].options",
        device(fileOptions=STDOUT, options={"facility": "AUTH"}),
    ),
    "another spelling of the file": Case(
        "audit-options-known",
        "spec.audit[0].options",
        device(fileOptions=STDOUT, options={"path": "/bao/data/vault.db"}),
    ),
    "an option that is an object": Case(
        "audit-options-known",
        "spec.audit[0].options",
        device(fileOptions=STDOUT, options={"format": {"a": "b"}}),
    ),
    "a prefix that the server would refuse": Case(
        "audit-prefix",
        "spec.audit[0].options",
        device(fileOptions=STDOUT, options={"prefix": "@cee: "}),
    ),
    "a device of a newer server": Case(
        "audit-http-version",
        "spec.audit[0].type",
        {"audit": [{"type": "http", "path": "h", "httpOptions": {"uri": "https://a.example.com"}}]},
    ),
}
