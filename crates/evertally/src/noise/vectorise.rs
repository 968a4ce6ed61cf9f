//! Plain loops, compiled for the vector unit the processor turns out to have.

/// Runs `work` as code for the widest vectors of this processor. The arithmetic is the same
/// instruction by instruction, only more lanes wide, so the result does not depend on the
/// processor.
///
/// `work` must be a closure marked `#[inline(always)]` that changes what it captures. Only then is
/// its body compiled with the wider instructions: a body that is merely called stays code for the
/// plain target, and so does one called through the shim that makes an `FnOnce` of an `FnMut`,
/// which is why pulp's own dispatch of closures is not used.
#[inline]
pub(crate) fn vectorised(work: impl FnMut()) {
    struct Body<F>(F);
    impl<F: FnMut()> pulp::WithSimd for Body<F> {
        type Output = ();
        #[inline(always)]
        fn with_simd<S: pulp::Simd>(mut self, _simd: S) {
            (self.0)();
        }
    }
    pulp::Arch::new().dispatch(Body(work));
}
