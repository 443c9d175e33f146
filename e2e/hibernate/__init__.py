"""Three servers put to sleep and woken: nothing runs, nothing is lost."""
