//! States saved by version 0.1 resume bit for bit.
//!
//! The names of noise changed after 0.1 (docs/noise-name.md). A state that was saved before still
//! identifies its plan by the old name, and its releases continue under the old noise. Another name
//! would draw other noise for a stream that is already partly released. `data/version-1/states.txt`
//! was written by 0.1. Each line holds the name of a case, a state, and the bits of everything that
//! 0.1 released after it.

use evertally::{
    Arithmetic, Budget, Contribution, Counter, ErrorClass, KeyedCounter, Mechanism, Neighbours, NoiseKey,
    NoiseStream, Objective, Participation, Plan, PlanBuilder, Result, SparseCounter, VectorCounter, Workload,
};

const HORIZON: u64 = 12;
const SAVED_AFTER: u64 = 5;

fn key() -> NoiseKey {
    NoiseKey::insecure_from_seed(2026)
}

fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

fn plain(workload: Workload) -> PlanBuilder {
    Plan::for_workload(HORIZON, workload).budget(budget())
}

/// A case is a plan and the kind of counter that runs it.
#[derive(Clone, Copy)]
enum Kind {
    Counter,
    Vector,
    Keyed,
    Sparse,
    Singles,
    Doubles,
    Slice,
}

fn cases() -> Vec<(String, Kind, Plan)> {
    let sum = Workload::PrefixSum;
    let mut cases: Vec<(String, Kind, PlanBuilder)> = Vec::new();
    let mut add = |name: &str, kind, builder: PlanBuilder| cases.push((name.to_owned(), kind, builder));
    let newer = [Mechanism::Markov { chains: None }, Mechanism::EndlessSquareRoot];
    for mechanism in Mechanism::ALL.into_iter().filter(|mechanism| !newer.contains(mechanism)) {
        let laplace = mechanism == Mechanism::LaplaceTree;
        let budget = if laplace { Budget::pure(0.7).unwrap() } else { budget() };
        let builder = Plan::prefix_sum(HORIZON).budget(budget).mechanism(mechanism);
        add(&format!("mechanism {mechanism}"), Kind::Counter, builder);
    }
    add("window", Kind::Counter, plain(Workload::SlidingWindow { width: 4 }));
    add("decay", Kind::Counter, plain(Workload::Decay { factor: 0.75 }));
    add("float", Kind::Counter, plain(sum).arithmetic(Arithmetic::Float));
    add("grid", Kind::Counter, plain(sum).grid(0.25));
    add("worst", Kind::Counter, plain(sum).objective(Objective::Worst));
    add("replace", Kind::Counter, plain(sum).neighbours(Neighbours::Replace));
    add("stream", Kind::Counter, plain(sum).stream("visits | a:b, \"c\""));
    // The default of version 1. Its states name it.
    let unbounded = Plan::unbounded(sum).budget(budget()).mechanism(evertally::Mechanism::SquareRoot);
    add("unbounded", Kind::Counter, unbounded);
    add("zcdp", Kind::Counter, Plan::prefix_sum(HORIZON).budget(Budget::zcdp(0.125).unwrap()));
    add(
        "paper",
        Kind::Counter,
        Plan::prefix_sum(HORIZON)
            .budget(Budget::new(0.5, 1e-6).unwrap().with_calibration(evertally::Calibration::Paper).unwrap()),
    );
    let persons = Participation::at_most(3, 2).unwrap();
    add("persons", Kind::Counter, plain(sum).participation(persons));
    let range = Contribution::range(-1.5, 2.25).unwrap();
    add("range", Kind::Counter, plain(sum).contribution(range));
    add("keys", Kind::Keyed, plain(sum).keys(["north", "south", "other"]));
    add(
        "float keys",
        Kind::Keyed,
        plain(sum).keys(["north", "south", "other"]).arithmetic(Arithmetic::Float),
    );
    add("open keys", Kind::Sparse, plain(sum).open_keys());
    add("open float keys", Kind::Sparse, plain(sum).open_keys().arithmetic(Arithmetic::Float));
    let vector = || plain(sum).dimension(3).contribution(Contribution::norm(1.0).unwrap());
    add("vector", Kind::Vector, vector());
    for (name, kind) in [("singles", Kind::Singles), ("doubles", Kind::Doubles), ("slice", Kind::Slice)] {
        add(name, kind, vector());
    }
    let build = |builder: PlanBuilder| {
        let chosen = builder.clone().build().unwrap();
        if !newer.contains(&chosen.mechanism()) {
            return chosen;
        }
        // What version 0.1 chose without being asked: the least error of all, before rounding.
        let older = Mechanism::ALL.into_iter().filter(|mechanism| !newer.contains(mechanism));
        let made = older.filter_map(|mechanism| builder.clone().mechanism(mechanism).build().ok());
        let is_wanted = |plan: &Plan| plan.arithmetic() == chosen.arithmetic();
        let error = |plan: &Plan| {
            let accuracy = plan.accuracy();
            if plan.objective() == Objective::Worst { accuracy.max_error } else { accuracy.mean_error }
        };
        made.filter(is_wanted).min_by(|a, b| error(a).total_cmp(&error(b))).unwrap()
    };
    cases.into_iter().map(|(name, kind, builder)| (name, kind, build(builder))).collect()
}

fn input(step: u64, lane: u64) -> f64 {
    ((step * 7 + lane * 3) % 5) as f64
}

fn row(step: u64, width: usize) -> Vec<f64> {
    (0..width as u64).map(|lane| input(step, lane)).collect()
}

const OPEN: [&str; 2] = ["/", "/about"];

fn sparse_step(counter: &mut SparseCounter, step: u64) -> Vec<f64> {
    for (lane, key) in (0..).zip(OPEN) {
        counter.add(key, input(step, lane)).unwrap();
    }
    counter.close_step().unwrap();
    counter.release_each(OPEN).unwrap().iter().map(|release| release.value).collect()
}

/// All releases of steps `from..HORIZON` as bits.
fn rest(kind: Kind, plan: &Plan, state: &[u8], from: u64) -> Result<Vec<u64>> {
    let steps = from..HORIZON;
    let width = plan.shape().width();
    let values: Vec<f64> = match kind {
        Kind::Counter => {
            let mut counter = Counter::resume(plan, key(), state)?;
            steps.map(|step| counter.step(input(step, 0)).unwrap().value).collect()
        }
        Kind::Vector => {
            let mut counter = VectorCounter::resume(plan, key(), state)?;
            steps.flat_map(|step| counter.step(&row(step, width)).unwrap().values).collect()
        }
        Kind::Keyed => {
            let mut counter = KeyedCounter::resume(plan, key(), state)?;
            let step = |step| counter.step(&row(step, width)).unwrap();
            steps.flat_map(step).map(|release| release.value).collect()
        }
        Kind::Sparse => {
            let mut counter = SparseCounter::resume(plan, key(), state)?;
            steps.flat_map(|step| sparse_step(&mut counter, step)).collect()
        }
        Kind::Singles => {
            let mut noise = NoiseStream::<f32>::resume(plan, key(), state)?;
            steps.flat_map(|_| noise.next().unwrap().to_vec()).map(f64::from).collect()
        }
        Kind::Doubles => {
            let mut noise = NoiseStream::<f64>::resume(plan, key(), state)?;
            steps.flat_map(|_| noise.next().unwrap().to_vec()).collect()
        }
        Kind::Slice => {
            let mut noise = NoiseStream::<f64>::resume_slice(plan, key(), 1..3, state)?;
            steps.flat_map(|_| noise.next().unwrap().to_vec()).collect()
        }
    };
    Ok(values.into_iter().map(f64::to_bits).collect())
}

fn bytes_of(digits: &str) -> Vec<u8> {
    let pair = |at: usize| u8::from_str_radix(&digits[2 * at..2 * at + 2], 16).unwrap();
    (0..digits.len() / 2).map(pair).collect()
}

#[test]
fn every_state_goes_on_as_it_would_have() {
    let mut lines = include_str!("../data/version-1/states.txt").lines();
    for (name, kind, plan) in cases() {
        let mut parts = lines.next().unwrap().split('\t');
        assert_eq!(parts.next(), Some(name.as_str()));
        let state = bytes_of(parts.next().unwrap());
        let bits: Vec<u64> =
            parts.next().unwrap().split(' ').map(|bits| u64::from_str_radix(bits, 16).unwrap()).collect();
        let found = rest(kind, &plan, &state, SAVED_AFTER);
        // The last digits of the optimum depend on the processor's vectors, so a state goes on where
        // they are the same. Elsewhere it must be refused: other digits would be other noise.
        match (found, plan.mechanism()) {
            (Err(refused), Mechanism::Optimal) => {
                assert_eq!(refused.class(), ErrorClass::BadState, "{name}: {refused}");
            }
            (found, _) => assert_eq!(found.unwrap(), bits, "{name}"),
        }
    }
    assert_eq!(lines.next(), None);
}

/// A state resumes under the old name and is saved under it again, because the next program must
/// find the same noise.
#[test]
fn a_state_that_went_on_keeps_its_name() {
    let line = include_str!("../data/version-1/states.txt").lines().find(|line| line.starts_with("stream\t"));
    let state = bytes_of(line.unwrap().split('\t').nth(1).unwrap());
    let (_, _, plan) = cases().into_iter().find(|(name, ..)| name == "stream").unwrap();
    let mut whole = Counter::resume(&plan, key(), &state).unwrap();
    assert!(whole.plan().has_first_noise_name() && !plan.has_first_noise_name());
    for step in SAVED_AFTER..HORIZON {
        let mut again = Counter::resume(&plan, key(), &whole.save()).unwrap();
        assert_eq!(again.step(input(step, 0)).unwrap(), whole.step(input(step, 0)).unwrap());
    }
    // A definition is newer than the state, so the state cannot belong to its plan.
    assert!(Counter::resume(&plan.with_definition(*b"daily"), key(), &state).is_err());
    let fresh = Counter::new(&plan, key()).unwrap().save();
    assert_ne!(fresh[5..37], state[5..37], "new counters have new names");
}
