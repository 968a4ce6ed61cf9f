"""Protection against using noise twice: sealed checkpoints, and a record of the steps that this
process has released.

**Definition.** A seal is a BLAKE2b digest over everything in a checkpoint. For every key and plan,
the record holds the number of released steps, and for each step a keyed digest of a sample of its
gradients.

**Guarantee.** A checkpoint that was truncated, altered, or made by another plan is refused before
anything changes. A step that this process has released is not released again, because for other
gradients the difference of the two releases would be free of noise. If the caller declares a
replay, the step is released again if the sample is the same; gradients that differ in few
coordinates can pass this test. The record ends with the process. Across processes the same holds if
a run resumes from its latest checkpoint with the batches that come next
(:class:`~evertally.torch.FixedOrderBatches` restores them), because the same batches give the same
releases.

**Cost.** A checkpoint is hashed when it is made and when it is read. A step hashes about 4,096
coordinates.
"""

from __future__ import annotations

import hashlib
import secrets
import threading
from typing import Any

import numpy as np
import torch
from torch import Tensor

from evertally import BadState

FORMAT = 1
_SAMPLE = 4096


def seal(content: Any) -> Tensor:
    """A digest of nested dictionaries, lists, tensors and plain values, as a tensor of bytes."""
    digest = hashlib.blake2b(digest_size=32)
    _absorb(digest, content)
    return to_tensor(digest.digest())


def _absorb(digest: Any, content: Any) -> None:
    """Adds every part with its type and length, so that different contents give different input to
    the hash.
    """
    if isinstance(content, Tensor):
        array = content.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()
        digest.update(f"tensor {content.dtype} {tuple(content.shape)}\n".encode())
        digest.update(array)
    elif isinstance(content, dict):
        digest.update(f"dict {len(content)}\n".encode())
        for key in sorted(content, key=lambda key: (type(key).__name__, str(key))):
            _absorb(digest, key)
            _absorb(digest, content[key])
    elif isinstance(content, (list, tuple)):
        digest.update(f"list {len(content)}\n".encode())
        for item in content:
            _absorb(digest, item)
    else:
        text = f"{type(content).__name__} {content!r}".encode()
        digest.update(f"plain {len(text)}\n".encode() + text)


def to_tensor(data: bytes) -> Tensor:
    """Bytes as a tensor that ``torch.load(weights_only=True)`` reads."""
    return torch.from_numpy(np.frombuffer(data, dtype=np.uint8).copy())


def to_bytes(section: dict[str, Any], name: str) -> bytes:
    """The bytes that a checkpoint holds under a name."""
    tensor = section.get(name)
    if not isinstance(tensor, Tensor) or tensor.dtype != torch.uint8 or tensor.ndim != 1:
        raise BadState(f"the checkpoint has no bytes under {name!r}")
    return tensor.cpu().numpy().tobytes()


def open_checkpoint(state: Any) -> dict[str, Any]:
    """The private section of a checkpoint, after its seal was verified."""
    if not isinstance(state, dict) or not isinstance(state.get("private"), dict):
        raise BadState("this is not a checkpoint of a private optimiser: it holds no noise state")
    section: dict[str, Any] = state["private"]
    if section.get("format") != FORMAT:
        raise BadState("the checkpoint is of another version")
    sealed = dict(state, private={name: value for name, value in section.items() if name != "seal"})
    if to_bytes(section, "seal") != to_bytes({"seal": seal(sealed)}, "seal"):
        raise BadState("the checkpoint is damaged or was altered")
    return section


class ReleaseRecord:
    """The steps that this process has released, by key and plan."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._secret = secrets.token_bytes(32)
        self._steps: dict[bytes, list[bytes]] = {}

    def check_start(self, name: bytes, step: int, *, replay: bool) -> None:
        """Refuses to start before a released step, unless the caller declares a replay."""
        with self._lock:
            released = len(self._steps.get(name, []))
        if step < released and not replay:
            raise BadState(
                f"step {step} lies before step {released}, which this process has already released under the "
                "same key: the same noise on other gradients would cancel, and the budget would be spent "
                "twice. Resume from a later state, use a fresh key, or pass replay=True to repeat exactly "
                "the same steps"
            )

    def admit(self, name: bytes, step: int, gradients: Tensor, *, replay: bool) -> bytes:
        """The digest to record for this step, or an error if the step was released for other gradients."""
        stride = max(1, gradients.numel() // _SAMPLE)
        sample = gradients[::stride].to("cpu", torch.float64).contiguous().numpy()
        digest = hashlib.blake2b(sample.tobytes(), digest_size=16, key=self._secret).digest()
        with self._lock:
            steps = self._steps.get(name, [])
            known = steps[step] if step < len(steps) else None
        if known is not None and not replay:
            self.check_start(name, step, replay=False)
        # Of a step of an earlier process only the number is known, and the caller is trusted.
        if known and known != digest:
            raise BadState(
                f"step {step + 1} was released for other gradients: this is not a replay, and no step "
                "was taken"
            )
        return digest

    def enter(self, name: bytes, step: int, digest: bytes) -> None:
        """Records a step that is about to be released."""
        with self._lock:
            steps = self._steps.setdefault(name, [])
            if step < len(steps):
                return
            # An earlier process released these steps.
            steps.extend([b""] * (step - len(steps)))
            steps.append(digest)


#: One record for the process, because a key may be used by several optimisers.
RELEASES = ReleaseRecord()
