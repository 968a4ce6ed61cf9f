//! What one person can change with several events in a step, measured over every small stream.

use evertally::{Budget, Mechanism, Participation, Plan, Spend};
use evertally_stream::{Amount, Buckets, Clamp, Event, Gather, KeySet, Rules, Share};

const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;
const STEPS: usize = 2;
const KEYS: usize = 2;
const LONGEST: u32 = 4;

/// The range of a single event, and the values that occur.
const RANGE: (f64, f64) = (-1.0, 2.0);
const VALUES: [f64; 2] = [-1.0, 2.0];

/// Person, step, key and value by their numbers.
type Arrival = [usize; 4];

fn share(events: Option<u64>, keys: u64, sum: Option<(f64, f64)>) -> Share {
    Share::new(events, keys, sum.map(|(lo, hi)| Clamp::new(lo, hi).unwrap())).unwrap()
}

/// The totals by step, then by key.
fn totals(arrivals: &[Arrival], rules: &Rules) -> Vec<f64> {
    let buckets = Buckets::new(0, "1s".parse().unwrap(), STEPS as u64).unwrap();
    let mut gather = Gather::new(buckets, rules.clone(), 1 << 20).unwrap();
    for (order, &[person, step, key, value]) in arrivals.iter().enumerate() {
        let event = Event {
            time: step as i64 * 1_000_000 + order as i64,
            key: Some(["x", "other"][key]),
            person: Some(["p", "q"][person]),
            value: Some(VALUES[value]),
            id: None,
        };
        gather.push(&event).unwrap();
    }
    let closed = gather.finish().unwrap();
    closed.flat_map(|step| step.totals.into_iter().map(Amount::to_f64)).collect()
}

/// The largest ε at δ that one person of any small stream spends. The noise of the keys is
/// independent, so squared distances of the encoded streams add up over them.
fn spent(plan: &Plan, rules: &Rules) -> f64 {
    let encoder = plan.dense().unwrap().encoder;
    let symbols: Vec<Arrival> =
        (0..16).map(|code| [code & 1, code >> 1 & 1, code >> 2 & 1, code >> 3 & 1]).collect();
    let mut farthest = 0.0_f64;
    for number in 0..symbols.len().pow(LONGEST) {
        let arrivals: Vec<Arrival> =
            (0..LONGEST).map(|digit| symbols[number / symbols.len().pow(digit) % symbols.len()]).collect();
        let others: Vec<Arrival> = arrivals.iter().copied().filter(|[person, ..]| *person != 0).collect();
        let change: Vec<f64> = std::iter::zip(totals(&arrivals, rules), totals(&others, rules))
            .map(|(with, without)| with - without)
            .collect();
        let shifts = (0..KEYS).flat_map(|key| {
            let change: Vec<f64> = change.iter().skip(key).step_by(KEYS).copied().collect();
            let encoder = &encoder;
            (0..encoder.rows()).map(move |row| {
                std::iter::zip(encoder.row(row), &change).map(|(r, x)| r * x).sum::<f64>().powi(2)
            })
        });
        farthest = farthest.max(shifts.sum());
    }
    let mu_squared = farthest / plan.noise_scale().powi(2);
    Spend::new(mu_squared, 0.0, 0.0).unwrap().epsilon(DELTA).unwrap()
}

/// Two events in two steps reach the bound, or come as near to it as the values allow.
#[test]
fn one_person_spends_no_more_than_was_promised() {
    let cases = [
        (share(Some(1), 1, None), 0.999),
        (share(Some(2), 1, None), 0.999),
        (share(Some(2), 2, None), 0.999),
        (share(None, 1, Some((-1.0, 3.0))), 0.999),
        (share(None, 2, Some((0.0, 2.0))), 0.999),
        (share(Some(2), 2, Some((0.0, 3.0))), 0.9),
    ];
    for (share, least) in cases {
        let limits = Participation::at_most(2, 1).unwrap();
        let rules = Rules {
            keys: Some(KeySet::new(["x"]).unwrap()),
            clamp: Some(Clamp::new(RANGE.0, RANGE.1).unwrap()),
            limits: Some(limits),
            share,
            has_ids: false,
            ..Rules::default()
        };
        let plan = Plan::prefix_sum(STEPS as u64)
            .budget(Budget::new(EPSILON, DELTA).unwrap())
            .participation(limits)
            .contribution(share.contribution(Some(RANGE), false).unwrap())
            .mechanism(Mechanism::InputPerturbation)
            .build()
            .unwrap();
        let spent = spent(&plan, &rules);
        println!("{}: ε = {spent:.6}", share.in_words(true));
        assert!(spent <= EPSILON && spent > least * EPSILON, "{share:?}: {spent}");
    }
}
