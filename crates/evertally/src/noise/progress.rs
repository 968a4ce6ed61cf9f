//! Progress reports of long computations.

use std::sync::Mutex;

/// Receives the completed fraction of a long computation. `()` ignores it, and any `Fn(f64) + Sync`
/// can be used.
///
/// Reports come from the thread that finished a part, one at a time and in increasing order. An
/// implementation should be fast and must not call back into the computation.
///
/// ```
/// use evertally::internals::noise::CausalConvolver;
///
/// let convolver = CausalConvolver::new(&[1.0; 100]);
/// let mut x = vec![1.0; 100];
/// convolver.apply_with_progress(&mut x, &|fraction: f64| eprintln!("{:3.0} %", 100.0 * fraction));
/// convolver.apply_with_progress(&mut x, &());
/// ```
pub trait Progress: Sync {
    /// Called with a fraction between 0 and 1. The value 1 is reported once, at the end.
    fn report(&self, fraction: f64);
}

impl Progress for () {
    fn report(&self, _fraction: f64) {}
}

impl<F: Fn(f64) + Sync> Progress for F {
    fn report(&self, fraction: f64) {
        self(fraction);
    }
}

/// Counts finished parts across threads, out of a known number, and reports them in order.
pub(crate) struct Parts<'a> {
    sink: &'a dyn Progress,
    total: u32,
    done: Mutex<u32>,
}

impl<'a> Parts<'a> {
    pub(crate) fn new(sink: &'a dyn Progress, total: u32) -> Self {
        Self { sink, total, done: Mutex::new(0) }
    }

    /// Records that one more part is done. The lock is held while reporting, which keeps reports in
    /// order.
    pub(crate) fn finish_one(&self) {
        let mut done = self.done.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *done += 1;
        self.sink.report(f64::from(*done) / f64::from(self.total));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_rise_to_one() {
        let seen = Mutex::new(Vec::new());
        let sink = |fraction: f64| seen.lock().unwrap().push(fraction);
        let parts = Parts::new(&sink, 4);
        rayon::join(|| (0..2).for_each(|_| parts.finish_one()), || (0..2).for_each(|_| parts.finish_one()));
        assert_eq!(*seen.lock().unwrap(), [0.25, 0.5, 0.75, 1.0]);
    }
}
