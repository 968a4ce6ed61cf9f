//! A progress bar for anything that takes more than two seconds, on a terminal only.
//!
//! It shows how much of the work is done as a share, never how many rows there are: that number may be private.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(2);
const WHOLE: u64 = 1_000;

pub(crate) struct Progress {
    label: &'static str,
    started: Instant,
    shown: bool,
    bar: Option<ProgressBar>,
}

impl Progress {
    pub(crate) fn new(label: &'static str) -> Self {
        Self { label, started: Instant::now(), shown: std::io::stderr().is_terminal(), bar: None }
    }

    /// A share of the work is done; `None` where nobody knows how much there is.
    pub(crate) fn update(&mut self, fraction: Option<f64>) {
        if !self.shown || self.started.elapsed() < PATIENCE {
            return;
        }
        let label = self.label;
        let bar = self.bar.get_or_insert_with(|| new_bar(label, fraction.is_some()));
        match fraction {
            Some(fraction) => bar.set_position((fraction * WHOLE as f64) as u64),
            None => bar.tick(),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
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
