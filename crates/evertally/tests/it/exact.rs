//! The exact path compared with the float path: when it is used, what it costs, and what it
//! releases.

use evertally::{
    Arithmetic, Budget, Contribution, Counter, KeyedCounter, Mechanism, Neighbours, NoiseKey, Participation,
    Plan, PlanBuilder, SparseCounter, Workload,
};

fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(11)
}

/// The relative excess of the exact path's noise over that of the float path.
fn excess(builder: &PlanBuilder) -> f64 {
    let scale = |arithmetic| builder.clone().arithmetic(arithmetic).build().unwrap().noise_scale();
    scale(Arithmetic::Exact) / scale(Arithmetic::Float) - 1.0
}

#[test]
fn numbers_and_keys_are_exact_by_default_and_vectors_are_not() {
    let plan = || Plan::prefix_sum(100).budget(budget());
    let is_exact = |builder: PlanBuilder| builder.build().unwrap().arithmetic() == Arithmetic::Exact;
    assert!(is_exact(plan()) && is_exact(plan().keys(["a", "b"])) && is_exact(plan().open_keys()));
    assert!(is_exact(Plan::sliding_window(100, 7).budget(budget())));
    assert!(is_exact(Plan::decay(100, 0.9).budget(budget())));
    assert!(is_exact(Plan::prefix_sum(100).budget(Budget::pure(1.0).unwrap())));
    assert!(is_exact(Plan::prefix_sum(100).budget(Budget::zcdp(0.1).unwrap())));
    for workload in
        [Workload::PrefixSum, Workload::SlidingWindow { width: 24 }, Workload::Decay { factor: 0.999 }]
    {
        assert!(is_exact(Plan::unbounded(workload).budget(budget())), "{workload}");
    }
    // The cap of an unbounded window is lowered until the window is exact.
    for (epsilon, width) in [(1.0, 1), (0.1, 3), (0.01, 1), (0.01, 60)] {
        let window =
            Plan::unbounded(Workload::SlidingWindow { width }).budget(Budget::new(epsilon, 1e-6).unwrap());
        assert!(is_exact(window.clone()), "ε = {epsilon}, w = {width}");
        assert!(window.build().unwrap().horizon() >= 1 << 26);
    }
    let vector = plan().dimension(3).contribution(Contribution::norm(1.0).unwrap());
    assert!(!is_exact(vector.clone()));
    assert!(vector.arithmetic(Arithmetic::Exact).build().is_err());
    assert!(!is_exact(plan().arithmetic(Arithmetic::Float)));
    // A mechanism without an exact path runs in floats if it is named, and is refused if exactness
    // is required.
    assert!(!is_exact(plan().mechanism(Mechanism::Optimal)));
    assert!(plan().mechanism(Mechanism::Optimal).arithmetic(Arithmetic::Exact).build().is_err());
    assert!(plan().mechanism(Mechanism::Optimal).grid(1.0).build().is_err());
    assert!(plan().arithmetic(Arithmetic::Float).grid(1.0).build().is_err());
}

/// The table of docs/exact.md.
#[test]
fn exactness_costs_next_to_no_noise() {
    for (horizon, markov, graded, endless, others) in [
        (1000, Some(1e-10), 3e-8, 2e-9, 2e-11),
        (1 << 20, Some(3e-8), 1.4e-7, 4e-8, 1.2e-10),
        (1 << 40, None, 1.2e-4, 1.1e-4, 8e-8),
    ] {
        let excess = |mechanism| excess(&Plan::prefix_sum(horizon).budget(budget()).mechanism(mechanism));
        let (square_root, blt) = (excess(Mechanism::SquareRoot), excess(Mechanism::Blt { buffers: None }));
        assert!(excess(Mechanism::GradedSquareRoot { decays: None }) < graded, "{horizon}");
        if let Some(markov) = markov {
            assert!(excess(Mechanism::Markov { chains: None }) < markov, "{horizon}");
        }
        let unknown = excess(Mechanism::EndlessSquareRoot);
        assert!(unknown < endless && unknown > 0.0, "{horizon}: {unknown}");
        assert!(square_root < others && blt < others && square_root > 0.0, "{horizon}: {square_root} {blt}");
    }
    // With rounding to the default grid, within 0.005 % of the float path: 0.01 % of the squared error.
    for horizon in [1, 10, 100, 1000, 1 << 20] {
        let rmse = |arithmetic| {
            let plan = Plan::prefix_sum(horizon)
                .budget(budget())
                .mechanism(Mechanism::GradedSquareRoot { decays: None });
            plan.arithmetic(arithmetic).build().unwrap().accuracy().rmse
        };
        assert!(rmse(Arithmetic::Exact) / rmse(Arithmetic::Float) - 1.0 < 5.1e-5, "{horizon}");
    }
}

/// From the strictest budgets to the loosest, also for persons, replacement and keys.
#[test]
fn every_budget_has_an_exact_path() {
    let budgets = [
        Budget::new(1e-3, 1e-9).unwrap(),
        Budget::new(0.5, 1e-300).unwrap(),
        Budget::new(8.0, 1e-30).unwrap(),
        Budget::new(1000.0, 0.9).unwrap(),
        Budget::zcdp(1e-4).unwrap(),
        Budget::zcdp(1e4).unwrap(),
        Budget::pure(1e-3).unwrap(),
        Budget::pure(100.0).unwrap(),
    ];
    for budget in budgets {
        let builder = Plan::prefix_sum(500)
            .budget(budget)
            .participation(Participation::at_most(4, 10).unwrap())
            .neighbours(Neighbours::Replace)
            .contribution(Contribution::range(-2.0, 5.0).unwrap())
            .keys(["a", "b"]);
        let plan = builder.clone().arithmetic(Arithmetic::Exact).build().unwrap();
        assert!(plan.noise_multiplier() >= budget.noise_multiplier(), "{budget}");
        // If δ is too small for the charge for draws that are not quite Gaussian, zCDP is used, at
        // up to a fifth more.
        let by_zcdp =
            budget.epsilon() == Some(1000.0) || budget.delta().is_some_and(|d| d > 0.0 && d < 1e-18);
        let most = if by_zcdp { 0.2 } else { 1e-4 };
        let excess = excess(&builder.mechanism(plan.mechanism()));
        assert!(excess < most, "{budget}: {excess}");
    }
}

#[test]
fn releases_lie_on_the_grid_and_follow_the_truth() {
    for (magnitude, grid) in [
        (1.0, None),
        (50.0, None),
        (0.02, None),
        (1.0, Some(1.0)),
        (1.0, Some(0.5)),
        (1.0, Some(0.01)),
        (1.0, Some(7.0)),
    ] {
        for workload in
            [Workload::PrefixSum, Workload::SlidingWindow { width: 3 }, Workload::Decay { factor: 0.5 }]
        {
            let contribution = Contribution::range(0.0, magnitude).unwrap();
            let builder = Plan::for_workload(60, workload).budget(budget()).contribution(contribution);
            let builder = grid.map_or(builder.clone(), |grid| builder.grid(grid));
            let plan = builder.build().unwrap();
            let expected = plan.grid().unwrap();
            let is_power = expected.log2().fract() == 0.0 && expected <= magnitude.min(1.0);
            assert!(grid.map_or(is_power, |grid| grid == expected), "{expected}");
            let mut zero = Counter::new(&plan, key()).unwrap();
            let mut other = Counter::new(&plan, key()).unwrap();
            let (mut truth, mut recent) = (0.0, Vec::new());
            for t in 0..60 {
                let x = f64::from(t % 4) * 1000.0 * magnitude;
                recent.push(x);
                truth = match workload {
                    Workload::SlidingWindow { .. } => recent.iter().rev().take(3).sum(),
                    Workload::Decay { factor } => factor * truth + x,
                    _ => truth + x,
                };
                let (a, b) = (zero.step(0.0).unwrap().value, other.step(x).unwrap().value);
                // The same noise under the same key, rounded twice.
                assert!((b - a - truth).abs() <= expected * (1.0 + 1e-9), "{workload} {t}: {a} {b} {truth}");
                let steps = b / expected;
                assert!((steps - steps.round()).abs() < 1e-6, "{workload} {t}: {b}");
            }
        }
    }
}

#[test]
fn a_key_is_released_alike_declared_and_open() {
    let open = Plan::prefix_sum(50).budget(budget()).open_keys().build().unwrap();
    let keyed = open.part(["north", "south"]).unwrap();
    let mut declared = KeyedCounter::new(&keyed, key()).unwrap();
    let mut sparse = SparseCounter::new(&open, key()).unwrap();
    for t in 0..50 {
        let x = f64::from(t * t % 7);
        let releases = declared.step(&[x, 1.0]).unwrap();
        sparse.add("north", x).unwrap();
        sparse.close_step().unwrap();
        if t % 5 == 2 {
            assert_eq!(sparse.release("north").unwrap(), releases[0], "{t}");
        }
    }
}

#[test]
fn totals_stay_exact_however_large() {
    let plan = Plan::prefix_sum(10).budget(budget()).build().unwrap();
    let mut counter = Counter::new(&plan, key()).unwrap();
    let mut nothing = Counter::new(&plan, key()).unwrap();
    let large = (1_i64 << 52) as f64;
    for x in [large, -large, 1.0, 3.0 * large, -3.0 * large] {
        counter.step(x).unwrap();
        nothing.step(0.0).unwrap();
    }
    assert_eq!(counter.step(0.0).unwrap().value - nothing.step(0.0).unwrap().value, 1.0);
    assert!(counter.step(1e40).is_err() && counter.step(f64::NAN).is_err());
    assert!(counter.step(i64::MAX as f64).is_ok() && counter.step(i64::MIN as f64).is_ok());
}
