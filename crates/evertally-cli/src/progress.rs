//! A progress bar for anything that takes more than two seconds, on a terminal only and not
//! with `--quiet`.
//!
//! It shows the share of the work that is done, never the number of rows: that may be private.

use crate::manners;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::sync::Mutex;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(2);
const BETWEEN_TICKS: Duration = Duration::from_millis(200);
const WHOLE: u64 = 1_000;

pub(crate) struct Progress {
    label: &'static str,
    started: Instant,
    shown: bool,
    bar: Option<ProgressBar>,
    measured: bool,
}

impl Progress {
    pub(crate) fn new(label: &'static str) -> Self {
        let shown = manners::shows_progress();
        Self { label, started: Instant::now(), shown, bar: None, measured: false }
    }

    /// Shows the share of the work that is done. `None` means that the total is unknown.
    pub(crate) fn update(&mut self, fraction: Option<f64>) {
        if !self.shown || self.started.elapsed() < PATIENCE {
            return;
        }
        if self.measured != fraction.is_some() {
            self.clear();
        }
        self.measured = fraction.is_some();
        let bar = self.bar.get_or_insert_with(|| new_bar(self.label, self.measured));
        match fraction {
            Some(fraction) => bar.set_position((fraction * WHOLE as f64) as u64),
            None => bar.tick(),
        }
    }

    fn clear(&mut self) {
        if let Some(bar) = self.bar.take() {
            bar.finish_and_clear();
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.clear();
    }
}

fn new_bar(label: &'static str, measured: bool) -> ProgressBar {
    let (length, template) = if measured {
        (Some(WHOLE), "{msg} {wide_bar} {percent} % {eta}")
    } else {
        (None, "{msg} {spinner}")
    };
    let bar = ProgressBar::with_draw_target(length, ProgressDrawTarget::stderr());
    // The templates are constants; should one ever be wrong, the plain style still shows progress.
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.set_message(label);
    bar
}

/// Runs long work with a progress hook that the library may call from any thread. Work that never
/// calls it still shows a spinner.
pub(crate) fn with_progress<T>(label: &'static str, work: impl FnOnce(&dyn evertally::Progress) -> T) -> T {
    let mut progress = Progress::new(label);
    if !progress.shown {
        return work(&());
    }
    let reported: Mutex<Option<f64>> = Mutex::new(None);
    let (done, waiting) = channel::<()>();
    std::thread::scope(|scope| {
        let reported = &reported;
        scope.spawn(move || {
            while waiting.recv_timeout(BETWEEN_TICKS) == Err(RecvTimeoutError::Timeout) {
                progress.update(reported.lock().ok().and_then(|fraction| *fraction));
            }
        });
        let result = work(&|fraction: f64| {
            if let Ok(mut latest) = reported.lock() {
                *latest = Some(fraction);
            }
        });
        // Hanging up ends the thread at once, and with it the bar.
        drop(done);
        result
    })
}
