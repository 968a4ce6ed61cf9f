//! Waking those who follow a counter.
//!
//! **Definition.** A follower waits on the bell of one counter; the ledger's thread rings the bells
//! of all counters that have new releases. **Guarantee.** A follower that looks after it began to
//! wait misses nothing: what is rung is a version, not an event. **Cost.** One entry a followed
//! counter, gone when nobody follows it any more. Ringing looks up each changed counter, and
//! nothing when nobody follows.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The bells of all counters that somebody follows. Cloning it is cheap.
#[derive(Clone, Default)]
pub(crate) struct Bells {
    by_name: Arc<Mutex<HashMap<String, watch::Sender<()>>>>,
}

impl Bells {
    /// Waits for a counter: the receiver changes whenever the counter's bell is rung.
    pub(crate) fn follow(&self, name: &str) -> watch::Receiver<()> {
        let mut bells = self.lock();
        match bells.get(name) {
            Some(bell) => bell.subscribe(),
            None => {
                let (bell, follower) = watch::channel(());
                bells.insert(name.to_owned(), bell);
                follower
            }
        }
    }

    /// Wakes whoever follows one of these.
    pub(crate) fn ring<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut bells = self.lock();
        if bells.is_empty() {
            return;
        }
        for name in names {
            let is_heard = bells.get(name).map(|bell| bell.send(()).is_ok());
            if is_heard == Some(false) {
                bells.remove(name);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<()>>> {
        // Nothing in here can be half done.
        self.by_name.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followers_hear_their_own_bell_and_leave_nothing_behind() {
        let bells = Bells::default();
        let (mut a, b) = (bells.follow("a"), bells.follow("b"));
        bells.ring(["a", "c"]);
        assert!(a.has_changed().unwrap() && !b.has_changed().unwrap());
        a.mark_unchanged();
        assert!(!a.has_changed().unwrap());
        drop(a);
        bells.ring(["a"]);
        assert_eq!(bells.lock().keys().collect::<Vec<_>>(), ["b"]);
    }
}
