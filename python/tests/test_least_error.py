"""Certificates, bounds, batches, and what several mechanisms cost."""

import pickle

import numpy as np
import pytest

import evertally


def test_certificates_prove_their_bounds_and_their_factors_attain_them() -> None:
    generator = np.random.default_rng(5)
    real = generator.normal(size=(6, 9))
    matrices = [np.tril(np.ones((12, 12))), real, real + 1j * generator.normal(size=(6, 9)), np.asfortranarray(real), real.T]
    for matrix in matrices:
        for objective in ("mean", "worst"):
            found = evertally.gamma(matrix, objective=objective)
            decoder, encoder = found.factors()
            assert np.allclose(decoder @ encoder, matrix, atol=1e-7)
            columns = np.max(np.linalg.norm(encoder, axis=0))
            rows = np.linalg.norm(decoder, axis=1)
            attained = columns * (np.linalg.norm(rows) if objective == "mean" else np.max(rows))
            assert found.lower <= attained * (1 + 1e-9) and attained <= found.upper * (1 + 1e-9)
            lower, upper = found.verify()
            assert found.lower <= lower <= upper <= found.upper and found.gap < 1e-6
            assert found.shape == matrix.shape and found.objective == objective and found.iterations > 0
            assert (found.row_weights is None) == (objective == "mean")
            assert found.column_weights.shape == (matrix.shape[1],)


def test_workloads_need_not_be_written_out() -> None:
    written = evertally.gamma(np.tril(np.ones((64, 64))))
    named = evertally.gamma("prefix-sum", 64)
    assert named.lower == pytest.approx(written.lower, rel=1e-7)
    assert evertally.gamma(("decay", 0.9), 64).upper < named.lower
    assert evertally.gamma(("window", 4), 64).upper < named.lower


def test_matrices_that_cannot_be_used_are_refused() -> None:
    for matrix in (np.zeros((0, 3)), np.zeros(3), np.zeros((2, 2, 2)), np.array([[np.nan]]), "median", [["a"]], object()):
        with pytest.raises(evertally.BadParameter):
            evertally.gamma(matrix)  # type: ignore[arg-type]
    with pytest.raises(evertally.BadParameter, match="horizon"):
        evertally.gamma("prefix-sum")
    with pytest.raises(evertally.BadParameter, match="horizon"):
        evertally.gamma(np.eye(2), 2)
    with pytest.raises(evertally.BadParameter, match="objective"):
        evertally.gamma(np.eye(2), objective="median")  # type: ignore[arg-type]
    with pytest.raises(evertally.BadParameter, match="gap"):
        evertally.gamma(np.eye(2), relative_gap=0.0)


def test_bounds_are_below_plans_and_need_their_own_certificate() -> None:
    certificate = evertally.gamma("prefix-sum", 256)
    bounds = {(bound.group, bound.name): bound for bound in evertally.bounds(256, 1.0, 1e-6, certificate=certificate)}
    least = bounds["matrix-mechanism", "certified"].value
    assert least is not None
    for plan in evertally.compare(256, 1.0, 1e-6, arithmetic="float").plans.values():
        assert plan.rmse**2 >= least * (1 - 1e-9)
    without = {(bound.group, bound.name): bound for bound in evertally.bounds(256)}["matrix-mechanism", "certified"]
    assert without.value is None and "certificate" in (without.reason or "")
    for wrong in (evertally.gamma("prefix-sum", 255), evertally.gamma(np.eye(256)), evertally.gamma("prefix-sum", 256, objective="worst")):
        with pytest.raises(evertally.BadParameter, match="certificate"):
            evertally.bounds(256, certificate=wrong)
    with pytest.raises(evertally.BadParameter):
        evertally.bounds(0)


def test_batches_answer_all_queries() -> None:
    """The answers of 4000 fresh keys: their mean squared error, over its expectation, is within 6
    of its standard deviations but for a chance of 1e-8.
    """
    queries = np.tril(np.ones((4, 4)))
    plan = evertally.BatchPlan(queries, 1.0, 1e-6)
    data = np.array([5.0, 0.0, 2.0, 9.0])
    errors = np.array([plan.answer(data).values - queries @ data for _ in range(4000)])
    ratio = np.mean(errors**2) / plan.mean_squared_error
    covariance = plan.noise_scale**2 * plan.decoder @ plan.decoder.T
    deviation = np.sqrt(2 * np.trace(covariance @ covariance) / 4000) / np.trace(covariance)
    assert abs(ratio - 1) < 6 * deviation < 1 - 0.85**2, "which noise that is 15 % short would exceed"
    assert np.allclose(plan.standard_errors**2, np.diag(covariance)) and plan.shape == (4, 4)
    answers = plan.answer(data, evertally.NoiseKey.insecure_from_seed(1))
    again = plan.answer(data, evertally.NoiseKey.insecure_from_seed(1))
    assert np.array_equal(answers.values, again.values) and answers.steps is None
    assert np.array_equal(answers.standard_errors, plan.standard_errors)
    assert plan.certificate.shape == (4, 4) and plan.spend().mu > 0
    with pytest.raises(evertally.BadParameter, match="data"):
        plan.answer(np.zeros(3))
    with pytest.raises(evertally.BadParameter, match="data"):
        plan.answer(np.zeros(4, dtype=np.float32))
    with pytest.raises(evertally.Unsupported):
        evertally.BatchPlan(queries, 1.0, 0.0)
    with pytest.raises(evertally.BadParameter):
        evertally.BatchPlan(np.zeros((2, 2)))
    with pytest.raises(evertally.BadParameter, match="of real numbers"):
        evertally.BatchPlan(np.array([[1.0, 1j]]))


def test_spends_add_up() -> None:
    one, other = evertally.plan(10, rho=0.25).spend(), evertally.plan(10, 0.5, 0.0).spend()
    both = one + other
    assert both.mu_squared == pytest.approx(0.5, rel=1e-6) and both.pure_epsilon == pytest.approx(0.5)
    assert both.rho > one.rho and both.epsilon(1e-6) > one.epsilon(1e-6) and both.delta(3.0) > one.delta(3.0)
    assert one == evertally.plan(20, rho=0.25, arithmetic="float").spend() or one.variation > 0
    assert evertally.Spend(0.25, 0.1) == evertally.Spend(mu_squared=0.25, pure_epsilon=0.1)
    with pytest.raises(evertally.BadParameter):
        evertally.Spend(-1.0)
    with pytest.raises(evertally.BadParameter):
        one.epsilon(2.0)
    with pytest.raises(TypeError):
        one + 1  # type: ignore[operator]


def test_a_person_bounded_to_one_step_is_no_event() -> None:
    """A plan with max_steps=1 was an event to every odometer. If one event of a person is left out,
    another one may count in another step: that is a replacement, which costs more than the budget
    of an event covers.
    """
    bounded = evertally.plan(10, rho=0.1, max_steps=1, keys=["a", "b"])
    compared = evertally.compare(10, rho=0.1, max_steps=1).best
    assert compared is not None and evertally.plan(10, rho=0.1, max_steps=None).unit == "event"
    copies = [bounded, bounded.with_stream("s"), bounded.with_keys(["c"]), bounded._part(["a"]), bounded._with_definition(b"d"), compared]
    for plan in [*copies, *(pickle.loads(pickle.dumps(plan)) for plan in copies)]:
        assert plan.unit == "person"
        events = evertally.Odometer("visitors", rho=0.35)
        for unit in (None, "event"):
            with pytest.raises(evertally.BadParameter, match="unit"):
                events.spend("persons", plan, unit=unit)
            with pytest.raises(evertally.BadParameter, match="unit"):
                events.can_afford(plan, unit=unit)
        # The cost of the plan remembers it, also as a part of a sum.
        for cost in (plan.spend(), evertally.plan(10, rho=0.1).spend() + plan.spend()):
            with pytest.raises(evertally.BadParameter, match="unit"):
                events.spend("costs", cost)
            with pytest.raises(evertally.BadParameter, match="unit"):
                events.can_afford(cost)
            evertally.Odometer("visitors", rho=0.35, unit="person").spend("costs", cost)
        assert events.entries == []
        evertally.Odometer("visitors", rho=0.35, unit="person").spend("persons", plan)
        evertally.Odometer("visitors", rho=0.35, unit="household").spend("households", plan, unit="household")
    # Training admits and leaves out nothing: the steps of an example are fixed, and it is one event.
    training = evertally.plan(10, rho=0.1, dimension=3, max_steps=2)
    evertally.Odometer("examples", rho=0.35).spend("run", training, unit="event")
    evertally.Odometer("examples", rho=0.35).spend("cost", training.spend())


def test_odometers_allow_what_was_stated_and_no_more() -> None:
    plan = evertally.plan(10, rho=0.1)
    odometer = evertally.Odometer("visitors", rho=0.35)
    for name in ("one", "two", "three"):
        assert odometer.can_afford(plan)
        odometer.spend(name, plan)
    with pytest.raises(evertally.BudgetSpent, match="visitors"):
        odometer.spend("four", plan.spend())
    assert [name for name, _ in odometer.entries] == ["one", "two", "three"]
    assert odometer.spent.rho + odometer.remaining.rho <= 0.35 * (1 + 1e-9)
    assert 0 < odometer.room(1e-6) < 2
    with pytest.raises(evertally.BadParameter, match="unit"):
        odometer.spend("a person", evertally.plan(10, rho=0.001, max_steps=3))
    with pytest.raises(evertally.BadParameter, match="unit"):
        odometer.spend("named", plan.spend(), unit="event")
    persons = evertally.Odometer("visitors", 3.0, 1e-6, unit="person", pure_part=0.5)
    persons.spend("one step a person", plan, unit="person")
    persons.spend("pure", evertally.plan(10, 0.4, 0.0), unit="person")
    persons.spend("a batch", evertally.BatchPlan(np.eye(2), rho=0.01))
    assert len(persons.entries) == 3 and "visitors" in repr(persons)
    with pytest.raises(evertally.BadParameter, match="mechanism"):
        persons.can_afford("plan")  # type: ignore[arg-type]
    with pytest.raises(evertally.BadParameter):
        evertally.Odometer("")


def test_the_price_of_an_unknown_end_is_bounded_from_both_sides() -> None:
    price = evertally.unknown_end(64, relative_gap=1e-4)
    assert 1.5110 < price.lower <= price.upper < 1.5116
    assert price.gap <= 1e-4 and price.steps == 64
    low, high = price.optimum(64)
    certified = evertally.gamma("prefix-sum", 64).error_factor
    assert low <= certified[1] and certified[0] <= high
    with pytest.raises(evertally.BadParameter):
        price.optimum(65)
    for steps, gap in [(0, 1e-3), (64, 0.0), (2**20 + 1, 1e-3)]:
        with pytest.raises(evertally.BadParameter):
            evertally.unknown_end(steps, relative_gap=gap)
