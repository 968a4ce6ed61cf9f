//! Spent budgets: no total is exceeded, by formulas that share nothing with those of the library.

use evertally::privacy::{Calibration, Entry};
use evertally::{Budget, Error, ErrorClass, Neighbours, Odometer, Plan, Spend, Unit};
use proptest::prelude::*;

fn unit() -> Unit {
    Unit::event(Neighbours::AddRemove)
}

fn odometer(total: Budget) -> Odometer {
    Odometer::new("everyone", unit(), total).unwrap()
}

/// Quadrature nodes per Gaussian. A step of 0.2 standard deviations on ±8 leaves no visible error
/// for a smooth integrand.
const NODES: i32 = 40;
const STEP: f64 = 0.2;

/// E f(ℓ + L), where L is the privacy loss of Gaussian noise of μ²: normal with mean μ²/2 and
/// variance μ².
fn after_gaussian(mu_squared: f64, f: impl Fn(f64) -> f64) -> f64 {
    let node = |i: i32| {
        let z = STEP * f64::from(i);
        STEP * (-z * z / 2.0).exp() / std::f64::consts::TAU.sqrt()
            * f(mu_squared / 2.0 + mu_squared.sqrt() * z)
    };
    (-NODES..=NODES).map(node).sum()
}

/// E f(ℓ + L), where L is the privacy loss of randomized response, which is the worst of all ε-DP
/// mechanisms.
fn after_response(epsilon: f64, f: impl Fn(f64) -> f64) -> f64 {
    let likely = 1.0 / (1.0 + (-epsilon).exp());
    likely * f(epsilon) + (1.0 - likely) * f(-epsilon)
}

/// Φ by the complementary error function.
fn normal(x: f64) -> f64 {
    0.5 * libm::erfc(-x / std::f64::consts::SQRT_2)
}

/// δ at ε (of either sign) of Gaussian noise of μ², from the formula of Balle and Wang.
fn curve(mu_squared: f64, epsilon: f64) -> f64 {
    let mu = mu_squared.sqrt();
    normal(mu / 2.0 - epsilon / mu) - epsilon.exp() * normal(-mu / 2.0 - epsilon / mu)
}

/// δ at ε of mechanisms that run one after the other, of which the last is a Gaussian, by
/// integrating over every outcome in turn.
fn composed_delta(mechanisms: &[Spend], epsilon: f64) -> f64 {
    let (first, rest) = mechanisms.split_first().unwrap();
    if rest.is_empty() {
        return curve(first.mu_squared(), epsilon);
    }
    let after = |loss: f64| composed_delta(rest, epsilon - loss);
    match first.mu_squared() {
        0.0 => after_response(first.pure_epsilon(), after),
        mu_squared => after_gaussian(mu_squared, after),
    }
}

#[test]
fn compositions_against_integrals_over_all_outcomes() {
    let gaussian = |mu_squared: f64| Spend::new(mu_squared, 0.0, 0.0).unwrap();
    let pure = |epsilon: f64| Spend::new(0.0, epsilon, 0.0).unwrap();
    for epsilon in [0.3, 1.0, 2.5] {
        // For Gaussians alone the curve is exact.
        let mechanisms = [gaussian(0.04), gaussian(0.3), gaussian(0.15)];
        let (stated, true_delta) =
            (Spend::composed(mechanisms).delta_at(epsilon).unwrap(), composed_delta(&mechanisms, epsilon));
        assert!((stated / true_delta - 1.0).abs() < 1e-8, "{epsilon}: {stated:e} {true_delta:e}");
        // With pure noise among them it is an upper bound, by either accounting method.
        for mechanisms in [
            vec![pure(0.2), gaussian(0.3), gaussian(0.15)],
            vec![gaussian(0.3), pure(0.1), pure(0.1), gaussian(0.1)],
            [vec![pure(0.02); 12], vec![gaussian(0.1)]].concat(),
        ] {
            let spend = Spend::composed(mechanisms.iter().copied());
            let (stated, true_delta) =
                (spend.delta_at(epsilon).unwrap(), composed_delta(&mechanisms, epsilon));
            assert!(stated >= true_delta, "{epsilon}: {stated:e} {true_delta:e}");
            assert!(spend.epsilon(true_delta).unwrap() >= epsilon);
        }
    }
}

/// What may follow the mechanisms so far, by a rule that looks only at costs.
struct Choices(Vec<(Spend, Choices)>);

impl Choices {
    fn after(run: &[Spend], choices: &[Spend], admits: &dyn Fn(&[Spend]) -> bool) -> Self {
        let longer = choices.iter().map(|choice| (*choice, [run, &[*choice]].concat()));
        let admitted = longer.filter(|(_, run)| admits(run));
        Self(admitted.map(|(choice, run)| (choice, Self::after(&run, choices, admits))).collect())
    }

    /// The result of an adversary who sees the privacy loss after every mechanism before choosing
    /// the next: the largest E(1 − e^{ε−ℓ})₊, which is δ at ε.
    fn delta(&self, epsilon: f64) -> f64 {
        let stopped = (1.0 - epsilon.exp()).max(0.0);
        let value = |(choice, rest): &(Spend, Self)| match choice.mu_squared() {
            0.0 => after_response(choice.pure_epsilon(), |loss| rest.delta(epsilon - loss)),
            // The last Gaussian is in closed form, because the kink would disturb the quadrature.
            mu_squared if rest.0.is_empty() => curve(mu_squared, epsilon),
            mu_squared => after_gaussian(mu_squared, |loss| rest.delta(epsilon - loss)),
        };
        self.0.iter().map(value).fold(stopped, f64::max)
    }
}

/// Whether an odometer admits these spends in this order.
fn odometer_admits(empty: &Odometer, run: &[Spend]) -> bool {
    let mut odometer = empty.clone();
    run.iter().all(|spend| odometer.spend("one", &unit(), *spend).is_ok())
}

#[test]
fn who_chooses_costs_after_seeing_releases_stays_within_the_total() {
    const EPSILON: f64 = 3.0;
    const DELTA: f64 = 1e-6;
    const PART: f64 = 0.5;
    let total = Budget::new(EPSILON, DELTA).unwrap();
    let alone = total.spend().mu_squared();
    let beside = Budget::new(EPSILON - PART, DELTA).unwrap().spend().mu_squared();
    let pure = Spend::new(0.0, PART, 0.0).unwrap();
    let gaussian = |mu_squared: f64| Spend::new(mu_squared, 0.0, 0.0).unwrap();

    // Gaussian noise alone, in parts of two sizes: exactly δ, for any choice of parts.
    let parts = [gaussian(alone * 0.5), gaussian(alone * 0.25)];
    let filter = odometer(total);
    let reached = Choices::after(&[], &parts, &|run| odometer_admits(&filter, run)).delta(EPSILON);
    assert!((reached / DELTA - 1.0).abs() < 1e-3, "{reached:e}");

    // With a part for pure noise: below δ, in any order.
    let filter = odometer(total).with_pure_part(PART).unwrap();
    let choices = [gaussian(beside * 0.5), pure];
    let reached = Choices::after(&[], &choices, &|run| odometer_admits(&filter, run)).delta(EPSILON);
    assert!(reached <= DELTA && reached > 0.5 * DELTA, "{reached:e}");

    // If the split were left open to anything that composes to (ε, δ), choosing late would exceed δ
    // by a third.
    let composes = |run: &[Spend]| Spend::composed(run.iter().copied()).epsilon(DELTA).unwrap() <= EPSILON;
    let choices = [gaussian(beside * (1.0 - 1e-9)), gaussian((alone - beside) * (1.0 - 1e-9)), pure];
    let first_then_either = |run: &[Spend]| run.len() <= 2 && run[0] == choices[0] && composes(run);
    let reached = Choices::after(&[], &choices, &first_then_either).delta(EPSILON);
    assert!(reached > 1.3 * DELTA, "{reached:e}");
    // An odometer allows no such choice.
    for filter in [odometer(total), odometer(total).with_pure_part(PART).unwrap()] {
        let both = choices[1..].iter().filter(|second| odometer_admits(&filter, &[choices[0], **second]));
        assert_eq!(both.count(), 1);
    }
}

#[test]
fn shares_that_add_up_to_the_total_fit_and_one_more_does_not() {
    for k in [1_u32, 2, 3, 7, 10, 49, 365, 1000] {
        let share = |whole: f64| whole / f64::from(k);
        for rho in [1e-12, 0.3, 7.0, 1e6] {
            let share = Budget::zcdp(share(rho)).unwrap().spend();
            assert_fits(odometer(Budget::zcdp(rho).unwrap()), k, share);
        }
        for epsilon in [0.1, 1.0, 1000.0] {
            let share = Budget::pure(share(epsilon)).unwrap().spend();
            assert_fits(odometer(Budget::pure(epsilon).unwrap()), k, share);
        }
        for (epsilon, delta) in [(1e-3, 1e-6), (1.0, 1e-6), (3.0, 1e-300), (1000.0, 0.5)] {
            let total = Budget::new(epsilon, delta).unwrap();
            let share = Spend::new(share(total.spend().mu_squared()), 0.0, 0.0).unwrap();
            assert_fits(odometer(total), k, share);
            // A distance from Gaussian noise is charged on both sides of the curve.
            let variation = delta.min(1.0 - delta) * 1e-14 / (1.0 + epsilon.exp()) / f64::from(k);
            assert_fits(odometer(total), k, Spend::new(share.mu_squared(), 0.0, variation).unwrap());
        }
    }
}

/// Integer noise is charged for not being quite Gaussian, and still fits once into the total that
/// it was planned for.
#[test]
fn an_exact_plan_fits_the_total_that_it_was_planned_for() {
    for (epsilon, delta) in [(0.1, 1e-9), (1.0, 1e-6), (3.0, 1e-5)] {
        let total = Budget::new(epsilon, delta).unwrap();
        let one = Plan::prefix_sum(1 << 20).budget(total);
        let keys = Plan::prefix_sum(1000).budget(total).keys(["north", "south"]);
        for plan in [one, keys] {
            let plan = plan.build().unwrap();
            assert!(plan.total_variation() > 0.0);
            let mut odometer = odometer(total);
            odometer.spend("once", &plan.unit(), plan.spend()).unwrap();
            assert_refused_without_a_trace(&mut odometer, plan.spend());
        }
    }
}

#[track_caller]
fn assert_fits(mut odometer: Odometer, k: u32, share: Spend) {
    for i in 1..=k {
        assert!(odometer.can_afford(&share), "{i} of {k}: {odometer:?}");
        odometer.spend(format!("share {i}"), &unit(), share).unwrap();
    }
    assert_eq!(odometer.remaining(), Spend::NOTHING, "{k}");
    assert_refused_without_a_trace(&mut odometer, share);
}

#[track_caller]
fn assert_refused_without_a_trace(odometer: &mut Odometer, spend: Spend) {
    let before = format!("{odometer:?}");
    assert!(!odometer.can_afford(&spend));
    let error = odometer.spend("too much", &unit(), spend).unwrap_err();
    assert_eq!(error.class(), ErrorClass::BudgetSpent, "{error}");
    assert_eq!(odometer.check(&unit(), &spend), Err(error));
    assert_eq!(format!("{odometer:?}"), before);
}

proptest! {
    /// Random spends against random totals: the sums of admitted spends, by plain formulas, never
    /// exceed the total.
    #[test]
    fn no_total_is_exceeded(
        epsilon in 0.05..5.0_f64,
        ln_delta in -30.0..-2.0_f64,
        part in 0.0..0.9_f64,
        spends in prop::collection::vec((prop::bool::ANY, -7.0..0.0_f64), 1..40),
    ) {
        let delta = ln_delta.exp();
        let total = Budget::new(epsilon, delta).unwrap();
        let mut exact = odometer(total).with_pure_part(part * epsilon).unwrap();
        let mut by_zcdp = odometer(total.with_calibration(Calibration::Zcdp).unwrap());
        for (index, (is_pure, ln_size)) in spends.iter().enumerate() {
            let size = ln_size.exp() * epsilon;
            let spend = if *is_pure { Spend::new(0.0, size, 0.0) } else { Spend::new(size * size, 0.0, 0.0) };
            for odometer in [&mut exact, &mut by_zcdp] {
                let (count, could) = (odometer.entries().len(), odometer.can_afford(&spend.clone().unwrap()));
                let done = odometer.spend(format!("{index}"), &unit(), spend.clone().unwrap());
                prop_assert_eq!(done.is_ok(), could);
                prop_assert_eq!(odometer.entries().len(), count + usize::from(could));
            }
        }
        let sum = |odometer: &Odometer, part: fn(&Entry) -> f64| odometer.entries().iter().map(part).sum::<f64>();
        let gaussian = sum(&exact, |entry| entry.spend().mu_squared());
        let pure = sum(&exact, |entry| entry.spend().pure_epsilon());
        prop_assert!(pure <= part * epsilon * (1.0 + 1e-12));
        if gaussian > 0.0 {
            prop_assert!(curve(gaussian, epsilon - part * epsilon) <= delta * (1.0 + 1e-6));
        }
        // Rényi divergences of order 2 to 64, in closed form: δ ≤ exp((α − 1)(D_α − ε)).
        let order = |alpha: f64| {
            let of = |entry: &Entry| {
                let (mu_squared, e) = (entry.spend().mu_squared(), entry.spend().pure_epsilon());
                let response = (((alpha - 0.5) * e).cosh() / (e / 2.0).cosh()).ln() / (alpha - 1.0);
                alpha * mu_squared / 2.0 + response
            };
            by_zcdp.entries().iter().map(of).sum::<f64>()
        };
        let rho = by_zcdp.total().rho().unwrap();
        for alpha in [1.5, 2.0, 4.0, 16.0, 64.0] {
            prop_assert!(order(alpha) <= alpha * rho * (1.0 + 1e-9));
        }
        // The reported remainder is affordable.
        for odometer in [&exact, &by_zcdp] {
            prop_assert!(odometer.can_afford(&odometer.remaining()));
            for delta in [delta, 0.0, 1e-200, 0.3] {
                let room = odometer.room(delta).unwrap();
                if room >= 1e-6 {
                    let budget = if delta == 0.0 { Budget::pure(room) } else { Budget::new(room, delta) };
                    prop_assert!(odometer.can_afford(&budget.unwrap().spend()), "{} at {}", room, delta);
                }
            }
        }
    }

    /// The spending and the remainder do not depend on the order.
    #[test]
    fn order_does_not_matter(sizes in prop::collection::vec(1e-6..1e-3_f64, 2..30), turn in 0..30_usize) {
        let spends: Vec<Spend> = sizes.iter().map(|size| Spend::new(*size, 0.0, 0.0).unwrap()).collect();
        let entered = |spends: &[Spend]| {
            let mut odometer = odometer(Budget::new(2.0, 1e-6).unwrap());
            for spend in spends {
                odometer.spend("one", &unit(), *spend).unwrap();
            }
            odometer
        };
        let mut turned = spends.clone();
        turned.rotate_left(turn % spends.len());
        turned.reverse();
        let (a, b) = (entered(&spends), entered(&turned));
        prop_assert!((a.spent().mu_squared() / b.spent().mu_squared() - 1.0).abs() < 4.0 * f64::EPSILON);
        prop_assert!((a.room(1e-6).unwrap() - b.room(1e-6).unwrap()).abs() < 1e-12);
    }
}

#[test]
fn another_unit_is_refused() {
    let mut odometer = odometer(Budget::new(2.0, 1e-6).unwrap());
    let spend = Budget::new(1.0, 1e-6).unwrap().spend();
    let before = format!("{odometer:?}");
    for other in [
        Unit::person(Neighbours::AddRemove),
        Unit::event(Neighbours::Replace),
        Unit::named("household", Neighbours::AddRemove).unwrap(),
    ] {
        let error = odometer.spend("other", &other, spend).unwrap_err();
        assert!(matches!(error, Error::BadParameter { name: "unit", .. }), "{error}");
        assert!(error.to_string().contains(&other.to_string()), "{error}");
        assert!(odometer.check(&other, &spend).is_err());
    }
    for name in ["", "a\nb"] {
        assert!(odometer.spend(name, &unit(), spend).is_err());
        assert!(Odometer::new(name, unit(), Budget::pure(1.0).unwrap()).is_err());
    }
    assert_eq!(format!("{odometer:?}"), before);
}

#[test]
fn refusals_say_what_is_left() {
    let refused = |odometer: &mut Odometer, spend: Spend| {
        odometer.spend("one", &unit(), spend).unwrap_err().to_string()
    };
    let gaussian = Budget::new(1.0, 1e-6).unwrap().spend();
    let pure = Budget::pure(0.5).unwrap().spend();
    let mut exact = odometer(Budget::new(1.2, 1e-6).unwrap());
    exact.spend("first", &unit(), gaussian).unwrap();
    assert_eq!(
        refused(&mut exact, gaussian),
        "the budget of everyone does not allow ρ = 0.0280145 (ε = 1 at δ = 1e-6): \
         ρ = 0.011258 (ε = 0.612749 at δ = 1e-6) is left of (ε = 1.2, δ = 1e-6)-DP, exact Gaussian calibration"
    );
    assert!(refused(&mut exact, pure).contains("does not allow pure ε = 0.5: ρ = 0.011258"));
    exact = odometer(Budget::new(1.0, 1e-6).unwrap());
    exact.spend("all", &unit(), gaussian).unwrap();
    assert!(refused(&mut exact, gaussian).contains(": nothing is left of (ε = 1"));
    let mut pure_total = odometer(Budget::pure(0.7).unwrap());
    pure_total.spend("first", &unit(), pure).unwrap();
    assert!(refused(&mut pure_total, pure).contains("pure ε = 0.2 is left of (ε = 0.7)-DP, pure"));
    assert!(refused(&mut pure_total, gaussian).contains("does not allow ρ = 0.0280145: pure"));
    let mut rho = odometer(Budget::zcdp(0.1).unwrap());
    assert!(refused(&mut rho, Budget::pure(1.0).unwrap().spend()).contains("ρ = 0.1 of any noise is left"));
}

#[test]
fn a_split_is_stated_first() {
    let mut odometer = odometer(Budget::new(2.0, 1e-6).unwrap());
    odometer.spend("one", &unit(), Spend::NOTHING).unwrap();
    assert!(odometer.clone().with_pure_part(0.5).is_err());
    assert_eq!((odometer.pure_part(), odometer.population()), (0.0, "everyone"));
    assert_eq!((odometer.unit(), odometer.total().epsilon()), (&unit(), Some(2.0)));
    assert_eq!((odometer.entries()[0].name(), odometer.entries()[0].spend()), ("one", Spend::NOTHING));
}

#[test]
fn extreme_totals_are_kept() {
    for total in [
        Budget::new(1e-6, 1e-300).unwrap(),
        Budget::new(1e-6, 0.999_999).unwrap(),
        Budget::new(1000.0, 1e-300).unwrap(),
        Budget::zcdp(1e-18).unwrap(),
        Budget::zcdp(1e6).unwrap(),
        Budget::pure(1e-6).unwrap(),
        Budget::pure(1000.0).unwrap(),
    ] {
        let mut odometer = odometer(total);
        for (mu_squared, epsilon, delta) in
            [(Spend::MAX_MU_SQUARED, 0.0, 0.0), (Spend::MAX_MU_SQUARED, 1000.0, 0.999)]
        {
            let spend = Spend::new(mu_squared, epsilon, delta).unwrap();
            assert_refused_without_a_trace(&mut odometer, spend);
        }
        odometer.spend("all", &unit(), total.spend()).unwrap();
        assert_eq!(odometer.remaining(), Spend::NOTHING);
        assert_eq!((odometer.room(1e-9).unwrap(), odometer.room(0.0).unwrap()), (0.0, 0.0));
        assert!(odometer.room(f64::NAN).is_err());
    }
}
