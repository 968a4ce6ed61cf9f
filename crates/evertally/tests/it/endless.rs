//! Running totals without a known end: what not knowing it costs, at every size of stream.

use evertally::research::gamma::{Subject, gamma_f};
use evertally::{
    Arithmetic, Budget, Counter, Horizon, KeyedCounter, Mechanism, NoiseKey, Objective, Participation, Plan,
    PlanSpec, VectorCounter, Workload,
};

use crate::common::{budget, key};

const CAP: u64 = 1 << 40;

/// σ = 1 and no grid: errors are factors.
fn endless(objective: Objective) -> Plan {
    let plan = Plan::unbounded(Workload::PrefixSum).budget(Budget::zcdp(0.5).unwrap());
    plan.objective(objective).arithmetic(Arithmetic::Float).build().unwrap()
}

/// Bounds on γ_F²/t.
fn certified(t: u64) -> (f64, f64) {
    let subject = Subject::workload(Workload::PrefixSum, t as usize);
    gamma_f(subject, 1e-8, &()).unwrap().error_factor()
}

/// γ_F²/t beyond 64 steps, by a fit to certificates.
///
/// Its form is that of the square root's error, with powers of ln t and 1/t. It was fitted to the
/// brackets of 48 to 262,144 steps, of which it misses none by more than a relative 3.5·10⁻⁸. Fitted to
/// those of at most 20,000 steps, it predicts 2^18 to 4.5·10⁻⁷. At 2^40, other forms that fit as well
/// differ by 3·10⁻⁵.
fn fitted(t: u64) -> f64 {
    let (t, l) = (t as f64, (t as f64).ln());
    let near = 0.199_458_06 + 0.982_36 * l + 0.249_975_49 * l * l;
    let far =
        l * l + 4.408_850_36 * l + 7.391_454_62 + 0.611_866 / (l + 2.0) + 9.918_905_83 / (l + 2.0).powi(2);
    (far + near / t) / std::f64::consts::PI.powi(2)
}

fn optimum(t: u64) -> f64 {
    if t <= 64 { certified(t).0 } else { fitted(t) }
}

/// Pseudorandom lengths, evenly spread on a logarithmic scale.
fn lengths() -> impl Iterator<Item = u64> {
    let mut state = 7_u64;
    std::iter::repeat_with(move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 11) as f64 / (1_u64 << 53) as f64 * 40.0).exp2() as u64
    })
}

#[test]
fn the_fit_of_the_optimum_is_within_its_certificates() {
    for t in [65, 100, 255, 777, 2048, 4096, 20_000] {
        let (lower, upper) = certified(t);
        assert!(upper / lower < 1.0 + 1e-7);
        assert!((fitted(t) / lower - 1.0).abs() < 5e-7, "{t}: {} {lower}", fitted(t));
    }
}

/// The stated ratio is 1.6172, at 268 steps.
#[test]
fn every_step_is_within_the_stated_ratio_of_its_optimum() {
    let plan = endless(Objective::Mean);
    let ratio = |t: u64| plan.standard_error(t - 1).unwrap().powi(2) / optimum(t);
    let mut worst = 0.0_f64;
    // At 268 steps the ratio is largest.
    for t in (0..=40).map(|power| 1 << power).chain(lengths().take(100)).chain(250..290) {
        let ratio = ratio(t);
        assert!(ratio < 1.6175 && ratio > 1.45, "{t}: {ratio}");
        worst = worst.max(ratio);
    }
    assert!(worst > 1.6165, "the stated ratio is too wide: {worst}");
    // The square root calibrated to the cap, which was the default before.
    let before = Plan::unbounded(Workload::PrefixSum).budget(Budget::zcdp(0.5).unwrap());
    let before = before.mechanism(Mechanism::SquareRoot).arithmetic(Arithmetic::Float).build().unwrap();
    assert!(before.standard_error(0).unwrap().powi(2) > 9.0);
}

/// The mean so far, whenever one stops.
#[test]
fn at_any_time_the_mean_is_within_the_stated_ratio_of_the_optimum() {
    let plan = endless(Objective::Anytime);
    let mut worst = 0.0_f64;
    for t in (0..=40).map(|power| 1 << power).chain(lengths().take(100)).chain([1123]) {
        let ratio = plan.factorization().mean_of_first(t).unwrap() / optimum(t);
        assert!(ratio < 1.3186 && ratio > 1.1, "{t}: {ratio}");
        worst = worst.max(ratio);
    }
    assert!(worst > 1.3175, "{worst}");
    for milestone in plan.milestones().unwrap() {
        let mean = plan.factorization().mean_of_first(milestone.step).unwrap();
        assert!((milestone.rmse_so_far.unwrap().powi(2) / mean - 1.0).abs() < 1e-9);
        assert_eq!(milestone.optimum.is_some(), milestone.step <= 4096);
        if let Some(least) = milestone.optimum {
            assert!((least.powi(2) / certified(milestone.step).0 - 1.0).abs() < 3e-6);
        }
    }
    // At a single step it is worse than the shape for every step.
    let error = |objective| endless(objective).standard_error(13).unwrap();
    assert!(error(Objective::Anytime) > 1.03 * error(Objective::Worst));
}

#[test]
fn it_is_the_default_where_a_person_takes_part_once() {
    let unbounded = || Plan::unbounded(Workload::PrefixSum);
    for objective in [Objective::Mean, Objective::Worst, Objective::Anytime] {
        let plan = unbounded().budget(budget()).objective(objective).build().unwrap();
        assert_eq!((plan.mechanism(), plan.horizon()), (Mechanism::EndlessSquareRoot, CAP));
        assert_eq!((plan.arithmetic(), plan.objective()), (Arithmetic::Exact, objective));
        // Seventeen numbers per lane; Δ is one, up to what lies beyond the cap.
        assert_eq!(plan.factorization().cost().bytes_per_coordinate, 8 * 17);
        assert!((plan.sensitivity() - 1.0).abs() < 1e-9, "{}", plan.sensitivity());
        let again = plan.spec().build().unwrap();
        assert_eq!(again.fingerprint(), plan.fingerprint());
    }
    let name = |objective| unbounded().budget(budget()).objective(objective).build().unwrap().noise_name();
    assert!(name(Objective::Anytime).as_bytes() != name(Objective::Mean).as_bytes());
    let markov = Mechanism::Markov { chains: None };
    for (other, mechanism) in [
        (
            unbounded().budget(budget()).participation(Participation::at_most(3, 1).unwrap()),
            Mechanism::SquareRoot,
        ),
        (Plan::unbounded(Workload::Decay { factor: 0.9 }).budget(budget()), markov),
        (Plan::unbounded(Workload::SlidingWindow { width: 5 }).budget(budget()), Mechanism::SquareRoot),
    ] {
        assert_eq!(other.build().unwrap().mechanism(), mechanism);
    }
    let known = Plan::prefix_sum(10).budget(budget()).objective(Objective::Anytime).build();
    assert!(known.unwrap_err().to_string().contains("unless the end is unknown"));
    let too_long = Plan::prefix_sum(CAP + 1).budget(budget()).mechanism(Mechanism::EndlessSquareRoot);
    assert!(too_long.build().unwrap_err().to_string().contains("2^40"));
}

/// What was planned before this mechanism existed names its own.
#[test]
fn plans_that_name_the_square_root_keep_it() {
    let named =
        PlanSpec { mechanism: Some(Mechanism::SquareRoot), ..PlanSpec::new(Horizon::Unbounded, budget()) };
    let plan = named.build().unwrap();
    assert_eq!((plan.mechanism(), plan.horizon()), (Mechanism::SquareRoot, CAP));
    assert!(plan.is_unbounded() && plan.factorization().mean_of_first(5).is_none());
}

/// Numbers, keys and vectors go on from their saved states with the same releases.
#[test]
fn counters_are_resumed() {
    let unbounded = || Plan::unbounded(Workload::PrefixSum).budget(budget());
    let plan = unbounded().build().unwrap();
    let mut counter = Counter::new(&plan, key()).unwrap();
    let keyed = unbounded().keys(["north", "south"]).build().unwrap();
    let mut keys = KeyedCounter::new(&keyed, key()).unwrap();
    let norm = evertally::Contribution::norm(1.0).unwrap();
    let wide = unbounded().dimension(3).contribution(norm).build().unwrap();
    let mut vectors = VectorCounter::new(&wide, key()).unwrap();
    for t in 0..40 {
        counter.step(f64::from(t % 3)).unwrap();
        keys.step(&[1.0, 0.0]).unwrap();
        vectors.step(&[0.1, 0.2, 0.3]).unwrap();
    }
    let mut resumed = Counter::resume(&plan, key(), &counter.save()).unwrap();
    let mut keys_resumed = KeyedCounter::resume(&keyed, key(), &keys.save()).unwrap();
    let mut vectors_resumed = VectorCounter::resume(&wide, key(), &vectors.save()).unwrap();
    for _ in 0..600 {
        assert_eq!(counter.step(1.0).unwrap(), resumed.step(1.0).unwrap());
        assert_eq!(keys.step(&[0.0, 2.0]).unwrap(), keys_resumed.step(&[0.0, 2.0]).unwrap());
        let (one, other) = (vectors.step(&[0.0; 3]).unwrap(), vectors_resumed.step(&[0.0; 3]).unwrap());
        assert_eq!(one.values, other.values);
    }
    let other = unbounded().mechanism(Mechanism::SquareRoot).build().unwrap();
    assert!(Counter::resume(&other, key(), &counter.save()).is_err());
    assert!(Counter::resume(&plan, NoiseKey::insecure_from_seed(1), &counter.save()).is_err());
}
