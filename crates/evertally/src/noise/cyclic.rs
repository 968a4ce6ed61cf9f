//! Multiplication by a circulant matrix.
//!
//! **Definition.** y_t = Σ_j kernel_{(t−j) mod n} x_j, given by the kernel or by its discrete
//! Fourier transform.
//!
//! **Guarantee.** The result is within a few 10⁻¹⁵ of the direct sum, relative to ‖kernel‖₂‖x‖₂.
//! The last bits may differ between processors.
//!
//! **Cost.** One real FFT of length n and its inverse: O(n log n) time at any n and O(n) memory. It
//! is fastest if n has only small prime factors. A circulant cannot be padded, so the transform has
//! length n exactly.
//!
//! **Source.** Used for the group-algebra factorization of Henzinger and Upadhyay, whose square
//! root is taken in the spectrum.

use std::fmt;
use std::sync::Arc;

use realfft::{ComplexToReal, RealFftPlanner, RealToComplex};
use rustfft::num_complex::Complex;

use crate::error::{Error, Result};

/// y = C x for the circulant matrix C whose first column is the kernel.
///
/// ```
/// use evertally::internals::noise::CyclicConvolver;
///
/// let rotate = CyclicConvolver::new(&[0.0, 1.0, 0.0, 0.0]);
/// let mut x = [1.0, 2.0, 3.0, 4.0];
/// rotate.apply(&mut x);
/// assert!(x.iter().zip([4.0, 1.0, 2.0, 3.0]).all(|(a, b)| (a - b).abs() < 1e-14));
/// ```
pub struct CyclicConvolver {
    len: usize,
    forth: Arc<dyn RealToComplex<f64>>,
    back: Arc<dyn ComplexToReal<f64>>,
    /// The kernel's spectrum divided by n, so that the unnormalised inverse transform needs no
    /// further pass.
    scaled_spectrum: Vec<Complex<f64>>,
}

impl CyclicConvolver {
    /// Plans the multiplication by the circulant matrix whose first column is `kernel`.
    #[must_use]
    pub fn new(kernel: &[f64]) -> Self {
        let mut convolver = Self::plan(kernel.len());
        let mut time = kernel.to_vec();
        let mut spectrum = convolver.forth.make_output_vec();
        convolver.transform_forth(&mut time, &mut spectrum);
        convolver.set_spectrum(spectrum);
        convolver
    }

    /// Plans the multiplication by the n × n circulant matrix whose kernel has this spectrum. The
    /// spectrum holds Σ_t kernel_t e^{−2πikt/n} at k = 0 … ⌊n/2⌋; the other values are the
    /// conjugates of these.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if there are not ⌊n/2⌋ + 1 values, or if the value at 0, or at n/2
    /// for even n, is not real. No real kernel has such a spectrum.
    ///
    /// ```
    /// use evertally::internals::noise::CyclicConvolver;
    /// use rustfft::num_complex::Complex;
    ///
    /// let double = CyclicConvolver::from_spectrum(4, vec![Complex::new(2.0, 0.0); 3])?;
    /// let mut x = [1.0, 2.0, 3.0, 4.0];
    /// double.apply(&mut x);
    /// assert!(x.iter().zip([2.0, 4.0, 6.0, 8.0]).all(|(a, b)| (a - b).abs() < 1e-14));
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn from_spectrum(n: usize, spectrum: Vec<Complex<f64>>) -> Result<Self> {
        let wanted = if n == 0 { 0 } else { n / 2 + 1 };
        if spectrum.len() != wanted {
            let expected = format!("{wanted} values for length {n}");
            return Err(Error::bad("spectrum", expected, format!("{} values", spectrum.len())));
        }
        let self_conjugate = [(0, n > 0), (n / 2, n > 0 && n.is_multiple_of(2))];
        for (k, _) in self_conjugate.into_iter().filter(|&(_, holds)| holds) {
            if spectrum[k].im != 0.0 {
                return Err(Error::bad("spectrum", format!("real at {k}"), "an imaginary part"));
            }
        }
        let mut convolver = Self::plan(n);
        convolver.set_spectrum(spectrum);
        Ok(convolver)
    }

    fn plan(len: usize) -> Self {
        // A transform of length zero cannot be planned. A transform of length one stands in for it
        // and is never run.
        let mut planner = RealFftPlanner::new();
        let (forth, back) = (planner.plan_fft_forward(len.max(1)), planner.plan_fft_inverse(len.max(1)));
        Self { len, forth, back, scaled_spectrum: Vec::new() }
    }

    fn set_spectrum(&mut self, mut spectrum: Vec<Complex<f64>>) {
        let scale = 1.0 / self.len.max(1) as f64;
        spectrum.iter_mut().for_each(|value| *value *= scale);
        self.scaled_spectrum = spectrum;
    }

    fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Replaces x by C x.
    ///
    /// # Panics
    /// If x is not of length n.
    pub fn apply(&self, x: &mut [f64]) {
        assert_eq!(x.len(), self.len, "values for a circulant matrix of another size");
        let mut spectrum = self.forth.make_output_vec();
        self.transform_forth(x, &mut spectrum);
        for (value, kernel) in spectrum.iter_mut().zip(&self.scaled_spectrum) {
            *value *= kernel;
        }
        self.transform_back(&mut spectrum, x);
    }

    fn transform_forth(&self, time: &mut [f64], spectrum: &mut [Complex<f64>]) {
        if self.is_empty() {
            return;
        }
        let mut scratch = self.forth.make_scratch_vec();
        let done = self.forth.process_with_scratch(time, spectrum, &mut scratch);
        debug_assert!(done.is_ok(), "the lengths are those of the plan");
    }

    /// Rounding leaves imaginary parts where a real signal has none. The transform reports them as
    /// errors, so they are set to zero first.
    fn transform_back(&self, spectrum: &mut [Complex<f64>], time: &mut [f64]) {
        if self.is_empty() {
            return;
        }
        spectrum[0].im = 0.0;
        if self.len.is_multiple_of(2) {
            spectrum[self.len / 2].im = 0.0;
        }
        let mut scratch = self.back.make_scratch_vec();
        let done = self.back.process_with_scratch(spectrum, time, &mut scratch);
        debug_assert!(done.is_ok(), "the lengths are those of the plan");
    }
}

impl fmt::Debug for CyclicConvolver {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CyclicConvolver").field("len", &self.len).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wave(n: usize, step: f64) -> Vec<f64> {
        (0..n).map(|i| (step * (i * i) as f64 + 1.0).sin()).collect()
    }

    fn direct(kernel: &[f64], x: &[f64]) -> Vec<f64> {
        let n = x.len();
        (0..n).map(|t| (0..n).map(|j| kernel[(t + n - j) % n] * x[j]).sum()).collect()
    }

    #[test]
    fn agrees_with_the_definition() {
        for n in (1..=40).chain([97, 128, 251, 500, 1009]) {
            let (kernel, x) = (wave(n, 0.3), wave(n, 0.7));
            let want = direct(&kernel, &x);
            let spectrum = (0..=n / 2)
                .map(|k| {
                    let term = |(t, &v): (usize, &f64)| {
                        Complex::from_polar(v, -std::f64::consts::TAU * (k * t % n) as f64 / n as f64)
                    };
                    let mut value: Complex<f64> = kernel.iter().enumerate().map(term).sum();
                    if k == 0 || 2 * k == n {
                        value.im = 0.0;
                    }
                    value
                })
                .collect();
            for convolver in
                [CyclicConvolver::new(&kernel), CyclicConvolver::from_spectrum(n, spectrum).unwrap()]
            {
                let mut got = x.clone();
                convolver.apply(&mut got);
                let worst = got.iter().zip(&want).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
                assert!(worst <= 1e-12 * n as f64, "n = {n}: {worst}");
            }
        }
    }

    #[test]
    fn spectra_of_no_real_kernel_are_refused() {
        let real = Complex::new(1.0, 0.0);
        let other = Complex::new(1.0, 1.0);
        assert!(CyclicConvolver::from_spectrum(4, vec![real; 2]).is_err());
        assert!(CyclicConvolver::from_spectrum(4, vec![other, real, real]).is_err());
        assert!(CyclicConvolver::from_spectrum(4, vec![real, real, other]).is_err());
        assert!(CyclicConvolver::from_spectrum(4, vec![real, other, real]).is_ok());
        assert!(CyclicConvolver::from_spectrum(3, vec![real, other]).is_ok());
        assert!(CyclicConvolver::from_spectrum(1, vec![other]).is_err());
    }

    #[test]
    fn the_empty_matrix() {
        CyclicConvolver::new(&[]).apply(&mut []);
        assert!(CyclicConvolver::from_spectrum(0, Vec::new()).unwrap().is_empty());
    }
}
