//! How many files, and so connections, a process may have open.

/// Asks for as many as the system lets a process have: shells often allow a thousand, which is less
/// than the connections that a service may have.
#[cfg(unix)]
pub(super) fn allow_many() {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let limit = getrlimit(Resource::Nofile);
    // Where it is refused, fewer connections are accepted at a time, and the others wait.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum });
}

#[cfg(not(unix))]
pub(super) fn allow_many() {}
