"""Private training for PyTorch: per-example clipping, and optimisers with correlated noise.

Three lines of a training loop change:

    training  = training_plan(examples=len(data), batch_size=100, epochs=10, parameters=model, epsilon=4.0, delta=1e-5)
    clipper   = PerExampleClipper(model, loss_fn, max_norm=training.clip)
    optimizer = DPSGD(model.parameters(), training, lr=0.5, momentum=0.9)
    for inputs, targets in DataLoader(data, batch_sampler=FixedOrderBatches(training)):
        optimizer.step(clipper(inputs, targets))

| module | its one decision |
|---|---|
| :mod:`~evertally.torch.accounting` | how much noise a run needs, and what it has spent |
| :mod:`~evertally.torch.sampling` | which examples a step sees |
| :mod:`~evertally.torch.clipping` | how much one example may move the sum of gradients |
| :mod:`~evertally.torch.batch` | what a batch is |
| :mod:`~evertally.torch.hidden_state` | whether a model keeps state between calls |
| :mod:`~evertally.torch.noise` | the rows of noise, in memory that torch shares |
| :mod:`~evertally.torch.optimizers` | what is done with noisy sums |
| :mod:`~evertally.torch.private`, :mod:`~evertally.torch.state` | that no noise serves twice, and checkpoints |

Supported: parameters in float32 or float64, all on one device that has doubles (processor or CUDA); torch 2.4 or later.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as error:
    raise ImportError("evertally.torch needs PyTorch: pip install torch") from error

from evertally.torch.accounting import TrainingPlan, training_plan
from evertally.torch.clipping import ClippedSum, PerExampleClipper
from evertally.torch.optimizers import DPFTRL, DPSGD, CorrelatedNoise
from evertally.torch.sampling import FixedOrderBatches, check_loader

__all__ = [
    "DPFTRL",
    "DPSGD",
    "ClippedSum",
    "CorrelatedNoise",
    "FixedOrderBatches",
    "PerExampleClipper",
    "TrainingPlan",
    "check_loader",
    "training_plan",
]
