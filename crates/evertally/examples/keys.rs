//! One total per key: declared keys that are released together, and open keys that nobody declares.
//!
//! Run it with `cargo run --example keys`.

use evertally::{Budget, KeyedCounter, NoiseKey, Plan, SparseCounter};

fn main() -> evertally::Result<()> {
    let budget = Budget::new(1.0, 1e-6)?;

    // Declared keys. Every step releases all of them, so the presence of a key reveals nothing.
    // One person counts for one key per step: all keys together spend the budget once.
    let plan = Plan::prefix_sum(7).budget(budget).keys(["north", "south"]).build()?;
    let mut counter = KeyedCounter::new(&plan, NoiseKey::from_os()?)?;
    for day in [[30.0, 12.0], [25.0, 14.0]] {
        let releases = counter.step(&day)?;
        for (key, release) in counter.keys().iter().zip(&releases) {
            println!("day {}, {key}: {:.0} ± {:.0}", release.step, release.value, release.margin(0.95));
        }
    }

    // Open keys. Inputs arrive under any name, and the caller chooses which keys to release. That
    // choice must not depend on the data: the list comes from elsewhere.
    let plan = Plan::prefix_sum(7).budget(budget).open_keys().build()?;
    let mut counter = SparseCounter::new(&plan, NoiseKey::from_os()?)?;
    counter.add("/index.html", 3.0)?;
    counter.add("/about.html", 1.0)?;
    counter.close_step()?;
    for page in ["/index.html", "/missing.html"] {
        let release = counter.release(page)?;
        println!("{page}: {:.0} ± {:.0}", release.value, release.margin(0.95));
    }
    Ok(())
}
