//! Reports: the errors of sums over periods, compared with dense matrices, with the certified optimum,
//! and with the noise that is released.

use crate::common::{budget, key};
use evertally::internals::factorization::Dense;
use evertally::{
    Arithmetic, Budget, Contribution, Counter, Division, KeyedCounter, Matrix, Mechanism, NoiseKey,
    Objective, Plan, PlanSpec, Report,
};
use std::ops::Range;

/// What the certificates of γ_F promise of its square: they are asked for a relative gap of 4·10⁻⁷.
const CERTIFIED: f64 = (1.0 + 4e-7) * (1.0 + 4e-7);

/// A report of steps, of weeks of a random length, of periods between random boundaries, and of totals.
fn random_report(n: u64, seed: &mut u64) -> Report {
    let mut next = |below: u64| {
        *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*seed >> 33) % below
    };
    let mut boundaries: Vec<u64> = (0..=n).filter(|_| next(3) == 0).collect();
    if boundaries.len() < 2 {
        boundaries = vec![0, n];
    }
    let mut weight = || (next(100) + 1) as f64 / 10.0;
    let (steps, weeks, months, total) = (weight(), weight(), weight(), weight());
    let periods = vec![
        (Division::every(1).unwrap(), steps),
        (Division::every(next(n) + 1).unwrap(), weeks),
        (Division::between(boundaries).unwrap(), months),
    ];
    Report::new(periods, total).unwrap()
}

/// The periods of a division that end within n steps.
fn periods(division: &Division, n: u64) -> Vec<Range<u64>> {
    (0..division.count(n)).map(|index| division.period(index).unwrap()).collect()
}

/// The mean of ‖Σ_{s in the period} (row of A⁻¹L)‖² over the periods, entry by entry.
fn mean_square(decoder: &Matrix, periods: &[Range<u64>]) -> f64 {
    let norm = |period: &Range<u64>| {
        let entry = |j: usize| {
            let before = period.start.checked_sub(1).map_or(0.0, |before| decoder[(before as usize, j)]);
            decoder[(period.end as usize - 1, j)] - before
        };
        (0..decoder.columns()).map(|j| entry(j).powi(2)).sum::<f64>()
    };
    periods.iter().map(norm).sum::<f64>() / periods.len() as f64
}

/// Every mechanism, at every horizon to 40: errors of kinds and the weighted error are those of the
/// dense decoder, none is below the certified optimum, and the optimum reaches it.
#[test]
fn errors_of_reports_are_those_of_the_dense_decoder() {
    let mut seed = 7;
    for n in 1..=40 {
        let report = random_report(n, &mut seed);
        let spec = PlanSpec {
            objective: Objective::Report,
            report: Some(report.clone()),
            ..PlanSpec::new(n, budget())
        };
        let comparison = spec.compare(&()).unwrap();
        let optimum = comparison.optimal_report.unwrap();
        assert!(optimum.upper / optimum.lower <= CERTIFIED, "n = {n}: {optimum:?}");
        for (mechanism, plan) in &comparison.entries {
            let Ok(plan) = plan else {
                assert_eq!(*mechanism, Mechanism::LaplaceTree);
                continue;
            };
            let context = format!("{mechanism}, n = {n}, {report}");
            let Dense { decoder, .. } = plan.dense().unwrap();
            let all: Vec<f64> = report
                .periods()
                .iter()
                .map(|(division, _)| mean_square(&decoder, &periods(division, n)))
                .collect();
            let totals = mean_square(&decoder, &(0..n).map(|step| 0..step + 1).collect::<Vec<_>>());
            let accuracy = plan.accuracy().report.as_ref().unwrap();
            let grid = plan.grid().unwrap_or(0.0);
            for (error, square) in accuracy.periods.iter().zip(&all) {
                let expected = (plan.noise_scale().powi(2) * square + grid * grid / 6.0).sqrt();
                assert!((error / expected - 1.0).abs() < 1e-7, "{context}: {error} {expected}");
            }
            let weighted: f64 =
                report.periods().iter().zip(&all).map(|((_, weight), square)| weight * square).sum();
            let expected = plan.sensitivity().powi(2) * (weighted + report.total() * totals);
            assert!(
                (accuracy.error / expected - 1.0).abs() < 1e-7,
                "{context}: {} {expected}",
                accuracy.error
            );
            assert!(accuracy.error > optimum.lower * (1.0 - 1e-9), "{context}");
            if *mechanism == Mechanism::Optimal {
                assert_eq!(plan.arithmetic(), Arithmetic::Exact, "{context}");
                assert!(accuracy.error < optimum.upper * (1.0 + 1e-6), "{context}: {}", accuracy.error);
            }
        }
    }
}

/// Reports that do not determine every step: the noise is shaped for steps as well, exact, and within a
/// fiftieth of the optimum, which is certified for the report itself.
#[test]
fn reports_without_steps_or_totals_reach_their_optimum() {
    for (n, report) in
        [(56, "7=1;total=0"), (90, "7=1;30=2;total=0"), (60, "30-60=1;total=0"), (20, "1=0;5=3;total=0")]
    {
        let spec = PlanSpec {
            objective: Objective::Report,
            report: Some(report.parse().unwrap()),
            ..PlanSpec::new(n, budget())
        };
        let comparison = spec.compare(&()).unwrap();
        let optimum = comparison.optimal_report.unwrap();
        assert!(optimum.upper / optimum.lower <= CERTIFIED, "{report}: {optimum:?}");
        let plan = spec.build().unwrap();
        assert_eq!(
            (plan.mechanism(), plan.arithmetic()),
            (Mechanism::Optimal, Arithmetic::Exact),
            "{report}"
        );
        let error = plan.accuracy().report.as_ref().unwrap().error;
        assert!(error > optimum.lower * (1.0 - 1e-9), "{report}: {error} {optimum:?}");
        assert!(error < optimum.upper * 1.02, "{report}: {error} {optimum:?}");
    }
}

/// A year of days at ρ = 0.015, where independent noise has the standard deviation 10: the errors of
/// a day, a week, 30 days and the year of published mechanisms, each beaten at all four at once.
#[test]
fn a_year_of_days_beats_what_is_deployed() {
    let magnitude = 3.0_f64.sqrt();
    let plan = |weights: [f64; 4]| {
        let [day, week, month, year] = weights;
        Plan::prefix_sum(365)
            .budget(Budget::zcdp(0.015).unwrap())
            .contribution(Contribution::range(0.0, magnitude).unwrap())
            .report(format!("1={day};7={week};30={month};365={year};total=0").parse().unwrap())
    };
    let errors = |plan: &Plan| plan.accuracy().report.as_ref().unwrap().periods.clone();
    let independent = plan([1.0; 4]).mechanism(Mechanism::InputPerturbation).build().unwrap();
    for (error, published) in errors(&independent).iter().zip([10.0, 26.5, 54.8, 191.0]) {
        assert!((error / published - 1.0).abs() < 0.005, "{error} {published}");
    }
    for (weights, published) in
        [([1.0, 0.5, 0.4, 0.6], [18.3, 25.6, 30.0, 23.9]), ([2.0, 0.2, 0.1, 0.1], [12.4, 26.0, 37.2, 33.5])]
    {
        let ours = plan(weights).build().unwrap();
        assert_eq!((ours.mechanism(), ours.arithmetic()), (Mechanism::Optimal, Arithmetic::Exact));
        for (error, published) in errors(&ours).iter().zip(published) {
            assert!(*error < published, "{error} {published}");
        }
    }
}

/// The covariance gives the errors of totals, of sums over periods, and of differences of those.
#[test]
fn the_covariance_is_that_of_every_difference() {
    for mechanism in Mechanism::ALL {
        let builder = Plan::prefix_sum(12).budget(crate::common::budget_for(mechanism)).mechanism(mechanism);
        let plan = builder.build().unwrap();
        let covariance = plan.covariance().unwrap();
        let variance = |places: &[(usize, f64)]| -> f64 {
            let pairs = places.iter().flat_map(|a| places.iter().map(move |b| (a, b)));
            pairs.map(|((s, a), (t, b))| a * b * covariance[(*s, *t)]).sum()
        };
        let mut counter = Counter::new(&plan, key()).unwrap();
        let releases: Vec<_> = (0..12).map(|_| counter.step(1.0).unwrap()).collect();
        let decoder = plan.dense().unwrap().decoder;
        let rounding = plan.grid().map_or(0.0, |grid| grid * grid / 12.0);
        for t in 0..12 {
            let error = variance(&[(t, 1.0)]).sqrt();
            assert!((error / releases[t].standard_error - 1.0).abs() < 1e-8, "{mechanism} {t}");
            for s in 0..t {
                let sum = plan.interval(Some(&releases[s]), &releases[t]).unwrap();
                let error = variance(&[(t, 1.0), (s, -1.0)]).sqrt();
                assert!((error / sum.standard_error - 1.0).abs() < 1e-7, "{mechanism} {s} {t}");
            }
        }
        // The last four steps compared with the four before, entry by entry.
        let entry = |j: usize| decoder[(11, j)] - 2.0 * decoder[(7, j)] + decoder[(3, j)];
        let norm: f64 = (0..decoder.columns()).map(|j| entry(j).powi(2)).sum();
        let expected = plan.noise_scale().powi(2) * norm + 6.0 * rounding;
        let got = variance(&[(11, 1.0), (7, -2.0), (3, 1.0)]);
        assert!((got / expected - 1.0).abs() < 1e-9, "{mechanism}: {got} {expected}");
    }
}

fn example() -> Plan {
    Plan::prefix_sum(28)
        .budget(budget())
        .report("1=1;7=1;5-12-28=2;total=1".parse().unwrap())
        .build()
        .unwrap()
}

/// Released sums over periods have the stated errors. Every sum of squares has 4,000 independent terms,
/// so its mean is off by more than 5 standard deviations, 0.112, with probability 6·10⁻⁷, and there are
/// four of them. With 15 % less noise the mean is 0.72.
#[test]
fn released_sums_have_the_stated_errors() {
    const RUNS: u64 = 4000;
    let plan = example();
    assert_eq!(plan.mechanism(), Mechanism::Optimal);
    let watched = [(3, 4), (7, 14), (12, 28), (0, 28)];
    let mut squares = [0.0; 4];
    for run in 0..RUNS {
        let mut counter = Counter::new(&plan, NoiseKey::insecure_from_seed(run)).unwrap();
        let releases: Vec<_> = (0..28).map(|_| counter.step(5.0).unwrap()).collect();
        for ((first, end), squares) in watched.into_iter().zip(&mut squares) {
            let before = usize::checked_sub(first, 1).map(|before| &releases[before]);
            let sum = plan.interval(before, &releases[end - 1]).unwrap();
            *squares += ((sum.value - 5.0 * (end - first) as f64) / sum.standard_error).powi(2) / RUNS as f64;
        }
    }
    for mean in squares {
        assert!((mean - 1.0).abs() < 0.112, "{squares:?}");
        assert!((mean * 0.85 * 0.85 - 1.0).abs() > 0.112, "15 % less noise would not be noticed");
    }
}

#[test]
fn a_counter_of_a_report_resumes_bit_for_bit() {
    let plan = example();
    let mut counter = Counter::new(&plan, key()).unwrap();
    for step in 0..28 {
        let saved = counter.save();
        let mut resumed = Counter::resume(&plan, key(), &saved).unwrap();
        let release = counter.step(f64::from(step)).unwrap();
        assert_eq!(resumed.step(f64::from(step)).unwrap(), release);
    }
    assert!(counter.step(1.0).is_err());
}

/// A key has the noise that it has alone, whatever the other keys are.
#[test]
fn keys_of_a_report_do_not_depend_on_each_other() {
    let report = || example().report().unwrap().clone();
    let plan = |keys: &[&str]| {
        Plan::prefix_sum(28).budget(budget()).report(report()).keys(keys.to_vec()).build().unwrap()
    };
    let parts = plan(&["a", "b", "c"]);
    let mut all = KeyedCounter::new(&parts, key()).unwrap();
    let one = parts.part(["b"]).unwrap();
    let mut alone = KeyedCounter::new(&one, key()).unwrap();
    for _ in 0..28 {
        let releases = all.step(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!(alone.step(&[2.0]).unwrap()[0].value, releases[1].value);
    }
}

/// Neighbouring inputs are no further apart than the budget allows, in the draws that would be needed.
#[test]
fn neighbours_are_within_the_budget() {
    let plan = example();
    let stream = vec![3.0; 28];
    for place in 0..28 {
        let mut other = stream.clone();
        other[place] += 1.0;
        let replayed = evertally::internals::replay::replay_lane(&plan, &key(), "", &stream, &other).unwrap();
        let most = 1.0 / plan.noise_multiplier();
        assert!(
            replayed.distance <= most && replayed.distance > 0.9 * most,
            "{place}: {}",
            replayed.distance
        );
    }
}

#[test]
fn reports_that_cannot_be_are_refused() {
    let spec = |report: &str| PlanSpec {
        objective: Objective::Report,
        report: Some(report.parse().unwrap()),
        ..PlanSpec::new(20, budget())
    };
    assert!(spec("1=1;total=1").build().is_ok());
    assert!(spec("21=1;total=1").build().is_err());
    assert!(spec("15-21=1;total=1").build().is_err());
    let without = PlanSpec { report: None, ..spec("total=1") };
    assert!(without.build().unwrap_err().to_string().contains("report"));
    let window = PlanSpec { workload: "window:3".parse().unwrap(), ..spec("total=1") };
    assert!(window.build().is_err());
    let unbounded = PlanSpec { horizon: evertally::Horizon::Unbounded, ..spec("total=1") };
    assert!(unbounded.build().is_err());
    // Only the objective makes the report a part of the noise.
    let (report, other) = (spec("1=1;total=1").build().unwrap(), spec("1=2;total=1").build().unwrap());
    assert_ne!(report.fingerprint(), other.fingerprint());
    let again = report.spec().build().unwrap();
    assert_eq!(report.fingerprint(), again.fingerprint());
    let text = serde_json::to_string(&report.spec()).unwrap();
    assert_eq!(serde_json::from_str::<PlanSpec>(&text).unwrap(), report.spec());
}
