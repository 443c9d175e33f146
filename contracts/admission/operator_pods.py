"""The policy that limits the operator's own pods to the Pod Security level `restricted`.

Uses contracts.admission.requesters. Collected by contracts.admission.policies. The policy restricts
the values of fields and not which fields change: the operator changes commands, mounts and volumes
for TLS, plugins, seals and audit files, and a lock on these fields would silently keep spec changes
from the servers (docs/adr/20261122-what-the-locks-bound.md). Semantics: Kubernetes documentation,
Pod Security Standards.
"""

from typing import Final

from contracts.admission.policy import AdmissionPolicy, Match, NamedExpression, Validation
from contracts.admission.requesters import IS_CONTROLLER
from contracts.datacenter import names
from contracts.rbac.rules import APPS, BATCH, CORE

VOLUMES: Final = (
    "configMap",
    "downwardAPI",
    "emptyDir",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
SYSCTLS: Final = (
    "kernel.shm_rmid_forced",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_local_reserved_ports",
    "net.ipv4.ip_unprivileged_port_start",
    "net.ipv4.ping_group_range",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_wmem",
)
LEVEL: Final = "pod-security.kubernetes.io/enforce"

_TEMPLATE = "spec.template.spec"
_OLD = "dyn(oldObject).spec"
_OF_A_DATACENTER = f"dyn(object).metadata.?labels[?'{names.SYSTEM}'].orValue('') == 'true'"
_SECURITY = "container.?securityContext"
_POD = "variables.pod.?securityContext"
_SE_LINUX = "['', 'container_t', 'container_init_t', 'container_kvm_t', 'container_engine_t']"

CONDITIONS: Final = (
    NamedExpression("by-the-operator", IS_CONTROLLER),
    # An existing pod template is not checked again: a scale-down must not fail because of it.
    NamedExpression(
        "pod-changes",
        "request.operation == 'CREATE' || request.?subResource.orValue('') != '' || "
        "dyn(object).spec.template.spec != dyn(oldObject).spec.template.spec",
    ),
)
VARIABLES: Final = (
    NamedExpression("isTemplate", "request.?subResource.orValue('') == ''"),
    NamedExpression(
        "pod", "variables.isTemplate ? dyn(object).spec.template.spec : dyn(object).spec"
    ),
    # For a pod, only the ephemeral containers that this request adds.
    NamedExpression(
        "containers",
        "variables.isTemplate ? "
        "variables.pod.containers + variables.pod.?initContainers.orValue(dyn([])) : "
        "variables.pod.?ephemeralContainers.orValue(dyn([])).filter(one, "
        f"!{_OLD}.?ephemeralContainers.orValue(dyn([])).exists(old, old.name == one.name))",
    ),
    NamedExpression(
        "level",
        f"namespaceObject == null ? '' : dyn(namespaceObject).metadata.?labels[?'{LEVEL}']"
        ".orValue('')",
    ),
    # An administrator who sets the label relaxes the level for all users of the namespace.
    NamedExpression("rootIsOpen", "variables.level in ['baseline', 'privileged']"),
    NamedExpression("kernelIsOpen", "variables.level == 'privileged'"),
    NamedExpression(
        "nodeIsOpen",
        "variables.kernelIsOpen && request.resource.resource == 'daemonsets' && "
        f"{_OF_A_DATACENTER}",
    ),
    NamedExpression(
        "ofTheNode",
        "variables.pod.?volumes.orValue(dyn([])).filter(volume, has(volume.hostPath))"
        ".map(volume, volume.name)",
    ),
)
_RELAX_LEVEL = f"or, if this is intended, ask an administrator to label the namespace {LEVEL}"


def _every_container(expression: str) -> str:
    return f"variables.containers.all(container, {expression})"


def _template(expression: str) -> str:
    return f"!variables.isTemplate || ({expression})"


LOCK_PODS = AdmissionPolicy(
    name="lock-controller-statefulset-mutations",
    why="The operator creates no pod that exceeds the pod security level `restricted`.",
    matches=(
        Match(APPS, ("daemonsets", "deployments", "statefulsets"), ("CREATE", "UPDATE")),
        Match(BATCH, ("jobs",), ("CREATE", "UPDATE")),
        Match(CORE, ("pods/ephemeralcontainers",), ("UPDATE",)),
    ),
    conditions=CONDITIONS,
    variables=VARIABLES,
    validations=(
        Validation(
            rule_id="pod-of-its-own",
            field=_TEMPLATE,
            expression=_template(
                "!variables.pod.?hostNetwork.orValue(false) && "
                "!variables.pod.?hostPID.orValue(false) && "
                "!variables.pod.?hostIPC.orValue(false) && "
                "!variables.pod.?shareProcessNamespace.orValue(false) && "
                f"!{_POD}.?windowsOptions.?hostProcess.orValue(false)"
            ),
            message="a pod of the operator must not share network, processes or memory with "
            "its node",
        ),
        Validation(
            rule_id="pod-volumes",
            field=f"{_TEMPLATE}.volumes",
            expression=_template(
                "variables.pod.?volumes.orValue(dyn([])).all(volume, "
                f"volume.all(key, key == 'name' || key in {list(VOLUMES)!r} || "
                "(key == 'hostPath' && variables.nodeIsOpen)))"
            ),
            message=(
                f"only volumes of these kinds: {', '.join(VOLUMES)}; hostPath only in a DaemonSet "
                "of a datacenter, if an administrator labeled the namespace "
                f"{LEVEL}=privileged"
            ),
        ),
        Validation(
            rule_id="pod-folders-of-the-node",
            field=f"{_TEMPLATE}.containers[*].volumeMounts",
            expression=_every_container(
                "container.?volumeMounts.orValue(dyn([])).all(mount, "
                "!(mount.name in variables.ofTheNode) || mount.?readOnly.orValue(false))"
            ),
            message="a directory of the node must be mounted read-only",
        ),
        Validation(
            rule_id="pod-token",
            field=f"{_TEMPLATE}.automountServiceAccountToken",
            expression=_template(
                "variables.pod.?automountServiceAccountToken == optional.of(false) || "
                f"({_OF_A_DATACENTER} && "
                "!(variables.pod.?serviceAccountName.orValue('') in ['', 'default']))"
            ),
            message=(
                "must be false: only a service of a datacenter that names a ServiceAccount "
                "mounts its token"
            ),
        ),
        Validation(
            rule_id="pod-privileges",
            field=f"{_TEMPLATE}.containers[*].securityContext",
            expression=_every_container(
                f"!{_SECURITY}.?privileged.orValue(false) && "
                f"!{_SECURITY}.?allowPrivilegeEscalation.orValue(true) && "
                f"{_SECURITY}.?capabilities.?drop.orValue(dyn([])).exists(one, one == 'ALL') && "
                f"size({_SECURITY}.?capabilities.?add.orValue(dyn([]))) == 0 && "
                f"{_SECURITY}.?procMount.orValue('Default') == 'Default' && "
                f"!{_SECURITY}.?windowsOptions.?hostProcess.orValue(false) && "
                "container.?ports.orValue(dyn([])).all(port, port.?hostPort.orValue(dyn(0)) == 0)"
            ),
            message=(
                "a container must drop all capabilities, must not gain privileges and must not"
                " open a port of its node"
            ),
        ),
        Validation(
            rule_id="pod-root",
            field=f"{_TEMPLATE}.securityContext",
            expression=(
                "variables.rootIsOpen || ("
                + _template(
                    f"{_POD}.?runAsNonRoot.orValue(false) && {_POD}.?runAsUser.orValue(dyn(1)) != 0"
                )
                + ") && "
                + _every_container(
                    f"{_SECURITY}.?runAsNonRoot.orValue(true) && "
                    f"{_SECURITY}.?runAsUser.orValue(dyn(1)) != 0"
                )
            ),
            message=(
                "must not run as root; correct spec.securityContext of the cluster, "
                f"{_RELAX_LEVEL}=baseline"
            ),
        ),
        Validation(
            rule_id="pod-kernel",
            field=f"{_TEMPLATE}.securityContext",
            expression=(
                "variables.kernelIsOpen || ("
                + _template(
                    f"{_POD}.?seccompProfile.?type.orValue('') in ['RuntimeDefault', 'Localhost']"
                    f" && {_POD}.?appArmorProfile.?type.orValue('') != 'Unconfined' && "
                    f"{_POD}.?sysctls.orValue(dyn([])).all(one, one.name in {list(SYSCTLS)!r}) && "
                    f"{_POD}.?seLinuxOptions.?type.orValue('') in {_SE_LINUX} && "
                    f"{_POD}.?seLinuxOptions.?user.orValue('') == '' && "
                    f"{_POD}.?seLinuxOptions.?role.orValue('') == ''"
                )
                + ") && "
                + _every_container(
                    f"{_SECURITY}.?seccompProfile.?type.orValue('') != 'Unconfined' && "
                    f"{_SECURITY}.?appArmorProfile.?type.orValue('') != 'Unconfined' && "
                    f"{_SECURITY}.?seLinuxOptions.?type.orValue('') in {_SE_LINUX}"
                )
            ),
            message=(
                "must keep seccomp and AppArmor on and use safe sysctls only; correct "
                f"spec.securityContext of the cluster, {_RELAX_LEVEL}=privileged"
            ),
        ),
    ),
)
