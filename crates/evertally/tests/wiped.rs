//! Keys and true totals are gone from the heap once their owners are dropped.
//!
//! The process reads its own memory, as a debugger would, and searches it for planted values. This
//! is a test of its own, because other tests would hold their secrets at the same time. The stack
//! is excluded: moved values leave copies there, which later calls overwrite.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

use std::fs::File;
use std::os::unix::fs::FileExt;

use evertally::{
    Arithmetic, Budget, Contribution, Counter, KeyedCounter, NoiseKey, NoiseStream, Plan, PlanBuilder,
    SparseCounter, VectorCounter, Workload,
};
use zeroize::Zeroizing;

/// A total of 52 bits that is unlike anything else.
const TOTAL: u64 = 3_918_273_645_019_283;

/// Keys, or coordinates.
const LANES: usize = 41;

/// The mask that hides the patterns, so that the search does not find itself.
const MASK: u8 = 0x5A;

/// Patterns to search for, masked: the total in integer units (which are powers of two), as a
/// double, and the halves of the key.
fn patterns() -> Vec<Vec<u8>> {
    let masked = |bytes: &[u8]| bytes.iter().map(|byte| byte ^ MASK).collect::<Vec<u8>>();
    let mut patterns: Vec<Vec<u8>> = (0..8).map(|bits| masked(&(TOTAL << bits).to_le_bytes())).collect();
    patterns.push(masked(&(TOTAL as f64).to_le_bytes()));
    patterns.extend(secret().as_chunks::<16>().0.iter().map(|half| masked(half)));
    patterns
}

/// A key, created each time so that no copy remains.
fn secret() -> Zeroizing<[u8; 32]> {
    Zeroizing::new(std::array::from_fn(|i| (197 * i as u64 * i as u64 + 89 * i as u64 + 113) as u8))
}

fn key() -> NoiseKey {
    NoiseKey::from_bytes(*secret())
}

/// The number of occurrences of the patterns in writable memory, without the stack of this thread.
fn found() -> usize {
    let here = 0_u8;
    let stack = &raw const here as u64;
    let (maps, memory) =
        (std::fs::read_to_string("/proc/self/maps").unwrap(), File::open("/proc/self/mem").unwrap());
    let patterns = patterns();
    let mut buffer = vec![0_u8; 1 << 20];
    let mut count = 0;
    for line in maps.lines().filter(|line| line.contains(" rw")) {
        let (start, rest) = line.split_once('-').unwrap();
        let (end, _) = rest.split_once(' ').unwrap();
        let [start, end] = [start, end].map(|address| u64::from_str_radix(address, 16).unwrap());
        if (start..end).contains(&stack) || line.ends_with("[stack]") {
            continue;
        }
        let mut at = start;
        while at < end {
            let length = (end - at).min(buffer.len() as u64) as usize;
            // Pages that have disappeared in the meantime hold nothing.
            let Ok(read) = memory.read_at(&mut buffer[..length], at) else { break };
            let own = buffer.as_ptr() as u64;
            for (offset, window) in buffer[..read].windows(8).enumerate() {
                let address = at + offset as u64;
                let is_own = (own..own + buffer.len() as u64).contains(&address);
                let is_found = |pattern: &&Vec<u8>| {
                    let long = buffer.get(offset..offset + pattern.len());
                    window[0] ^ MASK == pattern[0]
                        && long.is_some_and(|long| {
                            long.iter().zip(*pattern).all(|(byte, masked)| byte ^ MASK == *masked)
                        })
                };
                if !is_own && patterns.iter().any(|pattern| is_found(&pattern)) {
                    count += 1;
                }
            }
            at += read.max(1) as u64;
        }
    }
    buffer.fill(0);
    std::hint::black_box(&buffer);
    count
}

/// Inputs of a step, with the total at the end, because an allocator overwrites the start of freed
/// memory.
fn inputs() -> Zeroizing<Vec<f64>> {
    let mut inputs = Zeroizing::new(vec![0.0; LANES]);
    inputs[LANES - 1] = std::hint::black_box(TOTAL) as f64;
    inputs
}

/// Uses something and drops it. What it held must then be gone.
#[track_caller]
fn check(what: impl std::fmt::Debug, use_it: impl FnOnce()) {
    use_it();
    assert_eq!(found(), 0, "{what:?}");
}

/// Plans of both arithmetics and every workload, for contributions so large that decayed totals may
/// reach the planted one.
fn builders() -> Vec<PlanBuilder> {
    let workloads =
        [Workload::PrefixSum, Workload::SlidingWindow { width: 7 }, Workload::Decay { factor: 0.5 }];
    let builders = workloads.into_iter().flat_map(|workload| {
        let builder = Plan::for_workload(9, workload).budget(Budget::new(1.0, 1e-6).unwrap());
        let builder = builder.contribution(Contribution::range(0.0, 1e6).unwrap());
        [Arithmetic::Exact, Arithmetic::Float].map(|arithmetic| builder.clone().arithmetic(arithmetic))
    });
    builders.collect()
}

fn declared_keys(builder: &PlanBuilder) {
    let plan = builder.clone().keys((0..LANES).map(|i| i.to_string())).build().unwrap();
    let (total, zeros) = (inputs(), [0.0; LANES]);
    let steps = |counter: &mut KeyedCounter| {
        counter.step(&total).unwrap();
        for _ in 0..3 {
            counter.step(&zeros).unwrap();
        }
    };
    let mut counter = KeyedCounter::new(&plan, key()).unwrap();
    steps(&mut counter);
    assert!(found() > 1, "what is in use is seen");
    let state = Zeroizing::new(counter.save());
    drop((counter, total.clone()));
    let mut counter = KeyedCounter::resume(&plan, key(), &state).unwrap();
    steps(&mut counter);
    // A state that is refused after it was read.
    assert!(KeyedCounter::resume(&plan, NoiseKey::insecure_from_seed(1), &state).is_err());
}

fn open_keys(builder: &PlanBuilder) {
    let plan = builder.clone().open_keys().build().unwrap();
    let mut counter = SparseCounter::new(&plan, key()).unwrap();
    for i in 0..LANES {
        counter.add(&i.to_string(), inputs()[i]).unwrap();
        counter.add("last", inputs()[LANES - 1]).unwrap_or_default();
    }
    let state = Zeroizing::new(counter.save());
    drop(counter);
    let mut counter = SparseCounter::resume(&plan, key(), &state).unwrap();
    counter.close_step().unwrap();
    counter.release("last").unwrap();
    counter.add("last", -inputs()[LANES - 1]).unwrap();
    drop(Zeroizing::new(counter.save()));
}

#[test]
fn keys_and_totals_are_wiped() {
    assert_eq!(found(), 0, "nothing was planted yet");
    for builder in builders() {
        check(&builder, || declared_keys(&builder));
        if let Ok(plan) = builder.clone().open_keys().build() {
            check(&plan, || open_keys(&builder));
        }
        check(&builder, || {
            let plan = builder.build().unwrap();
            let mut counter = Counter::new(&plan, key()).unwrap();
            counter.step(inputs()[LANES - 1]).unwrap();
            let state = Zeroizing::new(counter.save());
            Counter::resume(&plan, key(), &state).unwrap().step(0.0).unwrap();
        });
    }
    let vectors = Plan::prefix_sum(9).budget(Budget::new(1.0, 1e-6).unwrap()).dimension(LANES);
    let plan = vectors.contribution(Contribution::norm(1e6).unwrap()).build().unwrap();
    check("vectors", || drop(VectorCounter::new(&plan, key()).unwrap().step(&inputs()).unwrap()));
    check("noise", || {
        let mut noise = NoiseStream::<f64>::new(&plan, key()).unwrap();
        noise.next().unwrap();
        NoiseStream::<f64>::resume(&plan, key(), &Zeroizing::new(noise.save())).unwrap();
    });

    // The search finds what is left in memory.
    let forgotten = vec![std::hint::black_box(TOTAL)];
    assert_eq!(found(), 1);
    drop(Zeroizing::new(forgotten));
    let copied = secret().to_vec();
    assert_eq!(found(), 2, "both halves of a key");
    drop(Zeroizing::new(copied));
    assert_eq!(found(), 0);
}
