//! Keys and true totals are gone from the heap once their owners are dropped.
//!
//! The process reads its own memory, as a debugger would, and looks for what it planted. It is a test of its own because other tests would hold their
//! secrets at the same time. The stack is left out: values that are moved leave copies there, which later calls write over.

#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

use std::fs::File;
use std::os::unix::fs::FileExt;

use evertally::batch::{ParityPlan, ParityTotals};
use evertally::{
    Arithmetic, Budget, Contribution, Counter, KeyedCounter, Neighbours, NoiseKey, NoiseStream, Plan,
    SparseCounter, VectorCounter, Workload,
};
use zeroize::Zeroizing;

/// A total of 52 bits that nothing else looks like.
const TOTAL: u64 = 3_918_273_645_019_283;

/// What patterns are hidden behind, so that the search does not find itself.
const MASK: u8 = 0x5A;

/// Patterns to look for, masked: the total in whole units (which are powers of two), as a double, and the halves of the key.
fn patterns() -> Vec<Vec<u8>> {
    let masked = |bytes: &[u8]| bytes.iter().map(|byte| byte ^ MASK).collect::<Vec<u8>>();
    let mut patterns: Vec<Vec<u8>> = (0..8).map(|bits| masked(&(TOTAL << bits).to_le_bytes())).collect();
    patterns.push(masked(&(TOTAL as f64).to_le_bytes()));
    patterns.extend(secret().as_chunks::<16>().0.iter().map(|half| masked(half)));
    patterns
}

/// A key, made anew each time so that no copy lies about.
fn secret() -> Zeroizing<[u8; 32]> {
    Zeroizing::new(std::array::from_fn(|i| (197 * i as u64 * i as u64 + 89 * i as u64 + 113) as u8))
}

fn key() -> NoiseKey {
    NoiseKey::from_bytes(*secret())
}

/// How often the patterns stand in writable memory, the stack of this thread left out.
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
            // Pages that went away meanwhile hold nothing.
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

/// Takes steps, saves, resumes and takes another, and answers with whether the secrets were seen meanwhile.
fn use_everything() -> bool {
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let total = std::hint::black_box(TOTAL) as f64;
    let mut seen = false;
    // So large that decayed totals may reach the one that is planted.
    let range = Contribution::range(0.0, 1e6).unwrap();
    for workload in
        [Workload::PrefixSum, Workload::SlidingWindow { width: 3 }, Workload::Decay { factor: 0.5 }]
    {
        for arithmetic in [Arithmetic::Exact, Arithmetic::Float] {
            let builder = || Plan::for_workload(9, workload).budget(budget).contribution(range);
            let plan = builder().arithmetic(arithmetic).build().unwrap();
            let mut counter = Counter::new(&plan, key()).unwrap();
            counter.step(total).unwrap();
            for _ in 0..3 {
                counter.step(0.0).unwrap();
            }
            counter.step(total).unwrap();
            let state = Zeroizing::new(counter.save());
            let mut resumed = Counter::resume(&plan, key(), &state).unwrap();
            resumed.step(0.0).unwrap();
            // A state that is refused after it was read.
            assert!(Counter::resume(&plan, NoiseKey::insecure_from_seed(1), &state).is_err());

            let plan = builder().arithmetic(arithmetic).keys(["a", "b"]).build().unwrap();
            let mut keyed = KeyedCounter::new(&plan, key()).unwrap();
            keyed.step(&[total, 0.0]).unwrap();
            let state = Zeroizing::new(keyed.save());
            KeyedCounter::resume(&plan, key(), &state).unwrap();
            if !matches!(workload, Workload::SlidingWindow { .. }) {
                let plan = builder().arithmetic(arithmetic).open_keys().build().unwrap();
                let mut open = SparseCounter::new(&plan, key()).unwrap();
                open.add("a", total).unwrap();
                let state = Zeroizing::new(open.save());
                let mut open = SparseCounter::resume(&plan, key(), &state).unwrap();
                open.close_step().unwrap();
                open.release("a").unwrap();
            }
            seen |= found() > 0;
        }
        let norm = Contribution::norm(1e6).unwrap();
        let plan =
            Plan::for_workload(9, workload).budget(budget).dimension(2).contribution(norm).build().unwrap();
        let mut vectors = VectorCounter::new(&plan, key()).unwrap();
        vectors.step(&[total, 0.0]).unwrap();
        let mut noise = NoiseStream::<f64>::new(&plan, key()).unwrap();
        noise.next().unwrap();
        NoiseStream::<f64>::resume(&plan, key(), &Zeroizing::new(noise.save())).unwrap();
    }
    let plan = ParityPlan::new(3, 2, budget, Neighbours::AddRemove).unwrap();
    drop(ParityTotals::new(&plan).release(key()));
    seen
}

#[test]
fn keys_and_totals_are_wiped() {
    assert_eq!(found(), 0, "nothing was planted yet");
    assert!(use_everything(), "what is in use is seen");
    assert_eq!(found(), 0, "what is dropped is gone");
    // The search finds what is left lying about.
    let forgotten = vec![std::hint::black_box(TOTAL)];
    assert_eq!(found(), 1);
    drop(Zeroizing::new(forgotten));
    let copied = secret().to_vec();
    assert_eq!(found(), 2, "both halves of a key");
    drop(Zeroizing::new(copied));
    assert_eq!(found(), 0);
}
