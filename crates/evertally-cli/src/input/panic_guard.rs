//! Readers that panic.
//!
//! The reader of Parquet, which is not ours, panics on some files that are damaged. Here that is
//! one more way of saying so: nothing is printed, because a panic may repeat data, and the program
//! goes on to its own message.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    static IS_QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Does some work; `None` where it panicked. What the work had in hand must not be used afterwards.
pub(super) fn without_panic<T>(work: impl FnOnce() -> T) -> Option<T> {
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
