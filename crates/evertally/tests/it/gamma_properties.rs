//! What the paper proves about γ_F, on random matrices of every shape and rank, real and complex.

use evertally::research::gamma::{Certificate, ComplexMatrix, Factors, Subject, gamma_2, gamma_f, verify};
use evertally::{Matrix, Workload};
use faer::{Mat, c64};
use proptest::prelude::*;

/// The gap to which random matrices are solved.
const GAP: f64 = 1e-7;

fn mean(subject: impl Into<Subject>) -> Certificate {
    let certificate = gamma_f(subject, GAP, &()).unwrap();
    verify(&certificate).unwrap();
    certificate
}

fn worst(subject: impl Into<Subject>) -> Certificate {
    let certificate = gamma_2(subject, GAP, &()).unwrap();
    verify(&certificate).unwrap();
    certificate
}

fn complex(matrix: &ComplexMatrix) -> Mat<c64> {
    Mat::from_fn(matrix.rows(), matrix.columns(), |i, j| {
        c64::new(matrix.real()[(i, j)], matrix.imaginary()[(i, j)])
    })
}

fn kronecker(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.rows() * b.rows(), a.columns() * b.columns(), |i, j| {
        a[(i / b.rows(), j / b.columns())] * b[(i % b.rows(), j % b.columns())]
    })
}

/// Running totals of every number of bins from the lowest on: two prefix sums.
#[test]
fn a_cumulative_histogram_over_time_is_a_product() {
    let of = |bins: usize, steps: usize| {
        let prefix = |n: usize| Matrix::from_fn(n, n, |i, j| f64::from(u8::from(j <= i)));
        let [over_bins, over_time] = [prefix(bins), prefix(steps)].map(mean);
        (over_bins, over_time, mean(kronecker(&prefix(bins), &prefix(steps))))
    };
    for (bins, steps) in [(2, 2), (3, 5), (4, 6)] {
        let (over_bins, over_time, both) = of(bins, steps);
        let product = over_bins.upper * over_time.upper;
        assert!((both.lower / product - 1.0).abs() < 1e-6, "{bins}, {steps}: {} {product}", both.lower);
        assert!((both.upper / product - 1.0).abs() < 1e-6, "{bins}, {steps}");
    }
}

fn split(matrix: &Mat<c64>) -> ComplexMatrix {
    let part =
        |of: fn(c64) -> f64| Matrix::from_fn(matrix.nrows(), matrix.ncols(), |i, j| of(matrix[(i, j)]));
    ComplexMatrix::new(part(|x| x.re), part(|x| x.im)).unwrap()
}

fn real(matrix: &Matrix) -> ComplexMatrix {
    ComplexMatrix::new(matrix.clone(), Matrix::zeros(matrix.rows(), matrix.columns())).unwrap()
}

fn frobenius(a: &Mat<c64>) -> f64 {
    a.singular_values().unwrap().iter().map(|s| s * s).sum::<f64>().sqrt()
}

fn nuclear(a: &Mat<c64>) -> f64 {
    a.singular_values().unwrap().iter().sum()
}

/// A matrix of a random shape, rank and set of zero columns.
fn matrices() -> impl Strategy<Value = Matrix> {
    (1..7_usize, 1..7_usize).prop_flat_map(|(n, m)| shaped(n, m))
}

fn shaped(n: usize, m: usize) -> impl Strategy<Value = Matrix> {
    let entries = |count| prop::collection::vec(-1.0..1.0_f64, count);
    (1..=n.min(m)).prop_flat_map(move |rank| {
        let emptied = prop::collection::vec(prop::bool::weighted(0.1), m);
        (entries(n * rank), entries(rank * m), emptied).prop_map(move |(left, right, emptied)| {
            let left = Matrix::from_fn(n, rank, |i, k| left[i * rank + k]);
            let right = Matrix::from_fn(rank, m, |k, j| if emptied[j] { 0.0 } else { right[k * m + j] });
            left.times(&right)
        })
    })
}

fn pairs() -> impl Strategy<Value = (Matrix, Matrix)> {
    (1..6_usize, 1..6_usize).prop_flat_map(|(n, m)| (shaped(n, m), shaped(n, m)))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]

    #[test]
    fn bounds_hold_and_meet((re, im) in pairs()) {
        let a = ComplexMatrix::new(re, im).unwrap();
        let dense = complex(&a);
        let of_f = mean(a.clone());
        let of_2 = worst(a.clone());
        let slack = 1e-9;
        let (n, m) = (a.rows() as f64, a.columns() as f64);
        prop_assert!(nuclear(&dense) / m.sqrt() <= of_f.upper + slack);
        prop_assert!(of_f.lower <= frobenius(&dense) + slack);
        prop_assert!(of_2.lower <= of_f.upper + slack);
        prop_assert!(of_f.lower <= n.sqrt() * of_2.upper + slack);
        prop_assert!(of_f.upper == 0.0 || of_f.gap() < 2.0 * GAP, "gap {} {:?}", of_f.gap(), of_f.iterations);
        prop_assert!(of_2.upper == 0.0 || of_2.gap() < 1e-6, "gap {} {:?}", of_2.gap(), of_2.iterations);
    }

    #[test]
    fn a_norm((a, b) in pairs(), factor in -3.0..3.0_f64) {
        let sum = Matrix::from_fn(a.rows(), a.columns(), |i, j| a[(i, j)] + b[(i, j)]);
        let scaled = Matrix::from_fn(a.rows(), a.columns(), |i, j| factor * a[(i, j)]);
        for norm in [mean as fn(Matrix) -> Certificate, worst] {
            let (of_a, of_b) = (norm(a.clone()), norm(b.clone()));
            prop_assert!(norm(sum.clone()).lower <= of_a.upper + of_b.upper + 1e-9);
            let of_scaled = norm(scaled.clone());
            prop_assert!(of_scaled.lower <= factor.abs() * of_a.upper + 1e-9);
            prop_assert!(factor.abs() * of_a.lower <= of_scaled.upper + 1e-9);
            // Zero only for the zero matrix.
            let zero = (0..a.rows()).all(|i| a.row(i).iter().all(|x| *x == 0.0));
            prop_assert_eq!(of_a.lower > 0.0, !zero);
        }
    }

    /// γ_F(A ⊗ B) = γ_F(A)·γ_F(B), and the same for γ_2. Kronecker products of factors are factors of the
    /// product, whose norms multiply: at most. Kronecker products of the weights of the two dual programs
    /// are weights of the third, whose nuclear norm is the product: at least.
    #[test]
    fn products_of_workloads_multiply(
        a in (1..4_usize, 1..4_usize).prop_flat_map(|(n, m)| shaped(n, m)),
        b in (1..4_usize, 1..4_usize).prop_flat_map(|(n, m)| shaped(n, m)),
    ) {
        for norm in [mean as fn(Matrix) -> Certificate, worst] {
            let (of_a, of_b, of_both) = (norm(a.clone()), norm(b.clone()), norm(kronecker(&a, &b)));
            let slack = 1e-9;
            prop_assert!(of_a.lower * of_b.lower <= of_both.upper + slack);
            prop_assert!(of_both.lower <= of_a.upper * of_b.upper + slack);
        }
    }

    #[test]
    fn real_matrices_have_real_factors_of_small_inner_dimension(a in matrices()) {
        let certificate = mean(a.clone());
        let Factors::Real { decoder, encoder } = certificate.factors().unwrap() else {
            panic!("a real matrix was given complex factors");
        };
        prop_assert!(encoder.rows() <= a.columns());
        let product = decoder.times(&encoder);
        for i in 0..a.rows() {
            for j in 0..a.columns() {
                prop_assert!((product[(i, j)] - a[(i, j)]).abs() < 1e-10);
            }
        }
        let size: f64 = (0..decoder.rows()).map(|i| decoder.row_norm_squared(i)).sum::<f64>().sqrt();
        let attained = size * encoder.largest_column_norm();
        prop_assert!(attained <= certificate.upper * (1.0 + 1e-9) + 1e-12, "{attained} {}", certificate.upper);
        // Complex factors are no better: the same matrix, treated as complex, has the same γ_F.
        let as_complex = mean(real(&a));
        prop_assert!(certificate.lower <= as_complex.upper + 1e-12);
        prop_assert!(as_complex.lower <= certificate.upper + 1e-12);
    }

    #[test]
    fn equal_singular_values((re, im) in (2..6_usize).prop_flat_map(|n| (shaped(n, 2), shaped(n, 2))), size in 0.1..5.0_f64) {
        // The left factor of a singular value decomposition has orthonormal columns.
        let dense = complex(&ComplexMatrix::new(re, im).unwrap());
        let isometry = dense.thin_svd().unwrap().U().to_owned();
        let a = Mat::from_fn(isometry.nrows(), isometry.ncols(), |i, j| isometry[(i, j)] * size);
        let certificate = mean(split(&a));
        let exact = size * (a.ncols() as f64).sqrt();
        prop_assert!((certificate.lower / exact - 1.0).abs() < 2.0 * GAP, "{} {exact}", certificate.lower);
        prop_assert!((certificate.upper / exact - 1.0).abs() < 2.0 * GAP);
    }

    #[test]
    fn diagonal_matrices(diagonal in prop::collection::vec(prop_oneof![Just(0.0), -2.0..2.0_f64, Just(1e-8)], 1..7)) {
        let n = diagonal.len();
        let a = Matrix::from_fn(n, n, |i, j| if i == j { diagonal[i] } else { 0.0 });
        let exact = diagonal.iter().map(|x| x * x).sum::<f64>().sqrt();
        let certificate = mean(a.clone());
        prop_assert!((certificate.upper - exact).abs() <= 1e-6 * exact, "{} {exact}", certificate.upper);
        prop_assert!((certificate.lower - exact).abs() <= 1e-6 * exact);
        let largest = diagonal.iter().map(|x| x.abs()).fold(0.0, f64::max);
        let certificate = worst(a);
        prop_assert!((certificate.upper - largest).abs() <= 1e-6 * largest, "{} {largest}", certificate.upper);
    }
}

#[test]
fn fourier_matrices_are_unitary() {
    for n in [1, 2, 5, 16] {
        let root = (n as f64).sqrt();
        let angle = |i: usize, j: usize| std::f64::consts::TAU * ((i * j) % n) as f64 / n as f64;
        let re = Matrix::from_fn(n, n, |i, j| angle(i, j).cos() / root);
        let im = Matrix::from_fn(n, n, |i, j| angle(i, j).sin() / root);
        let a = ComplexMatrix::new(re, im).unwrap();
        let certificate = mean(a.clone());
        assert!((certificate.upper - root).abs() < 1e-6 && (certificate.lower - root).abs() < 1e-6);
        // Rows and columns have norm one, and no smaller product is possible.
        assert!((worst(a).upper - 1.0).abs() < 1e-6);
    }
}

#[test]
fn singular_values_of_the_prefix_sum() {
    for n in [1, 2, 7, 40] {
        let matrix = Workload::PrefixSum.matrix(n);
        let values = Mat::from_fn(n, n, |i, j| matrix[(i, j)]).singular_values().unwrap();
        for (i, value) in values.iter().enumerate() {
            let angle = (2 * i + 1) as f64 * std::f64::consts::PI / (4 * n + 2) as f64;
            assert!((value - 0.5 / angle.sin()).abs() < 1e-11, "{n} {i}: {value}");
        }
    }
}

#[test]
fn hopeless_input_is_refused_and_zero_is_zero() {
    assert!(gamma_f(Matrix::zeros(0, 3), 1e-6, &()).is_err());
    assert!(gamma_2(Matrix::zeros(3, 0), 1e-6, &()).is_err());
    assert!(gamma_f(Matrix::from_fn(2, 2, |_, _| f64::NAN), 1e-6, &()).is_err());
    assert!(ComplexMatrix::new(Matrix::zeros(1, 2), Matrix::zeros(2, 1)).is_err());
    assert_eq!(mean(Matrix::zeros(3, 2)).upper, 0.0);
    assert_eq!(worst(Matrix::zeros(3, 2)).upper, 0.0);
    // Far from one, but sound.
    for size in [1e-250, 1e250] {
        let certificate = mean(Matrix::from_fn(3, 2, |i, j| size * (1 + i + 2 * j) as f64));
        assert!(certificate.gap() < 1e-6 && certificate.lower > size, "{certificate:?}");
    }
}
