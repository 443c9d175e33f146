"""Services that every rule accepts."""

from tests.contracts.datacenter.services import (
    VAULT_SPEC,
    Object,
    cluster_role,
    helper,
    objects,
    on_each_node,
    part,
    service,
    vault,
    with_main,
    with_parts,
)

_SHARED = {"name": "data", "mountPath": "/data", "kind": "Persistent", "size": "1Gi"}

FINE: dict[str, Object] = {
    "the smallest": service(),
    "a DaemonSet": service(kind="DaemonSet"),
    "no pods": service(replicas=0),
    "a StatefulSet of three": service(kind="StatefulSet", replicas=3),
    "a vault": vault(),
    "a vault that depends on another service": vault(
        dependsOn=["log-shipper"], labels={"team": "a"}
    ),
    "a vault with empty fields": vault(
        services=[], annotations={}, nodeSelector={}, tolerations=[], imagePullSecrets=[]
    ),
    "a vault whose name has a harmless suffix": vault("apublic"),
    "a Deployment named like a Service of a vault": service("public"),
    "a service that depends on all vaults": service(dependsOn=["openbao:ready", "cert-controller"]),
    "an account of its own": service(serviceAccountName="log-shipper"),
    "everything about pods": service(
        annotations={"prometheus.io/scrape": "true"},
        nodeSelector={"kubernetes.io/arch": "amd64", "empty": ""},
        tolerations=[{"operator": "Exists"}],
        runAsUser=65532,
        imagePullSecrets=[{"name": "registry-login"}],
    ),
    "labels of many kinds": service(
        labels={"team": "a", "app.kubernetes.io/version": "1", "example.com/openbao-x": "A_b.c"}
    ),
    "containers in order": with_parts(
        helper("a", dependsOn=["c", "b"]), helper("b", "Init", dependsOn=["c"]), helper("c", "Init")
    ),
    "a Main container with an empty dependency list": with_main(dependsOn=[]),
    "an init container without ports": with_parts(helper("a", "Init", ports=[])),
    "variables of both kinds": with_main(
        env=[
            {"name": "A", "value": ""},
            {"name": "B", "secret": {"name": "login", "key": "password"}},
        ]
    ),
    "a check by http": with_main(healthCheck={"httpPath": "/healthz", "port": 80}),
    "a check by tcp": with_main(healthCheck={"port": 80, "command": []}),
    "a check by command": with_main(healthCheck={"command": ["true"]}),
    "a number for two protocols": with_main(
        ports=[{"name": "dns", "port": 53}, {"name": "dns-udp", "port": 53, "protocol": "UDP"}]
    ),
    "swapped port numbers": service(
        services=[
            part(ports=[{"name": "a", "port": 80, "servicePort": 90}]),
            helper("b", ports=[{"name": "b", "port": 90, "servicePort": 80}]),
        ]
    ),
    "a shared volume": service(
        kind="StatefulSet",
        services=[
            part(volumes=[_SHARED]),
            helper(
                "a", volumes=[{**_SHARED, "mountPath": "/in", "size": "1024Mi", "readOnly": True}]
            ),
        ],
    ),
    "a volume with a class": service(
        kind="StatefulSet", services=[part(volumes=[{**_SHARED, "storageClassName": "fast"}])]
    ),
    "a bounded ephemeral volume": with_main(
        volumes=[{"name": "scratch", "mountPath": "/scratch/", "size": "1Gi"}]
    ),
    "files below a volume": with_main(
        volumes=[{"name": "etc", "mountPath": "/etc/a"}],
        configFiles=[{"path": "/etc/a/b..c", "content": "x"}],
        secrets=[{"name": "my-tls", "mountPath": "/etc/a/.tls"}],
    ),
    "directories of the node, as root": on_each_node(
        {"name": "logs", "mountPath": "/logs", "kind": "HostPath", "hostPath": "/var/log"},
        {"name": "hidden", "mountPath": "/b", "kind": "HostPath", "hostPath": "/var/.b/c..d"},
        runAsUser=0,
    ),
    "objects of other kinds": objects(
        cluster_role(), cluster_role("other"), dependsOn=["vault"], deletionPolicy="Orphan"
    ),
    "one path in two containers": service(
        services=[
            part(configFiles=[{"path": "/etc/a", "content": "x"}]),
            helper("b", configFiles=[{"path": "/etc/a", "content": "y"}]),
        ]
    ),
}

VAULT_CASES: dict[str, tuple[Object, str, str]] = {
    "no version": ({"storage": {"size": "1Gi"}}, "schema", "openbao.version"),
    "a volume of size zero": (
        {**VAULT_SPEC, "storage": {"size": "0Gi"}}, "storage-size", "openbao.storage.size",
    ),
    "a field of another kind": ({**VAULT_SPEC, "hostPath": "/"}, "schema", "openbao.hostPath"),
    "a nested field": (
        {**VAULT_SPEC, "storage": {"size": "1Gi", "namespace": "kube-system"}},
        "schema",
        "openbao.storage.namespace",
    ),
    "a key of the operator": (
        {**VAULT_SPEC, "imagePullSecrets": [{"name": "a-unseal-key"}]},
        "secret-imagePullSecrets[]",
        "openbao.imagePullSecrets[0].name",
    ),
    "a pod of another cluster": (
        {**VAULT_SPEC, "fencedPods": ["other-0"]}, "fenced-pod-name", "openbao.fencedPods",
    ),
}  # fmt: skip
"""Specs of a vault, the rule that each breaks, and the field."""
