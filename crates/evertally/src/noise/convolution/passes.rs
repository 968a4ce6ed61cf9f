//! The passes around the transforms of a cyclic and a negacyclic product of length N = 2m.
//!
//! Every pass is one sweep over memory. `roots` holds ω^j = e^{iπj/N}. After the backward transform
//! real and imaginary parts are exchanged (see `Workspace::transform_back`), so the multiplications
//! write them exchanged and `combine` reads them exchanged.

use rustfft::num_complex::Complex;

use super::C64;
use super::roots::RootsOfUnity;
use crate::noise::vectorise::vectorised;

/// Which part of the negacyclic product a range of the output takes. The product holds y_j + i
/// y_{j+m}.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Real,
    Imaginary,
}

/// z_j = x_{2j} + i x_{2j+1}: a real transform of length N packed into a complex one of length m.
pub(super) fn load_cyclic(x: &[f64], z: &mut [C64]) {
    let pairs = x.chunks_exact(2);
    let last = pairs.remainder().first().map(|&re| Complex::new(re, 0.0));
    let used = x.len().div_ceil(2);
    for (z, pair) in z.iter_mut().zip(pairs) {
        *z = Complex::new(pair[0], pair[1]);
    }
    if let Some(last) = last {
        z[used - 1] = last;
    }
    z[used..].fill(C64::default());
}

/// z_j = (x_j + i x_{j+m}) ω^j. Modulo X^N + 1 = (X^m − i)(X^m + i), a real polynomial is given by
/// its residue modulo X^m − i, and X = ωY with ω^m = i turns that into a cyclic product.
pub(super) fn load_negacyclic(x: &[f64], roots: &RootsOfUnity, z: &mut [C64]) {
    let m = z.len();
    let (low, high) = x.split_at(m.min(x.len()));
    vectorised(
        #[inline(always)]
        || {
            // Three ranges: both coefficients present, only the low one, and padding.
            for (at, coarse, fine) in roots.runs(0, high.len()) {
                let range = at..at + fine.len();
                let pairs = low[range.clone()].iter().zip(&high[range.clone()]);
                for ((z, (&re, &im)), fine) in z[range].iter_mut().zip(pairs).zip(fine) {
                    *z = Complex::new(re, im) * (coarse * fine);
                }
            }
            for (at, coarse, fine) in roots.runs(high.len(), low.len() - high.len()) {
                let range = high.len() + at..high.len() + at + fine.len();
                for ((z, &re), fine) in z[range.clone()].iter_mut().zip(&low[range]).zip(fine) {
                    *z = coarse * fine * re;
                }
            }
        },
    );
    z[low.len()..].fill(C64::default());
}

/// Splits the packed transform at k and m − k into the real signal's spectrum there.
#[inline(always)]
fn unpack(a: C64, b: C64, root: C64) -> (C64, C64) {
    let (even, difference) = ((a + b.conj()) * 0.5, (a - b.conj()) * 0.5);
    let odd = Complex::new(difference.im, -difference.re) * root.conj();
    (even + odd, (even - odd).conj())
}

/// The inverse of [`unpack`], with real and imaginary parts exchanged.
#[inline(always)]
fn pack_exchanged(a: C64, b: C64, root: C64) -> (C64, C64) {
    let (even, odd) = ((a + b.conj()) * 0.5, (a - b.conj()) * 0.5 * root);
    // even + i·odd and conj(even) + i·conj(odd), exchanged.
    (Complex::new(even.im + odd.re, even.re - odd.im), Complex::new(odd.re - even.im, even.re + odd.im))
}

/// The spectrum of the real signal whose packed transform is `z`, at 0 … m, times `scale`.
pub(super) fn real_spectrum(z: &[C64], roots: &RootsOfUnity, scale: f64) -> Vec<C64> {
    let m = z.len();
    let mut spectrum = vec![C64::default(); m + 1];
    spectrum[0] = Complex::new((z[0].re + z[0].im) * scale, 0.0);
    spectrum[m] = Complex::new((z[0].re - z[0].im) * scale, 0.0);
    for k in 1..=m / 2 {
        // e^{−2πik/N} is the conjugate of ω^{2k}.
        let (a, b) = unpack(z[k], z[m - k], roots.at(2 * k));
        spectrum[k] = a * scale;
        spectrum[m - k] = b * scale;
    }
    spectrum
}

/// Unpacks, multiplies by the kernel's spectrum and packs again, two mirrored values at a time.
pub(super) fn multiply_cyclic(z: &mut [C64], kernel: &[C64], roots: &RootsOfUnity) {
    let m = z.len();
    let first = (z[0].re + z[0].im) * kernel[0].re;
    let nyquist = (z[0].re - z[0].im) * kernel[m].re;
    z[0] = Complex::new((first - nyquist) * 0.5, (first + nyquist) * 0.5);
    if m.is_multiple_of(2) && m > 1 {
        // The middle is its own mirror image.
        let k = m / 2;
        let (a, _) = unpack(z[k], z[k], roots.at(m));
        let a = a * kernel[k];
        z[k] = pack_exchanged(a, a, roots.at(m)).0;
    }
    let pairs = (m - 1) / 2;
    let (low, high) = z[1..].split_at_mut(m / 2);
    let low = &mut low[..pairs];
    let high_start = high.len() - pairs;
    let high = &mut high[high_start..];
    let (kernel_low, kernel_high) = (&kernel[1..=pairs], &kernel[m - pairs..m]);
    vectorised(
        #[inline(always)]
        || {
            let fronts = low.iter_mut().zip(kernel_low);
            let backs = high.iter_mut().rev().zip(kernel_high.iter().rev());
            for (i, ((a, kernel_a), (b, kernel_b))) in fronts.zip(backs).enumerate() {
                let root = roots.at(2 * (i + 1));
                let (x_a, x_b) = unpack(*a, *b, root);
                (*a, *b) = pack_exchanged(x_a * kernel_a, x_b * kernel_b, root);
            }
        },
    );
}

/// Multiplies by the kernel's transform and exchanges real and imaginary parts.
pub(super) fn multiply_negacyclic(z: &mut [C64], kernel: &[C64]) {
    vectorised(
        #[inline(always)]
        || {
            for (z, kernel) in z.iter_mut().zip(kernel) {
                let product = *z * kernel;
                *z = Complex::new(product.im, product.re);
            }
        },
    );
}

/// Adds the two products into `out`, which holds the outputs from `step`; `negacyclic` starts at
/// index `at`.
pub(super) fn combine(
    cyclic: &[C64],
    negacyclic: &[C64],
    roots: &RootsOfUnity,
    at: usize,
    step: usize,
    out: &mut [f64],
    part: Part,
) {
    // Undoes the twist: (im + i re) times the conjugate of ω^j, of which one part is needed.
    vectorised(
        #[inline(always)]
        || {
            for (offset, coarse, fine) in roots.runs(at, out.len()) {
                let range = offset..offset + fine.len();
                let values = out[range.clone()].iter_mut().zip(&negacyclic[range]).zip(fine);
                match part {
                    Part::Real => values.for_each(|((out, z), fine)| {
                        let root = coarse * fine;
                        *out = z.im * root.re + z.re * root.im;
                    }),
                    Part::Imaginary => values.for_each(|((out, z), fine)| {
                        let root = coarse * fine;
                        *out = z.re * root.re - z.im * root.im;
                    }),
                }
            }
        },
    );
    // The cyclic product is in order, two outputs per value, except if the range starts at an odd
    // one.
    let (head, rest) = out.split_at_mut((step & 1).min(out.len()));
    if let Some(head) = head.first_mut() {
        *head += cyclic[step / 2].re;
    }
    let cyclic = &cyclic[step.div_ceil(2)..];
    let pairs = rest.len() / 2;
    for (pair, z) in rest.chunks_exact_mut(2).zip(cyclic) {
        pair[0] += z.im;
        pair[1] += z.re;
    }
    if let [last] = &mut rest[2 * pairs..] {
        *last += cyclic[pairs].im;
    }
}
