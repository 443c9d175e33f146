"""Putting a snapshot back, once: the whole life of an OpenBaoRestore.

    observe -> plan -> act -> status, again, until nothing is left to do at once

May use managers.operation_lock, managers.jobs, managers.bao, managers.context and what is below;
what it needs to know of servers comes in as `Servers`, from managers.cluster. `plan` is the table
of all that may happen; the snapshot itself is sent by a job (`baoctl.jobs.restore`) and never from
here. Composed by baoctl.process.wiring; called by runtime.controller.controller with one
OpenBaoRestore at a time.
"""
