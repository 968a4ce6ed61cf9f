"""jax_privacy's correlated-noise privatizer, chained with optax's SGD: compiled steps, with one call per step as in a training loop."""

import time

import jax
import jax.numpy as jnp
import optax
from jax_privacy import clipping, noise_addition
from jax_privacy.matrix_factorization import buffered_toeplitz, toeplitz
from learn import BATCH, CLASSES, HIDDEN, HORIZON, INPUTS, NETWORK_STEPS, TENSORS, WARM_STEPS

from peers import jax_stream

jax.config.update("jax_enable_x64", True)

made = {}
widths = set()


def matrix(name: str):
    """C⁻¹ as it is streamed: `blt:4` has four buffers, `banded:8` is the square root with eight bands."""
    kind, size = name.split(":")
    if kind == "banded":
        return toeplitz.inverse_as_streaming_matrix(toeplitz.optimal_max_error_strategy_coefs(int(size)).astype("float32"))
    found = jax_stream.blt(HORIZON, int(size), "mean")
    single = buffered_toeplitz.BufferedToeplitz.build(found.buf_decay, found.output_scale, dtype="float32")
    return single.inverse_as_streaming_matrix()


def privatizer(name: str):
    return noise_addition.matrix_factorization_privatizer(
        matrix(name), stddev=1.0, prng_key=jax.random.key(time.time_ns()), dtype="float32"
    )


def keep(key, width: int, make):
    if width not in widths:
        made.clear()
        widths.clear()
        widths.add(width)
    if key not in made:
        made[key] = make()
    return made[key]


class Step:
    """A compiled step whose state and parameters stay in place."""

    def __init__(self, transformation, parameters, gradients) -> None:
        def step(gradients, state, parameters):
            updates, state = transformation.update(gradients, state, parameters)
            return state, optax.apply_updates(parameters, updates)

        self.gradients = gradients
        # Two parts of the state must not share donated memory.
        self.state = jax.tree.map(jnp.copy, transformation.init(parameters))
        self.parameters = parameters
        self.step = jax.jit(step, donate_argnums=(1, 2))
        self.run(WARM_STEPS)

    def run(self, steps: int) -> float:
        start = time.perf_counter()
        for _ in range(steps):
            self.state, self.parameters = self.step(self.gradients, self.state, self.parameters)
        jax.block_until_ready(self.parameters)
        return (time.perf_counter() - start) / steps


def optimizer_step(name: str, width: int, steps: int) -> float:
    """Noise, momentum and the update, given the sum of clipped gradients."""

    def make():
        parameters = [jnp.zeros(width // TENSORS, "float32") for _ in range(TENSORS)]
        gradients = [jax.random.normal(jax.random.key(i), (width // TENSORS,), "float32") * 1e-3 for i in range(TENSORS)]
        chain = optax.chain(privatizer(name), optax.scale(1 / BATCH), optax.sgd(0.1, momentum=0.9))
        return Step(chain, parameters, gradients)

    return keep(name, width, make).run(steps)


def network(name: str) -> float:
    """A whole step on a small network, including clipping."""

    def make():
        keys = jax.random.split(jax.random.key(0), 4)
        parameters = {
            "first": jax.random.normal(keys[0], (INPUTS, HIDDEN), "float32") * 0.03,
            "shift": jnp.zeros(HIDDEN, "float32"),
            "second": jax.random.normal(keys[1], (HIDDEN, CLASSES), "float32") * 0.1,
            "bias": jnp.zeros(CLASSES, "float32"),
        }
        inputs = jax.random.normal(keys[2], (BATCH, INPUTS), "float32")
        targets = jax.random.randint(keys[3], (BATCH,), 0, CLASSES)

        def loss(parameters, inputs, targets):
            hidden = jnp.tanh(inputs @ parameters["first"] + parameters["shift"])
            scores = hidden @ parameters["second"] + parameters["bias"]
            return optax.softmax_cross_entropy_with_integer_labels(scores, targets).mean()

        gradient = clipping.clipped_grad(loss, l2_clip_norm=1.0, batch_argnums=(1, 2))
        chain = optax.chain(privatizer(name), optax.scale(1 / BATCH), optax.sgd(0.01, momentum=0.9))

        class Training(Step):
            def __init__(self) -> None:
                def step(batch, state, parameters):
                    updates, state = chain.update(gradient(parameters, *batch), state, parameters)
                    return state, optax.apply_updates(parameters, updates)

                self.gradients = (inputs, targets)
                self.state = jax.tree.map(jnp.copy, chain.init(parameters))
                self.parameters = parameters
                self.step = jax.jit(step, donate_argnums=(1, 2))
                self.run(WARM_STEPS)

        return Training()

    return keep(("network", name), 0, make).run(NETWORK_STEPS)


def error(name: str) -> float:
    """The mean error factor by the library's own formulas."""
    kind, size = name.split(":")
    if kind == "blt":
        return jax_stream.blt_error(jax_stream.blt(HORIZON, int(size), "mean"), HORIZON)
    coefficients = toeplitz.optimal_max_error_strategy_coefs(int(size))
    errors = toeplitz.per_query_error(strategy_coef=coefficients, n=HORIZON)
    return float(jnp.mean(errors) * toeplitz.sensitivity_squared(coefficients, HORIZON))


def answer(words: list[str]) -> float:
    match words:
        case ["step", name, width, steps]:
            return optimizer_step(name, int(width), int(steps))
        case ["network", name]:
            return network(name)
        case ["error", name]:
            return error(name)
    raise SystemExit(f"unknown task {words}")
