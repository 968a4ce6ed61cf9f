//! Every loss is tested against its formula, finite differences, chords and its stated constants.

use proptest::prelude::*;

use super::*;

/// The losses, each with labels that it accepts.
fn all() -> Vec<(Box<dyn Loss>, Vec<f64>)> {
    vec![
        (Box::new(Squared::up_to(1.5).unwrap()), vec![-1.5, 0.25]),
        (Box::new(Logistic), vec![-1.0, 1.0]),
        (Box::new(Hinge), vec![-1.0, 1.0]),
        (Box::new(SmoothedHinge { width: 0.3 }), vec![-1.0, 1.0]),
        (Box::new(Softmax::new(3).unwrap()), vec![0.0, 1.0, 2.0]),
    ]
}

const STEP: f64 = 1e-5;

proptest! {
    #[test]
    fn gradients_are_those_of_finite_differences(
        theta in prop::collection::vec(-2.0..2.0, 6),
        features in prop::collection::vec(-1.0..1.0, 2),
    ) {
        for (loss, labels) in all() {
            for label in labels {
                let example = Example { features: &features, label };
                let mut theta = theta[..loss.parameters(2)].to_vec();
                let mut gradient = vec![f64::NAN; theta.len()];
                loss.gradient(&theta, example, &mut gradient);
                let corner = loss.smoothness().is_none()
                    && (1.0 - label * dot(&theta, &features)).abs() < 4.0 * STEP;
                for i in 0..theta.len() {
                    let here = theta[i];
                    theta[i] = here + STEP;
                    let above = loss.value(&theta, example);
                    theta[i] = here - STEP;
                    let below = loss.value(&theta, example);
                    theta[i] = here;
                    let difference = (above - below) / (2.0 * STEP);
                    prop_assert!(corner || (difference - gradient[i]).abs() < 1e-7, "{difference} {}", gradient[i]);
                }
                // The stated Lipschitz constant holds.
                let bound = loss.lipschitz(crate::norm(&features), Some(crate::norm(&theta))).unwrap();
                prop_assert!(crate::norm(&gradient) <= bound * (1.0 + 1e-12));
            }
        }
    }

    #[test]
    fn curvature_is_that_of_finite_differences_and_within_its_bound(scores in prop::collection::vec(-3.0..3.0, 3)) {
        for (loss, labels) in all().into_iter().filter(|(loss, _)| loss.smoothness().is_some()) {
            let k = loss.scores();
            let mut scores = scores[..k].to_vec();
            let mut curvature = vec![f64::NAN; k * k];
            loss.curvature(&scores, labels[0], &mut curvature);
            let (mut above, mut below) = (vec![0.0; k], vec![0.0; k]);
            for i in 0..k {
                let here = scores[i];
                scores[i] = here + STEP;
                loss.slopes(&scores, labels[0], &mut above);
                scores[i] = here - STEP;
                loss.slopes(&scores, labels[0], &mut below);
                scores[i] = here;
                for j in 0..k {
                    let difference = (above[j] - below[j]) / (2.0 * STEP);
                    prop_assert!((difference - curvature[i * k + j]).abs() < 1e-7);
                }
            }
            // ⟨v, Cv⟩ ≤ smoothness ‖v‖² for a few directions.
            for v in [[1.0, 0.0, 0.0], [1.0, -1.0, 0.0], [2.0, -1.0, -1.0]] {
                let form: f64 = (0..k * k).map(|at| v[at / k] * curvature[at] * v[at % k]).sum();
                prop_assert!(form <= loss.smoothness().unwrap() * dot(&v[..k], &v[..k]) * (1.0 + 1e-12));
            }
        }
    }

    #[test]
    fn chords_lie_above_and_tangents_below(
        one in prop::collection::vec(-30.0..30.0, 3),
        other in prop::collection::vec(-30.0..30.0, 3),
        part in 0.0..1.0,
    ) {
        for (loss, labels) in all() {
            let (one, other) = (&one[..loss.scores()], &other[..loss.scores()]);
            let between: Vec<f64> = one.iter().zip(other).map(|(a, b)| part * a + (1.0 - part) * b).collect();
            for label in labels {
                let chord = part * loss.at(one, label) + (1.0 - part) * loss.at(other, label);
                prop_assert!(loss.at(&between, label) <= chord + 1e-10);
                let mut slopes = vec![0.0; one.len()];
                loss.slopes(one, label, &mut slopes);
                let tangent = |slopes: &[f64]| dot(slopes, other) + loss.offset(one, slopes, label);
                prop_assert!(tangent(&slopes) <= loss.at(other, label) + 1e-10);
                if let Some(smoothed) = loss.smoothed(0.1) {
                    smoothed.slopes(one, label, &mut slopes);
                    prop_assert!(tangent(&slopes) <= loss.at(other, label) + 1e-10);
                    // At its own point the tangent misses the hinge by at most twice the width.
                    let here = dot(&slopes, one) + loss.offset(one, &slopes, label);
                    prop_assert!(here >= loss.at(one, label) - 0.2 - 1e-10);
                }
            }
        }
    }

    #[test]
    fn values_are_those_of_the_naive_formulas(scores in prop::collection::vec(-20.0_f64..20.0, 3)) {
        let naive = scores.iter().map(|score| score.exp()).sum::<f64>().ln() - scores[1];
        let softmax = Softmax::new(3).unwrap();
        prop_assert!((softmax.at(&scores, 1.0) - naive).abs() < 1e-12 * (1.0 + naive.abs()));
        let naive = (1.0 + scores[0].exp()).ln();
        prop_assert!((Logistic.at(&scores[..1], -1.0) - naive).abs() < 1e-12 * (1.0 + naive));
        // Two classes are the logistic loss of the difference.
        let two = Softmax::new(2).unwrap().at(&scores[..2], 0.0);
        prop_assert!((two - Logistic.at(&[scores[0] - scores[1]], 1.0)).abs() < 1e-12 * (1.0 + two));
    }
}

/// Expected values to sixteen digits, from a computation with more: small values such as ln(1 +
/// e^{−40}) are not lost.
#[test]
fn extremes_are_finite_and_small_losses_are_not_lost() {
    for (loss, labels) in all() {
        for far in [-1e300, -800.0, 800.0, 1e300] {
            let scores = vec![far; loss.scores()];
            let mut slopes = vec![0.0; scores.len()];
            loss.slopes(&scores, labels[0], &mut slopes);
            assert!(slopes.iter().all(|slope| slope.is_finite()));
        }
    }
    let tiny = 4.248_354_255_291_589e-18;
    assert!((Logistic.at(&[40.0], 1.0) / tiny - 1.0).abs() < 1e-14);
    let softmax = Softmax::new(2).unwrap();
    assert!((softmax.at(&[40.0, 0.0], 0.0) / tiny - 1.0).abs() < 1e-14);
    let mut slopes = [0.0; 2];
    softmax.slopes(&[40.0, 0.0], 0.0, &mut slopes);
    assert!((slopes[0] / -tiny - 1.0).abs() < 1e-14);
    let wide = SmoothedHinge { width: 1e-9 };
    let mut slope = [0.0];
    wide.slopes(&[2.0], 1.0, &mut slope);
    assert!((slope[0] / -1e-9 - 1.0).abs() < 1e-6, "the tail falls like the width over the distance");
}

#[test]
fn predictions_and_labels() {
    let softmax = Softmax::new(3).unwrap();
    assert_eq!(softmax.prediction(&[1.0, 2.0, 2.0], &[1.0]), 1.0, "the first of equals");
    assert_eq!(Logistic.prediction(&[1.0, -2.0], &[1.0, 1.0]), -1.0);
    assert_eq!(Squared::default().prediction(&[1.0, -2.0], &[1.0, 1.0]), -1.0);
    let data = Dataset::new(1, vec![0.0; 3], vec![1.0, -1.0, 0.0]).unwrap();
    assert!(Hinge.check(&data).unwrap_err().to_string().contains("step 2"));
    assert!(Squared::up_to(0.5).unwrap().check(&data).is_err());
    assert!(Squared::default().check(&data).is_ok());
    for bad in ["", "square", "softmax:", "softmax:1", "softmax:-2", "squared:0", "squared:nan", "hinge:2"] {
        assert!(bad.parse::<Losses>().is_err(), "{bad}");
    }
    for good in ["squared", "squared:1.5", "logistic", "softmax:7", "hinge"] {
        assert_eq!(good.parse::<Losses>().unwrap().to_string(), good);
    }
}
