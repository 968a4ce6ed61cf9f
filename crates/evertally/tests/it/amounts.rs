//! Inputs that are integers on a grid: the same releases and states, bit for bit, as the doubles
//! that hold them, and exact totals beyond doubles.

use evertally::{
    Arithmetic, Budget, Contribution, Counter, KeyedCounter, NoiseKey, Plan, PlanBuilder, Workload,
};

const GRID_EXPONENT: i32 = -20;
const STEPS: u64 = 12;

fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(5)
}

/// Every workload and arithmetic, with units finer and coarser than the grid.
fn plans() -> impl Iterator<Item = PlanBuilder> {
    let workloads =
        [Workload::PrefixSum, Workload::SlidingWindow { width: 4 }, Workload::Decay { factor: 0.75 }];
    let ranges = [(0.0, 1.0), (-0.5, 5.25), (0.0, 3e17)];
    workloads.into_iter().flat_map(move |workload| {
        ranges.into_iter().flat_map(move |(lo, hi)| {
            [Arithmetic::Exact, Arithmetic::Float].map(|arithmetic| {
                Plan::for_workload(STEPS, workload)
                    .budget(Budget::new(1.0, 1e-6).unwrap())
                    .contribution(Contribution::range(lo, hi).unwrap())
                    .arithmetic(arithmetic)
            })
        })
    })
}

/// Zero, halves and quarters of units, either sign, and up to what doubles hold.
fn amount(step: u64, lane: u64) -> i128 {
    let amounts: [i128; 7] = [0, 1 << 20, -3, 7 << 18, (1 << 53) - 1, -(1 << 40) - 1, 12_345_678_901];
    amounts[(step * 3 + lane) as usize % amounts.len()]
}

fn double(amount: i128) -> f64 {
    amount as f64 * 2.0_f64.powi(GRID_EXPONENT)
}

#[test]
fn integers_are_released_like_the_doubles_that_hold_them() {
    let mut tried = 0;
    for builder in plans() {
        let plan = builder.build().unwrap();
        let [mut integers, mut doubles] = [(); 2].map(|()| Counter::new(&plan, key()).unwrap());
        for step in 0..STEPS {
            let amount = amount(step, 0);
            let release = integers.step_amount(amount, GRID_EXPONENT).unwrap();
            assert_eq!(release, doubles.step(double(amount)).unwrap(), "{plan:?} at {step}");
        }
        assert_eq!(integers.save(), doubles.save());

        let plan = builder.keys(["a", "b", "c"]).build().unwrap();
        let [mut integers, mut doubles] = [(); 2].map(|()| KeyedCounter::new(&plan, key()).unwrap());
        for step in 0..STEPS {
            let amounts = [0, 1, 2].map(|lane| amount(step, lane));
            let releases = integers.step_amounts(&amounts, GRID_EXPONENT).unwrap();
            assert_eq!(releases, doubles.step(&amounts.map(double)).unwrap(), "{plan:?} at {step}");
        }
        assert_eq!(integers.save(), doubles.save());
        tried += 1;
    }
    assert_eq!(tried, 18);
}

/// A double holds no total above 2^33 on this grid, so that such totals were refused.
#[test]
fn totals_that_no_double_holds_are_exact() {
    let plan = Plan::prefix_sum(4).budget(Budget::new(1.0, 1e-6).unwrap()).grid(0.25).build().unwrap();
    let [mut with, mut without] = [(); 2].map(|()| Counter::new(&plan, key()).unwrap());
    let large = (1_i128 << 73) + 1;
    with.step_amount(large + (1 << 20), GRID_EXPONENT).unwrap();
    without.step_amount(large, GRID_EXPONENT).unwrap();
    // What is left of both has the same noise: their difference is that of the totals.
    let [with, without] =
        [with, without].map(|mut counter| counter.step_amount(-large, GRID_EXPONENT).unwrap().value);
    assert_eq!(with - without, 1.0);
}

#[test]
fn an_amount_that_cannot_be_counted_changes_nothing() {
    let plan = Plan::prefix_sum(4).budget(Budget::new(1.0, 1e-6).unwrap()).build().unwrap();
    let mut counter = Counter::new(&plan, key()).unwrap();
    let state = counter.save();
    for (amount, grid_exponent) in [(i128::MAX, -20), (i128::MIN, -20), (1, 100), (1, i32::MAX)] {
        assert!(counter.step_amount(amount, grid_exponent).is_err(), "{amount} at {grid_exponent}");
        assert_eq!(counter.save(), state);
    }
    assert!(counter.step_amount(i128::MIN, i32::MIN).is_ok(), "it rounds to nothing");
}
