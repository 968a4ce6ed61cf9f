//! Vectors, as in training: private running sums of gradients whose norm is bounded.
//!
//! Run it with `cargo run --example vectors`.

use evertally::{Budget, Contribution, NoiseKey, NoiseStream, Participation, Plan, VectorCounter};

fn main() -> evertally::Result<()> {
    // 64 batches of gradients in three dimensions. Each example takes part in at most two batches,
    // at least 32 apart (two epochs), with a gradient of norm at most one.
    let plan = Plan::prefix_sum(64)
        .budget(Budget::new(2.0, 1e-5)?)
        .dimension(3)
        .contribution(Contribution::norm(1.0)?)
        .participation(Participation::at_most(2, 32)?)
        .build()?;
    println!("{}: {}", plan.mechanism(), plan.accuracy());

    // A counter adds the noise itself and keeps the sum.
    let mut counter = VectorCounter::new(&plan, NoiseKey::from_os()?)?;
    for gradients in [[4.0, -1.0, 0.5], [3.5, -0.5, 0.0]] {
        let release = counter.step(&gradients)?;
        println!("after batch {}: {:.1?} ± {:.1}", release.step, release.values, release.standard_error);
    }

    // A noise stream is the noise alone, for a training loop that keeps its own sums.
    let mut noise = NoiseStream::<f32>::new(&plan, NoiseKey::from_os()?)?;
    let first = noise.next()?.to_vec();
    assert_eq!(first.len(), 3);
    println!("noise of the first sum: {first:.1?}");
    Ok(())
}
