"""Users with OpenPGP keys, who get recovery shares. The keys are created and used with gpg."""

import base64
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

from e2e.rig.packages import ensure
from e2e.rig.progress import to_stderr

_BATCH = ("--batch", "--pinentry-mode", "loopback", "--passphrase", "")


@dataclass(frozen=True)
class Person:
    """A user with a key, in a folder of the test."""

    name: str
    home: Path

    @classmethod
    def with_new_key(cls, name: str, folder: Path) -> "Person":
        """Create the keys: Ed25519 to sign, Curve25519 to encrypt."""
        ensure({"gpg": "gnupg"}, to_stderr())
        home = folder / name
        home.mkdir(mode=0o700)
        person = cls(name, home)
        uid = f"{name} <{name}@example.com>"
        person._gpg("--quick-generate-key", uid, "future-default", "default", "never")
        return person

    @property
    def public_key(self) -> str:
        """The public key, in the format of spec.recoveryKeys."""
        return base64.b64encode(self._gpg("--export", self.name)).decode()

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the key, as gpg prints it."""
        listed = self._gpg("--with-colons", "--list-keys", self.name).decode()
        fields = next(line for line in listed.splitlines() if line.startswith("fpr:")).split(":")
        return fields[9].lower()

    def open(self, message: bytes) -> str:
        """Decrypt a message to this user."""
        return self._gpg("--decrypt", given=message).decode()

    def leave(self) -> None:
        """Stop the gpg agent of this user."""
        subprocess.run(
            ["gpgconf", "--homedir", str(self.home), "--kill", "all"],
            env={"PATH": os.environ["PATH"]},
            check=True,
        )

    def _gpg(self, *arguments: str, given: bytes = b"") -> bytes:
        done = subprocess.run(
            ["gpg", "--homedir", str(self.home), *_BATCH, *arguments],
            input=given,
            env={"PATH": os.environ["PATH"], "LANG": "C"},
            capture_output=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        return done.stdout
