//! What one edge can change, by brute force.
//!
//! Neighbours are two streams, one of which lacks an edge. All streams of distinct edges on four nodes, all
//! streams of up to five edges on five nodes, and random ones on eight nodes are compared with all of their
//! neighbours, for bounds from 1 to 4.

use super::*;
use evertally::{Budget, Neighbours, Plan, PlanSpec};

pub(super) type Ends = [u32; 2];

const STATISTICS: [Statistic; 6] = [
    Statistic::Edges,
    Statistic::Degrees,
    Statistic::Stars { edges: 1 },
    Statistic::Stars { edges: 2 },
    Statistic::Stars { edges: 3 },
    Statistic::Triangles,
];

fn choose(n: u64, k: u64) -> u64 {
    if k == 0 {
        1
    } else if n == 0 {
        0
    } else {
        choose(n - 1, k - 1) + choose(n - 1, k)
    }
}

/// The edges that are among the first D edges of both of their nodes.
fn kept(edges: &[Ends], max_degree: u32) -> Vec<Ends> {
    let rank = |place: usize, node: u32| edges[..=place].iter().filter(|ends| ends.contains(&node)).count();
    let is_kept = |place: &usize| edges[*place].iter().all(|node| rank(*place, *node) <= max_degree as usize);
    (0..edges.len()).filter(is_kept).map(|place| edges[place]).collect()
}

/// A statistic of a graph, written from the definition.
fn value(statistic: Statistic, edges: &[Ends], max_degree: u32) -> Vec<u64> {
    const NODES: u32 = 16;
    let degree = |node: u32| edges.iter().filter(|ends| ends.contains(&node)).count() as u64;
    match statistic {
        Statistic::Edges => vec![edges.len() as u64],
        Statistic::Degrees => (1..=u64::from(max_degree))
            .map(|k| (0..NODES).filter(|node| degree(*node) >= k).count() as u64)
            .collect(),
        Statistic::Stars { edges: k } => {
            let stars = |node| choose(degree(node).min(u64::from(max_degree)), u64::from(k));
            vec![(0..NODES).map(stars).sum()]
        }
        Statistic::Triangles => {
            let kept = kept(edges, max_degree);
            let has = |a: u32, b: u32| kept.iter().any(|ends| *ends == [a, b] || *ends == [b, a]);
            let mut triangles = 0;
            for a in 0..NODES {
                for b in (0..a).filter(|b| has(a, *b)) {
                    triangles += (0..b).filter(|c| has(a, *c) && has(b, *c)).count() as u64;
                }
            }
            vec![triangles]
        }
    }
}

/// The amounts of each place of a stream; a place without an edge adds nothing.
fn amounts(statistic: Statistic, stream: &[Option<Ends>], max_degree: u32) -> Vec<Vec<u64>> {
    let mut projection = Projection::new(&[statistic], max_degree, 16).unwrap();
    let amounts_of = |edge: &Option<Ends>| {
        let mut amounts = vec![0; statistic.width(max_degree)];
        if let Some(ends) = edge {
            projection.insert(*ends, &mut amounts);
        }
        amounts
    };
    stream.iter().map(amounts_of).collect()
}

/// The usable bounds of a statistic.
fn bounds(statistic: Statistic) -> impl Iterator<Item = u32> {
    (1..=4).filter(move |bound| statistic.largest_change(*bound).is_ok())
}

/// All streams of so many distinct edges.
fn streams(nodes: u32, length: usize) -> Vec<Vec<Ends>> {
    let all: Vec<Ends> = (0..nodes).flat_map(|b| (0..b).map(move |a| [a, b])).collect();
    let mut streams = vec![Vec::new()];
    for _ in 0..length {
        let longer = |stream: &Vec<Ends>| {
            let stream = stream.clone();
            let next: Vec<Ends> = all.iter().copied().filter(|ends| !stream.contains(ends)).collect();
            next.into_iter().map(move |ends| [stream.clone(), vec![ends]].concat()).collect::<Vec<_>>()
        };
        streams = streams.iter().flat_map(longer).collect();
    }
    streams
}

/// Streams in a fixed random order, of distinct edges on so many nodes.
fn random_streams(nodes: u32, length: usize, count: usize) -> Vec<Vec<Ends>> {
    let all: Vec<Ends> = (0..nodes).flat_map(|b| (0..b).map(move |a| [a, b])).collect();
    let mut seed = 7_u64;
    let mut below = |end: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (seed >> 33) as usize % end
    };
    let mut stream = || {
        let mut left = all.clone();
        (0..length.min(all.len())).map(|_| left.swap_remove(below(left.len()))).collect()
    };
    (0..count).map(|_| stream()).collect()
}

/// The change of each lane in each step, if the edge at a place is taken away. `per_step` places make a step.
fn change(statistic: Statistic, stream: &[Ends], place: usize, bound: u32, per_step: usize) -> Vec<Vec<i64>> {
    let with: Vec<_> = stream.iter().copied().map(Some).collect();
    let mut without = with.clone();
    without[place] = None;
    let [with, without] = [with, without].map(|stream| amounts(statistic, &stream, bound));
    let lanes = statistic.width(bound);
    let steps = stream.len().div_ceil(per_step);
    let mut change = vec![vec![0; steps]; lanes];
    for (place, (with, without)) in with.iter().zip(&without).enumerate() {
        for lane in 0..lanes {
            change[lane][place / per_step] += with[lane] as i64 - without[lane] as i64;
        }
    }
    change
}

/// Σ (p² + q²) over all lanes.
pub(super) fn squares(change: &[Vec<i64>]) -> u64 {
    let side = |lane: &Vec<i64>, sign: i64| lane.iter().map(|d| (sign * d).max(0) as u64).sum::<u64>();
    change.iter().map(|lane| side(lane, 1).pow(2) + side(lane, -1).pow(2)).sum()
}

fn charged(statistic: Statistic, bound: u32) -> u64 {
    statistic.largest_change(bound).unwrap().squares().unwrap_or(1)
}

pub(super) fn all_small_streams() -> Vec<Vec<Ends>> {
    let mut all: Vec<_> = (1..=6).flat_map(|length| streams(4, length)).collect();
    all.extend((1..=4).flat_map(|length| streams(5, length)));
    all.extend(random_streams(5, 10, 2000));
    all.extend(random_streams(8, 18, 2000));
    all
}

#[test]
fn amounts_add_up_to_the_statistic_at_every_step() {
    for stream in all_small_streams().iter().step_by(7) {
        for statistic in STATISTICS {
            for bound in bounds(statistic) {
                let edges: Vec<_> = stream.iter().copied().map(Some).collect();
                let mut total = vec![0; statistic.width(bound)];
                for (place, amounts) in amounts(statistic, &edges, bound).iter().enumerate() {
                    total.iter_mut().zip(amounts).for_each(|(total, amount)| *total += amount);
                    let expected = value(statistic, &stream[..=place], bound);
                    assert_eq!(total, expected, "{statistic}, {bound}, {stream:?}, {place}");
                }
            }
        }
    }
}

/// The bound holds for all neighbours, whether each edge has a step of its own or several share one.
#[test]
fn no_edge_changes_more_than_is_charged() {
    for stream in all_small_streams() {
        for statistic in STATISTICS {
            for bound in bounds(statistic) {
                for place in 0..stream.len() {
                    for per_step in [1, 3] {
                        let squares = squares(&change(statistic, &stream, place, bound, per_step));
                        let charged = charged(statistic, bound);
                        assert!(squares <= charged, "{statistic}, {bound}, {stream:?}, {place}: {squares}");
                    }
                }
            }
        }
    }
}

/// A stream of which each statistic reaches its bound: both ends of the first edge go on to D others.
fn worst_of_degrees(bound: u32) -> Vec<Ends> {
    let others = (0..bound).flat_map(|i| [[0, 2 + 2 * i], [1, 3 + 2 * i]]);
    std::iter::once([0, 1]).chain(others).collect()
}

/// Nodes 0 and 1 have the first D − 1 neighbours 4, 5, … in common. The edge between them closes D − 1
/// triangles. It pushes out the last edges of both, to 2 and 3, which close as many each.
fn worst_of_triangles(bound: u32) -> (Vec<Ends>, usize) {
    let shared = (4..3 + bound).flat_map(|node| (0..4).map(move |end| [end, node]));
    let mut stream: Vec<Ends> = shared.collect();
    stream.extend([[0, 1], [0, 2], [1, 3]]);
    let place = stream.len() - 3;
    (stream, place)
}

#[test]
fn every_bound_is_attained() {
    for bound in 1..=6 {
        for statistic in STATISTICS.into_iter().filter(|statistic| *statistic != Statistic::Triangles) {
            if statistic.largest_change(bound).is_ok() {
                let stream = worst_of_degrees(bound);
                let squares = squares(&change(statistic, &stream, 0, bound, 1));
                assert_eq!(squares, charged(statistic, bound), "{statistic}, {bound}");
            }
        }
    }
    for bound in 4..=8 {
        let (stream, place) = worst_of_triangles(bound);
        let squares = squares(&change(Statistic::Triangles, &stream, place, bound, 1));
        assert_eq!(squares, charged(Statistic::Triangles, bound), "{bound}");
    }
}

/// Smaller bounds are wrong: an edge that pushes out only one other, or a node that moves by one rank at one
/// end only.
#[test]
fn smaller_bounds_fail() {
    let (stream, place) = worst_of_triangles(5);
    assert!(squares(&change(Statistic::Triangles, &stream, place, 5, 1)) > 2 * 4 * 4);
    let stream = worst_of_degrees(3);
    for (statistic, of_one_end) in [(Statistic::Degrees, 2 * 3), (Statistic::Stars { edges: 2 }, 2 * 2 * 2)] {
        assert!(squares(&change(statistic, &stream, 0, 3, 1)) > of_one_end);
    }
}

/// The plan of a statistic.
fn plan(statistic: Statistic, bound: u32, horizon: u64, mechanism: &str) -> Plan {
    let keys = (0..statistic.width(bound)).map(|key| key.to_string()).collect();
    let spec = PlanSpec {
        participation: statistic.largest_change(bound).unwrap(),
        contribution: statistic.contribution(),
        neighbours: Neighbours::AddRemove,
        mechanism: Some(mechanism.parse().unwrap()),
        shape: evertally::Shape::Keyed { keys },
        ..PlanSpec::new(horizon, Budget::new(1.0, 1e-6).unwrap())
    };
    spec.build().unwrap()
}

/// ‖R d‖, over all lanes.
fn moved(plan: &Plan, change: &[Vec<i64>]) -> f64 {
    let encoder = plan.dense().unwrap().encoder;
    let mut square = 0.0;
    for lane in change {
        for row in 0..encoder.rows() {
            let terms = lane.iter().enumerate().map(|(step, d)| encoder[(row, step)] * *d as f64);
            square += terms.sum::<f64>().powi(2);
        }
    }
    square.sqrt()
}

/// What the encoder makes of the change is within the sensitivity of the plan, and comes near to it.
#[test]
fn no_edge_moves_the_encoded_stream_further_than_the_plan_says() {
    for mechanism in ["graded-square-root", "square-root", "binary", "input-perturbation"] {
        for statistic in STATISTICS {
            let (bound, mut nearest) = (3, 0.0_f64);
            let mut plans = std::collections::HashMap::new();
            let small = all_small_streams();
            let worst = [worst_of_degrees(bound), worst_of_triangles(bound).0];
            for stream in small.iter().step_by(23).chain(&worst) {
                let plan = plans
                    .entry(stream.len())
                    .or_insert_with(|| plan(statistic, bound, stream.len() as u64, mechanism));
                for place in 0..stream.len() {
                    let moved = moved(plan, &change(statistic, stream, place, bound, 1));
                    assert!(moved <= plan.sensitivity(), "{mechanism}, {statistic}, {stream:?}, {place}");
                    nearest = nearest.max(moved / plan.sensitivity());
                }
            }
            assert!(nearest > 0.4, "{mechanism}, {statistic}: {nearest}");
        }
    }
}
