use super::*;
use crate::privacy::Budget;

#[test]
fn parts_are_never_below_the_truth() {
    // 1/σ² in exact integers: the mantissas of μ² and σ², with μ²·σ² ≥ 1.
    let exact = |x: f64| {
        let bits = x.to_bits();
        let mantissa = u128::from(bits & ((1 << 52) - 1) | 1 << 52);
        (mantissa, (bits >> 52) as i32 - 1075)
    };
    for i in 0..2000 {
        let sigma = 0.37 * 1.013_f64.powi(i % 900) + f64::from(i) * 1e-3;
        let spend = Spend::of_gaussian(sigma);
        let ((s, s_power), (m, m_power)) = (exact(sigma), exact(spend.mu_squared));
        // s² has up to 106 bits and m has 53. The lowest bits of s² are dropped, which rounds
        // the product down.
        let product = ((s * s) >> 31) * m;
        let power = 2 * s_power + 31 + m_power;
        assert!(power < 0 && product >> -power >= 1, "{sigma}");
        assert!(spend.mu_squared * sigma * sigma < 1.0 + 8.0 * f64::EPSILON);
    }
    for epsilon in [1e-6, 0.1, 1.0, 2.0, 1000.0] {
        let spent = Budget::pure(epsilon).unwrap().spend().pure_epsilon();
        assert!(spent <= epsilon && spent > epsilon * (1.0 - 1e-14), "{epsilon}: {spent}");
    }
}

#[test]
fn k_equal_spends_are_one_of_root_k() {
    for budget in [Budget::new(0.1, 1e-9).unwrap(), Budget::zcdp(3.0).unwrap()] {
        for k in [1_u32, 2, 3, 9, 100, 10_000] {
            let many = Spend::composed(std::iter::repeat_n(budget.spend(), k as usize));
            let one = Spend::of_gaussian(budget.noise_multiplier() / f64::from(k).sqrt());
            assert!((many.mu_squared() / one.mu_squared() - 1.0).abs() < 1e-15 * 4.0);
            for delta in [1e-12, 1e-6, 0.1] {
                let (many, one) = (many.epsilon(delta).unwrap(), one.epsilon(delta).unwrap());
                assert!((many - one).abs() <= 1e-12 * (1.0 + one), "{k} {delta}: {many} {one}");
            }
        }
    }
}

#[test]
fn order_does_not_matter() {
    let spends: Vec<Spend> = (1..=50)
        .map(|i| {
            let x = f64::from(i * 7919 % 101) / 10.0;
            Spend::new(x.exp(), x.sqrt(), 1e-12 / (1.0 + x)).unwrap()
        })
        .collect();
    let forward = Spend::composed(spends.iter().copied());
    let backward = Spend::composed(spends.iter().rev().copied());
    let near = |a: f64, b: f64| (a / b - 1.0).abs() <= 2.0 * f64::EPSILON;
    assert!(near(forward.mu_squared, backward.mu_squared));
    assert!(near(forward.pure_epsilon, backward.pure_epsilon));
    assert!(near(forward.variation, backward.variation));
    assert!(near(forward.rho(), backward.rho()));
}

/// Uses the Rényi divergence of randomized response, which is the worst ε-DP mechanism, in
/// closed form.
#[test]
fn pure_privacy_is_concentrated_at_every_order() {
    for epsilon in [1e-6, 1e-3, 0.1, 1.0, 3.0, 10.0] {
        let rho = rho_of_pure(epsilon);
        assert!(rho <= epsilon * epsilon / 2.0 * (1.0 + 1e-14) && rho <= epsilon * (1.0 + 1e-14));
        for power in -12..=40 {
            let alpha = 1.0 + 1.7_f64.powi(power);
            // ln(cosh((α−½)ε)/cosh(ε/2)), without cancellation.
            let ln_cosh = |y: f64| y + (-2.0 * y).exp().ln_1p();
            let size = ln_cosh((alpha - 0.5) * epsilon);
            let moment = size - ln_cosh(epsilon / 2.0);
            let allowed = alpha * (alpha - 1.0) * rho;
            assert!(moment <= allowed + 1e-15 * (1.0 + size), "{epsilon} {alpha}: {moment} {allowed}");
        }
        // It is attained at α → 1, where the divergence is ε tanh(ε/2).
        let p = 1.0 / (1.0 + (-epsilon).exp());
        let divergence = epsilon * (2.0 * p - 1.0);
        assert!((rho / divergence - 1.0).abs() < 1e-9, "{epsilon}: {rho} {divergence}");
    }
}

#[test]
fn the_shorter_way_is_taken() {
    // For one pure mechanism, adding ε is better. For a hundred small ones, zCDP is better.
    let gaussian = Budget::new(1.0, 1e-6).unwrap().spend();
    let pure = Budget::pure(0.05).unwrap().spend();
    let few = Spend::composed([gaussian, pure]);
    let many = Spend::composed(std::iter::once(gaussian).chain([pure; 100]));
    assert!(few.epsilon_by_curve(1e-6).unwrap() < few.epsilon_by_zcdp(1e-6).unwrap());
    assert!(many.epsilon_by_curve(1e-6).unwrap() > 5.9);
    assert!(many.epsilon(1e-6).unwrap() < 4.0);
    for (spend, epsilon) in [(few, 1.05), (many, 3.0)] {
        let delta = spend.delta_at(epsilon).unwrap();
        let best = spend.delta_by_curve(epsilon).unwrap().min(spend.delta_by_zcdp(epsilon).unwrap());
        assert_eq!(delta, best);
        // The two functions are each other's inverse, on the safe side.
        assert!((spend.epsilon(delta).unwrap() - epsilon).abs() < 1e-9);
    }
}

#[test]
fn a_distance_from_gaussian_noise_is_charged_on_both_sides() {
    let plain = Spend::of_gaussian(4.0);
    let charged = Spend::new(plain.mu_squared(), 0.0, 1e-7).unwrap();
    let (bare, with) = (plain.delta_by_curve(1.0).unwrap(), charged.delta_by_curve(1.0).unwrap());
    assert!((with - bare - 1e-7 * (1.0 + 1_f64.exp())).abs() < 1e-20);
    // ε is on the safe side: its claim holds at that ε.
    let epsilon = charged.epsilon_by_curve(1e-6).unwrap();
    assert!(epsilon > plain.epsilon_by_curve(1e-6).unwrap());
    assert!(charged.delta_by_curve(epsilon).unwrap() <= 1e-6);
    assert_eq!(charged.epsilon_by_curve(1e-7).unwrap(), f64::INFINITY);
    assert_eq!(charged.epsilon(0.0).unwrap(), f64::INFINITY);
}

#[test]
fn edges_are_answered() {
    assert_eq!(Spend::NOTHING.epsilon(1e-300).unwrap(), 0.0);
    assert_eq!(Spend::NOTHING.delta_at(0.0).unwrap(), 0.0);
    assert_eq!(Spend::composed([]), Spend::NOTHING);
    let small = Budget::zcdp(1e-18).unwrap().spend();
    assert!(small.epsilon(1e-300).unwrap() < 1e-7);
    assert!(small.delta_at(1e-6).unwrap() < 1e-300);
    let huge = Spend::composed([Budget::zcdp(1e6).unwrap().spend(); 3]);
    assert!(huge.epsilon(1e-300).unwrap() > 3e6);
    assert_eq!(huge.delta_at(1.0).unwrap(), 1.0);
    let beyond = Spend::composed([Spend::new(Spend::MAX_MU_SQUARED, 1000.0, 0.5).unwrap(); 4]);
    assert_eq!(beyond.epsilon(0.9).unwrap(), f64::INFINITY);
    assert_eq!(beyond.delta_at(1e12).unwrap(), 1.0);
    for bad in [f64::NAN, f64::INFINITY, -1e-9] {
        assert!(Spend::new(bad, 0.0, 0.0).is_err());
        assert!(Spend::new(0.0, bad, 0.0).is_err());
        assert!(matches!(Spend::new(1.0, 0.0, bad), Err(Error::BadParameter { name: "variation", .. })));
        assert!(small.epsilon(bad).is_err());
        assert!(small.delta_at(bad).is_err());
    }
    assert!(Spend::new(0.0, 1.0, 1e-9).is_err());
}

#[test]
fn spends_are_written_plainly() {
    let spend = Budget::new(1.0, 1e-6).unwrap().spend();
    assert_eq!(spend.to_string(), "ρ = 0.0280145");
    assert_eq!(Budget::pure(0.5).unwrap().spend().to_string(), "pure ε = 0.5");
    assert_eq!(
        Spend::new(2.0, 0.1, 1e-10).unwrap().to_string(),
        "ρ = 1 and pure ε = 0.1 and a distance of 1e-10"
    );
    assert_eq!(Spend::NOTHING.to_string(), "nothing");
}
