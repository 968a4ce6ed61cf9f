//! Replay under one key: with fixed noise, only the data changes.
//!
//! **Definition.** An attacker with the key runs neighbouring streams under it. Three things must
//! hold. The same stream gives the same releases: noise is a function of the key. Neighbours give
//! releases that differ by exactly A(x − x'): noise does not depend on data. And ‖R(x − x')‖, the
//! distance of the two streams in the space of the noise draws, is at most the distance μ·s that
//! noise of scale s covers at the promised budget. μ comes from the audit's own calibration. This
//! is checked for every pattern of steps that the promise allows, with both signs if both are
//! allowed.
//!
//! **Guarantee.** The checks are deterministic, so there are no false alarms. Distances have an
//! allowance of 10⁻⁹ for the arithmetic of the dense matrices. A mechanism that can invert its own
//! arithmetic reports the distance itself ([`Subject::noise_distance`]), including rounding.
//!
//! **Cost.** A few products per pattern, and two runs per replayed change.

use evertally::internals::factorization::Dense;
use evertally::internals::noise::copy_of;
use evertally::privacy::NoiseKind;
use evertally::{Matrix, Plan, Result};

use super::Target;
use crate::keys::{Keys, Purpose};
use crate::neighbours::Neighbourhood;
use crate::report::{Attack, Finding, verdict};
use crate::stream::{Change, Stream};
use crate::subject::Subject;
use crate::whitening::Whitening;

/// The maximum number of changes that are run, starting with the worst.
const MAX_REPLAYED_CHANGES: usize = 32;

/// The relative error of arithmetic in the dense factors.
const ROUNDING: f64 = 1e-9;

/// Distances in the space of the noise draws, for noise of scale one.
pub(crate) struct Encoder {
    /// The watched steps.
    steps: Vec<usize>,
    norm: Norm,
}

enum Norm {
    /// Euclidean, from the inner products of columns of R.
    Euclidean { gram: Matrix },
    /// The sum of magnitudes. The rows of this matrix are the columns of R.
    Sum { columns: Matrix },
}

impl Encoder {
    /// From the dense R if there is one, otherwise from the watched releases, which reveal less.
    /// `None` for Laplace noise without a dense R.
    pub(crate) fn new(
        plan: &Plan,
        dense: Option<&Dense>,
        whitening: &Whitening,
        noise: NoiseKind,
    ) -> Option<Self> {
        let steps = whitening.steps().to_vec();
        let Some(dense) = dense else {
            let scale = plan.noise_scale().powi(2);
            let seen = whitening.gram();
            let gram = Matrix::from_fn(steps.len(), steps.len(), |i, j| scale * seen[(i, j)]);
            return (noise == NoiseKind::Gaussian).then_some(Self { steps, norm: Norm::Euclidean { gram } });
        };
        let encoder = &dense.encoder;
        let columns = Matrix::from_fn(steps.len(), encoder.rows(), |i, row| encoder[(row, steps[i])]);
        let norm = match noise {
            NoiseKind::Gaussian => Norm::Euclidean { gram: columns.times(&columns.transpose()) },
            NoiseKind::Laplace => Norm::Sum { columns },
        };
        Some(Self { steps, norm })
    }

    /// The distances that the watched releases reveal, in declared standard deviations.
    pub(crate) fn of_releases(whitening: &Whitening) -> Self {
        Self { steps: whitening.steps().to_vec(), norm: Norm::Euclidean { gram: whitening.gram() } }
    }

    /// The distance between the encoded streams of a change. Lanes have separate coordinates.
    pub(crate) fn distance(&self, change: &Change) -> f64 {
        let places = change.entries().iter().map(|&(step, lane, amount)| {
            (self.steps.partition_point(|watched| *watched < step), lane, amount)
        });
        let places: Vec<_> = places.collect();
        match &self.norm {
            Norm::Euclidean { gram } => {
                let product = |&(i, lane, a): &(usize, usize, f64)| {
                    let same = places.iter().filter(move |other| other.1 == lane);
                    same.map(|&(j, _, b)| a * b * gram[(i, j)]).sum::<f64>()
                };
                places.iter().map(product).sum::<f64>().max(0.0).sqrt()
            }
            Norm::Sum { columns } => {
                let mut lanes: Vec<usize> = places.iter().map(|place| place.1).collect();
                lanes.sort_unstable();
                lanes.dedup();
                let moved = |lane: usize| {
                    let mut sum = vec![0.0; columns.columns()];
                    for &(i, _, amount) in places.iter().filter(|place| place.1 == lane) {
                        sum.iter_mut().zip(columns.row(i)).for_each(|(sum, entry)| *sum += amount * entry);
                    }
                    sum.iter().map(|x| x.abs()).sum::<f64>()
                };
                lanes.into_iter().map(moved).sum()
            }
        }
    }
}

/// The largest distance, and the index of its change.
pub(crate) fn farthest(encoder: &Encoder, changes: &[Change]) -> (usize, f64) {
    let distances = changes.iter().map(|change| encoder.distance(change)).enumerate();
    distances.fold((0, 0.0), |farthest, next| if next.1 > farthest.1 { next } else { farthest })
}

/// The parts that do not depend on the keys, prepared once.
pub(crate) struct Distances {
    /// The largest distance of all changes, and the distance that the noise covers. `None` if
    /// distances are unknown.
    farthest: Option<f64>,
    covered: f64,
    patterns: String,
}

impl Distances {
    pub(crate) fn new(plan: &Plan, target: &Target, encoder: Option<&Encoder>, near: &Neighbourhood) -> Self {
        let count = near.changes.len();
        Self {
            farthest: encoder.map(|encoder| farthest(encoder, &near.changes).1),
            covered: plan.noise_scale() * target.mu,
            patterns: if near.is_complete {
                format!("all {count} changes")
            } else {
                format!("{count} changes")
            },
        }
    }

    fn are_covered(&self) -> bool {
        self.farthest.is_none_or(|farthest| farthest <= self.covered * (1.0 + ROUNDING))
    }
}

/// The outcome of the runs.
#[derive(Debug, Clone, Copy, PartialEq)]
enum ReplayOutcome {
    /// Releases changed exactly as the data did.
    Still,
    /// One stream under one key gave two outcomes.
    Restless,
    /// Releases changed differently from the data, by at most this much.
    Moved(f64),
    /// By the mechanism's own arithmetic, the distance of two streams is this multiple of the
    /// covered one.
    Uncovered(f64),
}

/// Replays the farthest change and an even selection of others.
pub(crate) fn attack(
    subject: &dyn Subject,
    stream: &Stream,
    near: &Neighbourhood,
    farthest: usize,
    distances: &Distances,
    keys: Keys,
    target: &Target,
) -> Result<Finding> {
    let replayed = replay(subject, stream, near, farthest, keys, target)?;
    let covered = distances.covered;
    let measured = match (replayed, distances.farthest) {
        (ReplayOutcome::Restless, _) => "one key gave two outcomes".to_owned(),
        (ReplayOutcome::Moved(most), _) => format!("releases moved {most:.3e} otherwise than the data"),
        (ReplayOutcome::Uncovered(f64::INFINITY), _) => "the draws do not give the releases".to_owned(),
        (ReplayOutcome::Uncovered(times), _) => format!("noise moved {times:.4} times what is covered"),
        (ReplayOutcome::Still, Some(farthest)) => format!("noise still, distance {farthest:.6}"),
        (ReplayOutcome::Still, None) => "noise still; distances unknown".to_owned(),
    };
    Ok(Finding {
        attack: Attack::Replay,
        tried: format!("{} under one key", distances.patterns),
        measured,
        allowed: format!("distance ≤ {covered:.6}"),
        bound: None,
        verdict: verdict(replayed == ReplayOutcome::Still && distances.are_covered()),
    })
}

fn replay(
    subject: &dyn Subject,
    stream: &Stream,
    near: &Neighbourhood,
    farthest: usize,
    keys: Keys,
    target: &Target,
) -> Result<ReplayOutcome> {
    let workload = subject.plan().workload();
    let key = keys.key(Purpose::Replay, u64::MAX)?;
    let before = subject.run(stream, copy_of(&key))?;
    if subject.run(stream, copy_of(&key))? != before {
        return Ok(ReplayOutcome::Restless);
    }
    let answers = stream.answers(workload);
    let every = (near.changes.len() / MAX_REPLAYED_CHANGES).max(1);
    for index in std::iter::once(farthest).chain((0..near.changes.len()).step_by(every)) {
        let neighbour = stream.with(&near.changes[index]);
        let after = subject.run(&neighbour, copy_of(&key))?;
        let moved = neighbour.answers(workload);
        let slips = before.iter().zip(&after).zip(answers.iter().zip(&moved));
        let slip = slips.fold(0.0, |most: f64, ((before, after), (answer, moved))| {
            let slip = ((after - before) - (moved - answer)).abs();
            let allowed = allowance(subject.grid(), moved - answer, before.abs().max(after.abs()));
            if slip <= allowed { most } else { most.max(slip) }
        });
        if slip > 0.0 {
            return Ok(ReplayOutcome::Moved(slip));
        }
        if let Some(distance) = subject.noise_distance(stream, &neighbour, copy_of(&key))? {
            let times = distance / target.mu;
            if times > 1.0 + ROUNDING {
                return Ok(ReplayOutcome::Uncovered(times));
            }
        }
    }
    Ok(ReplayOutcome::Still)
}

/// The allowed deviation of a difference of releases from the difference of answers: zero if both
/// lie on the grid, one cell if the answers lie between grid points, and floating-point rounding
/// without a grid.
fn allowance(grid: f64, difference: f64, magnitude: f64) -> f64 {
    let float = 4.0 * f64::EPSILON * magnitude.max(difference.abs());
    if grid == 0.0 || (difference / grid).fract() == 0.0 { float } else { grid + float }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::subject::{CounterSubject, Promise, Session};
    use evertally::{Budget, Mechanism, NoiseKey, Participation};
    use std::sync::atomic::{AtomicU64, Ordering};

    fn plan(mechanism: Mechanism, budget: Budget) -> Plan {
        let participation = Participation::at_most(2, 3).unwrap();
        Plan::prefix_sum(10).budget(budget).mechanism(mechanism).participation(participation).build().unwrap()
    }

    #[test]
    fn distances_are_those_of_the_dense_encoder() {
        for (mechanism, budget) in [
            (Mechanism::SquareRoot, Budget::new(1.0, 1e-6).unwrap()),
            (Mechanism::LaplaceTree, Budget::pure(1.0).unwrap()),
        ] {
            let plan = plan(mechanism, budget);
            let dense = plan.dense().unwrap();
            let whitening = Whitening::new(&plan, Some(&dense), 0.0, 10);
            let encoder = Encoder::new(&plan, Some(&dense), &whitening, budget.noise()).unwrap();
            let dense = dense.encoder;
            let change = Change::of([(1, 0, 1.0), (6, 0, -2.0), (6, 1, 0.5)]);
            let lane = |amounts: &[(usize, f64)]| -> Vec<f64> {
                (0..dense.rows()).map(|row| amounts.iter().map(|&(j, a)| a * dense[(row, j)]).sum()).collect()
            };
            let moved = [lane(&[(1, 1.0), (6, -2.0)]), lane(&[(6, 0.5)])].concat();
            let expected = match budget.noise() {
                NoiseKind::Gaussian => moved.iter().map(|x| x * x).sum::<f64>().sqrt(),
                NoiseKind::Laplace => moved.iter().map(|x| x.abs()).sum(),
            };
            assert!((encoder.distance(&change) - expected).abs() < 1e-12, "{mechanism}");
        }
    }

    /// A counter with a configurable fault.
    struct Odd {
        whole: CounterSubject,
        runs: AtomicU64,
        is_restless: bool,
        depends_on_data: bool,
        distance: Option<f64>,
    }

    struct OddSession<'a>(Box<dyn Session + 'a>, f64);

    impl Session for OddSession<'_> {
        fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
            self.0.step(inputs, out)?;
            out[0] += self.1 * inputs[0];
            Ok(())
        }
    }

    impl Subject for Odd {
        fn plan(&self) -> &Plan {
            self.whole.plan()
        }
        fn start(&self, key: NoiseKey) -> Result<Box<dyn Session + '_>> {
            let run = self.runs.fetch_add(1, Ordering::Relaxed);
            let key = if self.is_restless { NoiseKey::insecure_from_seed(run) } else { key };
            let weight = if self.depends_on_data { 1e-6 } else { 0.0 };
            Ok(Box::new(OddSession(self.whole.start(key)?, weight)))
        }
        fn noise_distance(&self, _: &Stream, _: &Stream, _: NoiseKey) -> Result<Option<f64>> {
            Ok(self.distance)
        }
    }

    #[test]
    fn runs_under_one_key_differ_by_their_data_alone() {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        let plan = plan(Mechanism::SquareRoot, budget);
        let target = Target::of(&Promise::of(&plan));
        let steps: Vec<usize> = (0..10).collect();
        let near = Neighbourhood::new(&Promise::of(&plan), &steps, 1, 1000);
        let replayed = |is_restless, depends_on_data, distance| {
            let whole = CounterSubject::new(plan.clone()).unwrap();
            let odd = Odd { whole, runs: AtomicU64::new(0), is_restless, depends_on_data, distance };
            let keys = Keys::SeededNotPrivate(1);
            replay(&odd, &Stream::busy(10, 1), &near, 0, keys, &target).unwrap()
        };
        assert_eq!(replayed(false, false, None), ReplayOutcome::Still);
        assert_eq!(replayed(true, false, None), ReplayOutcome::Restless);
        assert!(
            matches!(replayed(false, true, None), ReplayOutcome::Moved(slip) if (slip - 1e-6).abs() < 1e-12)
        );
        // A distance of 1/σ is covered, and a slightly larger one is not.
        let most = target.mu;
        assert_eq!(replayed(false, false, Some(most)), ReplayOutcome::Still);
        assert_eq!(replayed(false, false, Some(f64::INFINITY)), ReplayOutcome::Uncovered(f64::INFINITY));
        assert!(
            matches!(replayed(false, false, Some(1.001 * most)), ReplayOutcome::Uncovered(times) if times > 1.0)
        );
    }

    #[test]
    fn allowances_are_exact_on_the_grid() {
        assert!(allowance(1.0, 3.0, 100.0) < 1e-12);
        assert!((1.0..1.001).contains(&allowance(1.0, 0.3, 100.0)));
        assert!(allowance(0.0, 0.3, 100.0) < 1e-12);
    }
}
