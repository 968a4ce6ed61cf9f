//! Multiplication by a lower-triangular Toeplitz matrix.
//!
//! **Definition.** y_t = Σ_{j ≤ t} kernel_{t−j} x_j for 0 ≤ t < n: the first n coefficients of a
//! product of polynomials.
//!
//! **Guarantee.** The result is within a few 10⁻¹⁵ of the direct sum, relative to ‖kernel‖₂‖x‖₂. It
//! is deterministic on one machine. The FFT uses the vector unit it finds, so the last bits differ
//! between processors. Results that must be the same on every machine must not depend on them.
//!
//! **Cost.** O(n log n) time and O(n) memory (about 64 bytes per step in all). For an even N ≥ n,
//! the sum c_t + c_{t+N} is the product modulo X^N − 1 and the difference c_t − c_{t+N} is the
//! product modulo X^N + 1. So c_t is the mean of a cyclic and a negacyclic product of length N,
//! where zero padding would need length 2N. Each product is one complex FFT of length N/2 and its
//! inverse. The two share nothing and run on two threads. The kernel's transforms and the plan are
//! made once.
//!
//! **Source.** Crandall and Fagin, *Discrete weighted transforms and large-integer arithmetic*
//! (1994), for the negacyclic half as a right-angle convolution; RustFFT for the transforms.

use std::fmt;
use std::sync::{Arc, Mutex};

use rayon::prelude::*;
use rustfft::num_complex::Complex;
use rustfft::{Fft, FftPlanner};

use super::progress::{Parts, Progress};
use roots::RootsOfUnity;

mod passes;
mod roots;

type C64 = Complex<f64>;

/// Up to this length the direct sum is faster than any transform.
const DIRECT_MAX_LEN: usize = 64;
/// From this transform length on, a second thread is worth its start-up cost.
const PARALLEL_MIN_HALF: usize = 1 << 12;
/// Outputs that one thread combines at a time.
const CHUNK_LEN: usize = 1 << 14;

/// y_t = Σ_{j ≤ t} kernel_{t−j} x_j for t < n: multiplication by a lower-triangular Toeplitz
/// matrix.
///
/// Creating one is expensive (a plan and the transforms of the kernel), and applying it is cheap.
/// It keeps its working memory, about 32 bytes per step, for the next call.
///
/// ```
/// use evertally::internals::noise::CausalConvolver;
///
/// let prefix_sum = CausalConvolver::new(&[1.0; 5]);
/// let mut x = [1.0, 2.0, 3.0, 4.0, 5.0];
/// prefix_sum.apply(&mut x);
/// assert_eq!(x, [1.0, 3.0, 6.0, 10.0, 15.0]);
/// ```
pub struct CausalConvolver {
    len: usize,
    method: Method,
}

enum Method {
    Direct(Vec<f64>),
    Transform(Box<Transform>),
}

struct Transform {
    /// N/2: the length of the complex transforms.
    half: usize,
    fft: Arc<dyn Fft<f64>>,
    roots: RootsOfUnity,
    /// Transforms of the kernel, with every normalisation (½ for the mean, 2/N for the inverse)
    /// already in them.
    cyclic_kernel: Vec<C64>,
    negacyclic_kernel: Vec<C64>,
    spare: Mutex<Option<[Workspace; 2]>>,
}

/// The memory of one half-product: input and output of a transform, and the transform's own scratch
/// space.
struct Workspace {
    front: Vec<C64>,
    back: Vec<C64>,
    scratch: Vec<C64>,
}

impl CausalConvolver {
    /// Plans the multiplication by the matrix whose first column is `kernel`.
    #[must_use]
    pub fn new(kernel: &[f64]) -> Self {
        let method = if kernel.len() <= DIRECT_MAX_LEN {
            Method::Direct(kernel.to_vec())
        } else {
            Method::Transform(Box::new(Transform::new(kernel)))
        };
        Self { len: kernel.len(), method }
    }

    /// The number of steps n, which is the length of the kernel.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the kernel has no coefficients.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Replaces x by y. If x is shorter than the kernel, it is a prefix of the stream and gives the
    /// prefix of y.
    ///
    /// # Panics
    /// If x is longer than the kernel.
    pub fn apply(&self, x: &mut [f64]) {
        self.apply_with_progress(x, &());
    }

    /// Like [`apply`](Self::apply), with a few progress reports.
    ///
    /// # Panics
    /// If x is longer than the kernel.
    pub fn apply_with_progress(&self, x: &mut [f64], progress: &dyn Progress) {
        assert!(x.len() <= self.len, "{} values for a kernel of {}", x.len(), self.len);
        match &self.method {
            Method::Direct(kernel) => {
                let y = causal_convolution_direct(kernel, x);
                x.copy_from_slice(&y);
                Parts::new(progress, 1).finish_one();
            }
            Method::Transform(transform) => transform.apply(x, &Parts::new(progress, 7)),
        }
    }
}

impl fmt::Debug for CausalConvolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CausalConvolver").field("len", &self.len).finish_non_exhaustive()
    }
}

/// The same product by the definition, in O(n²). It is the oracle of the fast version. If the
/// kernel is shorter than x, its missing coefficients count as zero.
pub(crate) fn causal_convolution_direct(kernel: &[f64], x: &[f64]) -> Vec<f64> {
    (0..x.len()).map(|t| kernel.iter().zip(x[..=t].iter().rev()).map(|(k, x)| k * x).sum()).collect()
}

impl Transform {
    fn new(kernel: &[f64]) -> Self {
        let half = fast_half_len(kernel.len());
        let fft = FftPlanner::new().plan_fft_forward(half);
        let roots = RootsOfUnity::new(half);
        let scale = 0.5 / half as f64;
        let ((cyclic_kernel, cyclic), (negacyclic_kernel, negacyclic)) = join_if(
            half >= PARALLEL_MIN_HALF,
            || {
                let mut work = Workspace::new(&*fft);
                passes::load_cyclic(kernel, &mut work.front);
                work.transform_forth(&*fft);
                (passes::real_spectrum(&work.back, &roots, scale), work)
            },
            || {
                let mut work = Workspace::new(&*fft);
                passes::load_negacyclic(kernel, &roots, &mut work.front);
                work.transform_forth(&*fft);
                work.back.iter_mut().for_each(|value| *value *= scale);
                (std::mem::replace(&mut work.back, vec![C64::default(); half]), work)
            },
        );
        // The first call finds the memory of these transforms ready.
        let spare = Mutex::new(Some([cyclic, negacyclic]));
        Self { half, fft, roots, cyclic_kernel, negacyclic_kernel, spare }
    }

    fn apply(&self, x: &mut [f64], parts: &Parts<'_>) {
        let parallel = self.half >= PARALLEL_MIN_HALF;
        let mut spaces = self.take_workspaces();
        let [cyclic, negacyclic] = &mut spaces;
        let input = &*x;
        join_if(
            parallel,
            || {
                passes::load_cyclic(input, &mut cyclic.front);
                cyclic.transform_forth(&*self.fft);
                parts.finish_one();
                passes::multiply_cyclic(&mut cyclic.back, &self.cyclic_kernel, &self.roots);
                parts.finish_one();
                cyclic.transform_back(&*self.fft);
                parts.finish_one();
            },
            || {
                passes::load_negacyclic(input, &self.roots, &mut negacyclic.front);
                negacyclic.transform_forth(&*self.fft);
                parts.finish_one();
                passes::multiply_negacyclic(&mut negacyclic.back, &self.negacyclic_kernel);
                parts.finish_one();
                negacyclic.transform_back(&*self.fft);
                parts.finish_one();
            },
        );
        let (low, high) = x.split_at_mut(self.half.min(x.len()));
        let combine = |at: usize, base: usize, out: &mut [f64], part: passes::Part| {
            passes::combine(
                &cyclic.front,
                &negacyclic.front[at..at + out.len()],
                &self.roots,
                at,
                base + at,
                out,
                part,
            );
        };
        if parallel {
            let chunks = |out: &mut [f64], base: usize, part: passes::Part| {
                out.par_chunks_mut(CHUNK_LEN)
                    .enumerate()
                    .for_each(|(i, out)| combine(i * CHUNK_LEN, base, out, part));
            };
            rayon::join(
                || chunks(low, 0, passes::Part::Real),
                || chunks(high, self.half, passes::Part::Imaginary),
            );
        } else {
            combine(0, 0, low, passes::Part::Real);
            combine(0, self.half, high, passes::Part::Imaginary);
        }
        *self.spare.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some(spaces);
        parts.finish_one();
    }

    /// The workspaces of the last call, or new ones if another thread is using them. Fresh pages
    /// cost as much as a transform.
    fn take_workspaces(&self) -> [Workspace; 2] {
        let spare = self.spare.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        spare.unwrap_or_else(|| [Workspace::new(&*self.fft), Workspace::new(&*self.fft)])
    }
}

impl Workspace {
    fn new(fft: &dyn Fft<f64>) -> Self {
        let zeros = |len| vec![C64::default(); len];
        Self {
            front: zeros(fft.len()),
            back: zeros(fft.len()),
            scratch: zeros(fft.get_outofplace_scratch_len()),
        }
    }

    fn transform_forth(&mut self, fft: &dyn Fft<f64>) {
        fft.process_outofplace_with_scratch(&mut self.front, &mut self.back, &mut self.scratch);
    }

    /// The inverse transform is the forward one with real and imaginary parts exchanged before and
    /// after. The passes around it exchange them anyway, so one plan (16 bytes per value) is
    /// enough.
    fn transform_back(&mut self, fft: &dyn Fft<f64>) {
        fft.process_outofplace_with_scratch(&mut self.back, &mut self.front, &mut self.scratch);
    }
}

/// The smallest N/2 with N ≥ n that is a power of two times 1, 3, 5 or 9. Each of these lengths
/// measured no slower than the next larger one.
fn fast_half_len(n: usize) -> usize {
    let wanted = n.div_ceil(2).max(1);
    [1, 3, 5, 9].map(|odd| odd * wanted.div_ceil(odd).next_power_of_two()).into_iter().min().unwrap_or(wanted)
}

fn join_if<A: Send, B: Send>(
    parallel: bool,
    a: impl FnOnce() -> A + Send,
    b: impl FnOnce() -> B + Send,
) -> (A, B) {
    if parallel { rayon::join(a, b) } else { (a(), b()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::square_root_coefficients;
    use proptest::prelude::*;

    /// Values without structure, so that no index error cancels.
    fn scattered(n: usize, seed: u64) -> Vec<f64> {
        let mut state = seed;
        (0..n)
            .map(|_| {
                state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
            })
            .collect()
    }

    fn norm(x: &[f64]) -> f64 {
        x.iter().map(|v| v * v).sum::<f64>().sqrt()
    }

    /// Largest difference from the oracle relative to ‖kernel‖‖x‖, with the transform forced at
    /// every length.
    fn error_of_transform(kernel: &[f64], x: &[f64]) -> f64 {
        let want = causal_convolution_direct(kernel, x);
        let convolver = CausalConvolver {
            len: kernel.len(),
            method: Method::Transform(Box::new(Transform::new(kernel))),
        };
        let mut worst = 0.0_f64;
        // Twice, because the second call reuses the memory of the first.
        for _ in 0..2 {
            let mut got = x.to_vec();
            convolver.apply(&mut got);
            worst = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(worst, f64::max);
        }
        worst / (norm(kernel) * norm(x))
    }

    #[test]
    fn agrees_with_the_definition_at_every_small_length() {
        for n in 1..=130 {
            let (kernel, x) = (scattered(n, n as u64), scattered(n, 1000 + n as u64));
            assert!(error_of_transform(&kernel, &x) < 1e-14, "n = {n}");
            let mut y = x.clone();
            CausalConvolver::new(&kernel).apply(&mut y);
            let want = causal_convolution_direct(&kernel, &x);
            assert!(y.iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-13), "n = {n}");
        }
    }

    /// Primes, powers of two and their neighbours, and lengths on both sides of the second thread.
    #[test]
    fn agrees_with_the_definition_at_larger_lengths() {
        for n in [251, 509, 510, 511, 512, 513, 1021, 4093, 8191, 8192, 8193, 12289, 16411, 20_000] {
            let (kernel, x) = (scattered(n, n as u64), scattered(n, 7 + n as u64));
            assert!(error_of_transform(&kernel, &x) < 1e-14, "n = {n}");
            assert!(error_of_transform(&square_root_coefficients(n), &x) < 1e-14, "n = {n}");
        }
    }

    /// The square-root matrix applied twice is the prefix sum, at a length that no O(n²) oracle
    /// could check.
    #[test]
    fn squares_to_the_prefix_sum_at_length_a_million() {
        let n = 1_000_003;
        let convolver = CausalConvolver::new(&square_root_coefficients(n));
        let x = scattered(n, 5);
        let mut y = x.clone();
        convolver.apply(&mut y);
        convolver.apply(&mut y);
        let mut total = 0.0;
        for (t, (x, y)) in x.iter().zip(&y).enumerate() {
            total += x;
            assert!((y - total).abs() < 1e-9, "step {t}");
        }
    }

    #[test]
    fn a_shorter_input_is_a_prefix() {
        for n in [40, 300, 20_000] {
            let convolver = CausalConvolver::new(&scattered(n, 3));
            let x = scattered(n, 4);
            let mut whole = x.clone();
            convolver.apply(&mut whole);
            for len in [0, 1, n / 2 - 1, n / 2, n / 2 + 1, n - 1] {
                let mut prefix = x[..len].to_vec();
                convolver.apply(&mut prefix);
                assert!(prefix.iter().zip(&whole).all(|(a, b)| (a - b).abs() < 1e-10), "{len} of {n}");
            }
        }
    }

    /// Callers that share a convolver must not share its memory.
    #[test]
    fn simultaneous_calls_do_not_disturb_each_other() {
        let n = 10_000;
        let convolver = CausalConvolver::new(&scattered(n, 1));
        let alone = |seed: u64| {
            let mut x = scattered(n, seed);
            convolver.apply(&mut x);
            x
        };
        let want: Vec<Vec<f64>> = (0..8).map(alone).collect();
        let got: Vec<Vec<f64>> = (0..8_u64).into_par_iter().map(alone).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn progress_rises_to_one() {
        for n in [10, 1000, 20_000] {
            let seen = Mutex::new(Vec::new());
            let report = |fraction: f64| seen.lock().unwrap().push(fraction);
            CausalConvolver::new(&scattered(n, 1)).apply_with_progress(&mut scattered(n, 2), &report);
            let seen = seen.into_inner().unwrap();
            assert!(seen.is_sorted() && seen.last() == Some(&1.0), "{seen:?}");
        }
    }

    #[test]
    fn nothing_is_convolved_to_nothing() {
        let convolver = CausalConvolver::new(&[]);
        assert!(convolver.is_empty());
        convolver.apply(&mut []);
        assert_eq!(format!("{convolver:?}"), "CausalConvolver { len: 0, .. }");
    }

    #[test]
    fn transform_lengths_are_enough_and_not_much_more() {
        for n in 1..5000 {
            let half = fast_half_len(n);
            assert!(2 * half >= n && half <= n.div_ceil(2) * 4 / 3, "{n}: {half}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn agrees_with_the_definition(n in 1_usize..2000, seed: u64) {
            let (kernel, x) = (scattered(n, seed), scattered(n, !seed));
            prop_assert!(error_of_transform(&kernel, &x) < 1e-14);
        }
    }
}
