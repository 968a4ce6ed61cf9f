//! The fit against other ways to the same numbers.

use std::sync::Arc;

use super::super::Factorization;
use super::*;
use crate::privacy::Participation;

fn fit(horizon: u64, factor: f64, (steps, gap): (u64, u64), objective: Objective) -> Fit {
    let participation = Participation::at_most(steps, gap).unwrap();
    let workload = if factor < 1.0 { Workload::Decay { factor } } else { Workload::PrefixSum };
    Fit::new(&Request { horizon, workload, participation, objective, report: None, progress: &() }, factor)
}

fn event_level(horizon: u64) -> Fit {
    fit(horizon, 1.0, (1, 1), Objective::Mean)
}

fn error(fit: &Fit, buffers: usize) -> f64 {
    libm::exp(fit.fewest(buffers, FREE).1)
}

fn made(horizon: u64, workload: Workload, participation: Participation, buffers: Option<u64>) -> Streamed {
    let request =
        Request { horizon, workload, participation, objective: Objective::Mean, report: None, progress: &() };
    factorize(&request, buffers).unwrap()
}

#[test]
fn the_gradient_is_that_of_the_loss() {
    for fit in [event_level(1000), fit(1000, 0.99, (3, 100), Objective::Worst)] {
        for buffers in [1, 3, 5] {
            let gaps = fit.loss.gaps(&fit.start(buffers));
            let (mut gradient, mut scratch) = (vec![0.0; gaps.len()], vec![0.0; gaps.len()]);
            fit.loss.value_and_gradient(&gaps, &mut gradient);
            for (i, slope) in gradient.iter().enumerate() {
                let mut at = |step: f64| {
                    let mut moved = gaps.clone();
                    moved[i] += step;
                    fit.loss.value_and_gradient(&moved, &mut scratch)
                };
                let difference = (at(1e-5) - at(-1e-5)) / 2e-5;
                assert!((difference - slope).abs() < 1e-9, "{buffers} {i}: {slope} {difference}");
            }
        }
    }
}

/// The closed form of the loss is the error of the pair that is run: decays as doubles, norms added up.
#[test]
fn the_loss_is_the_error_of_the_pair_added_up() {
    for (n, factor, pattern) in
        [(500, 1.0, (1, 1)), (500, 1.0, (4, 60)), (300, 0.98, (2, 7)), (2, 1.0, (1, 1))]
    {
        for buffers in [1, 2, 5] {
            let fit = fit(n, factor, pattern, Objective::Mean);
            let (gaps, value) = fit.fewest(buffers, FREE);
            let pair = fit.pair(&gaps).unwrap();
            let (r, l) = (pair.encoder().coefficients(n as usize), pair.decoder().coefficients(n as usize));
            let participation = Participation::at_most(pattern.0, pattern.1).unwrap();
            let sensitivity = crate::privacy::toeplitz_sensitivity(&r, participation);
            let frobenius: f64 = l.iter().enumerate().map(|(k, l)| (n as usize - k) as f64 * l * l).sum();
            let direct = sensitivity * sensitivity * frobenius / n as f64;
            assert!(
                (libm::exp(value) / direct - 1.0).abs() < 1e-9,
                "{n} {factor} {buffers}: {value} {direct}"
            );
        }
    }
}

/// ln Σ r_k² + ln Σ (n−k) l_k²/n by all coefficients of r but the first, l = 1/((1−x) r).
fn best_toeplitz(n: usize) -> f64 {
    let ones = vec![1.0; n];
    let loss = |free: &[f64], gradient: &mut [f64]| {
        let r: Vec<f64> = std::iter::once(1.0).chain(free.iter().copied()).collect();
        let l = super::super::series::divide(&ones, &r, n);
        let inverse = super::super::series::divide(&[1.0], &r, n);
        let product = super::super::series::multiply(&l, &inverse, n);
        let energy: f64 = r.iter().map(|r| r * r).sum();
        let by_l: Vec<f64> = l.iter().enumerate().map(|(k, l)| (n - k) as f64 * l).collect();
        let frobenius: f64 = by_l.iter().zip(&l).map(|(slope, l)| slope * l).sum();
        for (j, slope) in gradient.iter_mut().enumerate() {
            let moved: f64 = by_l[j + 1..].iter().zip(&product).map(|(slope, p)| slope * p).sum();
            *slope = 2.0 * r[j + 1] / energy - 2.0 * moved / frobenius;
        }
        (energy * frobenius / n as f64).ln()
    };
    let start = crate::noise::square_root_coefficients(n);
    descent::minimise(&start[1..], loss).1.exp()
}

#[test]
fn a_few_buffers_come_close_to_the_best_toeplitz_factorization() {
    for (n, part) in [(16, 0.0007), (64, 0.0007), (256, 0.0006)] {
        let (best, few) = (best_toeplitz(n), error(&event_level(n as u64), 4));
        assert!(best < few && few < best * (1.0 + part), "{n}: {best} {few}");
    }
    // Beside as many buffers as help.
    for (log, buffers, part) in [(12, 4, 0.0004), (20, 6, 0.0012), (20, 8, 0.0001), (40, 15, 0.0002)] {
        let fit = event_level(1 << log);
        let (few, many) = (error(&fit, buffers), error(&fit, 32));
        assert!(few < many * (1.0 + part), "2^{log}, {buffers}: {few} {many}");
    }
}

#[test]
fn more_buffers_are_never_worse() {
    for (pattern, log) in [((1, 1), 8), ((1, 1), 20), ((12, 400), 14), ((1000, 1), 20)] {
        for objective in [Objective::Mean, Objective::Worst] {
            let fit = fit(1 << log, 1.0, pattern, objective);
            let errors: Vec<f64> = (1..=9).map(|buffers| error(&fit, buffers)).collect();
            for pair in errors.windows(2) {
                assert!(pair[1] <= pair[0] * (1.0 + 1e-7), "{pattern:?} 2^{log} {objective}: {errors:?}");
            }
        }
    }
}

/// Far more buffers than help: the fit must stay a fit, and its pair exact.
#[test]
fn many_buffers_are_stable() {
    for log in [6, 20, 40] {
        let fit = event_level(1 << log);
        let few = fit.fewest(12, FREE).1;
        for buffers in [16, 20, 24, 32] {
            let (gaps, value) = fit.fitted_root(buffers);
            assert!(value < few + 1e-6, "2^{log}, {buffers}: {value} {few}");
            let pair = fit.pair(&gaps).unwrap();
            let (r, l) = (pair.encoder().coefficients(64), pair.decoder().coefficients(64));
            for (k, sum) in crate::noise::causal_convolution_direct(&r, &l).into_iter().enumerate() {
                assert!((sum - 1.0).abs() < 1e-12, "2^{log}, {buffers}, {k}: {sum}");
            }
        }
    }
}

#[test]
fn the_chosen_buffers_are_found_again_by_name() {
    let twelve = Participation::at_most(12, 30).unwrap();
    for (n, participation) in [(1, twelve), (500, twelve), (500, Participation::single())] {
        for workload in [Workload::PrefixSum, Workload::Decay { factor: 0.99 }] {
            let chosen = made(n, workload, participation, None);
            let Mechanism::Blt { buffers } = chosen.mechanism() else { panic!("another mechanism") };
            let named = made(n, workload, participation, buffers);
            assert_eq!(chosen.digest(), named.digest(), "{n} {workload} {buffers:?}");
            assert_eq!(named.mechanism(), chosen.mechanism());
        }
    }
}

/// From one step to 2^60, and from decays that are over at once to those that doubles can hardly
/// tell from none: fitted, it is no worse than the square root that it begins with.
#[test]
fn every_horizon_and_decay_has_a_fit() {
    let factors =
        [1.0, 1.0 - f64::EPSILON / 2.0, 1.0 - 1e-12, 1.0 - 1.2e-9, 1.0 - 1e-6, 0.9, 1e-3, 1e-20, 1e-200];
    for factor in factors {
        for n in [1, 2, 3, 1000, 1 << 60] {
            let workload = if factor < 1.0 { Workload::Decay { factor } } else { Workload::PrefixSum };
            let request = Request {
                horizon: n,
                workload,
                participation: Participation::single(),
                objective: Objective::Mean,
                report: None,
                progress: &(),
            };
            let root = Mechanism::SquareRoot.factorize(request).unwrap();
            let fitted: Arc<dyn Factorization> = Arc::new(factorize(&request, None).unwrap());
            let error = |f: &Arc<dyn Factorization>| {
                f.sensitivity(Participation::single()).powi(2) * f.mean_row_norm_squared()
            };
            let (root, fitted) = (error(&root), error(&fitted));
            assert!(fitted > 0.9 * root && fitted < root * (1.0 + 5e-4), "{workload} {n}: {fitted} {root}");
        }
    }
}

#[test]
fn what_cannot_be_served_is_refused() {
    let request = |workload| Request {
        horizon: 10,
        workload,
        participation: Participation::single(),
        objective: Objective::Mean,
        report: None,
        progress: &(),
    };
    assert!(factorize(&request(Workload::SlidingWindow { width: 3 }), None).is_err());
    assert!(factorize(&request(Workload::Decay { factor: 1e-300 }), None).is_err());
    assert!(factorize(&request(Workload::PrefixSum), Some(0)).is_err());
    assert!(factorize(&request(Workload::PrefixSum), Some(33)).is_err());
}
