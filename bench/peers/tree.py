"""Tree aggregation as private learning codes it: one noise a level, the changed levels replaced at each step.

Both are written from their definitions, for one number a step and in plain floats: arrays of one number would be slower. The draws
are made a block at a time, which is quicker than one by one.
"""

import numpy as np

BLOCK = 1 << 14


def normals():
    """Standard normal draws as floats, without end."""
    generator = np.random.default_rng()
    while True:
        yield from generator.standard_normal(BLOCK).tolist()


def binary(draws):
    """The noise of each step: the sum over the nodes that the binary digits of its number name (Dwork et al., 2010)."""
    total, levels = 0.0, []
    while True:
        level = 0
        while level < len(levels) and levels[level] is not None:
            total = total - levels[level]
            levels[level] = None
            level += 1
        if level == len(levels):
            levels.append(None)
        levels[level] = next(draws)
        total = total + levels[level]
        yield total


def honaker(draws):
    """Each node re-estimated from its own subtree (Honaker, 2015): x + (left + right)/2, over 2 − 2^−height."""
    total, stack = 0.0, []
    while True:
        height, value = 0, next(draws)
        while stack and stack[-1][0] == height:
            left = stack.pop()
            total = total - left[1] / (2 - 0.5**height)
            value = next(draws) + (left[1] + value) / 2
            height += 1
        stack.append((height, value))
        total = total + value / (2 - 0.5**height)
        yield total


def decoder(tree, n: int) -> np.ndarray:
    """L, a column a draw, by running the code on unit vectors for draws."""
    units = iter(np.eye(2 * n))
    stream = tree(units)
    return np.array([next(stream) for _ in range(n)])


def mean_error(tree, n: int) -> float:
    """‖L‖²Δ²/n. A step stands in one node of every level."""
    return float((decoder(tree, n) ** 2).sum() / n * (n.bit_length()))
