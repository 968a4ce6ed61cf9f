//! A counter in ten lines: visits per hour, published every hour for a day.
//!
//! Run it with `cargo run --example counter`.

use evertally::{Budget, Counter, NoiseKey, Plan};

fn main() -> evertally::Result<()> {
    // Everything is decided before the first event: 24 steps, and ε = 1 for all of them together.
    let plan = Plan::prefix_sum(24).budget(Budget::new(1.0, 1e-6)?).build()?;
    println!("{}: {}", plan.mechanism(), plan.accuracy());

    // The key decides the noise. It is a secret, and it serves this one stream.
    let mut counter = Counter::new(&plan, NoiseKey::from_os()?)?;
    for visits in [120.0, 80.0, 95.0, 210.0] {
        let release = counter.step(visits)?;
        println!("hour {}: {:.0} ± {:.0} visits so far", release.step, release.value, release.margin(0.95));
    }
    Ok(())
}
