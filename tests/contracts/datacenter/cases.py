"""What the rules of a service refuse: CASES by CEL and the operator, CODE_CASES by
the operator alone, and UNIQUE_CASES by the operator and by the types of the lists.
"""

from dataclasses import dataclass

from contracts.datacenter.rules.labels import LABEL_RULES
from tests.contracts.datacenter.services import (
    VAULT_SPEC,
    Object,
    cluster_role,
    helper,
    objects,
    on_each_node,
    part,
    service,
    stateful,
    vault,
    with_main,
    with_parts,
)

SYSTEM_SECRET = "fra1-vault-unseal-key"
_PORT = {"name": "http", "port": 8080}
_DATA = {"name": "data", "mountPath": "/data"}
_LOGS = {**_DATA, "kind": "HostPath", "hostPath": "/var/log"}
_ROLE = cluster_role()
_IN_ANOTHER = {"name": "a", "namespace": "kube-system"}
_LABEL_FIELDS = sorted({rule.field for rule in LABEL_RULES})


@dataclass(frozen=True)
class Case:
    """The rule that a service breaks, without its prefix, and the field that is named."""

    rule: str
    field: str
    service: Object


def _keyed_list(field: str, key: str, value: str = "x") -> Object:
    return {**service(), field: {key: value}}


def _kinds() -> dict[str, Case]:
    return {
        "no containers": Case("main", "services", service(services=None)),
        "two Main containers": Case("main", "services", with_parts(part("other"))),
        "a sidecar alone": Case("main", "services", service(services=[helper("a")])),
        "a vault with containers": Case("openbao-containers", "services", vault(services=[part()])),
        "a vault without a spec": Case("openbao-required", "openbao", vault(openbao=None)),
        "a Deployment with a spec of a vault": Case(
            "openbao-stray", "openbao", service(openbao=VAULT_SPEC)
        ),
        "a vault with annotations": Case(
            "openbao-annotations", "annotations", vault(annotations={"a": "b"})
        ),
        "a vault with a node selector": Case(
            "openbao-nodeSelector", "nodeSelector", vault(nodeSelector={"a": "b"})
        ),
        "a vault with tolerations": Case(
            "openbao-tolerations", "tolerations", vault(tolerations=[{"operator": "Exists"}])
        ),
        "a vault with a user": Case("openbao-runAsUser", "runAsUser", vault(runAsUser=5)),
        "a vault with an account": Case(
            "openbao-serviceAccountName", "serviceAccountName", vault(serviceAccountName="a")
        ),
        "a vault with pull secrets": Case(
            "openbao-imagePullSecrets", "imagePullSecrets", vault(imagePullSecrets=[{"name": "a"}])
        ),
        "a vault named like a Service of another": Case("openbao-name", "name", vault("public")),
        "a vault with the suffix of a pool": Case("openbao-name", "name", vault("a-read")),
        "a vault named like a revision": Case("openbao-name", "name", vault("abcdef0123456789")),
        "replicas of a DaemonSet": Case(
            "replicas", "replicas", service(kind="DaemonSet", replicas=2)
        ),
        "replicas of a vault": Case("replicas", "replicas", vault(replicas=3)),
        "a persistent volume of a Deployment": Case(
            "persistent",
            "services[0].volumes[0].kind",
            with_main(volumes=[{**_DATA, "kind": "Persistent", "size": "1Gi"}]),
        ),
        "a service that depends on itself": Case(
            "depends-on-itself", "dependsOn[1]", service(dependsOn=["other", "log-shipper"])
        ),
        "a vault that depends on all vaults": Case(
            "depends-on-itself", "dependsOn[0]", vault(dependsOn=["openbao:ready"])
        ),
        "the account of a job": Case(
            "account",
            "serviceAccountName",
            service(serviceAccountName="fra1-vault-backup-serviceaccount"),
        ),
    }


def _order() -> dict[str, Case]:
    first = helper("a", dependsOn=["b"])
    return {
        "a Main container with a dependency": Case(
            "main-depends",
            "services[0].dependsOn",
            service(services=[part(dependsOn=["a"]), helper("a")]),
        ),
        "a container that depends on an unknown one": Case(
            "part-depends", "services[1].dependsOn[0]", with_parts(helper("a", dependsOn=["b"]))
        ),
        "a container that depends on the Main container": Case(
            "part-depends", "services[1].dependsOn[0]", with_parts(helper("a", dependsOn=["main"]))
        ),
        "a container that depends on itself": Case(
            "part-circle", "services", with_parts(helper("a", dependsOn=["a"]))
        ),
        "two containers that depend on each other": Case(
            "part-circle", "services", with_parts(first, helper("b", "Init", dependsOn=["a"]))
        ),
        "an init with a port": Case(
            "init-serves", "services[1].ports", with_parts(helper("a", "Init", ports=[_PORT]))
        ),
        "an init with a check": Case(
            "init-serves",
            "services[1].healthCheck",
            with_parts(helper("a", "Init", healthCheck={"port": 80})),
        ),
    }


def _fields() -> dict[str, Case]:
    secret = {"name": "login", "key": "password"}
    checks = {
        "nothing": {},
        "a path without a port": {"httpPath": "/"},
        "a port and a command": {"port": 80, "command": ["true"]},
        "a path and a command": {"httpPath": "/", "command": ["true"]},
    }
    return {
        "a variable without a value": Case(
            "variable", "services[0].env[0]", with_main(env=[{"name": "A"}])
        ),
        "a variable with two values": Case(
            "variable",
            "services[0].env[1]",
            with_main(
                env=[{"name": "A", "value": ""}, {"name": "B", "value": "", "secret": secret}]
            ),
        ),
        **{
            f"a check of {what}": Case(
                "health-check", "services[0].healthCheck", with_main(healthCheck=check)
            )
            for what, check in checks.items()
        },
        **{
            f"the port name {name}": Case(
                "port-name", "services[0].ports[0].name", with_main(ports=[{**_PORT, "name": name}])
            )
            for name in ("80", "a--b")
        },
        "a port twice": Case(
            "port-number",
            "services[0].ports[1]",
            with_main(ports=[_PORT, {"name": "web", "port": 8080, "servicePort": 80}]),
        ),
        "a port of the Service twice": Case(
            "service-port",
            "services[0].ports[1]",
            with_main(ports=[_PORT, {"name": "web", "port": 80, "servicePort": 8080}]),
        ),
        "a variable from a key of the operator": Case(
            "secret-env.secret",
            "services[0].env[0].secret.name",
            with_main(env=[{"name": "A", "secret": {"name": SYSTEM_SECRET, "key": "key"}}]),
        ),
        "files from a key of the operator": Case(
            "secret-secrets",
            "services[0].secrets[0].name",
            with_main(secrets=[{"name": SYSTEM_SECRET, "mountPath": "/key"}]),
        ),
        "a pull secret that is a key of the operator": Case(
            "secret-imagePullSecrets",
            "imagePullSecrets[0].name",
            service(imagePullSecrets=[{"name": SYSTEM_SECRET}]),
        ),
    }


def _files() -> dict[str, Case]:
    def volume(path: str) -> Object:
        return with_main(volumes=[{**_DATA, "mountPath": path}])

    def file(path: str) -> Object:
        return with_main(configFiles=[{"path": path, "content": ""}])

    def secret(path: str) -> Object:
        return with_main(secrets=[{"name": "tls", "mountPath": path}])

    return {
        **{
            f"a volume at {path}": Case(
                "path-volumes", "services[0].volumes[0].mountPath", volume(path)
            )
            for path in ("/data/../etc", "/..", "//")
        },
        **{
            f"a file at {path}": Case(
                "path-configFiles", "services[0].configFiles[0].path", file(path)
            )
            for path in ("/etc/../passwd", "/etc//a", "/etc/")
        },
        "a Secret at a path with a parent segment": Case(
            "path-secrets", "services[0].secrets[0].mountPath", secret("/etc/../root")
        ),
        "a persistent volume without a size": Case(
            "volume-size", "services[0].volumes[0].size", stateful({**_DATA, "kind": "Persistent"})
        ),
        "a volume of size zero": Case(
            "volume-room", "services[0].volumes[0].size", stateful({**_DATA, "size": "0Gi"})
        ),
        "a directory of the node for a Deployment": Case(
            "host-path", "services[0].volumes[0].kind", with_main(volumes=[_LOGS])
        ),
        "a directory of the node without one": Case(
            "volume-host-path",
            "services[0].volumes[0].hostPath",
            on_each_node({**_DATA, "kind": "HostPath"}),
        ),
        "a volume of another kind with one": Case(
            "volume-host-path",
            "services[0].volumes[0].hostPath",
            with_main(volumes=[{**_DATA, "hostPath": "/var/log"}]),
        ),
        "no object": Case("objects-required", "objects", objects()),
        "objects of a Deployment": Case("objects-stray", "objects", service(objects=[_ROLE])),
        "a size of a directory of the node": Case(
            "volume-host-size",
            "services[0].volumes[0].size",
            on_each_node({**_LOGS, "size": "1Gi"}),
        ),
        "a storage class of an ephemeral volume": Case(
            "volume-class",
            "services[0].volumes[0].storageClassName",
            stateful({**_DATA, "storageClassName": "fast"}),
        ),
    }


def _labels() -> dict[str, Case]:
    ours = ("openbao.org/system", "openbao-active", "app.kubernetes.io/managed-by")
    more = ("app.kubernetes.io/name", "app.kubernetes.io/instance")
    return {
        **{
            f"{key} in {field}": Case(f"reserved-{field}", field, _keyed_list(field, key))
            for field in ("labels", "annotations")
            for key in (*ours, *more)
        },
        **{
            f"a value of {field}": Case(f"values-{field}", field, _keyed_list(field, "a", "b c"))
            for field in ("labels", "nodeSelector")
        },
    }


CASES: dict[str, Case] = {**_kinds(), **_order(), **_fields(), **_files(), **_labels()}


def _three_in_a_circle() -> Object:
    return with_parts(
        helper("a", dependsOn=["b"]),
        helper("b", "Init", dependsOn=["c"]),
        helper("c", dependsOn=["a"]),
    )


def _two(first: Object, second: Object) -> Object:
    return with_parts_of(
        part(volumes=[{**_DATA, **first}]), helper("a", volumes=[{**_DATA, **second}])
    )


def with_parts_of(*parts: Object) -> Object:
    """A StatefulSet of these containers."""
    return service(kind="StatefulSet", services=list(parts))


_STAYS = {"kind": "Persistent", "size": "1Gi"}
_DIFFERENT: dict[str, tuple[Object, Object]] = {
    "kind": ({"size": "1Gi"}, _STAYS),
    "size": (_STAYS, {**_STAYS, "size": "2Gi"}),
    "class": (_STAYS, {**_STAYS, "storageClassName": "fast"}),
    "presence of a size": ({"size": "1Gi"}, {}),
}
_SHARED_PORTS: dict[str, tuple[str, Object]] = {
    "port-number": ("port", {"name": "b", "port": 8080, "servicePort": 90}),
    "service-port": ("servicePort", {"name": "b", "port": 90, "servicePort": 8080}),
    "port-names": ("name", {"name": "http", "port": 90}),
}
_OBJECTS: tuple[tuple[str, int, str, tuple[Object, ...]], ...] = (
    ("incomplete", 1, "metadata.name", (_ROLE, cluster_role(metadata={}))),
    ("incomplete", 0, "kind", (cluster_role(kind=None),)),
    ("metadata", 0, "metadata.namespace", (cluster_role(metadata=_IN_ANOTHER),)),
    ("metadata", 0, "status", (cluster_role(status={}),)),
    ("unique", 1, "metadata.name", (_ROLE, _ROLE)),
    ("own-kinds", 0, "apiVersion", (cluster_role(apiVersion="openbao.org/v1", kind="Datacenter"),)),
)
CODE_CASES: dict[str, Case] = {
    **{
        f"an object: {rule} {field}": Case(
            f"objects-{rule}", f"objects[{at}].{field}", objects(*bodies)
        )
        for rule, at, field, bodies in _OBJECTS
    },
    "three containers in a cycle": Case("part-circle", "services", _three_in_a_circle()),
    **{
        f"another {what} of a shared volume": Case(
            "volumes-agree", "services[1].volumes[0]", _two(*volumes)
        )
        for what, volumes in _DIFFERENT.items()
    },
    **{
        f"the {what} of another container": Case(
            rule,
            "services[1].ports[0]",
            service(services=[part(ports=[_PORT]), helper("a", ports=[port])]),
        )
        for rule, (what, port) in _SHARED_PORTS.items()
    },
    "a path of two files": Case(
        "paths",
        "services[0].secrets[0].mountPath",
        with_main(volumes=[_DATA], secrets=[{"name": "tls", "mountPath": "/data/"}]),
    ),
    "a path twice": Case(
        "paths",
        "services[0].volumes[1].mountPath",
        with_main(volumes=[_DATA, {"name": "more", "mountPath": "/./data"}]),
    ),
    **{
        f"{key[:20]} as a key of {field}": Case(f"keys-{field}", field, _keyed_list(field, key))
        for field in _LABEL_FIELDS
        for key in ("a b", "A/b", f"{'a' * 254}/b", "b" * 64, "/a", "a..b/c")
    },
}

_ENTRY = {"name": "a", "value": "x"}
_FILE = {"path": "/a", "content": ""}
_TLS = {"name": "tls", "mountPath": "/a"}
UNIQUE_CASES: dict[str, Case] = {
    "containers": Case(
        "unique-services", "services[2].name", with_parts(helper("a"), helper("a", "Init"))
    ),
    "dependencies of containers": Case(
        "unique-services.dependsOn",
        "services[2].dependsOn[1]",
        with_parts(helper("a"), helper("b", dependsOn=["a", "a"])),
    ),
    "variables": Case(
        "unique-services.env", "services[0].env[1].name", with_main(env=[_ENTRY, _ENTRY])
    ),
    "dependencies of services": Case(
        "unique-dependsOn", "dependsOn[1]", service(dependsOn=["a", "a"])
    ),
    "pull secrets": Case(
        "unique-imagePullSecrets",
        "imagePullSecrets[1].name",
        service(imagePullSecrets=[{"name": "a"}, {"name": "a"}]),
    ),
    "volumes": Case(
        "unique-services.volumes",
        "services[0].volumes[1].name",
        with_main(volumes=[_DATA, {**_DATA, "mountPath": "/more"}]),
    ),
}
"""Each breaks one rule; lists whose key has other rules as well are in TWICE_CASES."""
TWICE_CASES: dict[str, tuple[Case, str]] = {
    "ports": (
        Case(
            "unique-services.ports",
            "services[0].ports[1].name",
            with_main(ports=[_PORT, {**_PORT, "port": 90}]),
        ),
        "port-names",
    ),
    "files": (
        Case(
            "unique-services.configFiles",
            "services[0].configFiles[1].path",
            with_main(configFiles=[_FILE, _FILE]),
        ),
        "paths",
    ),
    "secrets": (
        Case(
            "unique-services.secrets",
            "services[0].secrets[1].mountPath",
            with_main(secrets=[_TLS, _TLS]),
        ),
        "paths",
    ),
}
