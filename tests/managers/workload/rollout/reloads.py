"""A pod whose files have changed."""

from managers.workload.rollout.reload import Files
from tests import gen

OLD, NEW = Files("old", "c1", "a").digest, Files("new", "c1", "a").digest
POD = gen.pod(1).with_files(OLD).ready()
