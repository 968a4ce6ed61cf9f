//! Waking the live streams of a counter.
//!
//! **Definition.** A follower waits for one counter. The ledger's thread notifies the followers of all
//! counters that have new releases. **Guarantee.** A follower that reads the counter after it subscribed
//! misses nothing, because a notice is a version and not a queued event. **Cost.** One entry per followed
//! counter, removed when nobody follows it. A notification looks up each changed counter, and returns at
//! once when there are no followers.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// The followers of all counters. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct Followers {
    by_counter: Arc<Mutex<HashMap<String, watch::Sender<()>>>>,
}

impl Followers {
    /// Follows a counter: the receiver changes whenever the counter's followers are notified.
    pub(crate) fn follow(&self, name: &str) -> watch::Receiver<()> {
        let mut senders = self.lock();
        match senders.get(name) {
            Some(sender) => sender.subscribe(),
            None => {
                let (sender, follower) = watch::channel(());
                senders.insert(name.to_owned(), sender);
                follower
            }
        }
    }

    /// Wakes the followers of these counters.
    pub(crate) fn notify<'a>(&self, names: impl IntoIterator<Item = &'a str>) {
        let mut senders = self.lock();
        if senders.is_empty() {
            return;
        }
        for name in names {
            let is_followed = senders.get(name).map(|sender| sender.send(()).is_ok());
            if is_followed == Some(false) {
                senders.remove(name);
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, watch::Sender<()>>> {
        // No operation leaves the map half changed.
        self.by_counter.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn followers_hear_of_their_own_counter_and_leave_nothing_behind() {
        let followers = Followers::default();
        let (mut a, b) = (followers.follow("a"), followers.follow("b"));
        followers.notify(["a", "c"]);
        assert!(a.has_changed().unwrap() && !b.has_changed().unwrap());
        a.mark_unchanged();
        assert!(!a.has_changed().unwrap());
        drop(a);
        followers.notify(["a"]);
        assert_eq!(followers.lock().keys().collect::<Vec<_>>(), ["b"]);
    }
}
