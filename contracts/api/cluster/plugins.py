"""spec.plugins: plugins in the server's configuration.

Uses contracts.api.meta. Part of ClusterSpec; rendered by contracts.hcl.stanzas.
"""

from typing import Annotated, Literal

from pydantic import Field

from contracts.api.meta import ApiModel

_Text = Annotated[str, Field(max_length=1024)]
_Variable = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*=", max_length=4096)]


class Plugin(ApiModel):
    """A plugin. Exactly one of `image` and `command` must be set."""

    type: Literal["secret", "auth", "database", "kms"] = Field(
        description=(
            "Type of the plugin. All types need OpenBao 2.5.0; kms needs 2.6.0, and is for "
            "spec.unseal."
        ),
        examples=["secret"],
    )
    name: str = Field(
        description="Name in the plugin catalog, unique per type.",
        examples=["aws"],
        pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$",
        min_length=1,
        max_length=128,
    )
    image: str | None = Field(
        default=None,
        description="OCI image to download the plugin from.",
        examples=["registry.example.com/openbao-plugin-secrets-aws"],
        pattern=r"^[A-Za-z0-9\[][A-Za-z0-9._:/@\[\]-]*$",
        max_length=512,
    )
    command: str | None = Field(
        default=None,
        description=(
            "File name, without a path, of a plugin in the plugin directory of the server image."
        ),
        examples=["openbao-plugin-secrets-aws"],
        min_length=1,
        max_length=255,
    )
    version: str | None = Field(
        default=None,
        description=(
            "Version of the plugin, and tag of the image. From OpenBao 2.7.0 on, optional for an "
            "image with a tag."
        ),
        examples=["v0.1.0"],
        min_length=1,
        max_length=128,
    )
    binary_name: str | None = Field(
        default=None,
        description="File name of the plugin in the image. Required before OpenBao 2.7.0.",
        examples=["openbao-plugin-secrets-aws"],
        min_length=1,
        max_length=255,
    )
    sha256sum: str | None = Field(
        default=None,
        alias="sha256sum",
        description=(
            "SHA-256 of the plugin's file, 64 hexadecimal digits. From OpenBao 2.7.0 on, optional "
            "for a command, and for an image with a digest."
        ),
        pattern=r"^[A-Fa-f0-9]{64}$",
        max_length=64,
    )
    args: tuple[_Text, ...] = Field(
        default=(),
        description="Arguments of the plugin's process. No shell expands them.",
        examples=[["-v"]],
        max_length=32,
    )
    env: tuple[_Variable, ...] = Field(
        default=(),
        description=(
            "Environment of the plugin's process, NAME=value. Put no secrets here: it is stored in "
            "a ConfigMap."
        ),
        examples=[["HTTPS_PROXY=http://proxy.example.com:3128"]],
        max_length=32,
    )
