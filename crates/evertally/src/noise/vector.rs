//! The vector operations of the streaming engine, for either precision and any vector width.
//!
//! These are vector types instead of arrays, so that a burst of them stays in registers. With
//! arrays the compiler does not achieve that. There are only additions, subtractions and
//! multiplications, each rounded separately, so that lanes have the same bits at every width.

use std::ops::Range;

use pulp::Simd;

use super::field::WhiteField;

/// The vectors of one precision. This is a supertrait of [`Real`](super::Real). It cannot be named
/// outside the crate, which seals `Real`.
pub trait Vector: Sized + Copy {
    /// A vector of the instruction set S.
    type Of<S: Simd>: Copy;

    /// The lanes as vectors. Lanes that do not fill a vector are left out.
    fn vectors<S: Simd>(lanes: &mut [Self]) -> &mut [Self::Of<S>];

    /// A vector of one value.
    fn splat<S: Simd>(simd: S, value: Self) -> Self::Of<S>;

    /// a + b.
    fn plus<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S>;

    /// a − b.
    fn minus<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S>;

    /// a·b.
    fn times<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S>;

    /// [`WhiteField::tile`] in this precision.
    fn tile(field: &dyn WhiteField, first: u64, lanes: Range<usize>, out: &mut [Self]);
}

macro_rules! vectors_of {
    ($real:ty, $vector:ident, $as_mut:ident, $splat:ident, $add:ident, $sub:ident, $mul:ident, $tile:ident) => {
        impl Vector for $real {
            type Of<S: Simd> = S::$vector;

            #[inline(always)]
            fn vectors<S: Simd>(lanes: &mut [Self]) -> &mut [Self::Of<S>] {
                S::$as_mut(lanes).0
            }

            #[inline(always)]
            fn splat<S: Simd>(simd: S, value: Self) -> Self::Of<S> {
                simd.$splat(value)
            }

            #[inline(always)]
            fn plus<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S> {
                simd.$add(a, b)
            }

            #[inline(always)]
            fn minus<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S> {
                simd.$sub(a, b)
            }

            #[inline(always)]
            fn times<S: Simd>(simd: S, a: Self::Of<S>, b: Self::Of<S>) -> Self::Of<S> {
                simd.$mul(a, b)
            }

            fn tile(field: &dyn WhiteField, first: u64, lanes: Range<usize>, out: &mut [Self]) {
                field.$tile(first, lanes, out);
            }
        }
    };
}

vectors_of!(f64, f64s, as_mut_simd_f64s, splat_f64s, add_f64s, sub_f64s, mul_f64s, tile);
vectors_of!(f32, f32s, as_mut_simd_f32s, splat_f32s, add_f32s, sub_f32s, mul_f32s, tile_f32);
