//! Save a counter and resume it: the releases continue as if nothing had happened.
//!
//! Run it with `cargo run --example resume`.

use evertally::{Budget, Counter, NoiseKey, Plan};

fn main() -> evertally::Result<()> {
    let plan = Plan::prefix_sum(1000).budget(Budget::new(1.0, 1e-6)?).stream("visits").build()?;

    // Outside of an example, take the key from the operating system and store it apart from the state.
    let key = || NoiseKey::insecure_from_seed(7);

    let mut counter = Counter::new(&plan, key())?;
    counter.step(3.0)?;
    counter.step(1.0)?;

    // The state holds true totals: protect it like the data. The key is not in it.
    let state = counter.save();
    let expected = counter.step(4.0)?;

    // After a restart, the same plan, key and state give the same release to the bit. No noise is
    // drawn a second time for another input.
    let mut resumed = Counter::resume(&plan, key(), &state)?;
    assert_eq!(resumed.steps_taken(), 2);
    assert_eq!(resumed.step(4.0)?, expected);
    println!("step {} again: {:.1} ± {:.1}", expected.step, expected.value, expected.margin(0.95));

    // Another plan does not accept the state.
    let other = Plan::prefix_sum(1000).budget(Budget::new(2.0, 1e-6)?).stream("visits").build()?;
    assert!(Counter::resume(&other, key(), &state).is_err());
    Ok(())
}
