"""What the rules about spec.plugins refuse."""

from typing import Any

from tests.contracts.api.case import Broken, cases_of

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


_BROKEN: Broken = {
    ("plugin-source", "spec.plugins[0]"): {
        "a plugin without a source": plugins({"type": "secret", "name": "a", **PIN}),
        "a plugin with two sources": plugins({**IMAGE, "command": "plugin-b"}),
    },
    ("plugin-file-name", "spec.plugins[0].command"): {
        "a command outside of the folder": plugins({**COMMAND, "command": "../../bin/sh"}),
        "a command that is a path": plugins({**COMMAND, "command": "/bin/sh"}),
        "a command with arguments": plugins({**COMMAND, "command": "sh -c id"}),
    },
    ("plugin-file-name", "spec.plugins[0].binaryName"): {
        "a binary outside of the image's root": plugins({**IMAGE, "binaryName": "bin/plugin-b"})
    },
}

CASES = cases_of(_BROKEN)

_BROKEN_IN_CODE: Broken = {
    ("plugin-twice", "spec.plugins[1].name"): {
        "a name that is taken": plugins(COMMAND, {**COMMAND, "command": "other"})
    },
    ("plugin-folder", "spec.plugins[0].command"): {
        "a folder that is hidden": plugins(COMMAND, IMAGE)
    },
    ("plugin-pin", "spec.plugins[0].sha256sum"): {
        "a plugin without a checksum": plugins({**COMMAND, "sha256sum": None}),
        "an image without a checksum on a newer server": plugins(
            {**BARE, "version": "v1"}, version="2.7.2"
        ),
    },
    ("plugin-pin", "spec.plugins[0].version"): {
        "an image without a version on a newer server": plugins(
            {**BARE, "sha256sum": "0" * 64}, version="2.7.2"
        ),
        "a command without a version on a newer server": plugins(
            {**COMMAND, "version": None}, version="2.7.2"
        ),
    },
    ("plugin-version", "spec.plugins[0]"): {
        "plugins of a newer server": plugins(COMMAND, version="2.4.4")
    },
    ("plugin-kms-version", "spec.plugins[0].type"): {
        "a seal of a newer server": plugins({**COMMAND, "type": "kms"})
    },
}

CODE_CASES = cases_of(_BROKEN_IN_CODE)
