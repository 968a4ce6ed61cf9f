//! The limit on open files, and thereby on connections.

/// Raises the limit as far as the system allows. Shells often allow a thousand, which is less than
/// the connections of a service.
#[cfg(unix)]
pub(super) fn allow_many() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // If this is refused, fewer connections are accepted at a time, and the others wait.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

#[cfg(not(unix))]
pub(super) fn allow_many() {}
