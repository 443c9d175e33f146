"""spec.securityContext and spec.workloadHardening: the confinement of the server pods.

Uses contracts.api.meta. Part of ClusterSpec. The fields are those of a core/v1 PodSecurityContext,
bounded; what they say replaces, field by field, what the operator would write.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import ApiModel

_Id = Annotated[int, Field(ge=0, le=2**31 - 1)]
_Text = Annotated[str, Field(max_length=256)]


class SeccompProfile(ApiModel):
    """Which system calls are allowed."""

    type: Literal["RuntimeDefault", "Localhost", "Unconfined"] = Field(
        description="Kind of profile. Unconfined is refused in profile Hardened."
    )
    localhost_profile: _Text | None = Field(
        default=None, description="File of the profile on the node, for type Localhost."
    )


class AppArmorProfile(ApiModel):
    """The AppArmor profile of the pods."""

    type: Literal["RuntimeDefault", "Localhost", "Unconfined"] = Field(
        description="Kind of profile. Unconfined is refused in profile Hardened."
    )
    localhost_profile: _Text | None = Field(
        default=None, description="Name of the profile on the node, for type Localhost."
    )


class SeLinuxOptions(ApiModel):
    """The SELinux label of the pods."""

    user: _Text | None = Field(default=None, description="User of the label.")
    role: _Text | None = Field(default=None, description="Role of the label.")
    type: _Text | None = Field(default=None, description="Type of the label.")
    level: _Text | None = Field(default=None, description="Level of the label.")


class Sysctl(ApiModel):
    """One kernel parameter."""

    name: str = Field(description="Name of the parameter.", min_length=1, max_length=253)
    value: _Text = Field(description="Value of the parameter.")


class WindowsOptions(ApiModel):
    """Options of Windows pods; OpenBao runs on Linux, so they only pass through."""

    gmsa_credential_spec_name: _Text | None = Field(
        default=None, description="Name of the GMSA credential spec."
    )
    gmsa_credential_spec: Annotated[str, Field(max_length=4096)] | None = Field(
        default=None, description="Content of the GMSA credential spec."
    )
    run_as_user_name: _Text | None = Field(default=None, description="Windows user of the process.")
    host_process: bool | None = Field(default=None, description="Run as a host process.")


class PodSecurityContext(ApiModel):
    """Confinement of the server pods; a field that is set replaces the operator's own."""

    run_as_user: _Id | None = Field(
        default=None,
        description="User id of the server; left out, 100. 0 is refused in profile Hardened.",
        examples=[100],
    )
    run_as_group: _Id | None = Field(
        default=None,
        description="Group id of the server; left out, 1000. 0 is refused in profile Hardened.",
        examples=[1000],
    )
    run_as_non_root: bool | None = Field(
        default=None,
        description="Refuse to start as root; left out, true. Must not be false if Hardened.",
    )
    fs_group: _Id | None = Field(
        default=None, description="Group id that owns the volumes; left out, 1000.", examples=[1000]
    )
    fs_group_change_policy: Literal["OnRootMismatch", "Always"] | None = Field(
        default=None, description="When the group of a volume is set; left out, OnRootMismatch."
    )
    supplemental_groups: tuple[_Id, ...] | None = Field(
        default=None, description="More group ids of the server; left out, none.", max_length=16
    )
    supplemental_groups_policy: Literal["Merge", "Strict"] | None = Field(
        default=None,
        description="Whether groups of the image count, too; left out, Kubernetes uses Merge.",
    )
    seccomp_profile: SeccompProfile | None = Field(
        default=None, description="Allowed system calls; left out, RuntimeDefault."
    )
    app_armor_profile: AppArmorProfile | None = Field(
        default=None,
        description="AppArmor profile; left out, see workloadHardening.appArmorEnabled.",
    )
    se_linux_options: SeLinuxOptions | None = Field(
        default=None, description="SELinux label; left out, the container runtime's choice."
    )
    se_linux_change_policy: Literal["Recursive", "MountOption"] | None = Field(
        default=None,
        description="How volumes get the SELinux label; left out, Kubernetes chooses.",
    )
    sysctls: tuple[Sysctl, ...] | None = Field(
        default=None,
        description="Kernel parameters; left out, none. Refused in profile Hardened.",
        max_length=16,
    )
    windows_options: WindowsOptions | None = Field(
        default=None, description="Options of Windows pods. Refused in profile Hardened."
    )


class WorkloadHardening(ApiModel):
    """Further confinement of the pods, on nodes that support it."""

    app_armor_enabled: bool = Field(
        default=False,
        description=(
            "Use the AppArmor profile of the container runtime. Requires nodes with AppArmor: "
            "other nodes refuse the pods."
        ),
    )
