"""Private training for PyTorch: per-example clipping, and optimisers with correlated noise.

These lines of a training loop change:

    training  = training_plan(
        examples=len(data), batch_size=100, epochs=10, parameters=model, epsilon=4.0, delta=1e-5)
    clipper   = PerExampleClipper(model, loss_fn, max_norm=training.clip)
    optimizer = DPSGD(model.parameters(), training, lr=0.5, momentum=0.9)
    for inputs, targets in DataLoader(data, batch_sampler=FixedOrderBatches(training)):
        optimizer.step(clipper(inputs, targets))

| module | responsibility |
|---|---|
| :mod:`~evertally.torch.accounting` | how much noise a run needs, and what it has spent |
| :mod:`~evertally.torch.sampling` | which examples a step sees |
| :mod:`~evertally.torch.clipping` | how much one example may move the sum of gradients |
| :mod:`~evertally.torch.batch` | the tensors of a batch |
| :mod:`~evertally.torch.hidden_state` | whether a model keeps state between calls |
| :mod:`~evertally.torch.noise` | rows of noise, in memory shared with torch |
| :mod:`~evertally.torch.optimizers` | how parameters follow from noisy sums |
| :mod:`~evertally.torch.private`, :mod:`~evertally.torch.state` | no noise is used twice; checkpoints |

Supported: parameters in float32 or float64, all on one device with float64 (CPU or CUDA); torch 2.4
or later.
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
