"""spec.securityContext and spec.workloadHardening: the security context of the server pods.

Uses contracts.api.meta. Part of ClusterSpec. The fields are those of a core/v1 PodSecurityContext,
with bounds; each replaces the operator's default of that field.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import ApiModel

_Id = Annotated[int, Field(ge=0, le=2**31 - 1)]
_Text = Annotated[str, Field(max_length=256)]


class SeccompProfile(ApiModel):
    """Seccomp profile of the pods."""

    type: Literal["RuntimeDefault", "Localhost", "Unconfined"] = Field(
        description="Type of the profile. Unconfined is rejected in profile Hardened."
    )
    localhost_profile: _Text | None = Field(
        default=None, description="File of the profile on the node, for type Localhost."
    )


class AppArmorProfile(ApiModel):
    """AppArmor profile of the pods."""

    type: Literal["RuntimeDefault", "Localhost", "Unconfined"] = Field(
        description="Type of the profile. Unconfined is rejected in profile Hardened."
    )
    localhost_profile: _Text | None = Field(
        default=None, description="Name of the profile on the node, for type Localhost."
    )


class SeLinuxOptions(ApiModel):
    """SELinux label of the pods."""

    user: _Text | None = Field(default=None, description="User of the label.")
    role: _Text | None = Field(default=None, description="Role of the label.")
    type: _Text | None = Field(default=None, description="Type of the label.")
    level: _Text | None = Field(default=None, description="Level of the label.")


class Sysctl(ApiModel):
    """Kernel parameter."""

    name: str = Field(description="Name of the parameter.", min_length=1, max_length=253)
    value: _Text = Field(description="Value of the parameter.")


class WindowsOptions(ApiModel):
    """Options of Windows pods. OpenBao runs on Linux, so they have no effect."""

    gmsa_credential_spec_name: _Text | None = Field(
        default=None, description="Name of the GMSA credential spec."
    )
    gmsa_credential_spec: Annotated[str, Field(max_length=4096)] | None = Field(
        default=None, description="Content of the GMSA credential spec."
    )
    run_as_user_name: _Text | None = Field(default=None, description="Windows user of the process.")
    host_process: bool | None = Field(default=None, description="Run as a host process.")


class PodSecurityContext(ApiModel):
    """Security context of the server pods. Each field replaces the operator's default."""

    run_as_user: _Id | None = Field(
        default=None,
        description="User id of the server; if not set, 100. 0 is rejected in profile Hardened.",
        examples=[100],
    )
    run_as_group: _Id | None = Field(
        default=None,
        description="Group id of the server; if not set, 1000. 0 is rejected in profile Hardened.",
        examples=[1000],
    )
    run_as_non_root: bool | None = Field(
        default=None,
        description="Do not start as root; if not set, true. Must not be false if Hardened.",
    )
    fs_group: _Id | None = Field(
        default=None,
        description="Group id that owns the volumes; if not set, 1000.",
        examples=[1000],
    )
    fs_group_change_policy: Literal["OnRootMismatch", "Always"] | None = Field(
        default=None, description="When the group of a volume is set; if not set, OnRootMismatch."
    )
    supplemental_groups: tuple[_Id, ...] | None = Field(
        default=None,
        description="Additional group ids of the server; if not set, none.",
        max_length=16,
    )
    supplemental_groups_policy: Literal["Merge", "Strict"] | None = Field(
        default=None,
        description="Whether the groups of the image are added; if not set, Kubernetes uses Merge.",
    )
    seccomp_profile: SeccompProfile | None = Field(
        default=None, description="Seccomp profile; if not set, RuntimeDefault."
    )
    app_armor_profile: AppArmorProfile | None = Field(
        default=None,
        description="AppArmor profile; if not set, see workloadHardening.appArmorEnabled.",
    )
    se_linux_options: SeLinuxOptions | None = Field(
        default=None, description="SELinux label; if not set, the container runtime chooses."
    )
    se_linux_change_policy: Literal["Recursive", "MountOption"] | None = Field(
        default=None,
        description="How volumes get the SELinux label; if not set, Kubernetes chooses.",
    )
    sysctls: tuple[Sysctl, ...] | None = Field(
        default=None,
        description="Kernel parameters; if not set, none. Rejected in profile Hardened.",
        max_length=16,
    )
    windows_options: WindowsOptions | None = Field(
        default=None, description="Options of Windows pods. Rejected in profile Hardened."
    )


class WorkloadHardening(ApiModel):
    """Additional hardening of the pods, on nodes that support it."""

    app_armor_enabled: bool = Field(
        default=False,
        description=(
            "Use the AppArmor profile of the container runtime. Requires nodes with AppArmor: "
            "other nodes reject the pods."
        ),
    )
