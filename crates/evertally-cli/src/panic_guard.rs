//! Turns panics of a library into ordinary failures.
//!
//! The Parquet library panics on some damaged files, and a panic while a plot is drawn must not lose
//! the releases. The message of such a panic may repeat data, so nothing is printed, and the caller
//! reports an error of its own.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does some work, or returns `None` if it panics. Anything that the work changed must not be used
/// afterwards.
pub(crate) fn without_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            if !IS_QUIET.get() {
                usual(panic);
            }
        }));
    });
    IS_QUIET.set(true);
    let done = catch_unwind(AssertUnwindSafe(work));
    IS_QUIET.set(false);
    done.ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panics_are_caught_and_all_else_is_handed_on() {
        assert_eq!(without_panic(|| 7), Some(7));
        assert_eq!(without_panic(|| -> u8 { panic!("in a reader") }), None);
        assert!(catch_unwind(|| panic!("out of a reader")).is_err());
    }
}
