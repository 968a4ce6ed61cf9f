"""Tree aggregation as in private learning code: one noise value per level, with the changed levels replaced at each step.

Both are written from their definitions, for one number per step and in plain floats, because arrays of one number would
be slower. Draws are made in blocks, which is faster than one by one.
"""

import numpy as np

BLOCK = 1 << 14


def normals():
    """An endless sequence of standard normal draws as floats."""
    generator = np.random.default_rng()
    while True:
        yield from generator.standard_normal(BLOCK).tolist()


def binary(draws):
    """The noise of each step: the sum over the nodes given by the binary digits of its number (Dwork et al., 2010)."""
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
    """L with one column per draw, by running the code with unit vectors as draws."""
    units = iter(np.eye(2 * n))
    stream = tree(units)
    return np.array([next(stream) for _ in range(n)])


def mean_error(tree, n: int) -> float:
    """‖L‖²Δ²/n. A step is in one node of every level."""
    return float((decoder(tree, n) ** 2).sum() / n * (n.bit_length()))
