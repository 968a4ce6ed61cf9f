//! Runs steps side by side, each in a process of its own.
//!
//! A step starts when all steps that it needs have passed and fewer steps are running than there
//! are cores. Its output goes to `target/test/NAME.log` and is shown when it ends, so that the
//! output of two steps never mixes. After a failure nothing else starts. The steps that are still
//! running end by themselves: they have started other programs, which must not be left behind.

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use super::report;
use crate::Outcome;
use crate::cpu_time;
use crate::process::{BUILT, command, root};

/// How often the scheduler looks at the running steps.
const PAUSE: Duration = Duration::from_millis(50);

/// The step that compiles the tests and programs.
const BUILD: &str = "build";

/// A check that runs in a process of its own.
pub(super) struct Step {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    /// The steps that must have passed before.
    pub(super) needs: &'static [&'static str],
    pub(super) run: fn() -> Outcome,
}

/// A step that has ended.
pub(super) struct Ended {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) passed: bool,
    pub(super) seconds: f64,
    pub(super) cpu_seconds: Option<f64>,
    /// What it said about parts that were left out.
    pub(super) skipped: Vec<String>,
}

/// Where a step is.
enum State {
    Waiting,
    Running(Child, Instant),
    Ended,
}

/// Runs the steps and prints a table of their times. Fails if one fails.
pub(super) fn run(steps: &[Step]) -> Result<Vec<Ended>, String> {
    let logs = root().join("target/test");
    fs::create_dir_all(&logs).map_err(|error| format!("cannot create {}: {error}", logs.display()))?;
    let slots = std::thread::available_parallelism().map_or(1, usize::from);
    let begun = Instant::now();
    let ended = side_by_side(steps, slots, start, show)?;
    eprint!("\n{}", report::table(&ended, begun.elapsed().as_secs_f64()));
    for line in ended.iter().flat_map(|step| &step.skipped) {
        eprintln!("{line}");
    }
    match ended.iter().find(|step| !step.passed) {
        Some(failed) => Err(format!("{} failed: {}", failed.title, log(failed.name).display())),
        None => Ok(ended),
    }
}

/// Runs a step in this process, and leaves its CPU time beside its log.
pub(super) fn run_here(step: &Step) -> Outcome {
    cpu_time::adopt_orphans();
    let outcome = (step.run)();
    if let Some(seconds) = cpu_time::of_descendants() {
        // The time is for information only.
        let _ = fs::write(log(step.name).with_extension("seconds"), seconds.to_string());
    }
    outcome
}

/// Starts and awaits the steps, at most `slots` at once.
fn side_by_side(
    steps: &[Step],
    slots: usize,
    start: impl Fn(&Step, &[Ended]) -> Result<Child, String>,
    show: impl Fn(&Step, ExitStatus, f64) -> Ended,
) -> Result<Vec<Ended>, String> {
    let mut states: Vec<State> = steps.iter().map(|_| State::Waiting).collect();
    let mut ended: Vec<Ended> = Vec::new();
    loop {
        let mut running = 0;
        for (step, state) in steps.iter().zip(&mut states) {
            let State::Running(child, begun) = state else { continue };
            let status = child.try_wait().map_err(|error| format!("cannot await {}: {error}", step.title))?;
            match status {
                Some(status) => {
                    ended.push(show(step, status, begun.elapsed().as_secs_f64()));
                    *state = State::Ended;
                }
                None => running += 1,
            }
        }
        let all_passed = ended.iter().all(|step| step.passed);
        let ready = |step: &Step| step.needs.iter().all(|need| ended.iter().any(|step| step.name == *need));
        let mut waiting = steps.iter().zip(&mut states).filter(|(_, state)| matches!(state, State::Waiting));
        match waiting.find(|(step, _)| all_passed && running < slots && ready(step)) {
            Some((step, state)) => *state = State::Running(start(step, &ended)?, Instant::now()),
            None if running == 0 && all_passed && ended.len() < steps.len() => {
                return Err("some steps need a step that is not in the list".to_owned());
            }
            None if running == 0 => return Ok(ended),
            None => std::thread::sleep(PAUSE),
        }
    }
}

/// Starts this program again for one step.
fn start(step: &Step, ended: &[Ended]) -> Result<Child, String> {
    eprintln!(".. {} ({})", step.title, step.name);
    let fail = |error: std::io::Error| format!("cannot start {}: {error}", step.title);
    let _ = fs::remove_file(log(step.name).with_extension("seconds"));
    let output = File::create(log(step.name)).map_err(fail)?;
    let program = std::env::current_exe().map_err(fail)?;
    let mut child: Command = command(program);
    child.args(["test", "step", step.name]);
    if ended.iter().any(|step| step.name == BUILD) {
        child.env(BUILT, "1");
    }
    child.stdin(Stdio::null()).stdout(output.try_clone().map_err(fail)?).stderr(output).spawn().map_err(fail)
}

/// Prints what a step has printed, under a heading.
fn show(step: &Step, status: ExitStatus, seconds: f64) -> Ended {
    let file = log(step.name);
    let output = fs::read(&file).unwrap_or_default();
    let output = String::from_utf8_lossy(&output);
    let outcome = if status.success() { "passed" } else { "FAILED" };
    eprintln!("\n== {} ({}): {outcome} after {seconds:.1} s\n{output}", step.title, step.name);
    let cpu_seconds = fs::read_to_string(file.with_extension("seconds")).ok();
    Ended {
        name: step.name,
        title: step.title,
        passed: status.success(),
        seconds,
        cpu_seconds: cpu_seconds.and_then(|text| text.parse().ok()),
        skipped: output.lines().filter(|line| line.contains("skipped: ")).map(str::to_owned).collect(),
    }
}

fn log(name: &str) -> PathBuf {
    root().join("target/test").join(name).with_extension("log")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    fn step(name: &'static str, needs: &'static [&'static str]) -> Step {
        Step { name, title: name, needs, run: || Ok(()) }
    }

    /// Runs steps as shell commands. Returns the order in which they started, and what ended.
    fn started(
        steps: &[Step],
        slots: usize,
        shell: impl Fn(&str) -> String,
    ) -> (Vec<&'static str>, Vec<Ended>) {
        let order = RefCell::new(Vec::new());
        let start = |step: &Step, _: &[Ended]| {
            order.borrow_mut().push(step.name);
            Command::new("sh").arg("-c").arg(shell(step.name)).spawn().map_err(|error| error.to_string())
        };
        let show = |step: &Step, status: ExitStatus, seconds| Ended {
            name: step.name,
            title: step.title,
            passed: status.success(),
            seconds,
            cpu_seconds: None,
            skipped: Vec::new(),
        };
        let ended = side_by_side(steps, slots, start, show).unwrap_or_default();
        (order.into_inner(), ended)
    }

    #[test]
    fn a_step_starts_after_what_it_needs_and_in_the_order_of_the_list() {
        let steps = [step("late", &["early"]), step("early", &[]), step("other", &[])];
        let (order, ended) = started(&steps, 1, |_| "true".to_owned());
        assert_eq!(order, ["early", "late", "other"]);
        assert!(ended.len() == 3 && ended.iter().all(|step| step.passed));
    }

    /// The first step ends only when the second one has run beside it.
    #[test]
    fn independent_steps_run_side_by_side() {
        let folder = std::env::temp_dir().join(format!("evertally-schedule-{}", std::process::id()));
        let wait = format!(
            "for i in $(seq 500); do [ -e {0} ] && exit 0; sleep 0.02; done; exit 1",
            folder.display()
        );
        let touch = format!("touch {}", folder.display());
        let steps = [step("first", &[]), step("second", &[])];
        let (_, ended) =
            started(&steps, 2, |name| if name == "first" { wait.clone() } else { touch.clone() });
        fs::remove_file(folder).ok();
        assert!(ended.len() == 2 && ended.iter().all(|step| step.passed));
    }

    #[test]
    fn a_step_that_can_never_start_is_an_error() {
        let start = |_: &Step, _: &[Ended]| Err("nothing can start".to_owned());
        let show = |_: &Step, _: ExitStatus, _| unreachable!("nothing has started");
        assert!(
            side_by_side(&[step("alone", &["missing"])], 1, start, show)
                .is_err_and(|said| said.contains("need"))
        );
    }

    #[test]
    fn a_failure_stops_the_rest() {
        let steps = [step("bad", &[]), step("after", &["bad"]), step("other", &[])];
        let (order, ended) =
            started(&steps, 1, |name| if name == "bad" { "false" } else { "true" }.to_owned());
        assert_eq!(order, ["bad"]);
        assert!(ended.len() == 1 && !ended[0].passed);
    }
}
