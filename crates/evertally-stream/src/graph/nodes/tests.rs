//! What one node can change, and what the stop says about it, by brute force.
//!
//! Neighbours are a stream of edges, and the same without those of one node. The stop's law is computed from
//! the discrete Laplace law for every pair of small neighbours.

use super::super::projection::Projection;
use super::super::tests::{Ends, all_small_streams, squares};
use super::stop::upper_tail;
use super::*;
use evertally::internals::noise::NoiseKey;

const NODES: usize = 16;
const BOUNDS: [(u32, u32); 7] = [(1, 1), (1, 2), (2, 1), (2, 2), (1, 3), (3, 1), (3, 2)];

/// A bound of D on degrees, and a test with the limit ℓ.
fn protection(max_degree: u32, limit: u32) -> NodeProtection {
    NodeProtection::new(max_degree, StopTest::coarse(1, 2, 0, limit)).unwrap()
}

/// The amounts of each place, and the height after it. A place without an edge adds nothing.
fn run(
    nodes: &NodeProtection,
    statistic: Statistic,
    stream: &[Option<Ends>],
) -> (Vec<Vec<u64>>, Vec<u64>, Vec<Ends>) {
    let mut crowd = Crowd::new(nodes, NODES);
    let mut projection = Projection::new(&[statistic], nodes.max_degree, NODES).unwrap();
    let (mut amounts, mut heights, mut kept) = (Vec::new(), Vec::new(), Vec::new());
    for edge in stream {
        let mut added = vec![0; statistic.width(nodes.max_degree)];
        if let Some(ends) = edge.filter(|ends| crowd.insert(*ends)) {
            projection.insert(ends, &mut added);
            kept.push(ends);
        }
        amounts.push(added);
        heights.push(crowd.height());
    }
    (amounts, heights, kept)
}

fn with_and_without(stream: &[Ends], node: u32) -> [Vec<Option<Ends>>; 2] {
    let with: Vec<_> = stream.iter().copied().map(Some).collect();
    let without = with.iter().map(|edge| edge.filter(|ends| !ends.contains(&node))).collect();
    [with, without]
}

/// The change of each lane in each step that is counted: before the graph without the node has the height
/// `end` at the end of a step.
fn change(
    nodes: &NodeProtection,
    statistic: Statistic,
    [with, without]: &[Vec<Option<Ends>>; 2],
    end: u64,
    per_step: usize,
) -> Vec<Vec<i64>> {
    let ((with, _, _), (without, heights, _)) = (run(nodes, statistic, with), run(nodes, statistic, without));
    let last = |step: usize| (heights.len() - 1).min((step + 1) * per_step - 1);
    let counted = (0..heights.len().div_ceil(per_step)).take_while(|step| heights[last(*step)] < end);
    let steps = counted.count();
    let mut change = vec![vec![0; steps]; statistic.width(nodes.max_degree)];
    for (place, (with, without)) in with.iter().zip(&without).enumerate().take(steps * per_step) {
        for (lane, change) in change.iter_mut().enumerate() {
            change[place / per_step] += with[lane] as i64 - without[lane] as i64;
        }
    }
    change
}

fn charged(nodes: &NodeProtection, statistic: Statistic) -> u64 {
    nodes.largest_change(statistic).unwrap().squares().unwrap()
}

/// The height, written from its definition.
fn height(edges: &[Ends], max_degree: u32) -> u64 {
    let degree = |node: u32| edges.iter().filter(|ends| ends.contains(&node)).count();
    let reach = |h: usize| (0..NODES as u32).filter(|node| degree(*node) >= max_degree as usize + h).count();
    (0..NODES).rev().find(|h| reach(*h) >= *h).unwrap() as u64
}

/// Which edges are kept, and the height, are those of the definitions.
#[test]
fn the_crowd_is_as_defined() {
    for stream in all_small_streams().iter().step_by(5) {
        for (max_degree, limit) in BOUNDS {
            let nodes = protection(max_degree, limit);
            let edges: Vec<_> = stream.iter().copied().map(Some).collect();
            let (_, heights, kept) = run(&nodes, Statistic::Edges, &edges);
            for (place, found) in heights.iter().enumerate() {
                assert_eq!(*found, height(&stream[..=place], max_degree), "{stream:?}, {place}");
            }
            let rank = |place: usize, end: &u32| stream[..=place].iter().filter(|e| e.contains(end)).count();
            let is_first = |place: &usize| {
                stream[*place].iter().all(|end| rank(*place, end) <= (max_degree + limit) as usize)
            };
            let expected: Vec<_> = (0..stream.len()).filter(is_first).map(|place| stream[place]).collect();
            assert_eq!(kept, expected, "{stream:?}");
        }
    }
}

/// Without a node, the height is the same or lower by one, at every step, and it never falls.
#[test]
fn the_height_moves_by_one_in_one_direction() {
    let mut moved = [0_u64; 2];
    for stream in all_small_streams() {
        for max_degree in 1..=3 {
            let nodes = protection(max_degree, 1);
            for node in 0..8 {
                let [with, without] =
                    with_and_without(&stream, node).map(|stream| run(&nodes, Statistic::Edges, &stream).1);
                assert!(with.is_sorted() && without.is_sorted());
                for (with, without) in with.iter().zip(&without) {
                    let by = with.checked_sub(*without).unwrap();
                    moved[usize::try_from(by).unwrap()] += 1;
                }
            }
        }
    }
    assert!(moved[1] > 1000, "{moved:?}");
}

/// In all steps that are counted, for all neighbours, whether or not edges share steps.
#[test]
fn no_node_changes_more_than_is_charged() {
    let mut nearest = [0.0_f64; 2];
    for stream in all_small_streams() {
        for (max_degree, limit) in BOUNDS {
            let nodes = protection(max_degree, limit);
            for node in 0..8 {
                let pair = with_and_without(&stream, node);
                for (place, statistic) in [Statistic::Edges, Statistic::Degrees].into_iter().enumerate() {
                    let (up, down) = nodes.moves(statistic).unwrap();
                    for per_step in [1, 3] {
                        let change = change(&nodes, statistic, &pair, limit.into(), per_step);
                        for lane in &change {
                            let side =
                                |sign: i64| lane.iter().map(|d: &i64| (sign * d).max(0) as u64).sum::<u64>();
                            assert!(side(1) <= up && side(-1) <= down, "{statistic}, {stream:?}, {node}");
                        }
                        let charged = charged(&nodes, statistic);
                        assert!(squares(&change) <= charged, "{statistic}, {stream:?}, {node}");
                        nearest[place] = nearest[place].max(squares(&change) as f64 / charged as f64);
                    }
                }
            }
        }
    }
    assert!(nearest[0] == 1.0 && nearest[1] > 0.3, "{nearest:?}");
}

/// Node 0 has D + ℓ edges, and `pushed` of its neighbours have as many after theirs, so each loses the last.
fn worst(nodes: &NodeProtection, pushed: u32) -> Vec<Ends> {
    let kept = nodes.kept();
    let own = (1..=kept).map(|neighbour| [0, neighbour]);
    let mut stream: Vec<Ends> = own.collect();
    let mut leaf = kept + 1;
    for neighbour in 1..=pushed {
        for _ in 0..kept {
            stream.push([neighbour, leaf]);
            leaf += 1;
        }
    }
    assert!(leaf as usize <= NODES, "{leaf}");
    stream
}

/// The bound of edges is attained. One step more than the stop allows, and it is exceeded: a bound with one
/// pushed edge less, or a stop that is later by one, would be found.
#[test]
fn the_bound_is_attained_and_needs_the_stop() {
    for (max_degree, limit) in [(1, 1), (2, 1), (1, 2), (2, 2), (1, 3)] {
        let nodes = protection(max_degree, limit);
        if (nodes.kept() * limit + 1) as usize + nodes.kept() as usize > NODES {
            continue;
        }
        let change = |pushed: u32, end: u32| {
            let pair = with_and_without(&worst(&nodes, pushed), 0);
            squares(&change(&nodes, Statistic::Edges, &pair, end.into(), 1))
        };
        let (up, down) = nodes.moves(Statistic::Edges).unwrap();
        assert_eq!(change(limit - 1, limit), up * up + down * down, "{max_degree}, {limit}");
        assert!(change(limit, limit + 1) > charged(&nodes, Statistic::Edges), "{max_degree}, {limit}");
    }
}

#[test]
fn bounds_that_cannot_be_kept_are_refused() {
    let test = StopTest::new(10, 0, 1.0, 1e-6).unwrap();
    assert!(NodeProtection::new(0, test).is_err() && NodeProtection::new(u32::MAX, test).is_err());
    assert!(NodeProtection::new(100_000_000, test).is_err());
    let nodes = NodeProtection::new(5, test).unwrap();
    assert!(nodes.largest_change(Statistic::Triangles).is_err());
    assert!(nodes.largest_change(Statistic::Stars { edges: 2 }).is_err());
    for (epsilon, delta) in
        [(0.0, 1e-6), (1e-9, 1e-6), (f64::NAN, 1e-6), (2000.0, 1e-6), (1.0, 0.0), (1.0, 1.0)]
    {
        assert!(StopTest::new(10, 0, epsilon, delta).is_err(), "{epsilon}, {delta}");
    }
    assert!(StopTest::new(10, u32::MAX, 1.0, 1e-6).is_err());
}

/// P(x) of the discrete Laplace law, for |x| ≤ REACH.
const REACH: i64 = 150;

fn law(scale: f64) -> Vec<(i64, f64)> {
    let r = (-1.0 / scale).exp();
    (-REACH..=REACH).map(|x| (x, (1.0 - r) / (1.0 + r) * r.powi(x.abs() as i32))).collect()
}

/// How the draws of a test are made.
#[derive(Clone, Copy)]
struct Draws {
    of_threshold: Option<f64>,
    of_steps: f64,
}

/// The probability of each step of the stop, and of none.
fn outcomes(test: &StopTest, heights: &[u64], draws: Draws) -> Vec<f64> {
    let thresholds = draws.of_threshold.map_or_else(|| vec![(0, 1.0)], law);
    let mut outcomes = vec![0.0; heights.len() + 1];
    for (threshold, chance) in thresholds {
        let mut goes_on = chance;
        for (outcome, height) in outcomes.iter_mut().zip(heights) {
            let stops: f64 = law(draws.of_steps)
                .into_iter()
                .filter(|(noise, _)| test.stops(*height, threshold, *noise))
                .map(|(_, chance)| chance)
                .sum();
            *outcome += goes_on * stops;
            goes_on *= 1.0 - stops;
        }
        *outcomes.last_mut().unwrap() += goes_on;
    }
    outcomes
}

/// All heights of so many steps that never fall, from 0 to 2, with all neighbours.
fn neighbours(steps: u32) -> Vec<[Vec<u64>; 2]> {
    let digits = |number: u32, base: u32| -> Vec<u64> {
        (0..steps).map(|place| u64::from(number / base.pow(place) % base)).collect()
    };
    let mut pairs = Vec::new();
    for lower in (0..3_u32.pow(steps)).map(|number| digits(number, 3)).filter(|heights| heights.is_sorted()) {
        for by in (0..2_u32.pow(steps)).map(|number| digits(number, 2)) {
            let upper: Vec<_> = lower.iter().zip(by).map(|(height, by)| height + by).collect();
            if upper.is_sorted() {
                pairs.push([upper, lower.clone()]);
            }
        }
    }
    pairs
}

/// The largest |ln| of the ratio of an outcome's probabilities, over all pairs of neighbours.
fn loss(test: &StopTest, draws: Draws, steps: u32) -> f64 {
    let pair_loss = |pair: [Vec<u64>; 2]| {
        let [with, without] = pair.map(|heights| outcomes(test, &heights, draws));
        with.iter().zip(&without).map(|(with, without)| (with / without).ln().abs()).fold(0.0, f64::max)
    };
    neighbours(steps).into_iter().map(pair_loss).fold(0.0, f64::max)
}

/// ε for every stopping step of every pair; and a test without noise on the threshold, or with too little on
/// one side, is found.
#[test]
fn the_stop_is_as_private_as_it_says() {
    for (unit, scale, threshold) in [(1, 2, 1), (2, 5, 2), (3, 4, 1)] {
        let test = StopTest::coarse(unit, scale, threshold, threshold + 1);
        let scale = scale as f64;
        let right = Draws { of_threshold: Some(scale), of_steps: scale };
        let found = loss(&test, right, 4);
        assert!(found <= test.epsilon() * (1.0 + 1e-9), "{unit}, {scale}: {found}");
        assert!(found > 0.55 * test.epsilon(), "{unit}, {scale}: {found}");
        let short = loss(&test, Draws { of_steps: scale / 2.5, ..right }, 4);
        assert!(short > test.epsilon(), "{unit}, {scale}: {short}");
        let one_draw = loss(&test, Draws { of_threshold: None, ..right }, 6);
        assert!(one_draw > test.epsilon(), "{unit}, {scale}: {one_draw}");
    }
}

/// The probability that is charged for a missed stop is that of the first step at the limit, whatever other
/// steps do, and the tail is the sum of the law.
#[test]
fn a_missed_stop_is_as_rare_as_it_says() {
    for (unit, scale) in [(1, 2), (2, 5), (3, 4)] {
        let test = StopTest::coarse(unit, scale, 2, 6);
        let draws = Draws { of_threshold: Some(scale as f64), of_steps: scale as f64 };
        let missed = |heights: &[u64]| outcomes(&test, heights, draws).pop().unwrap();
        assert!((missed(&[6]) / test.delta() - 1.0).abs() < 1e-6);
        assert!(missed(&[0, 3, 6]) <= test.delta() && missed(&[7]) < test.delta());
        assert!(missed(&[5]) > test.delta());
        for n in 0..40 {
            let pairs = law(scale as f64)
                .into_iter()
                .flat_map(|x| law(scale as f64).into_iter().map(move |y| (x, y)));
            let sum: f64 = pairs.filter(|(x, y)| x.0 + y.0 >= n).map(|(x, y)| x.1 * y.1).sum();
            let tail = upper_tail(scale, n as u64);
            assert!(tail >= sum && tail < sum * (1.0 + 1e-6), "{scale}, {n}: {tail}, {sum}");
        }
    }
    // At the scales that are used: the tail of the sum of two continuous Laplace laws.
    for x in [0.0, 1.0, 20.0] {
        let tail = upper_tail(1 << 40, (x * (1_u64 << 40) as f64) as u64);
        let continuous = (-x).exp() * (2.0 + x) / 4.0;
        assert!((tail / continuous - 1.0).abs() < 1e-8, "{x}: {tail}, {continuous}");
    }
}

/// Real draws stop as often as the law says. 4,000 keys: about one in 10⁴ fails by chance.
#[test]
fn real_draws_have_the_law() {
    let test = StopTest::new(3, 0, 1.0, 1e-6).unwrap();
    let stops = |height: u32, label: &[u8]| {
        let runs = (0..4000).filter(|seed| {
            let key = NoiseKey::insecure_from_seed(*seed);
            test.first_stop(&[u64::from(height)], &key, label).is_some()
        });
        runs.count() as f64 / 4000.0
    };
    for (below, label) in [(0, b"a"), (2, b"b"), (4, b"c")] {
        // One stop needs ν − ρ of at least the distance.
        let expected = upper_tail(test.scale(), below * (1 << 20));
        let found = stops(test.threshold() - below as u32, label);
        let error = (expected * (1.0 - expected) / 4000.0).sqrt();
        assert!((found - expected).abs() < 4.1 * error, "{below}: {found}, {expected}");
        // Noise that is 15 % short would be found where it matters.
        let short = upper_tail((test.scale() as f64 * 0.85) as u64, below * (1 << 20));
        assert!(below != 4 || (short - expected).abs() > 1.2 * error, "{below}");
    }
}

/// The count goes on without a cause for a stop, and ends in time with one.
#[test]
fn a_count_stops_if_it_must_and_seldom_if_not() {
    let test = StopTest::new(50, 2, 1.0, 1e-6).unwrap();
    assert!(test.delta() <= 1e-6 && test.delta() > 1e-7 && test.spend().unwrap().key_delta() == test.delta());
    let mut heights = vec![2; 50];
    let stop =
        |heights: &[u64], seed| test.first_stop(heights, &NoiseKey::insecure_from_seed(seed), b"label");
    // One in a hundred at most, so thirty of a thousand are out of reach.
    assert!((0..1000).filter(|seed| stop(&heights, *seed).is_some()).count() < 30);
    heights[30..].fill(u64::from(test.limit()));
    assert!((0..1000).all(|seed| stop(&heights, seed).is_some_and(|step| step <= 30)));
    assert!((0..1000).filter(|seed| stop(&heights, *seed) == Some(30)).count() > 970);
}
