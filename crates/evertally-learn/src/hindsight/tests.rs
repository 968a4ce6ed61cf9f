//! The solvers are tested against closed forms, grids, random points of the set, and each other.

use evertally::NoiseKey;
use evertally::internals::noise::WhiteNoise;

use super::*;
use crate::loss::{Hinge, Logistic, Softmax, Squared};

/// Rows of Gaussian numbers with labels from a planted direction and noise of the same size.
fn data(rows: usize, width: usize, classes: usize, seed: u64) -> Dataset {
    let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(seed).stream(b"rows"));
    let mut features = vec![0.0; rows * (width + 1)];
    white.fill(0, &mut features);
    let labels: Vec<f64> = features
        .chunks_exact(width + 1)
        .map(|row| {
            let score = row[..width].iter().sum::<f64>() / (width as f64).sqrt() + row[width];
            match classes {
                0 => score,
                2 => score.signum(),
                _ => (score.abs() * classes as f64 / 3.0).floor().min(classes as f64 - 1.0),
            }
        })
        .collect();
    let features = features.chunks_exact(width + 1).flat_map(|row| &row[..width]).copied().collect();
    Dataset::new(width, features, labels).unwrap()
}

fn cases() -> Vec<(Losses, Dataset)> {
    vec![
        (Losses::Squared(Squared::default()), data(60, 3, 0, 1)),
        (Losses::Logistic(Logistic), data(80, 4, 2, 2)),
        (Losses::Hinge(Hinge), data(80, 4, 2, 3)),
        (Losses::Softmax(Softmax::new(3).unwrap()), data(90, 3, 3, 4)),
    ]
}

fn sets() -> [Set; 5] {
    [
        Set::Everything,
        Set::Ball { radius: 0.3 },
        Set::Ball { radius: 30.0 },
        Set::Box { lo: -0.1, hi: 0.4 },
        Set::Box { lo: 0.2, hi: 9.0 },
    ]
}

/// Every result is certified to 10⁻⁷ per row, and no random point of the set is better, near or
/// far.
#[test]
fn gaps_are_small_and_no_other_point_is_better() {
    for (loss, data) in cases() {
        for set in sets() {
            let found = best_fixed(&loss, &data, set).unwrap();
            let rows = data.len() as f64;
            assert!(found.gap() <= 1e-7 * rows, "{loss} over {set}: gap {}", found.gap());
            assert!(found.within.contains(&found.theta), "{loss} over {set}");
            let problem = Problem::new(&*loss, &data, found.within);
            let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(9).stream(b"points"));
            for trial in 0..200_u64 {
                let mut other = vec![0.0; found.theta.len()];
                white.fill(trial * 64, &mut other);
                let size = 10_f64.powi(trial as i32 % 8 - 6);
                other.iter_mut().zip(&found.theta).for_each(|(other, best)| *other = best + size * *other);
                found.within.project(&mut other);
                let total = problem.total(&*loss, &other);
                assert!(total >= found.lower_bound - 1e-11 * rows, "{loss} over {set}: {total}");
            }
        }
    }
}

#[test]
fn least_squares_is_that_of_the_normal_equations() {
    let data = data(50, 2, 0, 5);
    let found = best_fixed(&Losses::Squared(Squared::default()), &data, Set::Everything).unwrap();
    let sum = |map: &dyn Fn(crate::Example<'_>) -> f64| data.iter().map(map).sum::<f64>();
    let (a, b, c) = (
        sum(&|row| row.features[0].powi(2)),
        sum(&|row| row.features[0] * row.features[1]),
        sum(&|row| row.features[1].powi(2)),
    );
    let (p, q) = (sum(&|row| row.features[0] * row.label), sum(&|row| row.features[1] * row.label));
    let determinant = a * c - b * b;
    assert!((found.theta[0] - (c * p - b * q) / determinant).abs() < 1e-12);
    assert!((found.theta[1] - (a * q - b * p) / determinant).abs() < 1e-12);
    assert!(found.gap() < 1e-12 && found.within == Set::Everything);
    // Dependent columns: the solution of least norm, without additional loss.
    let twice = Dataset::new(
        2,
        data.iter().flat_map(|row| [row.features[0], 2.0 * row.features[0]]).collect(),
        data.labels().to_vec(),
    )
    .unwrap();
    let found = best_fixed(&Losses::Squared(Squared::default()), &twice, Set::Everything).unwrap();
    assert!((found.theta[1] - 2.0 * found.theta[0]).abs() < 1e-12);
    assert!((found.theta[0] - p / a / 5.0).abs() < 1e-12);
    assert!(matches!(found.within, Set::Ball { .. }) && found.gap() < 1e-8, "{}", found.gap());
}

/// A column with a negligible singular value explains all labels, at a distant point. The bound
/// holds within the named ball.
#[test]
fn least_squares_claims_nothing_of_directions_that_it_cannot_see() {
    let loss = Losses::Squared(Squared::default());
    let data = Dataset::new(2, vec![1.0, 1e-14, 1.0, -1e-14, 1.0, 2e-14], vec![1.0, -1.0, 2.0]).unwrap();
    let found = best_fixed(&loss, &data, Set::Everything).unwrap();
    let better = [0.0, 1e14];
    assert!(Problem::new(&*loss, &data, Set::Everything).total(&*loss, &better) < found.lower_bound);
    assert!(!found.within.contains(&better), "{}", found.within);
}

/// Losses far larger than one: the barrier has to start as large as they are.
#[test]
fn large_losses_are_searched_as_well() {
    let small = data(40, 3, 0, 8);
    let labels = small.labels().iter().map(|label| 1e5 * label).collect();
    let large = Dataset::new(3, small.features().to_vec(), labels).unwrap();
    for set in [Set::Ball { radius: 1.0 }, Set::Ball { radius: 300.0 }, Set::Box { lo: -2.0, hi: 5.0 }] {
        let found = best_fixed(&Losses::Squared(Squared::default()), &large, set).unwrap();
        assert!(found.gap() <= 1e-12 * found.total_loss, "{set}: {} of {}", found.gap(), found.total_loss);
    }
}

/// Labels far from zero, whose least squares follow from the labels' distances alone. The bound is
/// below by no more than the rounding of their squares.
#[test]
fn bounds_hold_where_numbers_are_large_beside_their_differences() {
    let loss = Losses::Squared(Squared::default());
    for far in [1.0, 1e4, 1e8, 1e12] {
        let steps: Vec<f64> = (0..50).map(|i| f64::from(i * 37 % 11)).collect();
        let mean = steps.iter().sum::<f64>() / 50.0;
        let least: f64 = steps.iter().map(|step| 0.5 * (step - mean).powi(2)).sum();
        let labels = steps.iter().map(|step| far + step).collect();
        let data = Dataset::new(1, vec![1.0; 50], labels).unwrap();
        let found = best_fixed(&loss, &data, Set::Ball { radius: 20.0 + 2.0 * far }).unwrap();
        assert!(found.lower_bound <= least, "{far}: {} above {least}", found.lower_bound);
        assert!(found.gap() < 1e-5 + 1e-14 * far * far, "{far}: {}", found.gap());
    }
}

#[test]
fn one_dimension_is_that_of_a_grid() {
    let data = data(40, 1, 2, 6);
    for loss in [Losses::Logistic(Logistic), Losses::Hinge(Hinge), Losses::Squared(Squared::default())] {
        for set in [Set::Ball { radius: 2.0 }, Set::Box { lo: -0.5, hi: 0.25 }] {
            let found = best_fixed(&loss, &data, set).unwrap();
            let problem = Problem::new(&*loss, &data, set);
            let grid = (0..=40_000)
                .map(|i| [f64::from(i - 20_000) * 1e-4])
                .filter(|theta| set.contains(theta))
                .map(|theta| problem.total(&*loss, &theta))
                .fold(f64::INFINITY, f64::min);
            assert!(found.lower_bound <= grid && found.total_loss <= grid + 1e-6, "{loss} over {set}");
            assert!(grid - found.total_loss < 40.0 * 1e-4, "{loss} over {set}");
        }
    }
}

/// Both solvers on problems that suit both. The gradient method smooths the hinge to 10⁻⁴.
#[test]
fn gradients_come_to_where_newton_does() {
    for (loss, data) in cases() {
        for set in [Set::Ball { radius: 0.3 }, Set::Box { lo: -0.1, hi: 0.4 }] {
            let problem = Problem::new(&*loss, &data, set);
            let newton = newton::solve(&problem);
            let gradients = accelerated::solve(&problem, 2000);
            let allowed = if matches!(loss, Losses::Hinge(_)) { 3e-4 } else { 1e-6 } * problem.rows();
            assert!(gradients.gap() <= allowed, "{loss} over {set}: {}", gradients.gap());
            assert!((gradients.total_loss - newton.total_loss).abs() <= allowed);
            let rounding = 1e-12 * problem.rows();
            assert!(gradients.lower_bound <= newton.total_loss + rounding);
            assert!(newton.lower_bound <= gradients.total_loss + rounding);
        }
    }
}

/// Without an optimum the result names the ball that was searched, and the loss there is as small
/// as expected.
#[test]
fn separable_data_is_searched_to_a_distance_that_is_named() {
    let data = Dataset::new(1, vec![1.0, 2.0, -1.0], vec![1.0, 1.0, -1.0]).unwrap();
    for loss in [Losses::Logistic(Logistic), Losses::Hinge(Hinge)] {
        let found = best_fixed(&loss, &data, Set::Everything).unwrap();
        assert!(matches!(found.within, Set::Ball { radius } if radius > 100.0));
        assert!(found.total_loss < 1e-7 && found.gap() < 1e-7, "{loss}");
    }
}

#[test]
fn wide_problems_go_the_way_of_gradients() {
    let data = data(30, MAX_NEWTON_PARAMETERS + 1, 2, 7);
    let found = best_fixed(&Losses::Logistic(Logistic), &data, Set::Ball { radius: 0.05 }).unwrap();
    assert!(found.gap() <= 1e-6 * 30.0, "{}", found.gap());
}

#[test]
fn linear_losses_and_refusals() {
    let cube = best_for_linear(&[2.0, -3.0, 0.0], Set::Box { lo: -1.0, hi: 4.0 }).unwrap();
    assert_eq!(cube, (vec![-1.0, 4.0, 4.0], -14.0));
    assert_eq!(best_for_linear(&[0.0], Set::Everything), Some((vec![0.0], 0.0)));
    assert_eq!(best_for_linear(&[0.0], Set::Ball { radius: 1.0 }), Some((vec![0.0], 0.0)));
    let empty = Dataset::new(1, vec![], vec![]).unwrap();
    assert!(best_fixed(&Losses::Logistic(Logistic), &empty, Set::Everything).is_err());
    let labels = Dataset::new(1, vec![1.0], vec![0.5]).unwrap();
    assert!(best_fixed(&Losses::Logistic(Logistic), &labels, Set::Everything).is_err());
    let huge = Dataset::new(1, vec![1e200], vec![1.0]).unwrap();
    assert!(best_fixed(&Losses::Logistic(Logistic), &huge, Set::Everything).is_err());
    for set in [Set::Box { lo: 1.0, hi: 0.0 }, Set::Ball { radius: f64::NAN }] {
        assert!(best_fixed(&Losses::Hinge(Hinge), &data(5, 1, 2, 1), set).is_err());
    }
    // Losses that overflow are refused, rather than reported with a gap of zero.
    let large = Dataset::new(1, vec![1.0, 1.0], vec![1e200, -1e200]).unwrap();
    for set in [Set::Everything, Set::Ball { radius: 1.0 }] {
        assert!(best_fixed(&Losses::Squared(Squared::default()), &large, set).is_err());
    }
    let zero = Dataset::new(1, vec![0.0], vec![1.0]).unwrap();
    let found = best_fixed(&Losses::Logistic(Logistic), &zero, Set::Everything).unwrap();
    assert!((found.total_loss - 2.0_f64.ln()).abs() < 1e-15 && found.gap() < 1e-7);
    assert!(!format!("{found:?}").contains("0.69"));
}
