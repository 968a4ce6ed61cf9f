//! What happens when the operator stops a run with Ctrl-C or SIGTERM.
//!
//! **Guarantee.** A run that is stopped leaves no temporary file, and says how to go on.
//! - A followed run takes the signal for the end of its input: it completes its outputs and releases
//!   nothing more.
//! - A run that is paying, or has paid and not yet written what it paid for, goes on to its end
//!   ([`hold`]).
//! - Every other run removes its temporary files and ends by the signal, as its caller expects.
//!
//! A second signal ends any run at once, without its temporary files. What a followed run has
//! released stays.
//!
//! A thread waits for signals, so nothing runs inside a signal handler. Where there are no such
//! signals, the system ends the program.

use crate::error::Result;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use tempfile::NamedTempFile;

/// One program runs one command, so one state is enough.
static STATE: Mutex<State> = Mutex::new(State {
    temporaries: Vec::new(),
    follows: false,
    holds: 0,
    is_stopping: false,
    advice: "nothing was released, and no budget was spent; run the same command again",
});

/// Whether a followed run is to end. Readers ask for it very often.
static IS_STOPPING: AtomicBool = AtomicBool::new(false);

struct State {
    temporaries: Vec<PathBuf>,
    follows: bool,
    holds: u32,
    /// Whether a signal came that did not end the program.
    is_stopping: bool,
    /// How to go on if the program ends now.
    advice: &'static str,
}

fn state() -> MutexGuard<'static, State> {
    STATE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Listens for signals from now on.
#[cfg(unix)]
pub(crate) fn listen() -> Result<()> {
    use crate::error::CliError;
    use signal_hook::consts::{SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    let failed = |error: io::Error| CliError::Failure(format!("signals cannot be received: {error}"));
    let mut signals = Signals::new([SIGINT, SIGTERM]).map_err(failed)?;
    let thread = std::thread::Builder::new().name("signals".to_owned());
    thread.spawn(move || signals.forever().for_each(on_signal)).map_err(failed)?;
    Ok(())
}

#[cfg(not(unix))]
pub(crate) fn listen() -> Result<()> {
    Ok(())
}

#[cfg(unix)]
fn on_signal(signal: i32) {
    let mut state = state();
    if !state.is_stopping && (state.follows || state.holds > 0) {
        state.is_stopping = true;
        if state.follows {
            IS_STOPPING.store(true, Ordering::Relaxed);
        } else {
            crate::manners::note("the budget of this run is spent, so it goes on to its end");
        }
        return;
    }
    // The lock is never given back: nobody makes another temporary file.
    for path in &state.temporaries {
        // Those that have their names already are not found.
        let _ = std::fs::remove_file(path);
    }
    crate::manners::tell_error(format_args!("stopped: {}", state.advice));
    // The caller sees that a signal ended the program.
    let _ = signal_hook::low_level::emulate_default_handler(signal);
    std::process::exit(128 + signal);
}

/// From now on, a signal ends the input instead of the program.
pub(crate) fn follow() {
    state().follows = true;
}

/// Whether the input of a followed run is to end.
pub(crate) fn is_stopping() -> bool {
    IS_STOPPING.load(Ordering::Relaxed)
}

/// What the operator is told if a signal ends the program from now on.
pub(crate) fn advise(advice: &'static str) {
    state().advice = advice;
}

/// Until this is dropped, a first signal does not end the program.
pub(crate) struct Hold(());

/// Lets the run go on until the returned value is dropped, even if a signal comes.
pub(crate) fn hold() -> Hold {
    state().holds += 1;
    Hold(())
}

impl Drop for Hold {
    fn drop(&mut self) {
        state().holds -= 1;
    }
}

/// Makes a temporary file that a signal removes.
pub(crate) fn temporary(make: impl FnOnce() -> io::Result<NamedTempFile>) -> io::Result<NamedTempFile> {
    // Under the lock, so that no signal comes between the file and its entry.
    let mut state = state();
    let file = make()?;
    state.temporaries.push(file.path().to_owned());
    Ok(file)
}

/// A file that was temporary stays.
pub(crate) fn keep(path: &Path) {
    state().temporaries.retain(|temporary| temporary != path);
}
