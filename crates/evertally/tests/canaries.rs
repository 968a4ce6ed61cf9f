//! No true count, key or raw noise reaches an error, `Debug`, a message or a panic.
//!
//! The tests plant distinctive secrets everywhere the library accepts one, print everything that
//! can be printed, and search the output for the secrets in many forms. One test shows that the
//! search finds what is there.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

#[path = "common/canary.rs"]
mod canary;

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::path::Path;
use std::sync::Mutex;

use canary::{COUNT, Canary, KEY};
use evertally::internals::noise::{CausalConvolver, CyclicConvolver, KeyedNoise, WhiteNoise};
use evertally::research::batch::{BatchPlan, ParityPlan, ParityTotals};
use evertally::{
    Arithmetic, Budget, Contribution, Counter, DiscoveringCounter, Error, KeyedCounter, Matrix, Mechanism,
    Neighbours, NoiseKey, NoiseStream, Plan, PlanBuilder, SparseCounter, VectorCounter, Workload,
};

/// Everything that was printed.
#[derive(Default)]
struct Printed(Vec<u8>);

impl Printed {
    fn debug(&mut self, value: &dyn Debug) {
        self.0.extend(format!("{value:?}\n{value:#?}\n").into_bytes());
    }

    /// An error, as a message and as a value.
    fn refusal<T>(&mut self, result: Result<T, Error>) {
        let Err(error) = result else { panic!("this is refused") };
        self.0.extend(format!("{error}\n{:?}\n", error.class()).into_bytes());
        self.debug(&error);
    }

    #[track_caller]
    fn holds_no(&self, canary: &Canary) {
        canary.must_not_be_in(&self.0, "what was printed");
    }
}

fn key() -> NoiseKey {
    NoiseKey::from_bytes(KEY)
}

fn builder(workload: Workload) -> PlanBuilder {
    Plan::for_workload(6, workload).budget(Budget::new(1.0, 1e-6).unwrap())
}

/// Plans of both arithmetics and every workload.
fn plans() -> Vec<PlanBuilder> {
    let workloads =
        [Workload::PrefixSum, Workload::SlidingWindow { width: 3 }, Workload::Decay { factor: 0.5 }];
    let builders = workloads.into_iter().flat_map(|workload| {
        [Arithmetic::Exact, Arithmetic::Float].map(|arithmetic| builder(workload).arithmetic(arithmetic))
    });
    builders.chain([Plan::prefix_sum(6).budget(Budget::pure(1.0).unwrap())]).collect()
}

/// A state, spoilt in every way that is detected.
fn spoilt(state: &[u8]) -> Vec<Vec<u8>> {
    let mut states: Vec<Vec<u8>> = (0..state.len()).step_by(7).map(|end| state[..end].to_vec()).collect();
    for at in (0..state.len()).step_by(11) {
        let mut changed = state.to_vec();
        changed[at] ^= 0x55;
        states.push(changed);
    }
    // With a hash that fits, and a step beyond the horizon.
    let mut content = state[..state.len() - 32].to_vec();
    content[45..53].copy_from_slice(&7_u64.to_le_bytes());
    let hash = blake3::hash(&content);
    content.extend(hash.as_bytes());
    states.push(content);
    states
}

const CANARY: f64 = COUNT as f64;

#[test]
fn counters_print_no_count_and_no_key() {
    let mut printed = Printed::default();
    for builder in plans() {
        let plan = builder.build().unwrap();
        let other = builder.clone().stream("another").build().unwrap();
        let mut counter = Counter::new(&plan, key()).unwrap().remember_releases().unwrap();
        let out_of_reach = [f64::NAN, f64::INFINITY, CANARY * 1e300];
        for _ in 0..6 {
            out_of_reach.iter().for_each(|x| printed.refusal(counter.step(*x)));
            printed.refusal(counter.interval(9, CANARY as u64 % 10));
            counter.step(CANARY).unwrap();
            printed.debug(&counter);
            printed.debug(counter.plan());
        }
        printed.refusal(counter.step(CANARY));
        printed.refusal(counter.interval(2, 1));
        let state = counter.save();
        spoilt(&state).iter().for_each(|state| printed.refusal(Counter::resume(&plan, key(), state)));
        printed.refusal(Counter::resume(&other, key(), &state));
        printed.refusal(Counter::resume(&plan, NoiseKey::insecure_from_seed(1), &state));
        printed.refusal(KeyedCounter::resume(&plan, key(), &state));
        printed.refusal(VectorCounter::new(&plan, key()));
        printed.refusal(SparseCounter::new(&plan, key()));

        let keyed = builder.clone().keys(["north", "south"]).build().unwrap();
        let mut counter = KeyedCounter::new(&keyed, key()).unwrap();
        counter.step(&[CANARY, CANARY]).unwrap();
        printed.refusal(counter.step(&[CANARY]));
        printed.refusal(counter.step(&[CANARY, f64::NAN]));
        printed.refusal(counter.step_into(&[CANARY; 2], &mut [0.0]));
        printed.refusal(counter.interval("ward 918273645", 0, 0));
        printed.refusal(counter.interval("north", 0, 0));
        printed.debug(&counter);
        spoilt(&counter.save())
            .iter()
            .for_each(|state| printed.refusal(KeyedCounter::resume(&keyed, key(), state)));
    }
    printed.holds_no(&Canary::number(COUNT));
    printed.holds_no(&Canary::key(KEY));
}

#[test]
fn open_keys_and_vectors_print_no_count_and_no_key() {
    let mut printed = Printed::default();
    let open = builder(Workload::PrefixSum).open_keys();
    for plan in [open.clone(), open.clone().arithmetic(Arithmetic::Float), open.clone().memory_limit(2000)] {
        let plan = plan.build().unwrap();
        let mut counter = SparseCounter::new(&plan, key()).unwrap();
        printed.refusal(counter.release("before the first step"));
        counter.add("/a", CANARY).unwrap();
        printed.refusal(counter.add("/a", CANARY * 1e300));
        counter.close_step().unwrap();
        printed.refusal(counter.release_each(["/a", "/a"]));
        counter.release("/a").unwrap();
        printed.refusal(counter.release("/a"));
        printed.refusal(counter.release_into(&["/b"], &mut []));
        let full = (0..100).map(|page| counter.add(&format!("/{page}"), CANARY)).find(Result::is_err);
        full.into_iter().for_each(|refusal| printed.refusal(refusal));
        printed.debug(&counter);
        spoilt(&counter.save())
            .iter()
            .for_each(|state| printed.refusal(SparseCounter::resume(&plan, key(), state)));
    }
    let discovery =
        Plan::discover(3).budget(Budget::new(1.0, 1e-6).unwrap()).memory_limit(6000).build().unwrap();
    let mut counter = DiscoveringCounter::new(&discovery, key()).unwrap();
    counter.add("ward 918273645", CANARY, 1).unwrap();
    printed.refusal(counter.add("ward 918273645", CANARY * 1e300, 1));
    printed.refusal(counter.add("ward 918273645", f64::NAN, COUNT));
    printed.refusal(counter.add(&"ward 918273645".repeat(1000), 1.0, 1));
    printed.refusal(counter.check_room([("ward 918273645", COUNT); 99]));
    let full = (0..100).map(|page| counter.add(&format!("918273645 {page}"), CANARY, 2)).find(Result::is_err);
    printed.refusal(full.unwrap());
    assert_eq!(counter.close_step().unwrap(), []);
    printed.debug(&counter);
    spoilt(&counter.save())
        .iter()
        .for_each(|state| printed.refusal(DiscoveringCounter::resume(&discovery, key(), state)));
    let norm = Contribution::norm(1.0).unwrap();
    let plan = builder(Workload::PrefixSum).dimension(2).contribution(norm).build().unwrap();
    let mut counter = VectorCounter::new(&plan, key()).unwrap();
    counter.step(&[CANARY, CANARY]).unwrap();
    printed.refusal(counter.step(&[CANARY]));
    printed.refusal(counter.step(&[CANARY, f64::NEG_INFINITY]));
    printed.debug(&counter);
    let mut stream = NoiseStream::<f32>::new(&plan, key()).unwrap();
    printed.refusal(stream.fill(&mut [0.0; 3]));
    printed.refusal(stream.seek(7));
    printed.debug(&stream);
    spoilt(&stream.save())
        .iter()
        .for_each(|state| printed.refusal(NoiseStream::<f32>::resume(&plan, key(), state)));
    printed.refusal(NoiseStream::<f64>::resume(&plan, key(), &stream.save()));
    printed.holds_no(&Canary::number(COUNT));
    printed.holds_no(&Canary::key(KEY));
}

#[test]
fn batches_print_no_cell_and_no_key() {
    let mut printed = Printed::default();
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let queries = Matrix::from_fn(2, 3, |i, j| (i + j) as f64);
    let plan = BatchPlan::new(queries, budget, Neighbours::AddRemove).unwrap();
    printed.refusal(plan.answer(&[CANARY; 2], key()));
    printed.refusal(plan.answer(&[CANARY, CANARY, f64::NAN], key()));
    printed.refusal(plan.answer(&[CANARY * 1e9; 3], key()));
    plan.answer(&[CANARY; 3], key()).unwrap();
    printed.debug(&plan);
    let plan = ParityPlan::new(3, 1, budget, Neighbours::AddRemove).unwrap();
    let mut totals = ParityTotals::new(&plan);
    // As many rows as the count would take minutes, so the number of rows is the total of each
    // column here.
    (0..4321).for_each(|_| totals.add(0));
    printed.debug(&plan);
    printed.debug(&totals);
    Canary::number(4321).must_not_be_in(&printed.0, "what was printed");
    printed.holds_no(&Canary::number(COUNT));
    printed.holds_no(&Canary::key(KEY));
}

/// Noise, as the holder of the key knows it: the release of nothing.
#[test]
fn nothing_prints_raw_noise() {
    let mut printed = Printed::default();
    let plan = builder(Workload::PrefixSum).arithmetic(Arithmetic::Float).build().unwrap();
    let mut noise = Counter::new(&plan, key()).unwrap();
    let noise: Vec<f64> = (0..6).map(|_| noise.step(0.0).unwrap().value).collect();
    let mut counter = Counter::new(&plan, key()).unwrap();
    let mut stream = NoiseStream::<f64>::new(&plan, key()).unwrap();
    let mut rows = Vec::new();
    for _ in 0..6 {
        counter.step(CANARY).unwrap();
        printed.refusal(counter.step(f64::NAN));
        printed.debug(&counter);
        rows.push(stream.next().unwrap()[0]);
        printed.debug(&stream);
    }
    let white = WhiteNoise::gaussian(key().stream(b"a"));
    let lanes = KeyedNoise::laplace(key().stream(b"a"));
    let mut drawn = [0.0; 4];
    white.fill(0, &mut drawn[..2]);
    lanes.fill(lanes.tag(b"a"), 0, &mut drawn[2..]);
    for value in
        [&key() as &dyn Debug, &key().stream(b"a"), &white, &lanes, &lanes.tag(b"a"), &lanes.tagger()]
    {
        printed.debug(value);
    }
    printed.debug(&CausalConvolver::new(&drawn));
    printed.debug(&CyclicConvolver::new(&drawn));
    for value in noise.iter().chain(&rows).chain(&drawn) {
        printed.holds_no(&Canary::real(*value));
    }
    printed.holds_no(&Canary::number(COUNT));
    printed.holds_no(&Canary::key(KEY));
}

/// Messages of panics, for the few calls that may panic.
#[test]
fn panics_say_nothing() {
    static SAID: Mutex<Vec<u8>> = Mutex::new(Vec::new());
    let usual = std::panic::take_hook();
    std::panic::set_hook(Box::new(|panic| SAID.lock().unwrap().extend(panic.to_string().bytes())));
    let plan = builder(Workload::PrefixSum).build().unwrap();
    let mut counter = Counter::new(&plan, key()).unwrap();
    let release = counter.step(CANARY).unwrap();
    let lanes = KeyedNoise::gaussian(key().stream(b"a"));
    let panicked = [
        std::panic::catch_unwind(|| release.margin(1.5)).is_err(),
        std::panic::catch_unwind(|| lanes.fill(lanes.tag(b"a"), u64::MAX, &mut [CANARY; 2])).is_err(),
    ];
    std::panic::set_hook(usual);
    assert_eq!(panicked, [true; 2]);
    let said = SAID.lock().unwrap();
    assert!(!said.is_empty());
    Canary::number(COUNT).must_not_be_in(&said, "a panic");
    Canary::key(KEY).must_not_be_in(&said, "a panic");
}

/// The search finds every form of every secret within other text, and is not fooled by similar
/// text.
#[test]
fn a_planted_leak_is_found() {
    for canary in [Canary::number(COUNT), Canary::key(KEY), Canary::real(-5.141_592_653_589_793)] {
        for (name, form) in canary.forms() {
            let leak = [b"step 3: ".as_slice(), form, b" of 7"].concat();
            assert!(canary.found_in(&leak).is_some(), "{name}");
        }
        assert_eq!(canary.found_in(b"step 918273644 of 7, key c73a915e"), None);
    }
    // As a careless programmer would leak them.
    struct Careless {
        total: i128,
        key: [u8; 32],
    }
    impl Debug for Careless {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.debug_struct("Careless").field("total", &self.total).field("key", &self.key).finish()
        }
    }
    let mut printed = Printed::default();
    printed.debug(&Careless { total: i128::from(COUNT), key: KEY });
    assert!(Canary::number(COUNT).found_in(&printed.0).is_some());
    assert!(Canary::key(KEY).found_in(&printed.0).is_some());
    let released = format!(
        "{:?}",
        Counter::new(&builder(Workload::PrefixSum).build().unwrap(), key()).unwrap().step(CANARY)
    );
    assert!(released.contains("9182736"), "a release is near the truth, and shown: {released}");
}

/// In modules that handle secrets, every type with `Debug` holds no secret or shows none. A new
/// type with `Debug` must be checked for that and added here.
#[test]
fn debug_is_rare_where_secrets_are() {
    let mut found = BTreeSet::new();
    let modules = [
        "counter",
        "discovery/counter.rs",
        "noise",
        "research/batch",
        "counter.rs",
        "noise_stream.rs",
        "resolution.rs",
        "key_record.rs",
    ];
    for module in modules {
        collect(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module), &mut found);
    }
    let shown: BTreeSet<String> = SHOWN.iter().map(|&name| name.to_owned()).collect();
    assert_eq!(found, shown);
}

/// Types with `Debug`: releases, which are public; numbers that follow from the plan; names of
/// laws; and types that hold secrets and omit them.
const SHOWN: [&str; 43] = [
    "$counter",
    "Answer",
    "BatchPlan",
    "CausalConvolver",
    "ChainBlock",
    "ChainBounds",
    "ChainBurst",
    "ChainFactor",
    "ChainFactors",
    "CyclicConvolver",
    "Decay",
    "DiscoveringCounter",
    "Factor",
    "Filter",
    "FoundKey",
    "GradeBounds",
    "Graded",
    "Keep",
    "KeyedNoise",
    "Kind",
    "LaneTag",
    "NoiseKey",
    "NoiseStream",
    "ParityPlan",
    "ParityTotals",
    "Part",
    "SlowDecay",
    "SparseCounter",
    "StepNumbers",
    "StreamKey",
    "GradeBlock",
    "Tagger",
    "Tap",
    "WindowDecays",
    "WindowDecay",
    "Resolution",
    "NoiseScale",
    "VectorRelease",
    "WhiteNoise",
    "IntegerLaw",
    "IntegerNoise",
    "IntegerRelease",
    "IntegerDecay",
];

/// The names of all types with `Debug` in a source file or directory, without tests.
fn collect(path: &Path, found: &mut BTreeSet<String>) {
    if path.is_dir() {
        std::fs::read_dir(path).unwrap().for_each(|entry| collect(&entry.unwrap().path(), found));
        return;
    }
    let is_test = ["tests.rs", "measure.rs", "plain.rs"].iter().any(|name| path.ends_with(name));
    if is_test || path.components().any(|part| part.as_os_str() == "statistics") {
        return;
    }
    let source = std::fs::read_to_string(path).unwrap();
    let source = source.split("#[cfg(test)]\nmod tests").next().unwrap();
    let mut derived = false;
    for line in source.lines().map(str::trim) {
        derived |= line.starts_with("#[derive(") && line.contains("Debug");
        let words: Vec<&str> = line.split(|c: char| !(c.is_alphanumeric() || c == '_' || c == '$')).collect();
        let after = |word: &str| words.iter().position(|w| *w == word).and_then(|at| words.get(at + 1));
        if let (true, Some(name)) = (derived, after("struct").or(after("enum"))) {
            found.insert((*name).to_owned());
            derived = false;
        }
        if line.contains("Debug for ") {
            found.extend(after("for").map(|name| (*name).to_owned()));
        }
    }
}

/// Every mechanism with a refusal. The messages name the mechanism and the plan, which are public.
#[test]
fn refusals_of_plans_are_about_plans() {
    let mut printed = Printed::default();
    for mechanism in Mechanism::ALL {
        let refused = builder(Workload::SlidingWindow { width: 0 }).mechanism(mechanism).build();
        printed.refusal(refused);
    }
    printed.refusal("cubic-root\n".parse::<Mechanism>());
    printed.refusal(builder(Workload::PrefixSum).keys(["ward 918273645", "ward 918273645"]).build());
    printed.holds_no(&Canary::number(COUNT));
}
