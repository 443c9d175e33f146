"""kubectl as a child process, with one environment and one kubeconfig."""

import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

from e2e.demo.errors import DemoError

_SHOWN = 2000


@dataclass(frozen=True, slots=True)
class Kubectl:
    """A kubectl binary and the variables it runs with."""

    binary: str
    environment: Mapping[str, str]

    def __call__(self, *args: str, stdin: str | None = None, timeout: float = 60.0) -> str:
        """Run one command and return its output.

        Raises DemoError with the output of kubectl, or after ``timeout`` seconds.
        """
        shown = f"kubectl {' '.join(args)}"
        try:
            done = subprocess.run(
                [self.binary, *args],
                input=stdin,
                capture_output=True,
                text=True,
                timeout=timeout,
                env=dict(self.environment),
                check=False,
            )
        except FileNotFoundError as error:
            raise DemoError(f"{self.binary} is not installed") from error
        except subprocess.TimeoutExpired as error:
            raise DemoError(f"`{shown}` did not end within {timeout:.0f} s") from error
        if done.returncode != 0:
            output = (done.stderr or done.stdout).strip()
            raise DemoError(f"`{shown}` failed: {output[-_SHOWN:]}")
        return done.stdout

    def start(self, *args: str) -> "subprocess.Popen[str]":
        """Start a long-running command with stdout and stderr in one pipe; the caller stops it."""
        return subprocess.Popen(
            [self.binary, *args],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=dict(self.environment),
        )


def end(process: "subprocess.Popen[str]", grace: float = 2.0) -> None:
    """Stop a child process that was started here."""
    process.terminate()
    try:
        process.wait(grace)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    if process.stdout is not None:
        process.stdout.close()
