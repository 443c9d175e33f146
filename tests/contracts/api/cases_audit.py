"""What the rules about spec.audit and spec.auditFileStorage refuse."""

from typing import Any

from tests.contracts.api.case import Broken, Case, cases_of
from tests.contracts.api.clusters import with_request

STORAGE = "spec.auditFileStorage"
STDOUT = {"filePath": "stdout"}


def device(**fields: Any) -> dict[str, Any]:
    return {"audit": [{"type": "file", "path": "f", **fields}]}


def storage(mode: str, **fields: Any) -> dict[str, Any]:
    return {"auditFileStorage": {"mode": mode, **fields}}


_BROKEN: Broken = {
    ("audit-name", "spec.audit[0].path"): {
        "a device with a parent segment in its path": {
            "audit": [{"type": "syslog", "path": "a/../b"}]
        }
    },
    ("audit-options-type", "spec.audit[0]"): {
        "options of another type": device(fileOptions=STDOUT, syslogOptions={"tag": "x"})
    },
    ("audit-storage-size", f"{STORAGE}.size"): {
        "an audit volume of nothing": storage("ManagedPVC", size="0")
    },
    ("audit-storage-existingclaimname-existingpvc", f"{STORAGE}.existingClaimName"): {
        "an existing claim without a name": storage("ExistingPVC")
    },
    ("audit-storage-existingclaimname-managedpvc", f"{STORAGE}.existingClaimName"): {
        "a claim of the user in mode ManagedPVC": storage(
            "ManagedPVC", size="1Gi", existingClaimName="mine"
        )
    },
    ("audit-storage-size-managedpvc", f"{STORAGE}.size"): {
        "a claim without a size": storage("ManagedPVC")
    },
    ("audit-storage-size-existingpvc", f"{STORAGE}.size"): {
        "the size of a claim that is not ours": storage(
            "ExistingPVC", existingClaimName="mine", size="1Gi"
        )
    },
    ("audit-storage-storageclassname-existingpvc", f"{STORAGE}.storageClassName"): {
        "the class of a claim that is not ours": storage(
            "ExistingPVC", existingClaimName="mine", storageClassName="fast"
        )
    },
    ("audit-file-place", "spec.audit[0].fileOptions.filePath"): {
        "an audit file in the data folder": device(
            fileOptions={"filePath": "/bao/data/raft/raft.db"}
        ),
        "an audit file with a parent segment": {
            **device(fileOptions={"filePath": "/openbao/audit/../../bao/data/raft/raft.db"}),
            **storage("ExistingPVC", existingClaimName="mine"),
        },
        "an audit file outside of its volume": {
            **device(fileOptions={"filePath": "/openbao/logs/a.log"}),
            **storage("ExistingPVC", existingClaimName="mine"),
        },
        "an audit file without a volume": device(fileOptions={"filePath": "/openbao/audit/a.log"}),
    },
    ("audit-file-place-request", "spec.selfInit.requests[0].auditDevice.fileOptions.filePath"): {
        "an audit file of the first boot over the data": {
            "configuration": {"unsafeAllowAPIAuditCreation": True},
            "selfInit": with_request(
                path="sys/audit/x",
                data=None,
                auditDevice={"type": "file", "fileOptions": {"filePath": "/bao/data/vault.db"}},
            ),
        }
    },
    ("audit-mount-place", f"{STORAGE}.mountPath"): {
        "a volume mounted over files of the server": storage(
            "ManagedPVC", size="1Gi", mountPath="/etc/bao/tls"
        ),
        "a volume mounted over a parent folder of the server": storage(
            "ManagedPVC", size="1Gi", mountPath="/openbao"
        ),
    },
}

CASES: dict[str, Case] = {
    **cases_of(_BROKEN),
    "an audit volume that shrinks": Case(
        "audit-storage-shrinks",
        f"{STORAGE}.size",
        storage("ManagedPVC", size="1Gi"),
        before=storage("ManagedPVC", size="2Gi"),
    ),
}

_BROKEN_IN_CODE: Broken = {
    ("audit-file-place-options", "spec.audit[0].options"): {
        "an audit file over the data, among the free options": device(
            options={"file_path": "/bao/data/raft/raft.db"}
        )
    },
    ("audit-options-missing", "spec.audit[0].fileOptions"): {
        "a file device without a file": device()
    },
    ("audit-options-known", "spec.audit[0].options"): {
        "an option that no file device reads": device(
            fileOptions=STDOUT, options={"facility": "AUTH"}
        ),
        "another spelling of the file": device(
            fileOptions=STDOUT, options={"path": "/bao/data/vault.db"}
        ),
        "an option that is an object": device(fileOptions=STDOUT, options={"format": {"a": "b"}}),
    },
    ("audit-prefix", "spec.audit[0].options"): {
        "a prefix that the server would refuse": device(
            fileOptions=STDOUT, options={"prefix": "@cee: "}
        )
    },
    ("audit-http-version", "spec.audit[0].type"): {
        "a device of a newer server": {
            "audit": [
                {"type": "http", "path": "h", "httpOptions": {"uri": "https://a.example.com"}}
            ]
        }
    },
}

CODE_CASES = cases_of(_BROKEN_IN_CODE)
