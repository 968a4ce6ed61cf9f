//! The oracle: dense matrices of what runs, and certified optima.

use super::*;
use crate::noise::ChainBlock;
use crate::research::gamma::{Subject, gamma_2, gamma_f};

fn markov(horizon: u64, workload: Workload, objective: Objective, chains: Option<u64>) -> Markov {
    let request = Request {
        horizon,
        workload,
        participation: Participation::default(),
        objective,
        report: None,
        progress: &(),
    };
    Markov::new(&request, chains).expect("a sum of chains")
}

const WORKLOADS: [Workload; 4] = [
    Workload::PrefixSum,
    Workload::Decay { factor: 0.999 },
    Workload::Decay { factor: 0.9 },
    Workload::Decay { factor: 0.01 },
];

#[test]
fn columns_are_at_most_one_long_and_not_negative() {
    for workload in WORKLOADS {
        for objective in [Objective::Mean, Objective::Worst] {
            for n in (1..=40).chain([255, 256, 257, 600, 1100]) {
                for chains in [None, Some(2), Some(16)] {
                    if n > 40 && chains.is_some() {
                        continue;
                    }
                    let dense = markov(n, workload, objective, chains).dense().unwrap();
                    let columns = dense.encoder.transpose();
                    for j in 0..n as usize {
                        let norm = columns.row_norm_squared(j).sqrt();
                        assert!(
                            norm < 1.0 + 1e-13 && norm > 1.0 - 3e-7,
                            "{workload} {objective} {n} {j}: {norm}"
                        );
                        assert!(columns.row(j).iter().all(|x| *x > -1e-15), "{workload} {objective} {n} {j}");
                    }
                }
            }
        }
    }
}

/// The excess over the certified least mean error: at most 10⁻⁵ where the table has no row, too.
#[test]
fn the_mean_error_is_that_of_the_optimum() {
    for n in [2, 3, 7, 9, 12, 19, 27, 38, 55, 77, 110, 210, 300, 700, 1500, 2900, 5000] {
        let found = markov(n, Workload::PrefixSum, Objective::Mean, None).mean_row_norm_squared();
        let (lower, _) =
            gamma_f(Subject::workload(Workload::PrefixSum, n as usize), 1e-8, &()).unwrap().error_factor();
        let excess = found / lower - 1.0;
        assert!(excess < 1e-5 && excess > -1e-9, "{n}: {excess:e}");
    }
}

#[test]
fn the_worst_step_is_that_of_the_optimum() {
    for n in [2, 5, 9, 30, 77, 210, 700, 2900] {
        let found = markov(n, Workload::PrefixSum, Objective::Worst, None).max_row_norm_squared();
        let (lower, _) =
            gamma_2(Subject::workload(Workload::PrefixSum, n as usize), 1e-7, &()).unwrap().error_factor();
        let excess = found / lower - 1.0;
        assert!(excess < 2e-4 && excess > -1e-8, "{n}: {excess:e}");
    }
}

#[test]
fn decayed_totals_are_those_of_the_optimum() {
    for (n, memory) in
        [(30, 4.0), (50, 100.0), (600, 1000.0), (700, 40.0), (2000, 100.0), (3000, 2000.0), (900, 0.5)]
    {
        let workload = Workload::Decay { factor: 1.0 - 1.0 / (1.0 + memory) };
        let found = markov(n, workload, Objective::Mean, None).mean_row_norm_squared();
        let (lower, _) = gamma_f(Subject::workload(workload, n as usize), 1e-8, &()).unwrap().error_factor();
        let excess = found / lower - 1.0;
        assert!(excess < 1e-4 && excess > -1e-9, "{n} {memory}: {excess:e}");
    }
}

/// Far from both ends all steps are alike: the timeline that stands for a long horizon has the
/// errors of the timeline that has every step.
#[test]
fn a_steady_block_stands_for_many() {
    let workload = Workload::Decay { factor: 0.8 };
    let factor = 0.8;
    let (short, long) =
        (markov(2800, workload, Objective::Mean, None), markov(1_000_000, workload, Objective::Mean, None));
    assert_eq!(short.parts.run.timeline().steps, 2800);
    assert!(long.parts.run.timeline().steps < 2800, "{}", long.parts.run.timeline().steps);
    for step in [0, 1, 17, 400, 1350] {
        let (a, b) = (short.row_norm_squared(step), long.row_norm_squared(step));
        assert!((a / b - 1.0).abs() < 1e-6, "{step}: {a} {b}");
        let from_end = (short.row_norm_squared(2799 - step), long.row_norm_squared(999_999 - step));
        assert!((from_end.0 / from_end.1 - 1.0).abs() < 1e-6, "{step} from the end: {from_end:?}");
    }
    for (earlier, later) in [(3, 4), (3, 5000), (100, 900_000), (999_990, 999_999), (500_000, 500_003)] {
        let difference = long.difference_norm_squared(earlier, later);
        let (before, after) = (long.row_norm_squared(earlier), long.row_norm_squared(later));
        let far = before + after;
        if later - earlier > 1000 {
            assert!((difference / far - 1.0).abs() < 1e-6, "{earlier} {later}");
        } else {
            assert!(difference > 0.1 && difference < far, "{earlier} {later}: {difference}");
        }
    }
    // A column of R in the middle, followed for as long as it lasts.
    let mut block = ChainBlock::default();
    for first in [0_u64, 700, 500_000, 999_000] {
        let (mut x, mut sum) = ([0.0; MAX_CHAINS], 0.0);
        let mut input = 1.0;
        let mut norm = 0.0;
        for step in first..(first + 400).min(1_000_000) {
            let i = if step >= block.first && step < block.first + block.losses.len() as u64 {
                (step - block.first) as usize
            } else {
                long.parts.run.block(step, &mut block);
                (step - block.first) as usize
            };
            if step == first {
                norm = f64::from(block.norms[i]);
            }
            let drives = block.drives[i].map(f64::from);
            let kept: Vec<f64> =
                (0..MAX_CHAINS).map(|j| x[j] * (1.0 - f64::from(block.losses[i][j]))).collect();
            let g = (input - kept.iter().sum::<f64>()) / drives.iter().sum::<f64>();
            sum += g * g;
            x = std::array::from_fn(|j| kept[j] + drives[j] * g);
            input *= factor;
        }
        let length = sum.sqrt() / norm;
        assert!(length <= 1.0 + 1e-13 && length > 1.0 - 1e-6, "{first}: {length}");
    }
}

#[test]
fn other_workloads_and_numbers_of_chains_are_refused() {
    let request = |workload, horizon| Request {
        horizon,
        workload,
        participation: Participation::default(),
        objective: Objective::Mean,
        report: None,
        progress: &(),
    };
    let message =
        |request: &Request<'_>, chains| Markov::new(request, chains).err().map(|error| error.to_string());
    let window = request(Workload::SlidingWindow { width: 3 }, 10);
    assert!(message(&window, None).is_some_and(|message| message.contains("square-root makes windows")));
    for chains in [0, 1, 17] {
        assert!(
            message(&request(Workload::PrefixSum, 10), Some(chains))
                .is_some_and(|m| m.contains("from 2 to 16"))
        );
    }
    assert!(
        message(&request(Workload::PrefixSum, 1 << 26), None).is_some_and(|m| m.contains("up to 2^25 steps"))
    );
    assert!(message(&request(Workload::Decay { factor: 1.0 - 1e-9 }, 1 << 40), None).is_some());
}

/// Every block is the same wherever it is made, and neighbours agree on the norm between them.
#[test]
fn blocks_are_made_again_bit_for_bit() {
    for (n, workload) in [(70_000, Workload::PrefixSum), (40_000, Workload::Decay { factor: 0.999 })] {
        let factor = factor_of(workload, n).unwrap();
        let shape = Shape::for_horizon(n, factor, Objective::Mean);
        let timeline = Timeline::new(n, factor);
        let weights = Weights::new(timeline.steps, reach(n, factor), &shape, Objective::Mean);
        let fractions = inverse_square_root(1e-9, 4.0, 9);
        let (chains, numbers) = Chains::new(timeline, weights, factor, &fractions, true);
        let (run, blocks) = Run::new(chains, numbers);
        let mut block = Block::default();
        for (number, kept) in blocks.iter().enumerate() {
            run.read(number as u64, &mut block);
            assert!(
                block.numbers.losses == kept.numbers.losses && block.numbers.drives == kept.numbers.drives
            );
            assert_eq!(block.norms, kept.norms, "{number}");
        }
        let follows = |number: usize| run.chains.next_covariance_follows(number as u64);
        assert!((0..blocks.len() - 1).all(follows), "{workload}");
        let (mut here, mut next) = (ChainBlock::default(), ChainBlock::default());
        run.block(0, &mut here);
        while here.first + (here.losses.len() as u64) < n {
            run.block(here.first + here.losses.len() as u64, &mut next);
            assert_eq!(here.norms.last(), next.norms.first(), "{}", next.first);
            std::mem::swap(&mut here, &mut next);
        }
    }
}

/// Between the rows that are kept, what is stated is no less than the row.
#[test]
fn interpolated_rows_are_upper_bounds() {
    let n = 9000;
    let markov = markov(n, Workload::PrefixSum, Objective::Mean, None);
    let mut interpolated = 0;
    for step in 2000..7000 {
        let stated = markov.row_norm_squared(step);
        let exact = markov.parts.profile.exact_row(&markov.parts.run, step);
        assert!(stated >= exact && stated < exact * (1.0 + 1e-6), "{step}: {stated} {exact}");
        interpolated += u32::from(stated != exact);
    }
    assert!(interpolated > 1000);
}
