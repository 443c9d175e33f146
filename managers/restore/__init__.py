"""Restores of snapshots: the lifecycle of an OpenBaoRestore.

    observe -> decide -> action -> status, repeated until nothing is left to do at once

May use managers.operation_lock, managers.jobs, managers.bao, managers.context and what is below;
the state of servers comes in as `ServerSight`, from managers.cluster. `state_machine` holds all
transitions; the snapshot itself is sent by a job (`baoctl.jobs.restore`) and never from here.
Composed by baoctl.controllers.restore; called by runtime.controller.controller with one
OpenBaoRestore at a time.
"""
