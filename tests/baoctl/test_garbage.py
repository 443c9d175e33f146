"""The garbage collector during a verb: no collection of imports, and as usual in a pod."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from baoctl.process.operator import GC_THRESHOLDS
from e2e.rig.paths import REPOSITORY
from e2e.start_up.__main__ import unreachable_kubeconfig

PROGRAM: Final = """
import atexit, gc, os, sys
import baoctl.garbage
from baoctl.__main__ import main

def report():
    changed = gc.get_threshold() != usual
    print(bool(collections), changed, gc.get_freeze_count() > 10_000, *gc.get_threshold())

os._exit = sys.exit
collections, usual = [], gc.get_threshold()
gc.callbacks.append(lambda phase, info: collections.append(phase))
atexit.register(report)
main()
"""
"""Calls a verb. Prints whether garbage was collected, whether the thresholds differ from those of
Python, whether objects were frozen before the end of the interpreter, and the thresholds. A Job
ends with os._exit."""
SAMPLE: Final = "config/samples/quickstart.yaml"


def collector_of(words: str, kubeconfig: str = os.devnull) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *words.split()],
        cwd=REPOSITORY,
        env={**os.environ, "KUBECONFIG": kubeconfig, "KUBERNETES_SERVICE_HOST": ""},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    return done.stdout.splitlines()[-1].split()


@pytest.mark.parametrize("words", ["explain steps", f"render -f {SAMPLE}", f"plan -f {SAMPLE}"])
def test_a_verb_neither_collects_garbage_nor_scans_its_objects_at_the_end(
    words: str, tmp_path: Path
) -> None:
    collected, _, frozen, *_ = collector_of(words, str(unreachable_kubeconfig(tmp_path)))
    assert (collected, frozen) == ("False", "True")


@pytest.mark.parametrize("words", ["provision", "job backup", "job upgrade"])
def test_a_process_of_a_pod_collects_as_usual_without_the_objects_of_its_imports(
    words: str,
) -> None:
    _, changed, frozen, *_ = collector_of(words)
    assert (changed, frozen) == ("False", "True")


def test_the_operator_collects_with_its_own_thresholds() -> None:
    *_, frozen, young, middle, old = collector_of("run")
    assert (frozen, young, middle, old) == ("True", *map(str, GC_THRESHOLDS))
