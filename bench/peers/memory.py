"""The peak memory that a task adds to the process, as reported by the system."""


class Memory:
    def __init__(self) -> None:
        self.before = self.peak = 0

    def start(self) -> None:
        try:
            # Reset the peak.
            with open("/proc/self/clear_refs", "w") as file:
                file.write("5")
        except OSError:
            pass
        self.before = status("VmRSS:")

    def end(self) -> None:
        self.peak = max(status("VmHWM:") - self.before, 0)


def status(entry: str) -> int:
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) * 1024 for line in file if line.startswith(entry))
    except (OSError, StopIteration):
        return 0
