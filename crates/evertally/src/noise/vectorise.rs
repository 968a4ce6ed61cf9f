//! Plain loops, compiled for the vector unit of the processor at run time.

/// Runs `work` as code for the widest vectors of this processor. The arithmetic is the same
/// instruction by instruction, on more lanes, so the result does not depend on the processor.
///
/// `work` must be a closure marked `#[inline(always)]` that changes what it captures. Only then is
/// its body compiled with the wider instructions. A body that is merely called stays code for the
/// plain target. So does a body that is called through the shim that turns an `FnMut` into an
/// `FnOnce`, which is why pulp's own dispatch of closures is not used.
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
