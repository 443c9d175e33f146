"""An operator that freezes itself between two callbacks of its event loop.

    python -m e2e.harness.freezing_operator run --kubeconfig FILE --port 0

SIGUSR1 freezes it, SIGCONT resumes it. A SIGSTOP from outside may fall between the last check of
the Lease and the system call that sends a request; no process can prevent that write
(runtime.leader.leader).
"""

import asyncio
import os
import signal

from baoctl.cli import main


class Policy(asyncio.DefaultEventLoopPolicy):
    """Makes event loops that freeze this process at SIGUSR1."""

    def new_event_loop(self) -> asyncio.AbstractEventLoop:
        """Return an event loop; must be called in the main thread, as in the operator."""
        loop = super().new_event_loop()
        loop.add_signal_handler(signal.SIGUSR1, os.kill, os.getpid(), signal.SIGSTOP)
        return loop


if __name__ == "__main__":
    asyncio.set_event_loop_policy(Policy())
    main()
