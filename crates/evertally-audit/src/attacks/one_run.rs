//! One run with canaries: a fair coin decides for each of many people whether they are in the
//! stream. The attack guesses the coins from the releases of a single run.
//!
//! **Definition.** m canaries contribute to disjoint steps of a counter, or one canary to each key.
//! The matched filter scores each canary, with the other canaries as noise. The attack guesses the
//! r canaries with the clearest scores and abstains on the others.
//!
//! **Guarantee.** Let v guesses be right. If the mechanism is (ε, δ)-private, then with q = 1/(1 + e^{−ε})
//!
//! > P(v or more are right) ≤ P(B ≥ v) + 2mδ · max_i P(v > B ≥ v − i)/i, with B ~ Binomial(r, q).
//!
//! ε is refuted if this is below the share of false alarms. This assumes nothing about the noise,
//! and one run suffices. But at ε = 1 even the best guesser is right about three times in four, and
//! Gaussian noise at a small δ allows far less, so the attack finds only gross faults. With few
//! canaries, or a δ that is not well below the share, even a guesser who is always right refutes
//! nothing. The attack is then reported as skipped.
//!
//! **Source.** Steinke, Nasr and Jagielski, *Privacy Auditing with One (1) Training Run* (2023):
//! main theorem.

use evertally::Result;

use super::Target;
use crate::keys::{Keys, Purpose};
use crate::neighbours::{ends, most_steps};
use crate::report::{Attack, Bound, Finding, Verdict, verdict};
use crate::statistics::{binomial, crossing};
use crate::stream::{Change, Stream};
use crate::subject::{Promise, Subject};
use crate::whitening::Whitening;

/// With at least this many keys, one canary per key is enough. With fewer, every key has as many as
/// fit.
const MIN_LANES_FOR_ONE_CANARY: usize = 16;

/// Runs once, guesses, and bounds ε.
pub(crate) fn attack(
    subject: &dyn Subject,
    promise: &Promise,
    target: &Target,
    whitening: &Whitening,
    lanes: usize,
    keys: Keys,
    share: f64,
) -> Result<Finding> {
    let canaries = Canaries::new(promise, whitening, lanes);
    let mut coins = keys.coins(Purpose::Canaries)?;
    let is_in: Vec<bool> = (0..canaries.count()).map(|_| coins.toss()).collect();
    let stream = canaries.stream(&is_in, whitening.length());
    let released = subject.run(&stream, keys.key(Purpose::Canaries, 0)?)?;
    let scores = canaries.scores(whitening, &released);
    let (guesses, right) = guess(&scores, &is_in);
    Ok(finding(canaries.count(), guesses, right, target, share))
}

fn finding(canaries: usize, guesses: usize, right: usize, target: &Target, share: f64) -> Finding {
    let chance = |right| p_value(canaries, guesses, right, target.epsilon, target.delta);
    let (can_refute, refutes) = (chance(guesses) < share, chance(right) < share);
    let epsilon = lower_bound(canaries, guesses, right, target.delta, share);
    Finding {
        attack: Attack::OneRun,
        tried: format!("{canaries} canaries in one run, {guesses} guesses"),
        measured: if can_refute {
            format!("{right} right")
        } else {
            format!("{right} right, too few to refute")
        },
        allowed: format!("ε ≤ {}", target.epsilon),
        bound: Some(Bound { epsilon, confidence: 1.0 - share }),
        verdict: if can_refute { verdict(!refutes) } else { Verdict::Skipped },
    }
}

/// The people who may be in the stream.
struct Canaries {
    lanes: usize,
    /// The patterns of steps in one lane.
    patterns: Vec<Vec<usize>>,
    /// The contribution of a canary to a step.
    amount: f64,
    /// Whether the sign of the contribution changes from step to step.
    is_in_turn: bool,
}

impl Canaries {
    /// As many disjoint patterns as fit, each with the maximum number of steps of one person.
    fn new(promise: &Promise, whitening: &Whitening, lanes: usize) -> Self {
        let steps = whitening.steps();
        let most = most_steps(promise.participation, whitening.length() as u64).max(1);
        let gap = usize::try_from(promise.participation.min_gap()).unwrap_or(usize::MAX);
        // With steps i, i + g, i + 2g, … for canary i, g canaries are disjoint.
        let stride = gap.max(steps.len() / most).min(steps.len());
        let count = if lanes >= MIN_LANES_FOR_ONE_CANARY { 1 } else { stride };
        let pattern = |first: usize| steps.iter().skip(first).step_by(stride).take(most).copied().collect();
        let ends = ends(promise.contribution);
        let amount = ends.into_iter().fold(0.0, |a: f64, b| if b.abs() > a.abs() { b } else { a });
        let is_in_turn = promise.participation.is_in_turn();
        Self { lanes, patterns: (0..count).map(pattern).collect(), amount, is_in_turn }
    }

    /// What a canary with this pattern adds to its steps.
    fn entries(&self, pattern: &[usize]) -> impl Iterator<Item = (usize, f64)> {
        let amount = |place: usize| {
            if self.is_in_turn && place % 2 == 1 { -self.amount } else { self.amount }
        };
        pattern.iter().enumerate().map(move |(place, &step)| (step, amount(place)))
    }

    fn count(&self) -> usize {
        self.lanes * self.patterns.len()
    }

    fn stream(&self, is_in: &[bool], length: usize) -> Stream {
        let who = is_in.iter().enumerate().filter(|(_, is_in)| **is_in).map(|(who, _)| who);
        let entries = who.flat_map(|who| {
            let (lane, pattern) = (who / self.patterns.len(), &self.patterns[who % self.patterns.len()]);
            self.entries(pattern).map(move |(step, amount)| (step, lane, amount))
        });
        Stream::busy(length, self.lanes).with(&Change::of(entries))
    }

    /// One score per canary. A positive score suggests that it is in the stream.
    fn scores(&self, whitening: &Whitening, released: &[f64]) -> Vec<f64> {
        let image = |pattern: &Vec<usize>| whitening.image(&self.entries(pattern).collect::<Vec<_>>());
        let images: Vec<Vec<f64>> = self.patterns.iter().map(image).collect();
        // A fair coin has standard deviation one half.
        let halves: Vec<Vec<f64>> =
            images.iter().map(|image| image.iter().map(|x| 0.5 * x).collect()).collect();
        let crowd = whitening.with_signal(&halves);
        let filters: Vec<(Vec<f64>, f64)> = images
            .iter()
            .map(|image| {
                let mut filter = image.clone();
                crowd.whiten(&mut filter);
                let norm = filter.iter().map(|x| x * x).sum::<f64>().sqrt();
                (crowd.weights(&filter), norm)
            })
            .collect();
        let answers = Stream::busy(whitening.length(), self.lanes).answers(whitening.workload());
        let residual = |lane: usize| -> Vec<f64> {
            let rows = whitening.steps().iter().enumerate();
            rows.map(|(index, &step)| {
                let at = step * self.lanes + lane;
                released[at] - answers[at] - halves.iter().map(|half| half[index]).sum::<f64>()
            })
            .collect()
        };
        (0..self.lanes)
            .flat_map(|lane| {
                let residual = residual(lane);
                let score = |(weights, norm): &(Vec<f64>, f64)| {
                    weights.iter().zip(&residual).map(|(w, r)| w * r).sum::<f64>() / norm
                };
                filters.iter().map(score).collect::<Vec<_>>()
            })
            .collect()
    }
}

/// Guesses the canaries with the largest absolute scores: half of them, but at least sixty-four.
/// Returns the numbers of guesses and of right guesses.
fn guess(scores: &[f64], is_in: &[bool]) -> (usize, usize) {
    const MIN_GUESSES: usize = 64;
    let guesses = (scores.len() / 2).max(MIN_GUESSES.min(scores.len()));
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].abs().total_cmp(&scores[a].abs()));
    let right = order[..guesses].iter().filter(|&&who| (scores[who] > 0.0) == is_in[who]).count();
    (guesses, right)
}

/// A bound on the probability of at least `right` right guesses under (ε, δ).
fn p_value(canaries: usize, guesses: usize, right: usize, epsilon: f64, delta: f64) -> f64 {
    let masses = binomial::masses(guesses, 1.0 / (1.0 + (-epsilon).exp()));
    let mut tail: f64 = masses[right..].iter().sum();
    let at_least_right = tail;
    let mut steepest = 0.0_f64;
    for i in 1..=canaries.min(right) {
        tail += masses[right - i];
        steepest = steepest.max((tail - at_least_right) / i as f64);
    }
    (at_least_right + 2.0 * canaries as f64 * delta * steepest).min(1.0)
}

/// The largest ε that is refuted.
fn lower_bound(canaries: usize, guesses: usize, right: usize, delta: f64, share: f64) -> f64 {
    const MAX_EPSILON: f64 = 100.0;
    let p = |epsilon: f64| p_value(canaries, guesses, right, epsilon, delta);
    if p(0.0) >= share {
        return 0.0;
    }
    // The bound increases with ε where it is small. Its negative decreases.
    crossing(|epsilon| -p(epsilon), -share, 0.0, MAX_EPSILON)
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::privacy::NoiseKind;
    use evertally::{Budget, Participation, Plan};

    #[test]
    fn the_bound_is_that_of_the_theorem() {
        // Summed term by term with 40 digits.
        for (epsilon, expected) in [(1.0, 8.412_885_614_385_307e-4), (2.0, 0.344_986_836_793_803_9)] {
            let found = p_value(1000, 100, 90, epsilon, 1e-5);
            assert!((found / expected - 1.0).abs() < 1e-10, "{found}");
        }
        assert_eq!(p_value(10, 10, 0, 1.0, 0.0), 1.0);
        // Without δ: 2^{-10} for ten of ten at ε = 0.
        assert!((p_value(10, 10, 10, 0.0, 0.0) - 1.0 / 1024.0).abs() < 1e-15);
    }

    #[test]
    fn epsilon_is_refuted_up_to_the_share() {
        let epsilon = lower_bound(1000, 500, 460, 1e-6, 5e-5);
        assert!(epsilon > 1.5);
        assert!(p_value(1000, 500, 460, 0.999 * epsilon, 1e-6) < 5e-5, "{epsilon}");
        assert!(p_value(1000, 500, 460, 1.001 * epsilon, 1e-6) > 5e-5, "{epsilon}");
        assert_eq!(lower_bound(1000, 500, 260, 1e-6, 5e-5), 0.0);
    }

    #[test]
    fn guesses_go_to_the_clearest_scores() {
        let scores: Vec<f64> = (0..200).map(|i| if i < 100 { 10.0 } else { -0.1 }).collect();
        let is_in: Vec<bool> = (0..200).map(|i| i < 75).collect();
        assert_eq!(guess(&scores, &is_in), (100, 75));
        assert_eq!(guess(&[1.0, -1.0], &[true, true]), (2, 1));
    }

    #[test]
    fn patterns_are_disjoint_and_admissible() {
        let plan = Plan::prefix_sum(20)
            .budget(Budget::new(1.0, 1e-6).unwrap())
            .participation(Participation::at_most(3, 4).unwrap())
            .build()
            .unwrap();
        let whitening = Whitening::new(&plan, None, 0.0, 20);
        let canaries = Canaries::new(&Promise::of(&plan), &whitening, 1);
        let mut seen = [false; 20];
        for pattern in &canaries.patterns {
            assert!(
                pattern.len() == 3 && pattern.windows(2).all(|pair| pair[1] - pair[0] >= 4),
                "{pattern:?}"
            );
            pattern.iter().for_each(|&step| assert!(!std::mem::replace(&mut seen[step], true)));
        }
        assert_eq!(canaries.count(), 6);
    }

    /// Without noise, and with a filter that expects little noise, every guess is right.
    #[test]
    fn scores_read_the_coins_where_there_is_no_noise() {
        let keys: Vec<String> = (0..40).map(|key| format!("key {key}")).collect();
        for lanes in [1, 2, 40] {
            let plan = Plan::prefix_sum(24).budget(Budget::new(100.0, 1e-6).unwrap());
            let plan =
                if lanes == 1 { plan } else { plan.keys(keys[..lanes].iter().cloned()) }.build().unwrap();
            let whitening = Whitening::new(&plan, None, 0.0, 24);
            let canaries = Canaries::new(&Promise::of(&plan), &whitening, lanes);
            let mut coins = crate::keys::Coins::seeded(3);
            let is_in: Vec<bool> = (0..canaries.count()).map(|_| coins.toss()).collect();
            let released = canaries.stream(&is_in, 24).answers(plan.workload());
            let (guesses, right) = guess(&canaries.scores(&whitening, &released), &is_in);
            assert_eq!(right, guesses, "{lanes}");
        }
        let target = Target { epsilon: 1.0, delta: 1e-6, mu: 0.24, noise: NoiseKind::Gaussian };
        assert_eq!(finding(64, 64, 64, &target, 5e-5).verdict, Verdict::Failed);
        assert_eq!(finding(64, 64, 48, &target, 5e-5).verdict, Verdict::Passed);
        assert_eq!(finding(16, 16, 16, &target, 5e-5).verdict, Verdict::Skipped);
        let careless = Target { delta: 1e-3, ..target };
        assert_eq!(finding(64, 64, 64, &careless, 5e-5).verdict, Verdict::Skipped);
    }
}
