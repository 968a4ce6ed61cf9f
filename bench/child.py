"""What another process takes, for the benchmarks that compare whole programs."""

import os
import resource
import subprocess
import time


def measured(command: list[str], needs_peak: bool = True) -> tuple[str, float, float, float]:
    """The output of a process, its CPU seconds, its peak memory in bytes, and the seconds that it took."""
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    output = process.stdout.read()
    _, status, usage = os.wait4(process.pid, 0)
    took = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command[0]} failed: {process.returncode}")
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    if needs_peak and usage.ru_maxrss <= own:
        raise SystemExit(f"the peak memory of {command[0]} is not above the {own} KiB of its parent, so it is not known")
    return output, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, took
