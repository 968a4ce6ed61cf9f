//! Compares γ_F and γ_2 with known values and a dense oracle, and tests that the checker refuses
//! what does not follow.

use evertally::research::gamma::{Certificate, Subject, Weights, gamma_2, gamma_f, verify};
use evertally::{Budget, Matrix, Mechanism, Plan, Workload};
use serde_json::Value;

fn prefix_sum(n: usize) -> Subject {
    Subject::workload(Workload::PrefixSum, n)
}

/// Solved, within the gap, and verified again.
fn checked(certificate: Certificate, gap: f64) -> Certificate {
    assert!(certificate.gap() <= gap, "gap {}", certificate.gap());
    let proof = verify(&certificate).unwrap();
    assert!(
        certificate.lower <= proof.lower && proof.lower < proof.upper && proof.upper <= certificate.upper
    );
    certificate
}

#[test]
fn the_prefix_sum_matches_the_reference_table() {
    let table: Vec<Value> = serde_json::from_str(include_str!("../data/error-factors.json")).unwrap();
    let mut compared = 0;
    for row in table.iter().filter(|row| row.get("optimal_mean").is_some()) {
        let n = row["n"].as_u64().unwrap() as usize;
        let known = |end: &str| row["optimal_mean"][end].as_f64().unwrap();
        let (lower, upper) = checked(gamma_f(prefix_sum(n), 1e-9, &()).unwrap(), 1e-9).error_factor();
        assert!(lower <= known("upper") && known("lower") <= upper, "n = {n}: {lower} {upper}");
        compared += 1;
    }
    assert!(compared >= 10, "{compared}");
}

#[test]
fn long_horizons_reach_the_gap() {
    // These values were certified here. No external value is known, so this guards only against
    // drift; the checker guards the truth.
    for (n, known) in [(4096, 11.490_553_43), (16_384, 14.637_943_85)] {
        let certificate = checked(gamma_f(prefix_sum(n), 1e-9, &()).unwrap(), 1e-9);
        let (lower, upper) = certificate.error_factor();
        assert!(
            (lower / known - 1.0).abs() < 2e-9 && (upper / known - 1.0).abs() < 4e-9,
            "{n}: {lower} {upper}"
        );
        assert!(certificate.iterations < 80, "{n}: {}", certificate.iterations);
    }
}

#[test]
fn structured_and_dense_solutions_agree() {
    let decays = [0.5, 0.9, 0.999].map(|factor| Workload::Decay { factor });
    for workload in [Workload::PrefixSum].into_iter().chain(decays) {
        for n in 1..=40 {
            let subject = Subject::workload(workload, n);
            for solve in [
                |subject: Subject| gamma_f(subject, 1e-9, &()),
                |subject: Subject| gamma_2(subject, 1e-9, &()),
            ] {
                let structured = checked(solve(subject.clone()).unwrap(), 1e-9);
                let dense = checked(solve(workload.matrix(n).into()).unwrap(), 1e-9);
                let overlap = structured.lower <= dense.upper && dense.lower <= structured.upper;
                assert!(overlap, "{workload} {n}: {structured:?} {dense:?}");
            }
        }
    }
}

#[test]
fn the_worst_step_matches_known_values() {
    for (n, known) in
        [(2, 4.0 / 3.0), (4, 1.75860), (16, 2.90525), (64, 4.45787), (100, 5.04397), (256, 6.41465)]
    {
        let certificate = checked(gamma_2(prefix_sum(n), 1e-9, &()).unwrap(), 1e-9);
        let (lower, upper) = certificate.error_factor();
        assert!((lower - known).abs() < 6e-6 && (upper - known).abs() < 6e-6, "{n}: {lower} {upper}");
    }
    checked(gamma_2(prefix_sum(4096), 1e-9, &()).unwrap(), 1e-9);
}

#[test]
fn extreme_decays_and_short_horizons() {
    for factor in [1e-300, 1e-20, 0.1, 1.0 - 1e-12] {
        for n in [1, 2, 5] {
            let workload = Workload::Decay { factor };
            let certificate = checked(gamma_f(Subject::workload(workload, n), 1e-8, &()).unwrap(), 1e-8);
            assert!(certificate.upper >= (n as f64).sqrt() * (1.0 - 1e-12));
        }
    }
    assert!(gamma_f(prefix_sum(0), 1e-6, &()).is_err());
    assert!(gamma_f(prefix_sum(4), 0.0, &()).is_err());
    assert!(gamma_f(prefix_sum(4), f64::NAN, &()).is_err());
    assert!(gamma_f(Subject::workload(Workload::Decay { factor: 1.5 }, 4), 1e-6, &()).is_err());
}

#[test]
fn a_window_is_solved_as_a_dense_matrix_until_it_never_closes() {
    let window = |width| Subject::workload(Workload::SlidingWindow { width }, 20);
    let open = checked(gamma_f(window(20), 1e-9, &()).unwrap(), 1e-9);
    let total = gamma_f(prefix_sum(20), 1e-9, &()).unwrap();
    assert_eq!((open.lower, open.upper), (total.lower, total.upper));
    let narrow = checked(gamma_f(window(3), 1e-9, &()).unwrap(), 1e-9);
    assert!(narrow.upper < total.lower);
}

#[test]
fn what_does_not_follow_from_the_weights_is_refused() {
    let dense = Workload::PrefixSum.matrix(12);
    let certificates = [
        gamma_f(prefix_sum(50), 1e-9, &()).unwrap(),
        gamma_2(prefix_sum(50), 1e-9, &()).unwrap(),
        gamma_f(dense.clone(), 1e-9, &()).unwrap(),
        gamma_2(dense, 1e-9, &()).unwrap(),
    ];
    for honest in certificates {
        verify(&honest).unwrap();
        let mut tampered = Vec::new();
        for factor in [1.0 + 1e-8, 1.1, f64::NAN, f64::INFINITY] {
            tampered.push(Certificate { lower: honest.lower * factor, ..honest.clone() });
        }
        for factor in [1.0 - 1e-8, 0.5, f64::NAN, -1.0] {
            tampered.push(Certificate { upper: honest.upper * factor, ..honest.clone() });
        }
        for change in [1.001, 0.0, -1.0, f64::NAN, f64::INFINITY] {
            let mut other = honest.clone();
            match &mut other.weights {
                Weights::GammaF { columns } | Weights::Gamma2 { columns, .. } => columns[3] *= change,
            }
            tampered.push(other);
        }
        let mut shorter = honest.clone();
        match &mut shorter.weights {
            Weights::GammaF { columns } | Weights::Gamma2 { columns, .. } => columns.truncate(4),
        }
        tampered.push(shorter);
        tampered.push(Certificate { subject: prefix_sum(0), ..honest.clone() });
        for (i, tampered) in tampered.iter().enumerate() {
            assert!(verify(tampered).is_err(), "{i}");
        }
        // Bounds that are looser than proven are still true.
        verify(&Certificate { lower: 0.9 * honest.lower, upper: 1.1 * honest.upper, ..honest }).unwrap();
    }
}

#[test]
fn a_certificate_of_another_matrix_is_refused() {
    let honest = gamma_f(Workload::PrefixSum.matrix(8), 1e-9, &()).unwrap();
    let mut other = Workload::PrefixSum.matrix(8);
    other[(3, 1)] += 1e-6;
    assert!(verify(&Certificate { subject: other.into(), ..honest }).is_err());
}

#[test]
fn progress_rises_to_one() {
    let seen = std::sync::Mutex::new(Vec::new());
    gamma_f(prefix_sum(600), 1e-9, &|fraction: f64| seen.lock().unwrap().push(fraction)).unwrap();
    let seen = seen.into_inner().unwrap();
    assert!(seen.windows(2).all(|pair| pair[0] <= pair[1]), "{seen:?}");
    assert_eq!(*seen.last().unwrap(), 1.0);
    assert_eq!(seen.iter().filter(|fraction| **fraction == 1.0).count(), 1);
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    let alone = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    let several = rayon::ThreadPoolBuilder::new().num_threads(3).build().unwrap();
    let solve = || gamma_f(prefix_sum(5000), 1e-7, &()).unwrap();
    assert_eq!(alone.install(solve), several.install(solve));
}

#[test]
fn a_comparison_is_certified_far_beyond_dense_matrices() {
    for builder in [Plan::prefix_sum(1 << 15), Plan::decay(1 << 15, 0.999)] {
        let builder = builder.budget(Budget::new(1.0, 1e-6).unwrap()).mechanism(Mechanism::SquareRoot);
        let comparison = builder.compare(&()).unwrap();
        let optimal = comparison.optimal.unwrap();
        assert!(optimal.upper / optimal.lower - 1.0 < 1e-6);
        let mean = comparison.best().unwrap().accuracy().mean_error;
        assert!(optimal.lower < mean && mean < 1.2 * optimal.lower, "{optimal:?} {mean}");
    }
}

#[test]
fn horizons_that_cannot_be_solved_are_refused_at_once() {
    let steep = Workload::Decay { factor: 1e-40 };
    for subject in [prefix_sum(usize::MAX), Subject::workload(steep, 1_000_000)] {
        assert!(gamma_f(subject.clone(), 1e-6, &()).is_err());
        assert!(gamma_2(subject, 1e-6, &()).is_err());
    }
}

#[test]
fn bounds_of_extreme_matrices_stay_on_their_side() {
    let scaled = |size: f64| Matrix::from_fn(2, 2, |i, j| if j <= i { size } else { 0.0 });
    // γ_F = 1.618…·size, which is between one and two of the smallest floats.
    let least = f64::from_bits(1);
    let certificate = |lower, upper| Certificate {
        subject: scaled(least).into(),
        weights: Weights::GammaF { columns: vec![0.7236, 0.2764] },
        lower,
        upper,
        iterations: 0,
    };
    assert!(verify(&certificate(2.0 * least, 3.0 * least)).is_err());
    assert!(verify(&certificate(0.0, least)).is_err());
    verify(&certificate(least, 3.0 * least)).unwrap();
    // Squares that underflow or overflow.
    let (lower, upper) = gamma_f(scaled(1e-200), 1e-6, &()).unwrap().error_factor();
    assert!(lower == 0.0 && upper > 0.0, "{lower} {upper}");
    let (lower, upper) = gamma_f(scaled(1e200), 1e-6, &()).unwrap().error_factor();
    assert!(lower.is_finite() && upper == f64::INFINITY, "{lower} {upper}");
}

#[test]
fn wide_gaps_are_accepted() {
    for gap in [1e-3, 0.1, 10.0] {
        for solve in [gamma_f, gamma_2] {
            let certificate = solve(prefix_sum(600), gap, &()).unwrap();
            assert!(certificate.gap() <= gap, "{gap}: {certificate:?}");
            verify(&certificate).unwrap();
        }
    }
}

/// Normal numbers, nearly: sums of twelve uniform ones.
fn random_matrix(rows: usize, columns: usize, seed: u64) -> Matrix {
    let mut state = seed;
    let mut uniform = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    Matrix::from_fn(rows, columns, |_, _| (0..12).map(|_| uniform()).sum::<f64>() - 6.0)
}

/// The iteration stopped at a gap of up to 3.2 % where many of the best weights are zero, without a
/// word: of low rank, wide, tall and sparse, with more than 200 rows and columns.
#[test]
fn hard_matrices_reach_a_millionth() {
    let low_rank = random_matrix(142, 9, 1).times(&random_matrix(9, 195, 2));
    let mut sparse = random_matrix(120, 100, 3);
    let zeros = random_matrix(120, 100, 4);
    for (i, j) in (0..120).flat_map(|i| (0..100).map(move |j| (i, j))) {
        if zeros[(i, j)] < 1.3 || i % 17 == 0 || j % 19 == 0 {
            sparse[(i, j)] = 0.0;
        }
    }
    let tall = random_matrix(180, 40, 5);
    let source = random_matrix(130, 110, 6);
    let twins = Matrix::from_fn(130, 110, |i, j| source[(i / 3, j / 2)]);
    for (name, matrix) in
        [("low rank", low_rank), ("sparse", sparse), ("wide", tall.transpose()), ("twins", twins)]
    {
        let certificate = checked(gamma_2(matrix, 1e-6, &()).unwrap(), 1e-6);
        assert!(certificate.shortfall(1e-6).is_none(), "{name}");
        assert!(certificate.shortfall(1e-17).is_some(), "{name}");
    }
}

/// Rounding kept the last steps of Newton's method from settling, and the last one was returned.
#[test]
fn small_hard_matrices_reach_a_millionth_at_any_wanted_gap() {
    for seed in 0..12 {
        let (rows, columns) = (8 + (seed as usize * 5) % 23, 5 + (seed as usize * 7) % 19);
        let mut matrix = random_matrix(rows, columns, 10 + seed);
        let zeros = random_matrix(rows, columns, 50 + seed);
        for (i, j) in (0..rows).flat_map(|i| (0..columns).map(move |j| (i, j))) {
            if zeros[(i, j)] < 0.8 {
                matrix[(i, j)] = 0.0;
            }
        }
        matrix[(0, 0)] = 1.0;
        for gap in [1e-6, 1e-9] {
            checked(gamma_2(matrix.clone(), gap, &()).unwrap(), 1e-6);
            checked(gamma_f(matrix.clone(), gap, &()).unwrap(), 1e-6);
        }
    }
}
