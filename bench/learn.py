"""Times steps of private training on request, for `cargo xtask bench learn`.

Each line of input is a task and its arguments. Each line of output is one number: the seconds of a step, or an error
factor. Both sides use this program, each with the interpreter that has its packages. Plans, compilation and first steps are not timed.
"""

import os
import sys
import time

# The horizon of all runs. No run takes more steps.
HORIZON = 2048
BATCH = 256
# A model of several tensors.
TENSORS = 4
# A small network of about 10^5 parameters, for whole steps of training.
INPUTS, HIDDEN, CLASSES = 784, 128, 10
NETWORK_STEPS = 5
# Noise is made eight steps ahead. Runs of other lengths would include the cost of steps that they
# do not take.
WARM_STEPS = 8


def two_cores() -> None:
    """Limits both sides to two cores, if the system supports it."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    os.environ["RAYON_NUM_THREADS"] = os.environ["OMP_NUM_THREADS"] = "2"


class Torch:
    """Our optimisers, and torch's own."""

    def __init__(self) -> None:
        self.made = {}
        self.width = 0

    def keep(self, key, width, make):
        """Objects that are created before the timing starts are created once, and dropped when the width changes."""
        if width != self.width:
            self.made.clear()
            self.width = width
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]

    @staticmethod
    def plan(mechanism, width):
        from evertally.torch import training_plan

        return training_plan(
            examples=HORIZON * BATCH,
            batch_size=BATCH,
            parameters=width,
            epsilon=2.0,
            delta=1e-6,
            mechanism=mechanism,
            memory_limit=1 << 40,
        )

    @staticmethod
    def tensors(width):
        import torch

        owners = [torch.nn.Parameter(torch.zeros(width // TENSORS)) for _ in range(TENSORS)]
        return owners, torch.randn(width) * 1e-3

    def private(self, name, mechanism, width, steps):
        """A step of a private optimiser, given the sum of clipped gradients."""
        from evertally.torch import DPFTRL, DPSGD, ClippedSum

        def make():
            owners, flat = self.tensors(width)
            kind = {"dpsgd": DPSGD, "dpftrl": DPFTRL}[name]
            optimizer = kind(owners, self.plan(mechanism, width), lr=0.1, momentum=0.9)
            give = lambda: ClippedSum(tuple(owners), flat, examples=BATCH, max_norm=1.0)
            for _ in range(WARM_STEPS):
                optimizer.step(give())
            return optimizer, give

        optimizer, give = self.keep((name, mechanism), width, make)
        sums = [give() for _ in range(steps)]
        start = time.perf_counter()
        for sum_ in sums:
            optimizer.step(sum_)
        return (time.perf_counter() - start) / steps

    def plain(self, name, width, steps):
        """A step of `torch.optim.SGD`, given gradients."""
        import torch

        def make():
            owners, flat = self.tensors(width)
            for owner, gradient in zip(owners, flat.split(width // TENSORS)):
                owner.grad = gradient.clone()
            optimizer = torch.optim.SGD(owners, lr=0.1, momentum=0.9, fused=name == "fused")
            optimizer.step()
            return optimizer

        optimizer = self.keep(name, width, make)
        start = time.perf_counter()
        for _ in range(steps):
            optimizer.step()
        return (time.perf_counter() - start) / steps

    def noise(self, mechanism, width, steps):
        """The noise alone, written to an existing array."""
        import evertally
        import numpy as np

        def make():
            stream, row = evertally.NoiseStream(self.plan(mechanism, width).plan, dtype="float32"), np.zeros(width, "float32")
            for _ in range(WARM_STEPS):
                stream.next(out=row)
            return stream, row

        stream, row = self.keep(("noise", mechanism), width, make)
        start = time.perf_counter()
        for _ in range(steps):
            stream.next(out=row)
        return (time.perf_counter() - start) / steps

    def network(self, name):
        """A whole step on a small network: gradients, with clipping and noise depending on the name."""
        import torch
        from evertally.torch import DPSGD, PerExampleClipper
        from torch.nn.functional import cross_entropy

        def make():
            model = torch.nn.Sequential(
                torch.nn.Linear(INPUTS, HIDDEN), torch.nn.Tanh(), torch.nn.Linear(HIDDEN, CLASSES)
            )
            width = sum(parameter.numel() for parameter in model.parameters())
            inputs, targets = torch.randn(BATCH, INPUTS), torch.randint(CLASSES, (BATCH,))
            clipper = PerExampleClipper(model, cross_entropy, max_norm=1.0)
            if name == "plain":
                optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

                def step():
                    optimizer.zero_grad()
                    cross_entropy(model(inputs), targets).backward()
                    optimizer.step()

            elif name == "clipped":
                step = lambda: clipper(inputs, targets)
            else:
                optimizer = DPSGD(model.parameters(), self.plan("graded-square-root", width), lr=0.01, momentum=0.9)
                step = lambda: optimizer.step(clipper(inputs, targets))
            for _ in range(WARM_STEPS):
                step()
            return step

        step = self.keep(("network", name), 0, make)
        start = time.perf_counter()
        for _ in range(NETWORK_STEPS):
            step()
        return (time.perf_counter() - start) / NETWORK_STEPS

    def error(self, mechanism):
        """The mean error factor: the mean squared error at a noise multiplier of one."""
        plan = self.plan(mechanism, 1).plan
        return (plan.rmse / plan.noise_multiplier) ** 2


def answer(torch_side: Torch, words: list[str]) -> float:
    match words:
        case [("dpsgd" | "dpftrl") as name, mechanism, width, steps]:
            return torch_side.private(name, mechanism, int(width), int(steps))
        case [("sgd" | "fused") as name, width, steps]:
            return torch_side.plain(name, int(width), int(steps))
        case ["noise", mechanism, width, steps]:
            return torch_side.noise(mechanism, int(width), int(steps))
        case ["network", name]:
            return torch_side.network(name)
        case ["error", mechanism]:
            return torch_side.error(mechanism)
        case ["jax", *rest]:
            from peers import jax_learn

            return jax_learn.answer(rest)
    raise SystemExit(f"unknown task {words}")


def main() -> None:
    two_cores()
    torch_side = Torch()
    for line in sys.stdin:
        print(float(answer(torch_side, line.split())), flush=True)


if __name__ == "__main__":
    main()
