//! The learner is tested against its definition: its sums, its noise, and resumption.

#![expect(clippy::unwrap_used, reason = "a test")]

use evertally::privacy::gaussian_sigma;
use evertally::{Budget, Contribution, Error, Mechanism, Neighbours, NoiseKey, Participation, Result};
use evertally_learn::loss::{Logistic, Loss};
use evertally_learn::{Example, Learner, LearningPlan, LearningPlanBuilder, Schedule, Set, Update, norm};

const STEPS: u64 = 12;
const LAMBDA: f64 = 2.5;
const LEADER: Update = Update::Leader { regularization: LAMBDA };

fn base() -> LearningPlanBuilder {
    LearningPlan::new(3, STEPS)
        .budget(Budget::new(1.0, 1e-6).unwrap())
        .noise(|noise| noise.mechanism(Mechanism::SquareRoot))
        .update(LEADER)
}

fn learner(plan: &LearningPlanBuilder) -> Learner {
    Learner::new(&plan.build().unwrap(), NoiseKey::insecure_from_seed(7)).unwrap()
}

/// Gradients, some of them clipped, with an occasional empty batch.
fn gradients(step: u64) -> Vec<[f64; 3]> {
    let t = step as f64;
    let all = [[0.3 + t, -0.2 * t, 0.5], [0.1, 0.05 * t, -0.3]];
    all[..(step % 3) as usize].to_vec()
}

fn path(plan: &LearningPlanBuilder, gradients: impl Fn(u64) -> Vec<[f64; 3]>) -> Vec<Vec<f64>> {
    let mut learner = learner(plan);
    (0..STEPS).map(|step| learner.step(gradients(step)).unwrap().to_vec()).collect()
}

fn close(a: &[f64], b: &[f64]) {
    assert!(a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + a.abs())), "{a:?} is not {b:?}");
}

/// The parameters after each step, with the private sums that determine them.
fn path_and_sums(plan: &LearningPlanBuilder) -> Vec<(Vec<f64>, Vec<f64>)> {
    let mut learner = learner(plan);
    let step = |step| {
        learner.step(gradients(step)).unwrap();
        (learner.theta().to_vec(), learner.released().to_vec())
    };
    (0..STEPS).map(step).collect()
}

/// Two runs under one key differ by their clipped gradients alone.
#[test]
fn noise_cancels_between_equal_keys_and_leaves_clipped_sums() {
    let plan = base().batch_size(2);
    let (with, without) = (path(&plan, gradients), path(&plan, |_| Vec::new()));
    let mut sum = [0.0; 3];
    for step in 0..STEPS {
        for gradient in gradients(step) {
            let length = norm(&gradient).max(1.0);
            sum.iter_mut().zip(gradient).for_each(|(sum, value)| *sum += value / length);
        }
        let difference: Vec<f64> = with[step as usize]
            .iter()
            .zip(&without[step as usize])
            .map(|(a, b)| (b - a) * LAMBDA * 2.0)
            .collect();
        close(&difference, &sum);
    }
}

/// Every update rule, computed from the sums alone by its definition.
#[test]
fn parameters_follow_from_sums_as_defined() {
    let (momentum, start) = (0.7, vec![0.2, -0.1, 0.4]);
    for set in [Set::Everything, Set::ball(0.6).unwrap(), Set::cube(-0.3, 0.5).unwrap()] {
        for restart in [STEPS, 5] {
            let plan =
                base().batch_size(2).momentum(momentum).set(set).start(start.clone()).restart_every(restart);
            let mut velocity = [0.0; 3];
            for (got, sum) in path_and_sums(&plan) {
                let mut theta: Vec<f64> = (0..3)
                    .map(|i| {
                        velocity[i] = momentum * velocity[i] + sum[i] / 2.0;
                        start[i] - velocity[i] / LAMBDA
                    })
                    .collect();
                set.project(&mut theta);
                close(&got, &theta);
            }
            let rate = Schedule::Cosine(0.3);
            let descent = path_and_sums(&plan.clone().update(Update::Descent { rate }));
            let (mut theta, mut velocity, mut last) = (start.clone(), vec![0.0; 3], vec![0.0; 3]);
            for (step, (got, sum)) in descent.into_iter().enumerate() {
                for i in 0..3 {
                    velocity[i] = momentum * velocity[i] + (sum[i] - last[i]) / 2.0;
                    theta[i] -= rate.rate(step as u64, STEPS) * velocity[i];
                }
                set.project(&mut theta);
                last = sum;
                close(&got, &theta);
            }
        }
    }
}

/// Descent at a constant rate equals the leader with λ = 1/η on the same sums.
#[test]
fn descent_at_a_constant_rate_is_the_leader() {
    for momentum in [0.0, 0.9] {
        let rate = Schedule::Constant(1.0 / LAMBDA);
        let plan = base().batch_size(2).momentum(momentum).update(Update::Descent { rate });
        let mut velocity = [0.0; 3];
        for (got, sum) in path_and_sums(&plan) {
            velocity.iter_mut().zip(sum).for_each(|(v, sum)| *v = momentum * *v + sum / 2.0);
            close(&got, &velocity.map(|v| -v / LAMBDA));
        }
    }
}

/// Runs that differ in any choice, even only in λ, have independent noise under one key.
#[test]
fn other_runs_have_other_noise() {
    let sums = |plan: &LearningPlanBuilder| path_and_sums(plan).pop().unwrap().1;
    let first = sums(&base().batch_size(2));
    assert_eq!(first, sums(&base().batch_size(2)));
    let others = [
        base().batch_size(3),
        base().batch_size(2).momentum(0.5),
        base().batch_size(2).update(Update::Leader { regularization: 2.0 }),
        base().batch_size(2).set(Set::ball(9.0).unwrap()),
        base().batch_size(2).noise(|noise| noise.stream("another")),
    ];
    for other in others {
        let other = sums(&other);
        assert!(first.iter().zip(&other).all(|(a, b)| (a - b).abs() > 1e-6), "{first:?} {other:?}");
    }
}

/// The average is that of the parameters at which gradients were taken.
#[test]
fn the_average_is_the_mean_of_what_was_played() {
    let plan = base().batch_size(2).start(vec![1.0, 2.0, 3.0]);
    let mut learner = learner(&plan);
    assert_eq!(learner.average(), [1.0, 2.0, 3.0]);
    let mut played = [0.0; 3];
    for step in 0..STEPS {
        played.iter_mut().zip(learner.theta()).for_each(|(sum, theta)| *sum += theta);
        learner.step(gradients(step)).unwrap();
        let mean: Vec<f64> = played.iter().map(|sum| sum / (step + 1) as f64).collect();
        close(learner.average(), &mean);
    }
}

/// The noise is what the budget requires for gradients of norm κ: σκ times the longest column of
/// the encoder that runs, and twice that if an example may be replaced. The test detects noise that
/// is 15 % short, or planned for another norm or other neighbours.
#[test]
fn noise_is_as_large_as_the_budget_asks() {
    let sigma = gaussian_sigma(1.0, 1e-6).unwrap();
    for mechanism in [Mechanism::Binary, Mechanism::SquareRoot, Mechanism::Blt { buffers: None }] {
        for (neighbours, factor) in [(Neighbours::AddRemove, 1.0), (Neighbours::Replace, 2.0)] {
            for (clip, batch_size) in [(0.25, 1), (3.0, 4)] {
                let builder =
                    base().noise(|noise| noise.mechanism(mechanism).neighbours(neighbours)).clip(clip);
                let plan = builder.batch_size(batch_size).build().unwrap();
                let dense = plan.noise().dense().unwrap();
                let column = |j: usize| (0..dense.encoder.rows()).map(move |i| (i, j));
                let longest = (0..STEPS as usize)
                    .map(|j| column(j).map(|place| dense.encoder[place].powi(2)).sum::<f64>().sqrt())
                    .fold(0.0, f64::max);
                let asked = sigma * factor * clip * longest;
                let share = plan.noise().noise_scale() / asked;
                assert!((1.0 - 1e-15..1.0 + 1e-9).contains(&share), "{mechanism} {neighbours}: {share}");
                // The first sum has the first row of the decoder and is divided by the batch size.
                let first = norm(dense.decoder.row(0)) * asked / batch_size as f64;
                assert!((plan.standard_error(0).unwrap() / first - 1.0).abs() < 1e-9);
            }
        }
    }
}

/// The noise in s_t has the covariance σ²κ²Δ²·L Lᵀ, segment by segment.
///
/// Over 6,000 runs of three coordinates each, the worst of the 36 pairs of steps is within 6
/// standard errors (each below √2/√18,000 of the variances' geometric mean): a false alarm occurs
/// in fewer than one run of ten million. Noise that is 15 % short has a variance that is 28 %
/// short, which is 26 standard errors.
#[test]
fn noise_has_the_stated_covariance() {
    const RUNS: u64 = 6000;
    let worst = |restart: u64, share: f64| {
        let steps = 8;
        let plan = LearningPlan::new(3, steps)
            .budget(Budget::new(1.0, 1e-6).unwrap())
            .noise(|noise| noise.mechanism(Mechanism::GradedSquareRoot { decays: None }))
            .clip(0.5)
            .update(Update::Leader { regularization: 1.0 })
            .restart_every(restart)
            .build()
            .unwrap();
        let decoder = plan.noise().dense().unwrap().decoder;
        let scale = plan.noise().noise_scale();
        // Finished segments stay in the sum; noise of different segments is independent.
        let covariance = |a: u64, b: u64| {
            let (a, b) = (a.min(b), a.max(b));
            let dot = |x: u64, y: u64| -> f64 {
                decoder.row(x as usize).iter().zip(decoder.row(y as usize)).map(|(x, y)| x * y).sum()
            };
            let last = restart - 1;
            let common = (a / restart) as f64 * dot(last, last);
            common + dot(a % restart, if a / restart == b / restart { b % restart } else { last })
        };
        let mut sums = vec![0.0; (steps * steps) as usize];
        for seed in 0..RUNS {
            let mut learner = Learner::new(&plan, NoiseKey::insecure_from_seed(seed)).unwrap();
            let path: Vec<Vec<f64>> =
                (0..steps).map(|_| learner.step([[0.0; 3]; 0]).unwrap().to_vec()).collect();
            for a in 0..steps as usize {
                for b in 0..=a {
                    let product: f64 = path[a].iter().zip(&path[b]).map(|(x, y)| x * y).sum();
                    sums[a * steps as usize + b] += product;
                }
            }
        }
        let draws = 3.0 * RUNS as f64;
        let mut worst = 0.0_f64;
        for a in 0..steps {
            let stated = plan.standard_error(a).unwrap() / scale;
            assert!((stated.powi(2) / covariance(a, a) - 1.0).abs() < 1e-9);
            for b in 0..=a {
                let measured = share * share * sums[(a * steps + b) as usize] / draws / (scale * scale);
                let error = (2.0 * covariance(a, a) * covariance(b, b) / draws).sqrt();
                worst = worst.max((measured - covariance(a, b)).abs() / error);
            }
        }
        worst
    };
    for restart in [8, 3] {
        assert!(worst(restart, 1.0) < 6.0, "{}", worst(restart, 1.0));
        assert!(worst(restart, 0.85) > 6.0);
    }
}

/// Beyond 2^16 steps the mean is bounded from squares. The bound is slightly above the mean itself,
/// wherever the last segment ends.
#[test]
fn mean_errors_of_long_runs_are_bounded_closely() {
    for restart in [70_000, 69_999, 66_000, 40_000, 7] {
        let plan = LearningPlan::new(1, 70_000)
            .budget(Budget::new(1.0, 1e-6).unwrap())
            .noise(|noise| noise.mechanism(Mechanism::Binary))
            .update(LEADER)
            .restart_every(restart)
            .build()
            .unwrap();
        let sum: f64 = (0..plan.steps() - 1).map(|step| plan.standard_error(step).unwrap()).sum();
        let (mean, bound) = (sum / plan.steps() as f64, plan.mean_standard_error());
        assert!(mean <= bound && bound <= 1.1 * mean, "{restart}: {mean} {bound}");
    }
}

#[test]
fn resumed_at_any_step_it_goes_on_bit_for_bit() {
    for restart in [STEPS, 5, 1] {
        for update in [LEADER, Update::Descent { rate: Schedule::Linear(0.2) }] {
            let builder = base().batch_size(2).momentum(0.5).restart_every(restart).update(update);
            let plan = builder.build().unwrap();
            let whole = path(&builder, gradients);
            let mut going = learner(&builder);
            for step in 0..=STEPS {
                let state = going.save();
                let mut resumed = Learner::resume(&plan, NoiseKey::insecure_from_seed(7), &state).unwrap();
                assert_eq!((resumed.steps_taken(), resumed.theta()), (step, going.theta()));
                assert_eq!(resumed.average(), going.average());
                for later in step..STEPS {
                    assert_eq!(resumed.step(gradients(later)).unwrap(), whole[later as usize]);
                }
                if step < STEPS {
                    going.step(gradients(step)).unwrap();
                }
            }
        }
    }
}

#[test]
fn states_that_do_not_belong_are_refused() {
    let builder = base().batch_size(2).restart_every(5);
    let plan = builder.build().unwrap();
    let key = || NoiseKey::insecure_from_seed(7);
    let mut learner = learner(&builder);
    for step in 0..7 {
        learner.step(gradients(step)).unwrap();
    }
    let state = learner.save();
    let refused = |plan: &LearningPlan, key: NoiseKey, state: &[u8]| {
        matches!(Learner::resume(plan, key, state), Err(Error::BadState { .. }))
    };
    assert!(!refused(&plan, key(), &state));
    assert!(refused(&plan, NoiseKey::insecure_from_seed(8), &state));
    for cut in 0..state.len() {
        assert!(refused(&plan, key(), &state[..cut]));
        let mut flipped = state.clone();
        flipped[cut] ^= 1;
        assert!(refused(&plan, key(), &flipped), "byte {cut}");
    }
    let others: Vec<LearningPlanBuilder> = vec![
        base().batch_size(3).restart_every(5),
        base().batch_size(2).restart_every(6),
        base().batch_size(2).restart_every(5).clip(2.0),
        base().batch_size(2).restart_every(5).momentum(0.1),
        base().batch_size(2).restart_every(5).set(Set::ball(1.0).unwrap()),
        base().batch_size(2).restart_every(5).start(vec![0.0, 0.0, 1e-9]),
        base().batch_size(2).restart_every(5).update(Update::Leader { regularization: 2.0 }),
        base().batch_size(2).restart_every(5).budget(Budget::new(2.0, 1e-6).unwrap()),
        base().batch_size(2).restart_every(5).noise(|noise| noise.mechanism(Mechanism::Binary)),
        base().batch_size(2).restart_every(5).noise(|noise| noise.stream("another")),
        base()
            .batch_size(2)
            .restart_every(5)
            .noise(|noise| noise.participation(Participation::at_most(2, 6).unwrap())),
    ];
    for (place, other) in others.iter().enumerate() {
        assert!(refused(&other.build().unwrap(), key(), &state), "plan {place}");
    }
}

#[test]
fn refusals_change_nothing() {
    let builder = base().batch_size(2);
    let (mut learner, mut untouched) = (learner(&builder), learner(&builder));
    let good = [[0.5, 0.5, 0.0]];
    let refused =
        |learner: &mut Learner, gradients: &[Vec<f64>]| -> Result<()> { learner.step(gradients).map(|_| ()) };
    for bad in [
        vec![vec![1.0, 2.0]],
        vec![vec![0.1, 0.1, 0.1], vec![f64::NAN, 0.0, 0.0]],
        vec![vec![0.0, f64::INFINITY, 0.0]],
        vec![vec![0.0; 3]; 3],
    ] {
        assert!(matches!(refused(&mut learner, &bad), Err(Error::BadParameter { .. })));
    }
    let mut foreign = evertally_learn::Batch::new(3, 2.0).unwrap();
    assert!(learner.step_batch(&mut foreign).is_err());
    for _ in 0..STEPS {
        assert_eq!(learner.step(good).unwrap(), untouched.step(good).unwrap());
    }
    let last = learner.theta().to_vec();
    assert!(matches!(learner.step(good), Err(Error::HorizonSpent { horizon: STEPS })));
    assert_eq!(learner.theta(), last);
}

/// A panic in the caller's iterator leaves the sums and the next step unaffected.
#[test]
fn a_panic_while_gradients_are_made_changes_nothing() {
    let builder = base().batch_size(2);
    let (mut learner, mut untouched) = (learner(&builder), learner(&builder));
    let failing = [false, true].into_iter().map(|fails| {
        assert!(!fails, "the second gradient cannot be made");
        [0.5, 0.5, 0.0]
    });
    let attempt = std::panic::AssertUnwindSafe(|| learner.step(failing).map(|_| ()));
    assert!(std::panic::catch_unwind(attempt).is_err());
    for step in 0..STEPS {
        assert_eq!(learner.step(gradients(step)).unwrap(), untouched.step(gradients(step)).unwrap());
    }
}

#[test]
fn plans_that_make_no_sense_are_refused() {
    let refused = |plan: LearningPlanBuilder| assert!(plan.build().is_err(), "{plan:?}");
    refused(LearningPlan::new(3, STEPS).update(LEADER));
    refused(LearningPlan::new(3, STEPS).budget(Budget::new(1.0, 1e-6).unwrap()));
    refused(LearningPlan::new(0, STEPS).budget(Budget::new(1.0, 1e-6).unwrap()).update(LEADER));
    refused(LearningPlan::new(3, 0).budget(Budget::new(1.0, 1e-6).unwrap()).update(LEADER));
    refused(base().budget(Budget::pure(1.0).unwrap()));
    refused(base().noise(|noise| noise.mechanism(Mechanism::LaplaceTree)));
    refused(base().noise(|noise| noise.dimension(4)));
    refused(base().noise(|noise| noise.contribution(Contribution::norm(1.0).unwrap())));
    refused(base().noise(|noise| noise.memory_limit(1)));
    refused(base().restart_every(0));
    refused(base().batch_size(0));
    refused(base().batch_size(evertally_learn::MAX_BATCH + 1));
    refused(base().start(vec![0.0; 2]));
    refused(base().start(vec![f64::NAN; 3]));
    refused(base().set(Set::ball(1.0).unwrap()).start(vec![1.0; 3]));
    refused(base().set(Set::cube(1.0, 2.0).unwrap()));
    refused(base().set(Set::ball(1.0).unwrap()).start(vec![f64::NAN; 3]));
    // Invalid sets built from their fields.
    refused(base().set(Set::Ball { radius: 0.0 }));
    refused(base().set(Set::Ball { radius: f64::INFINITY }));
    refused(base().set(Set::Box { lo: f64::NEG_INFINITY, hi: 1.0 }));
    // A value whose inverse is not finite.
    refused(base().update(Update::Leader { regularization: 1e-320 }));
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY] {
        refused(base().clip(bad));
        refused(base().recommended(bad));
        refused(base().update(Update::Leader { regularization: bad }));
        refused(base().update(Update::Descent { rate: Schedule::Constant(bad) }));
    }
    for bad in [-0.1, 1.0, f64::NAN] {
        refused(base().momentum(bad));
    }
}

/// `Debug` of a learner reveals nothing about its data or its key. It shows the plan, which is
/// public, and the steps.
#[test]
fn debug_shows_no_parameters_and_no_key() {
    let mut learner = learner(&base());
    learner.step([[0.5, 0.0, 0.0]]).unwrap();
    let expected = format!("Learner {{ plan: {:?}, steps_taken: 1, .. }}", learner.plan());
    assert_eq!(format!("{learner:?}"), expected);
    assert!(learner.theta().iter().all(|value| !expected.contains(&value.to_string())));
}

/// The spend grows with the passes started, and ends at the budget.
#[test]
fn spending_is_that_of_the_steps_taken() {
    let builder = base().noise(|noise| noise.participation(Participation::at_most(3, 4).unwrap()));
    let mut learner = learner(&builder);
    let spent = |learner: &Learner| learner.spend().unwrap().epsilon(1e-6).unwrap();
    assert_eq!(learner.spend().unwrap().mu(), 0.0);
    let mut epsilons = Vec::new();
    for _ in 0..STEPS {
        learner.step([[0.0; 3]]).unwrap();
        epsilons.push(spent(&learner));
    }
    assert!(epsilons.is_sorted() && epsilons[0] == epsilons[3] && epsilons[3] < 0.8 * epsilons[4]);
    assert!((epsilons[11] - 1.0).abs() < 1e-9, "{epsilons:?}");
    let beyond = learner.plan().spend_after(STEPS + 1);
    assert!(matches!(beyond, Err(Error::HorizonSpent { horizon: STEPS })));
}

/// A loss can replace its gradients, and input that it does not accept is refused before anything
/// changes.
#[test]
fn a_loss_stands_for_its_gradients() {
    let builder = base().batch_size(2);
    let (mut by_loss, mut by_hand) = (learner(&builder), learner(&builder));
    let rows = [([0.5, -0.2, 0.1], 1.0), ([0.3, 0.3, -0.9], -1.0)];
    for _ in 0..STEPS {
        let gradients = rows.map(|(features, label)| {
            let mut gradient = [0.0; 3];
            Logistic.gradient(by_hand.theta(), Example { features: &features, label }, &mut gradient);
            gradient
        });
        by_hand.step(gradients).unwrap();
        let examples = rows.each_ref().map(|(features, label)| Example { features, label: *label });
        assert_eq!(by_loss.step_on(&Logistic, examples).unwrap(), by_hand.theta());
    }
    let mut fresh = learner(&builder);
    for (features, label) in [(&[1.0, 2.0][..], 1.0), (&[0.1, 0.2, 0.3][..], 0.5)] {
        let refused = fresh.step_on(&Logistic, [Example { features, label }]);
        assert!(matches!(refused, Err(Error::BadParameter { .. })));
    }
    assert_eq!(fresh.steps_taken(), 0);
}
