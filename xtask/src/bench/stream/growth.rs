//! The cost of a step at increasing horizons, and along them.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{GRADED, Section, Sides, power, size};

/// Powers of two from 2¹⁰ to 2⁴⁰.
const EXPONENTS: [u32; 7] = [10, 15, 20, 25, 30, 35, 40];

/// The last position that is reached by making all noise before it.
const MAX_REACHED_STEP: u64 = 1 << 26;

pub(super) fn measure(sides: &Sides) -> Result<Section, String> {
    let mut worker = sides.ours()?;
    let mut text = String::from(
        "## Growth\n\nOne stream, row by row: nanoseconds per step at its start, in its middle and at its end.\n\n\
         | n | state | numbers | start | middle | end | grades alone: start | middle | end |\n|--:|--:|--:|--:|--:|--:|--:|--:|--:|\n",
    );
    let mut figures = Vec::new();
    for exponent in EXPONENTS {
        let n = 1_u64 << exponent;
        let bytes = worker.ask(&format!("growth bytes {n}"))?;
        let rows = worker.ask(&format!("rows {GRADED} {n}"))?;
        let positions = [0, n / 2, n - (n / 4).min(1 << 14)];
        let (mut steps, mut grades) = (Vec::new(), Vec::new());
        for at in positions {
            let reached = at <= MAX_REACHED_STEP;
            steps.push(if reached { Some(worker.ask(&format!("growth step {n} {at}"))?) } else { None });
            grades.push(Some(worker.ask(&format!("growth grades {n} {at}"))?));
        }
        let nanoseconds = |seconds: &Option<f64>| {
            seconds.map_or_else(String::new, |seconds| format!("{:.1}", seconds * 1e9))
        };
        let cells: Vec<String> = steps.iter().chain(&grades).map(nanoseconds).collect();
        eprintln!("n = {}: {} ns per step", power(n), cells[0]);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "| {} | {} | {rows:.0} | {} |", power(n), size(bytes), cells.join(" | "));
        figures.push(json!({
            "n": n,
            "state_bytes": bytes,
            "numbers_per_lane": rows,
            "step_seconds": steps,
            "grades_seconds": grades,
        }));
    }
    text.push_str(
        "\n- **state**: everything that a counter of the plan holds, including tables; **numbers**: the numbers per lane.\n\
         - Beyond 2^26 steps the later positions are not reached. Only the grades of a step depend on its position, and they are timed \
         everywhere.\n",
    );
    Ok(Section { text, figures: Value::from(figures) })
}
