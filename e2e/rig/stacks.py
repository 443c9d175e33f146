"""Stacks of Go programs, for the error of a command that does not end."""

import re
import signal
import subprocess

DUMP = "/debug/pprof/goroutine?debug=2"
"""The stacks of kube-apiserver, one text per goroutine."""

_MAIN = re.compile(r"^goroutine 1 ")
# Writes run in a goroutine of their own; a watch is a list, and has no end.
_REQUEST = re.compile(r"endpoints/handlers(/finisher\.finishRequest in|\.getResourceHandler)")
_GRACE_SECONDS = 10.0
_SHOWN = 12_000


def stack_of_main(process: subprocess.Popen[str]) -> str:
    """End a Go program with SIGQUIT, and return its output and the calls of its main goroutine."""
    process.send_signal(signal.SIGQUIT)
    try:
        stdout, stderr = process.communicate(timeout=_GRACE_SECONDS)
    except subprocess.TimeoutExpired:
        return "no answer to SIGQUIT"
    return f"{stdout}\n{_calls(stderr, _MAIN)}"


def stacks_of_requests(dump: str) -> str:
    """Return the calls of the writes and the gets that the API server is handling."""
    return _calls(dump, _REQUEST)


def _calls(dump: str, pattern: re.Pattern[str]) -> str:
    """Return the goroutines that match, without arguments and places in files."""
    goroutines = [
        "\n".join(
            re.sub(r"\(.?0x.*", "", line)
            for line in goroutine.splitlines()
            if not line.startswith("\t")
        )
        for goroutine in dump.split("\n\n")
        if pattern.search(goroutine)
    ]
    return "\n\n".join(goroutines)[:_SHOWN]
