//! What one person can change, measured over every small stream, with events that name nobody.

use evertally::{Budget, Mechanism, Participation, Plan, Spend};
use evertally_stream::{Buckets, Event, Gather, Rules, given_name};

const EPSILON: f64 = 1.0;
const DELTA: f64 = 1e-6;
const STEPS: usize = 3;
const LONGEST: u32 = 4;

/// Two persons, and nobody in three ways.
const PERSONS: [Option<&str>; 5] = [Some("p"), Some("q"), None, Some(""), Some(" ")];

type Arrival = (Option<&'static str>, usize);

/// What happens to events without a person.
#[derive(Clone, Copy)]
enum Rule {
    /// What the crate does.
    Current,
    /// What it did: all of them have one name.
    SharedName,
}

fn totals(arrivals: &[Arrival], rule: Rule, k: u64, b: u64) -> Vec<f64> {
    let buckets = Buckets::new(0, "1s".parse().unwrap(), STEPS as u64).unwrap();
    let rules = Rules { limits: Some(Participation::at_most(k, b).unwrap()), ..Rules::default() };
    let mut gather = Gather::new(buckets, rules, 1 << 10).unwrap();
    for &(person, step) in arrivals {
        let person = match rule {
            Rule::Current => person,
            Rule::SharedName => given_name(person).or(Some("shared by all who have none")),
        };
        let _ = gather.push(&Event { time: step as i64 * 1_000_000, person, ..Event::default() }).unwrap();
    }
    gather.finish().unwrap().map(|closed| closed.totals[0].to_f64()).collect()
}

/// The stream without one protected unit: all events of the person of event `i`, or event `i` alone
/// where it names nobody. Who an unnamed event belongs to is unknown, so it must be taken as a
/// person of its own.
fn without(arrivals: &[Arrival], i: usize) -> Vec<Arrival> {
    let unit = given_name(arrivals[i].0);
    let stays = |(j, (person, _)): &(usize, &Arrival)| match unit {
        Some(unit) => given_name(*person) != Some(unit),
        None => *j != i,
    };
    arrivals.iter().enumerate().filter(stays).map(|(_, arrival)| *arrival).collect()
}

/// The largest ε at δ that one unit of any small stream spends: the distance ‖R(x − x')‖ of two
/// neighbours in standard deviations of the white noise is the μ of a Gaussian mechanism, whose ε
/// at δ is known exactly.
fn spent(plan: &Plan, rule: Rule, k: u64, b: u64) -> f64 {
    let encoder = plan.dense().unwrap().encoder;
    let symbols: Vec<Arrival> =
        PERSONS.iter().flat_map(|person| (0..STEPS).map(move |step| (*person, step))).collect();
    let mut farthest = 0.0_f64;
    for length in 1..=LONGEST {
        for number in 0..symbols.len().pow(length) {
            let arrivals: Vec<Arrival> =
                (0..length).map(|digit| symbols[number / symbols.len().pow(digit) % symbols.len()]).collect();
            let with = totals(&arrivals, rule, k, b);
            for i in 0..arrivals.len() {
                let change: Vec<f64> = with
                    .iter()
                    .zip(totals(&without(&arrivals, i), rule, k, b))
                    .map(|(with, without)| with - without)
                    .collect();
                let shifts = (0..encoder.rows())
                    .map(|row| encoder.row(row).iter().zip(&change).map(|(r, x)| r * x).sum::<f64>());
                farthest = farthest.max(shifts.map(|shift| shift * shift).sum());
            }
        }
    }
    let mu_squared = farthest / plan.noise_scale().powi(2);
    Spend::new(mu_squared, 0.0, 0.0).unwrap().epsilon(DELTA).unwrap()
}

fn plan(mechanism: Mechanism, k: u64, b: u64) -> Plan {
    Plan::prefix_sum(STEPS as u64)
        .budget(Budget::new(EPSILON, DELTA).unwrap())
        .participation(Participation::at_most(k, b).unwrap())
        .mechanism(mechanism)
        .build()
        .unwrap()
}

/// Events without a person once shared the slot of the empty name. Two such events are two people's
/// as far as anybody knows. With k = 1 the first of them counted and the second did not; without
/// the first, the second counted, in another step. One person's absence was then a replacement.
/// With noise on every input, R = I, it moved the encoded stream by √2 where Δ = 1 was promised,
/// and spent ε = 1.4547 instead of 1 at δ = 10⁻⁶.
#[test]
fn one_person_spends_no_more_than_was_promised() {
    for (k, b) in [(1, 1), (2, 1), (2, 2)] {
        for mechanism in [Mechanism::InputPerturbation, Mechanism::SquareRoot] {
            let plan = plan(mechanism, k, b);
            let (now, before) = (spent(&plan, Rule::Current, k, b), spent(&plan, Rule::SharedName, k, b));
            println!("k = {k}, b = {b}, {mechanism:?}: ε = {now:.6}, and with a shared name {before:.4}");
            // The worst person of a small stream spends nearly all of it, so that the measurement
            // misses nothing.
            assert!(now <= EPSILON && now > 0.999 * EPSILON, "{mechanism:?}, k = {k}, b = {b}: {now}");
            if (k, mechanism) == (1, Mechanism::InputPerturbation) {
                assert!((before - 1.4547).abs() < 5e-5, "{before}");
            }
        }
    }
}
