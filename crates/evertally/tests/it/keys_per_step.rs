//! Contributions to several keys of a step.

use evertally::privacy::Contribution;
use evertally::{Budget, Plan};

const KEYS: u64 = 1000;

fn plan(keys_per_step: u64) -> Plan {
    Plan::prefix_sum(64)
        .budget(Budget::pure(0.01).unwrap())
        .contribution(Contribution::range(0.0, 100.0).unwrap())
        .keys((0..KEYS).map(|key| key.to_string()))
        .keys_per_step(keys_per_step)
        .build()
        .unwrap()
}

/// A person who adds 0.1 to each of a thousand keys is rounded in each of them: 0.1 is 6554 units of
/// 2⁻¹⁶ at most, and the sum of magnitudes is 6,554,000 of them. The plan charged two roundings, so
/// its noise covered 6,553,602.9 and ε was 0.006 % above the header.
#[test]
fn noise_covers_the_rounding_in_every_key() {
    let (one, all) = (plan(1), plan(KEYS));
    let (before, now) = (one.noise_scale(), all.noise_scale());
    assert!(now >= before * (6_554_000.0 / 6_553_602.8), "{before} {now}");
    assert_ne!(one.noise_name().as_bytes(), all.noise_name().as_bytes());
}

#[test]
fn contributions_without_keys_are_to_one() {
    let build =
        |keys| Plan::prefix_sum(4).budget(Budget::new(1.0, 1e-6).unwrap()).keys_per_step(keys).build();
    assert!(build(1).is_ok());
    for keys in [0, 2] {
        assert!(build(keys).unwrap_err().to_string().contains("keys_per_step"));
    }
}
