//! Extremes: the limits of numbers, budgets, grids, horizons, participation and names.
//!
//! The oracle of a release is a second run under the same key. Its noise is the same, so the
//! difference of two releases is that of the true totals, which are added up here as integers. If
//! no result can be right, there must be an error, and the counter must stay unchanged.

use crate::common::{budget_for, mechanisms_and_workloads};
use evertally::internals::replay::replay_lane;
use evertally::privacy::NoiseKind;
use evertally::{
    Arithmetic, Budget, Contribution, Counter, Error, ErrorClass, KeyedCounter, Mechanism, NoiseKey,
    NoiseStream, Participation, Plan, PlanBuilder, SparseCounter, VectorCounter, Workload,
};
use proptest::prelude::*;

fn key(seed: u64) -> NoiseKey {
    NoiseKey::insecure_from_seed(seed)
}

/// Inputs here are multiples of 1/`PARTS`, so that true totals can be integers.
const PARTS: f64 = (1 << 20) as f64;

/// Limits of integers and of doubles, as doubles that are multiples of a part.
fn edges() -> impl Strategy<Value = f64> {
    let limits =
        [0.0, 1.0, 2.0_f64.powi(-20), 2.0_f64.powi(53), 2.0_f64.powi(63), u32::MAX.into(), i64::MAX as f64];
    let limit = prop::sample::select(limits.to_vec());
    let signed = (limit, prop::bool::ANY).prop_map(|(x, negative)| if negative { -x } else { x });
    prop_oneof![
        signed,
        (-1_000_000..1_000_000_i64).prop_map(|x| x as f64),
        (i64::MIN..i64::MAX).prop_map(|x| x as f64)
    ]
}

/// The true answers after every step, in parts.
fn truth(workload: Workload, inputs: &[f64]) -> Vec<i128> {
    let parts: Vec<i128> = inputs.iter().map(|x| (x * PARTS) as i128).collect();
    let window = match workload {
        Workload::SlidingWindow { width } => width as usize,
        _ => usize::MAX,
    };
    (0..parts.len()).map(|t| parts[(t + 1).saturating_sub(window)..=t].iter().sum()).collect()
}

/// The largest distance of a double to its neighbours.
fn ulp(x: f64) -> f64 {
    x.abs().next_up() - x.abs()
}

fn releases(plan: &Plan, seed: u64, inputs: &[f64]) -> Vec<f64> {
    let mut counter = Counter::new(plan, key(seed)).unwrap();
    inputs.iter().map(|x| counter.step(*x).unwrap().value).collect()
}

/// Two runs under one key differ as the true totals do, up to the grid and the precision of
/// doubles.
fn check_differences(plan: &Plan, seed: u64, a: &[f64], b: &[f64]) {
    let grid = plan.grid().unwrap();
    let (released_a, released_b) = (releases(plan, seed, a), releases(plan, seed, b));
    let (true_a, true_b) = (truth(plan.workload(), a), truth(plan.workload(), b));
    for t in 0..a.len() {
        let wanted = (true_a[t] - true_b[t]) as f64 / PARTS;
        let difference = released_a[t] - released_b[t];
        // If the grid divides the difference, nothing is left to round.
        let is_double = grid == grid.round() || grid.log2().fract() == 0.0;
        let is_whole = (wanted / grid).fract() == 0.0 && is_double;
        let doubles = [released_a[t], released_b[t], wanted, difference].map(ulp).iter().sum::<f64>();
        // Multiples of the grid, and the factors of the grid, must be doubles.
        let largest = released_a[t].abs().max(released_b[t].abs()).max(wanted.abs());
        let is_exact = largest / grid.min(1.0) < 2.0_f64.powi(52);
        let allowed = if is_whole && is_exact { 0.0 } else { grid + 3.0 * doubles };
        assert!((difference - wanted).abs() <= allowed, "step {t}: {difference} for {wanted} in {plan:?}");
        assert!(
            (released_a[t] / grid).abs() > 1e15 || (released_a[t] / grid).round() * grid == released_a[t]
        );
    }
}

/// Every mechanism that has an exact path, with every workload whose totals are integers.
fn exact_pairs() -> Vec<(Mechanism, Workload)> {
    let has_path = |(mechanism, workload): &(Mechanism, Workload)| {
        let decays = matches!(workload, Workload::Decay { .. });
        !decays && small(*mechanism, *workload, 3).arithmetic(Arithmetic::Exact).build().is_ok()
    };
    mechanisms_and_workloads().into_iter().filter(has_path).collect()
}

fn small(mechanism: Mechanism, workload: Workload, n: u64) -> PlanBuilder {
    Plan::for_workload(n, workload).mechanism(mechanism).budget(budget_for(mechanism))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Limits of integers as inputs, in every exact mechanism.
    #[test]
    fn edges_of_whole_numbers_are_counted(
        pair in prop::sample::select(exact_pairs()),
        a in prop::collection::vec(edges(), 12),
        b in prop::collection::vec(edges(), 12),
        seed in 0..u64::MAX,
    ) {
        let plan = small(pair.0, pair.1, 12).build().unwrap();
        check_differences(&plan, seed, &a, &b);
    }

    /// Inputs that a person would write. Differences are exact to the last unit.
    #[test]
    fn whole_numbers_differ_exactly(
        pair in prop::sample::select(exact_pairs()),
        a in prop::collection::vec(-(1_i64 << 40)..(1 << 40), 20),
        changed in 0..20_usize,
        by in -1000..1000_i64,
        seed in 0..u64::MAX,
    ) {
        let plan = small(pair.0, pair.1, 20).build().unwrap();
        let grid = plan.grid().unwrap();
        prop_assert!(grid <= 1.0 && grid.log2().fract() == 0.0);
        let a: Vec<f64> = a.into_iter().map(|x| x as f64).collect();
        let mut b = a.clone();
        b[changed] += by as f64;
        check_differences(&plan, seed, &a, &b);
    }

    /// Grids of odd sizes, wider than the data and finer, powers of two and not.
    #[test]
    fn releases_lie_on_odd_grids(
        grid in prop::sample::select(vec![0.1, 1e9, 2.0_f64.powi(-30), 3.0, 0.7, 1e-6, 1024.0, 1e18]),
        mechanism in prop::sample::select(vec![Mechanism::GradedSquareRoot { decays: None }, Mechanism::SmoothBinary]),
        a in prop::collection::vec(edges(), 9),
        b in prop::collection::vec(edges(), 9),
        seed in 0..u64::MAX,
    ) {
        let plan = small(mechanism, Workload::PrefixSum, 9).grid(grid).build().unwrap();
        prop_assert_eq!(plan.grid(), Some(grid));
        check_differences(&plan, seed, &a, &b);
    }

    /// Budgets and contributions of every size: a plan that keeps its promises, or a clear refusal.
    #[test]
    fn budgets_and_contributions_of_every_size(
        budget in budgets(),
        bits in -200.0..200.0_f64,
        pair in prop::sample::select(exact_pairs()),
        changed in 0..7_usize,
        seed in 0..u64::MAX,
    ) {
        let magnitude = bits.exp2();
        let contribution = Contribution::range(0.0, magnitude).unwrap();
        let built = Plan::for_workload(7, pair.1).mechanism(pair.0).budget(budget).contribution(contribution).build();
        let plan = match built {
            Ok(plan) => plan,
            Err(error) => {
                let is_other_noise = (budget.noise() == NoiseKind::Laplace) != (pair.0 == Mechanism::LaplaceTree);
                prop_assert!(is_other_noise, "{}", error);
                return Ok(());
            }
        };
        // Never less than requested.
        prop_assert!(plan.noise_scale() >= budget.noise_multiplier() * plan.sensitivity() * magnitude * (1.0 - 1e-15));
        prop_assert!(plan.accuracy().worst_rmse.is_finite() && plan.accuracy().rmse > 0.0);
        let (a, mut b) = ([magnitude; 7], [magnitude; 7]);
        b[changed] = 0.0;
        let (released_a, released_b) = (releases(&plan, seed, &a), releases(&plan, seed, &b));
        for t in 0..7 {
            let is_inside = match pair.1 {
                Workload::SlidingWindow { width } => t < changed + width as usize,
                _ => true,
            };
            let wanted = if t >= changed && is_inside { magnitude } else { 0.0 };
            let grid = plan.grid().unwrap_or(0.0);
            // If noise is millions of contributions, these are counted in millionths.
            let allowed = grid + 2.0 * (ulp(released_a[t]) + ulp(released_b[t])) + magnitude * 2e-6;
            prop_assert!((released_a[t] - released_b[t] - wanted).abs() <= allowed, "step {}", t);
        }
        if plan.arithmetic() == Arithmetic::Exact {
            // What the exact path hides, including every rounding.
            let hidden = match budget.noise() {
                NoiseKind::Gaussian => 1.0 / plan.noise_multiplier(),
                NoiseKind::Laplace => budget.epsilon().unwrap(),
            };
            let distance = replay_lane(&plan, &key(seed), "", &a, &b).unwrap().distance;
            prop_assert!(distance <= hidden * (1.0 + 1e-12), "{} of {}", distance, hidden);
        }
    }

    /// Participation beyond all limits is participation in every step.
    #[test]
    fn participation_at_its_limits(
        mechanism in prop::sample::select(vec![
            Mechanism::InputPerturbation,
            Mechanism::SquareRoot,
            Mechanism::Binary,
            Mechanism::BandedSquareRoot { band: None },
        ]),
        n in 1..30_u64,
        steps in prop_oneof![1..40_u64, Just(u64::MAX), Just(1 << 60)],
        gap in prop_oneof![1..40_u64, Just(u64::MAX), Just(1 << 60)],
    ) {
        let plan = |steps: u64, gap: u64| {
            let participation = Participation::at_most(steps, gap).unwrap();
            small(mechanism, Workload::PrefixSum, n).participation(participation).build().unwrap()
        };
        let here = plan(steps, gap).sensitivity();
        let bounded = Participation::at_most(steps, gap).unwrap().bounded(n);
        prop_assert!(bounded >= 1 && bounded <= n);
        let (single, same) = (plan(1, 1).sensitivity(), plan(bounded, gap.min(n)).sensitivity());
        prop_assert!(here >= single && here <= single * bounded as f64 * (1.0 + 1e-9), "{} {}", here, single);
        prop_assert!((here / same - 1.0).abs() < 1e-9);
        if bounded == 1 {
            prop_assert_eq!(here, single);
        }
    }
}

fn budgets() -> impl Strategy<Value = Budget> {
    let epsilon = || (-6.0..3.0_f64).prop_map(|log| 10.0_f64.powf(log).clamp(1e-6, 1000.0));
    let delta =
        prop_oneof![(-300.0..-1.0_f64).prop_map(|log| 10.0_f64.powf(log)), Just(1e-300), 0.1..0.9_f64];
    prop_oneof![
        (epsilon(), delta).prop_map(|(epsilon, delta)| Budget::new(epsilon, delta).unwrap()),
        epsilon().prop_map(|epsilon| Budget::pure(epsilon).unwrap()),
        (-18.0..6.0_f64).prop_map(|log| Budget::zcdp(10.0_f64.powf(log).clamp(1e-18, 1e6)).unwrap()),
    ]
}

/// One step: a release, and then none.
#[test]
fn a_single_step_is_a_stream() {
    for (mechanism, workload) in mechanisms_and_workloads() {
        for arithmetic in [Arithmetic::Exact, Arithmetic::Float] {
            let Ok(plan) = small(mechanism, workload, 1).arithmetic(arithmetic).build() else { continue };
            let mut counter = Counter::new(&plan, key(1)).unwrap();
            let release = counter.step(5.0).unwrap();
            assert!((release.value - 5.0).abs() <= 40.0 * release.standard_error + 1.0, "{plan:?}");
            let after = counter.save();
            assert_eq!(counter.step(0.0), Err(Error::HorizonSpent { horizon: 1 }));
            assert_eq!(counter.save(), after);
            assert_eq!(
                Counter::resume(&plan, key(1), &after).unwrap().step(0.0).unwrap_err().class(),
                ErrorClass::HorizonSpent
            );
        }
    }
}

/// Thousands of zeros, and an unbounded stream: nothing drifts, and one event counts as one.
#[test]
fn long_runs_of_zeros() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let builders = [
        Plan::prefix_sum(3000).budget(budget),
        Plan::sliding_window(3000, 7).budget(budget),
        Plan::unbounded(Workload::PrefixSum).budget(budget),
        Plan::unbounded(Workload::SlidingWindow { width: 7 }).budget(budget),
        Plan::prefix_sum(3000).budget(Budget::pure(1.0).unwrap()),
    ];
    for plan in builders.map(|builder| builder.build().unwrap()) {
        assert_eq!(plan.arithmetic(), Arithmetic::Exact, "{plan:?}");
        let zeros = vec![0.0; 3000];
        let mut event = zeros.clone();
        event[2900] = 1.0;
        let (without, with) = (releases(&plan, 3, &zeros), releases(&plan, 3, &event));
        for t in 0..3000 {
            let is_inside = plan.workload() == Workload::PrefixSum || t < 2907;
            let wanted = if t >= 2900 && is_inside { 1.0 } else { 0.0 };
            assert_eq!(with[t] - without[t], wanted, "step {t} of {plan:?}");
            // A sum of Laplace draws is this far out with a probability below 1e-20.
            assert!(without[t].abs() <= 40.0 * plan.standard_error(t as u64).unwrap() + 1.0);
        }
    }
}

/// Totals that exceed the countable range are refused, and the counter continues from where it was.
#[test]
fn totals_at_the_limit_are_refused() {
    // Long enough for every limit, and no longer: a state of the optimum holds the square of it.
    const STEPS: u64 = 200;
    let budget = Budget::new(1.0, 1e-6).unwrap();
    for magnitude in [1.0, 1e-280, 1e280, 1e-9, 12345.0] {
        for workload in
            [Workload::PrefixSum, Workload::SlidingWindow { width: STEPS }, Workload::Decay { factor: 0.999 }]
        {
            for arithmetic in [Arithmetic::Exact, Arithmetic::Float] {
                let contribution = Contribution::range(0.0, magnitude).unwrap();
                let builder = Plan::for_workload(STEPS, workload).budget(budget).contribution(contribution);
                let plan = match builder.arithmetic(arithmetic).build() {
                    Ok(plan) => plan,
                    // There are no exact units this large or this small.
                    Err(error) => {
                        assert!(
                            error.class() == ErrorClass::Unsupported && magnitude.ln().abs() > 600.0,
                            "{error}"
                        );
                        continue;
                    }
                };
                let mut counter = Counter::new(&plan, key(9)).unwrap();
                // Doubling the input reaches every limit: of units, and of doubles.
                let (mut input, mut total, mut refused) = (magnitude, 0.0, 0);
                for _ in 0..STEPS {
                    let before = counter.save();
                    match counter.step(input) {
                        Ok(release) => {
                            let decayed =
                                if let Workload::Decay { factor } = workload { factor } else { 1.0 };
                            total = decayed * total + input;
                            let allowed =
                                40.0 * release.standard_error + plan.grid().unwrap_or(0.0) + 1e-9 * total;
                            assert!(
                                (release.value - total).abs() <= allowed,
                                "{} {total} {plan:?}",
                                release.value
                            );
                            input = (2.0 * input).min(f64::MAX);
                        }
                        Err(error) => {
                            assert_eq!(error.class(), ErrorClass::BadParameter);
                            assert!(error.to_string().contains("too large to be counted exactly"), "{error}");
                            assert!(!error.to_string().contains(&input.to_string()));
                            assert_eq!(counter.save(), before);
                            refused += 1;
                            // A smaller input still fits.
                            input /= 4.0;
                        }
                    }
                }
                assert!(refused > 0, "{plan:?}");
                // A hundred thousand times the largest contribution is within every limit.
                assert!(total >= 1e5 * magnitude || magnitude > 1e299, "{total} {plan:?}");
            }
        }
    }
}

/// The same for vectors and for undeclared keys.
#[test]
fn every_counter_refuses_at_the_limit() {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let norm = Contribution::norm(1.0).unwrap();
    let plan = Plan::prefix_sum(9).budget(budget).dimension(2).contribution(norm).build().unwrap();
    let mut vectors = VectorCounter::new(&plan, key(1)).unwrap();
    let plan = Plan::prefix_sum(9).budget(budget).open_keys().build().unwrap();
    let mut open = SparseCounter::new(&plan, key(1)).unwrap();
    let huge = 2.0_f64.powi(75);
    for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, f64::MAX, f64::MIN, 1e40] {
        assert!(matches!(vectors.step(&[0.0, bad]), Err(Error::BadInput { step: 0, .. })));
        assert!(matches!(open.add("a", bad), Err(Error::BadInput { step: 0, .. })));
    }
    assert_eq!((vectors.steps_taken(), open.keys_held()), (0, 0));
    for _ in 0..3 {
        let _ = open.add("a", huge);
    }
    assert!(open.add("a", huge).is_err());
    open.add("a", -huge).unwrap();
    open.close_step().unwrap();
    let release = open.release("a").unwrap();
    let truth = release.value / huge;
    assert_eq!(truth, truth.round(), "as many as were taken, less one");
}

/// Found by fuzzing: in single precision, noise for the smallest and the largest contributions was
/// infinite or zero, and was released.
#[test]
fn singles_hold_the_noise_or_it_is_refused() {
    for (magnitude, fits) in [
        (1.0, true),
        (1e-30, true),
        (1e30, true),
        (1e-40, false),
        (1e-300, false),
        (1e38, false),
        (1e300, false),
    ] {
        let plan = Plan::prefix_sum(20).budget(Budget::new(1.0, 1e-6).unwrap()).dimension(2);
        let plan = plan.contribution(Contribution::norm(magnitude).unwrap()).build().unwrap();
        match NoiseStream::<f32>::new(&plan, key(1)) {
            Ok(mut noise) => {
                assert!(fits, "{magnitude}");
                while let Ok(row) = noise.next() {
                    assert!(row.iter().all(|z| z.is_finite() && *z != 0.0));
                }
            }
            Err(error) => assert!(!fits && error.class() == ErrorClass::Unsupported, "{magnitude}: {error}"),
        }
        assert!(NoiseStream::<f64>::new(&plan, key(1)).is_ok());
    }
}

/// Names that look like nothing, like each other or like several names.
#[test]
fn odd_names_are_names() {
    let long = "k".repeat(1 << 16);
    let names =
        ["", "\0", "a", "a ", " a", "a\0", "é", "e\u{301}", "1:a,1:b", "\u{202e}a", "a,b", "\n", &long];
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let builder =
        || Plan::prefix_sum(4).budget(budget).mechanism(Mechanism::GradedSquareRoot { decays: None });
    let undeclared = builder().open_keys().build().unwrap();
    let declared = undeclared.part(names).unwrap();
    let mut keyed = KeyedCounter::new(&declared, key(5)).unwrap().remember_releases().unwrap();
    let mut open = SparseCounter::new(&undeclared, key(5)).unwrap();
    let amounts: Vec<f64> = (0..names.len()).map(|i| i as f64).collect();
    for _ in 0..4 {
        for (name, amount) in names.iter().zip(&amounts) {
            open.add(name, *amount).unwrap();
        }
        let releases = keyed.step(&amounts).unwrap();
        keyed = KeyedCounter::resume(&declared, key(5), &keyed.save()).unwrap();
        open.close_step().unwrap();
        let one_by_one: Vec<f64> = names.iter().map(|name| open.release(name).unwrap().value).collect();
        assert!(releases.iter().zip(&one_by_one).all(|(a, b)| a.value == *b), "declared and open keys agree");
    }
    for (i, name) in names.iter().enumerate() {
        let all = keyed.interval(name, 0, 3).unwrap();
        assert!((all.value - 4.0 * i as f64).abs() <= 40.0 * all.standard_error + 1.0);
    }
    // Two keys have separate noise. If it were shared, the difference would be that of the true
    // totals.
    let noise: Vec<f64> = names
        .iter()
        .zip(&amounts)
        .map(|(name, x)| keyed.interval(name, 0, 3).unwrap().value - 4.0 * x)
        .collect();
    let shared =
        (0..names.len()).flat_map(|i| (0..i).map(move |j| (i, j))).filter(|(i, j)| noise[*i] == noise[*j]);
    // Integer noise of a standard deviation around ten: two of 78 pairs agree by chance. All of
    // them would agree if names were truncated or normalised.
    assert!(shared.count() < 20);
    let twice = builder().keys(["north", "\0", "ward seven", "\0"]).build().unwrap_err().to_string();
    assert_eq!(twice, "keys must be distinct, got number 3 of the keys again");
}
