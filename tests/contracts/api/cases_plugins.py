"""What the rules about spec.plugins refuse."""

from typing import Any

from tests.contracts.api.case import Case

PIN = {"version": "v1.0.0", "sha256sum": "0" * 64}
COMMAND = {"type": "secret", "name": "a", "command": "plugin-a", **PIN}
IMAGE = {
    "type": "secret",
    "name": "b",
    "image": "registry.example.com/b",
    "binaryName": "plugin-b",
    **PIN,
}

BARE = {"type": "secret", "name": "c", "image": "registry.example.com:5000/c"}


def plugins(*items: dict[str, Any], version: str = "2.5.5") -> dict[str, Any]:
    return {"version": version, "plugins": list(items)}


CASES: dict[str, Case] = {
    "a plugin from nowhere": Case(
        "plugin-source", "spec.plugins[0]", plugins({"type": "secret", "name": "a", **PIN})
    ),
    "a plugin from two places": Case(
        "plugin-source", "spec.plugins[0]", plugins({**IMAGE, "command": "plugin-b"})
    ),
    "a command outside of the folder": Case(
        "plugin-file-name",
        "spec.plugins[0].command",
        plugins({**COMMAND, "command": "../../bin/sh"}),
    ),
    "a command that is a path": Case(
        "plugin-file-name", "spec.plugins[0].command", plugins({**COMMAND, "command": "/bin/sh"})
    ),
    "a command with arguments": Case(
        "plugin-file-name", "spec.plugins[0].command", plugins({**COMMAND, "command": "sh -c id"})
    ),
    "a binary outside of the image's root": Case(
        "plugin-file-name",
        "spec.plugins[0].binaryName",
        plugins({**IMAGE, "binaryName": "bin/plugin-b"}),
    ),
}

CODE_CASES: dict[str, Case] = {
    "a name that is taken": Case(
        "plugin-twice", "spec.plugins[1].name", plugins(COMMAND, {**COMMAND, "command": "other"})
    ),
    "a folder that is hidden": Case(
        "plugin-folder", "spec.plugins[0].command", plugins(COMMAND, IMAGE)
    ),
    "a plugin without a checksum": Case(
        "plugin-pin", "spec.plugins[0].sha256sum", plugins({**COMMAND, "sha256sum": None})
    ),
    "an image without a version on a newer server": Case(
        "plugin-pin",
        "spec.plugins[0].version",
        plugins({**BARE, "sha256sum": "0" * 64}, version="2.7.2"),
    ),
    "an image without a checksum on a newer server": Case(
        "plugin-pin",
        "spec.plugins[0].sha256sum",
        plugins({**BARE, "version": "v1"}, version="2.7.2"),
    ),
    "a command without a version on a newer server": Case(
        "plugin-pin",
        "spec.plugins[0].version",
        plugins({**COMMAND, "version": None}, version="2.7.2"),
    ),
    "plugins of a newer server": Case(
        "plugin-version", "spec.plugins[0]", plugins(COMMAND, version="2.4.4")
    ),
    "a seal of a newer server": Case(
        "plugin-kms-version", "spec.plugins[0].type", plugins({**COMMAND, "type": "kms"})
    ),
}
