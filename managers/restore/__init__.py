"""Restores of snapshots: the lifecycle of an OpenBaoRestore.

    observe -> decide -> action -> status, repeated until the restore has to wait

May use managers.operation_lock, managers.jobs, managers.bao, managers.context and lower layers.
managers.cluster reads the state of the servers and implements `RestoredServersReader`.
`state_machine` holds all transitions. Only a job (`baoctl.jobs.restore`) sends the snapshot, never
the operator. Composed by baoctl.controllers.restore; called by runtime.controller.controller with
one OpenBaoRestore at a time.
"""
