//! The meter is tested against explicit sums, and a report against its own parts.

use evertally::{Budget, Mechanism, Neighbours, Participation};

use super::*;
use crate::loss::{Logistic, Losses, Squared};
use crate::{Dataset, LearningPlan, LearningPlanBuilder, Update};

fn data() -> Dataset {
    Dataset::new(2, vec![1.0, 0.0, 0.6, 0.8, 0.0, -1.0, 0.5, 0.5], vec![1.0, -1.0, 1.0, -1.0]).unwrap()
}

fn plan(steps: u64, set: Set) -> LearningPlan {
    LearningPlan::new(2, steps)
        .budget(Budget::new(0.5, 1e-6).unwrap())
        .set(set)
        .recommended(1.0)
        .build()
        .unwrap()
}

/// The parameters played.
const PLAYED: [[f64; 2]; 4] = [[0.0, 0.0], [0.5, -0.25], [-0.5, 0.5], [0.25, 0.125]];

fn measured(loss: &Losses, data: &Dataset) -> RegretMeter {
    let mut meter = RegretMeter::new(2).unwrap();
    for (theta, example) in PLAYED.iter().zip(data.iter()) {
        let mut gradient = [0.0; 2];
        loss.gradient(theta, example, &mut gradient);
        meter.record(theta, loss.value(theta, example), &gradient).unwrap();
    }
    meter
}

#[test]
fn regret_is_what_its_definition_says() {
    let (data, loss, set) = (data(), Losses::Logistic(Logistic), Set::Ball { radius: 1.0 });
    let meter = measured(&loss, &data);
    let report = RegretReport::new(&meter, &plan(4, set), &loss, &data, Some(&data)).unwrap();
    let total =
        |of: &dyn Fn(usize) -> [f64; 2]| -> f64 { (0..4).map(|t| loss.value(&of(t), data.example(t))).sum() };
    let best = [report.hindsight.theta[0], report.hindsight.theta[1]];
    let regret = (total(&|t| PLAYED[t]) - total(&|_| best)) / 4.0;
    assert!((report.regret - regret).abs() < 1e-15);
    assert!(report.regret_at_most >= report.regret && report.regret_at_most < report.regret + 1e-7);
    // Linearised regret is no less.
    assert!(meter.linear_regret(set).unwrap() >= report.regret_at_most - 1e-12);
    let average = [0.0625, 0.09375];
    assert_eq!(report.online_to_batch.theta, average);
    let risk = total(&|_| average) / 4.0;
    assert!((report.online_to_batch.risk.mean - risk).abs() < 1e-15);
    assert!((report.online_to_batch.excess - (risk - total(&|_| best) / 4.0)).abs() < 1e-15);
    // Here the held-out data are the training data.
    let held_out = report.online_to_batch.held_out_excess.unwrap();
    assert!((held_out.mean - report.online_to_batch.excess).abs() < 1e-15);
    assert!(held_out.standard_error > 0.0);
}

#[test]
fn standard_errors_are_those_of_the_textbook() {
    let data = Dataset::new(1, vec![1.0; 4], vec![1.0, 2.0, 3.0, 6.0]).unwrap();
    let loss = Losses::Squared(Squared::default());
    let mut meter = RegretMeter::new(1).unwrap();
    data.iter()
        .for_each(|example| meter.record(&[0.0], loss.value(&[0.0], example), &[-example.label]).unwrap());
    let plan =
        LearningPlan::new(1, 4).budget(Budget::new(1.0, 1e-6).unwrap()).recommended(1.0).build().unwrap();
    let report = RegretReport::new(&meter, &plan, &loss, &data, None).unwrap();
    // Losses 0.5, 2, 4.5 and 18: mean 6.25, squared deviations 33.0625, 18.0625, 3.0625 and 138.0625.
    assert_eq!(report.online_to_batch.risk.mean, 6.25);
    assert!((report.online_to_batch.risk.standard_error - (192.25_f64 / 12.0).sqrt()).abs() < 1e-14);
    assert_eq!(report.online_to_batch.held_out_risk, None);
    // The best is the mean, 3: 6.25 − (4 + 1 + 0 + 9)/8.
    assert!((report.regret - 4.5).abs() < 1e-12 && (report.distance - 3.0).abs() < 1e-12);
    assert!(report.printed_bound.is_none(), "the paper's C is for ε below one");
}

#[test]
fn several_passes_count_the_data_as_often() {
    let (data, loss, set) = (data(), Losses::Logistic(Logistic), Set::Ball { radius: 1.0 });
    let once = RegretReport::new(&measured(&loss, &data), &plan(8, set), &loss, &data, None).unwrap();
    let mut meter = measured(&loss, &data);
    let again = meter.clone();
    for (theta, example) in PLAYED.iter().zip(data.iter()) {
        meter.record(theta, loss.value(theta, example), &[0.0; 2]).unwrap();
    }
    let twice = RegretReport::new(&meter, &plan(8, set), &loss, &data, None).unwrap();
    assert!((once.regret - twice.regret).abs() < 1e-15);
    assert_eq!((again.examples(), twice.examples), (4, 8));
}

#[test]
fn bounds_are_those_of_the_plan_and_absent_where_they_do_not_apply() {
    let (data, loss, set) = (data(), Losses::Logistic(Logistic), Set::Ball { radius: 1.0 });
    let meter = measured(&loss, &data);
    let report = RegretReport::new(&meter, &plan(4, set), &loss, &data, None).unwrap();
    assert!(report.exact_bound_at_best.unwrap() <= report.exact_bound.unwrap());
    assert!(report.regret <= report.exact_bound.unwrap());
    let momentum = LearningPlan::new(2, 4)
        .budget(Budget::new(0.5, 1e-6).unwrap())
        .update(Update::Leader { regularization: 3.0 })
        .momentum(0.5)
        .set(set)
        .build()
        .unwrap();
    let report = RegretReport::new(&meter, &momentum, &loss, &data, None).unwrap();
    assert_eq!((report.exact_bound, report.exact_bound_at_best), (None, None));
}

/// If noise is larger, because of several passes or replaced neighbours, so is the corrected bound.
/// It stays above the exact bound.
#[test]
fn the_corrected_bound_speaks_of_the_noise_that_is_run() {
    let (data, loss, set) = (data(), Losses::Logistic(Logistic), Set::Ball { radius: 1.0 });
    let meter = measured(&loss, &data);
    let base = LearningPlan::new(2, 64)
        .budget(Budget::new(0.5, 1e-6).unwrap())
        .noise(|noise| noise.mechanism(Mechanism::SquareRoot))
        .set(set)
        .recommended(1.0);
    let bounds = |plan: LearningPlanBuilder| {
        let report = RegretReport::new(&meter, &plan.build().unwrap(), &loss, &data, None).unwrap();
        (report.exact_bound_at_best.unwrap(), report.corrected_bound)
    };
    for plan in [
        base.clone(),
        base.clone().noise(|noise| noise.neighbours(Neighbours::Replace)),
        base.clone().noise(|noise| noise.participation(Participation::at_most(8, 8).unwrap())),
    ] {
        let (exact, corrected) = bounds(plan);
        assert!((0.8..1.0).contains(&(exact / corrected.unwrap())), "{exact} {corrected:?}");
    }
    assert_eq!(bounds(base.restart_every(32)).1, None);
}

#[test]
fn nothing_of_the_data_is_shown_by_debug_and_display_says_that_it_is_not_private() {
    let (data, loss, set) = (data(), Losses::Logistic(Logistic), Set::Ball { radius: 1.0 });
    let meter = measured(&loss, &data);
    let report = RegretReport::new(&meter, &plan(4, set), &loss, &data, None).unwrap();
    assert!(report.to_string().starts_with("not private"));
    let shown = format!("{meter:?} {report:?}");
    assert_eq!(shown, "RegretMeter { examples: 4, .. } RegretReport { examples: 4, .. }");
}

#[test]
fn what_does_not_fit_is_refused() {
    let (data, loss, set) = (data(), Losses::Logistic(Logistic), Set::Everything);
    assert!(RegretMeter::new(0).is_err());
    let mut meter = RegretMeter::new(2).unwrap();
    assert!(meter.record(&[0.0], 0.0, &[0.0; 2]).is_err());
    assert!(meter.record(&[0.0; 2], f64::NAN, &[0.0; 2]).is_err());
    assert!(meter.record(&[0.0; 2], 0.0, &[f64::INFINITY, 0.0]).is_err());
    assert_eq!((meter.examples(), meter.linear_regret(Set::Ball { radius: 1.0 })), (0, None));
    let plan = plan(4, set);
    assert!(RegretReport::new(&meter, &plan, &loss, &data, None).is_err(), "no example was seen");
    meter.record(&[0.0; 2], 0.0, &[0.0; 2]).unwrap();
    assert!(RegretReport::new(&meter, &plan, &loss, &data, None).is_err(), "one of four was seen");
    let full = measured(&loss, &data);
    let narrow = Dataset::new(1, vec![1.0], vec![1.0]).unwrap();
    assert!(RegretReport::new(&full, &plan, &loss, &narrow, None).is_err());
    assert!(RegretReport::new(&full, &plan, &loss, &data, Some(&narrow)).is_err());
}
