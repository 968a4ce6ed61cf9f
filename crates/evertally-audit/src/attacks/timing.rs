//! Timing: whether the duration of a step depends on its value.
//!
//! **Definition.** Steps are timed on very different values in random order, so that other activity
//! on the machine affects all of them alike. For each value, the advantage in distinguishing it
//! from the others by time alone is computed from ranks, among steps of the same number, and
//! bounded from below. The attack makes several rounds and uses the median.
//!
//! **Guarantee.** The advantage is 0 for no information and 1 for certainty. The attack succeeds
//! only if the lower bound of the median round exceeds [`MAX_ADVANTAGE`] even after
//! [`IGNORED_NANOSECONDS`] are subtracted from the difference. That is the cost of one or two
//! mispredicted branches, and far less than an observer outside the process can measure. Neither a
//! disturbed round nor a slight tendency suffices.
//!
//! **What it cannot find.** Leaks through caches, power or memory, leaks of values that are not
//! tried, and leaks of whole streams.
//!
//! **Source.** Mann and Whitney (1947), in strata after van Elteren (1960); on timing attacks
//! against private mechanisms, Jin, McMurtry, Rubinstein and Ohrimenko (2022).

use evertally::Result;

use crate::Clock;
use crate::keys::{Keys, Purpose};
use crate::report::{Attack, Finding, verdict};
use crate::statistics::{normal, ranks};
use crate::stream::{Change, Stream};
use crate::subject::Subject;

/// The largest advantage that passes.
const MAX_ADVANTAGE: f64 = 0.25;

/// Smaller differences are ignored.
const IGNORED_NANOSECONDS: u64 = 50;

/// The values to compare, in units of the largest contribution. The last is the largest that the
/// subject accepts, up to 2^40.
const VALUES: [f64; 6] = [0.0, 1.0, -7.5, 0.1, 1_024.0, 1_099_511_627_776.0];

const ROUNDS: usize = 7;
/// The approximate number of timed steps per round.
const STEPS_PER_ROUND: usize = 12_000;
/// The maximum number of steps of a timed run.
const MAX_STEPS: usize = 512;

/// The times of a round: for every step of a run, times with the index of their value.
type Round = Vec<Vec<(u64, usize)>>;

/// Times the subject with the caller's clock.
pub(crate) fn attack(
    subject: &dyn Subject,
    length: usize,
    lanes: usize,
    keys: Keys,
    clock: &dyn Clock,
    share: f64,
) -> Result<Finding> {
    let mut coins = keys.coins(Purpose::Timing)?;
    let length = length.min(MAX_STEPS);
    let values = values(subject, length, lanes, keys)?;
    let runs = (STEPS_PER_ROUND / length).max(2);
    let mut rounds = Vec::new();
    // Only one lane has the tested value. The others have a constant one.
    let (mut inputs, mut out) = (vec![1.0; lanes], vec![0.0; lanes]);
    for round in 0..ROUNDS {
        let mut timed: Round = vec![Vec::with_capacity(runs); length];
        for run in 0..runs {
            let mut session = subject.start(keys.key(Purpose::Timing, (round * runs + run) as u64)?)?;
            for stratum in &mut timed {
                let value = coins.below(VALUES.len());
                inputs[0] = values[value];
                let begun = clock.nanoseconds();
                session.step(&inputs, &mut out)?;
                stratum.push((clock.nanoseconds().saturating_sub(begun), value));
            }
        }
        rounds.push(timed);
    }
    Ok(finding(&rounds, share))
}

/// The values. The largest is reduced until the subject accepts a whole run of it.
fn values(subject: &dyn Subject, length: usize, lanes: usize, keys: Keys) -> Result<[f64; VALUES.len()]> {
    let mut values = VALUES.map(|value| value * subject.promise().contribution.magnitude());
    let largest = &mut values[VALUES.len() - 1];
    let everywhere =
        |amount: f64| Stream::zeros(length, lanes).with(&Change::of((0..length).map(|t| (t, 0, amount))));
    // A counter refuses a number that is too large before it counts it.
    while *largest > 1.0 && subject.run(&everywhere(*largest), keys.key(Purpose::Timing, u64::MAX)?).is_err()
    {
        *largest /= 1_024.0;
    }
    Ok(values)
}

fn finding(rounds: &[Round], share: f64) -> Finding {
    let z = normal::quantile_above(share / (2 * VALUES.len()) as f64);
    let (seen, value) = max_advantage(rounds, z, 0);
    let (beyond, _) = max_advantage(rounds, z, IGNORED_NANOSECONDS);
    let steps: usize = rounds.iter().flatten().map(Vec::len).sum();
    Finding {
        attack: Attack::Timing,
        tried: format!("{steps} steps timed, {} values", VALUES.len()),
        measured: match (seen, beyond) {
            (seen, _) if seen <= 0.0 => "no advantage".to_owned(),
            (_, beyond) if beyond <= 0.0 => {
                format!("advantage ≥ {seen:.2} for {value}, by less than {IGNORED_NANOSECONDS} ns")
            }
            _ => format!("advantage ≥ {seen:.2} for {value}, ≥ {beyond:.2} beyond {IGNORED_NANOSECONDS} ns"),
        },
        allowed: format!("≤ {MAX_ADVANTAGE} beyond {IGNORED_NANOSECONDS} ns"),
        bound: None,
        verdict: verdict(beyond <= MAX_ADVANTAGE),
    }
}

/// The largest lower bound on the advantage in the median round, and its value.
fn max_advantage(rounds: &[Round], z: f64, ignored: u64) -> (f64, f64) {
    let bound =
        |value: usize| median(rounds.iter().map(|round| lower_bound(round, value, z, ignored)).collect());
    let bounds = VALUES.iter().enumerate().map(|(index, &value)| (bound(index), value));
    bounds.fold((0.0, VALUES[0]), |most, next| if next.0 > most.0 { next } else { most })
}

/// A lower bound on the advantage in distinguishing one value from the others, as slower or faster
/// by more than the ignored difference.
fn lower_bound(round: &Round, value: usize, z: f64, ignored: u64) -> f64 {
    let bound = |is_slower: bool| {
        let shifted = |time: u64| {
            if is_slower { time.saturating_sub(ignored) } else { time.saturating_add(ignored) }
        };
        let label = |&(time, of): &(u64, usize)| {
            if of == value { (shifted(time), true) } else { (time, false) }
        };
        let strata: Vec<Vec<(u64, bool)>> =
            round.iter().map(|stratum| stratum.iter().map(label).collect()).collect();
        let sign = if is_slower { 1.0 } else { -1.0 };
        ranks::advantage(&strata).map_or(0.0, |found| sign * found.advantage - z * found.deviation)
    };
    bound(true).max(bound(false))
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::keys::Coins;
    use crate::report::Verdict;
    use crate::subject::{CounterSubject, Session};
    use evertally::{Budget, NoiseKey, Plan};
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Times of a machine with occasional interruptions. One value may take longer.
    fn synthetic(seed: u64, slower: f64, disturbed_rounds: usize) -> Vec<Round> {
        let mut coins = Coins::seeded(seed);
        (0..ROUNDS)
            .map(|round| {
                let mut timed: Round = vec![Vec::new(); 16];
                for index in 0..16 * 150 {
                    let value = coins.below(VALUES.len());
                    let mut time = 100.0 + coins.below(20) as f64 + 40.0 * f64::from(index % 16 == 0);
                    if coins.below(50) == 0 {
                        time += 5_000.0;
                    }
                    if value == 2 && (round < disturbed_rounds || disturbed_rounds == 0) {
                        time += slower;
                    }
                    timed[index as usize % 16].push((time as u64, value));
                }
                timed
            })
            .collect()
    }

    #[test]
    fn equal_times_pass_and_unequal_ones_do_not() {
        for seed in 0..5 {
            assert_eq!(finding(&synthetic(seed, 0.0, 0), 1e-5).verdict, Verdict::Passed);
            for slower in [150.0, -70.0] {
                let slow = finding(&synthetic(seed, slower, 0), 1e-5);
                assert_eq!(slow.verdict, Verdict::Failed);
                assert!(slow.measured.contains("for -7.5"), "{}", slow.measured);
            }
            // The difference is measured and reported, but ignored.
            let slight = finding(&synthetic(seed, 15.0, 0), 1e-5);
            assert_eq!(slight.verdict, Verdict::Passed);
            assert!(slight.measured.ends_with("for -7.5, by less than 50 ns"), "{}", slight.measured);
        }
    }

    /// A counter with a simulated clock.
    struct Slow {
        whole: CounterSubject,
        now: AtomicU64,
        for_zero: u64,
    }

    struct SlowSession<'a>(Box<dyn Session + 'a>, &'a Slow);

    impl Session for SlowSession<'_> {
        fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
            let took = if inputs[0] == 0.0 { self.1.for_zero } else { 100 };
            self.1.now.fetch_add(took, Ordering::Relaxed);
            self.0.step(inputs, out)
        }
    }

    impl Subject for Slow {
        fn plan(&self) -> &Plan {
            self.whole.plan()
        }
        fn start(&self, key: NoiseKey) -> Result<Box<dyn Session + '_>> {
            Ok(Box::new(SlowSession(self.whole.start(key)?, self)))
        }
    }

    #[test]
    fn a_subject_that_takes_longer_for_zero_is_found_by_any_clock() {
        let plan = Plan::prefix_sum(16).budget(Budget::new(1.0, 1e-6).unwrap()).build().unwrap();
        for (for_zero, expected) in [(100, Verdict::Passed), (110, Verdict::Passed), (300, Verdict::Failed)] {
            let whole = CounterSubject::new(plan.clone()).unwrap();
            let slow = Slow { whole, now: AtomicU64::new(0), for_zero };
            let clock = || slow.now.load(Ordering::Relaxed);
            let found = attack(&slow, 16, 1, Keys::SeededNotPrivate(1), &clock, 1e-5).unwrap();
            assert_eq!(found.verdict, expected, "{found:?}");
        }
    }

    #[test]
    fn values_are_those_that_can_be_counted() {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        for (plan, largest) in [(Plan::prefix_sum(64), 40), (Plan::decay(64, 0.99), 30)] {
            let subject = CounterSubject::new(plan.budget(budget).build().unwrap()).unwrap();
            let values = values(&subject, 64, 1, Keys::SeededNotPrivate(1)).unwrap();
            assert_eq!(values[VALUES.len() - 1], f64::from(largest).exp2());
        }
    }

    #[test]
    fn a_few_disturbed_rounds_do_not_decide() {
        assert_eq!(finding(&synthetic(3, 500.0, ROUNDS / 2), 1e-5).verdict, Verdict::Passed);
        assert_eq!(finding(&synthetic(3, 500.0, ROUNDS / 2 + 1), 1e-5).verdict, Verdict::Failed);
    }
}
