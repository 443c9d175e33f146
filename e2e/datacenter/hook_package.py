"""An installed package with a hook, which returns the services in a file."""

from dataclasses import dataclass
from pathlib import Path

HOOK = "probe-hook"
_HOOK = """
from pathlib import Path
import json

class Probe:
    name = "probe-hook"
    priority = 5
    async def services(self, ctx, datacenter):
        content = Path({file!r}).read_text()
        if content == "broken":
            raise RuntimeError("the inventory is away")
        return json.loads(content)
"""


@dataclass(frozen=True, slots=True)
class Package:
    """An installed package with a hook, in a folder."""

    folder: Path

    @property
    def file(self) -> Path:
        """The file of the services as JSON; with the content "broken" the hook fails."""
        return self.folder / "answer"

    def install(self) -> None:
        """Write the package as an installer does."""
        about = self.folder / "probe_hooks-1.0.dist-info"
        about.mkdir()
        (about / "METADATA").write_text("Metadata-Version: 2.1\nName: probe-hooks\nVersion: 1.0\n")
        (about / "entry_points.txt").write_text(
            "[openbao_operator.datacenter_hooks]\nprobe = probe_hooks:Probe\n"
        )
        (self.folder / "probe_hooks.py").write_text(_HOOK.format(file=str(self.file)))
