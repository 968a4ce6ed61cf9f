//! Compares the engine with the reference implementation, and every way of splitting a run with the
//! run in one piece.

use std::ops::Range;

use super::reference::ReferenceCorrelator;
use super::*;

/// Lanes with a simple generator of their own, so that nothing depends on the sampler.
struct Lattice {
    width: usize,
    is_family: bool,
}

impl WhiteField for Lattice {
    fn width(&self) -> usize {
        self.width
    }
    fn is_family(&self) -> bool {
        self.is_family
    }
    fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]) {
        for (index, row) in (first..).zip(out.chunks_mut(lanes.len())) {
            for (value, lane) in row.iter_mut().zip(lanes.clone()) {
                let word = (index * 1009 + lane as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                *value = (word >> 11) as f64 / (1_u64 << 52) as f64 - 1.0;
            }
        }
    }
}

/// Grades that vary from step to step.
struct Wavy(u64);

impl Grading for Wavy {
    fn block(&self, step: u64, out: &mut GradeBlock) {
        let first = step - step % GRADED_BLOCK;
        let steps = first..(first + GRADED_BLOCK).min(self.0);
        out.grades = steps.clone().map(|t| 1.0 + 0.3 * (t as f64).sin()).collect();
        out.norms = steps.map(|t| 2.0 + 0.5 * (0.7 * t as f64).cos()).collect();
    }

    fn bounds(&self) -> GradeBounds {
        GradeBounds {
            largest_grade: 1.3,
            least_grade: 0.7,
            largest_norm: 2.5,
            least_norm: 1.5,
            largest_ratio: 2.5 / 0.7,
            norm_variation: self.0 as f64,
            is_falling: false,
        }
    }
}

/// Chains whose numbers vary from step to step, in short blocks.
struct Swaying {
    horizon: u64,
    loss: f64,
}

impl ChainSource for Swaying {
    fn chains(&self) -> usize {
        5
    }

    fn loss(&self) -> f64 {
        self.loss
    }

    fn block(&self, step: u64, out: &mut ChainBlock) {
        out.first = step - step % 16;
        let steps = out.first..(out.first + 16).min(self.horizon);
        let sway = |t: u64, j: usize| (0.3 * t as f32 + j as f32).sin();
        let row = |number: &dyn Fn(usize) -> f32, rest| {
            std::array::from_fn(|j| if j < self.chains() { number(j) } else { rest })
        };
        out.losses = steps
            .clone()
            .map(|t| row(&|j| (1.0 + 0.5 * sway(t, j)) * 0.25_f32.powi(j as i32 + 1), 1.0))
            .collect();
        out.drives = steps.clone().map(|t| row(&|j| 0.4 + 0.2 * sway(t, j + 9), 0.0)).collect();
        out.norms = steps.clone().chain([steps.end]).map(|t| 1.5 + 0.2 * sway(t, 0)).collect();
    }

    fn bounds(&self) -> ChainBounds {
        ChainBounds {
            largest_norm: 1.8,
            least_norm: 1.2,
            norm_variation: 0.5 * self.horizon as f64,
            largest_rise: 1.5,
            largest_diagonal: 6.0,
            largest_drive: 3.0,
        }
    }
}

fn decay(decay: f64, weight: f64) -> Decay {
    Decay { decay, weight }
}

/// A recipe of every kind: with and without slow decays and grades, of few and many decays.
fn recipes(horizon: u64) -> Vec<Recipe> {
    let many = (1..=19).map(|j| decay(1.0 - 0.9_f64.powi(j), 0.1 * f64::from(j))).collect();
    let slow = [1e-3, 2e-11, 3e-19].map(|loss| SlowDecay { loss, weight: 0.25 }).to_vec();
    let grading = || Some(Arc::new(Wavy(horizon)) as Arc<dyn Grading>);
    vec![
        Recipe { decays: vec![decay(1.0, 0.5), decay(0.5, 0.5)], impulse: 0.25, ..Recipe::default() },
        Recipe { decays: many, grading: grading(), ..Recipe::default() },
        Recipe {
            decays: vec![decay(1.0, 0.0), decay(0.9, 1.5)],
            slow: slow.clone(),
            impulse: 0.1,
            ..Recipe::default()
        },
        Recipe {
            decays: vec![decay(1.0, 0.125), decay(0.0, 2.0)],
            slow,
            grading: grading(),
            ..Recipe::default()
        },
        Recipe { chains: Some(Arc::new(Swaying { horizon, loss: 0.0 })), ..Recipe::default() },
        Recipe { chains: Some(Arc::new(Swaying { horizon, loss: 0.125 })), ..Recipe::default() },
    ]
}

/// Rows of L g for one lane, by the definition.
fn by_definition(recipe: &Recipe, horizon: u64, width: usize, lane: usize) -> Vec<f64> {
    let field = Arc::new(Lattice { width, is_family: true });
    let mut reference = ReferenceCorrelator::new(Arc::new(recipe.clone()), field, horizon);
    let mut row = vec![0.0; width];
    (0..horizon)
        .map(|_| {
            reference.next(&mut row);
            row[lane]
        })
        .collect()
}

fn run<F: Real>(machine: &mut StreamingCorrelator<F>, steps: u64) -> Vec<f64> {
    (0..steps)
        .flat_map(|_| machine.next_row().iter().map(|value| value.to_f64()).collect::<Vec<_>>())
        .collect()
}

fn machine<F: Real>(recipe: &Recipe, horizon: u64, width: usize, is_family: bool) -> StreamingCorrelator<F> {
    StreamingCorrelator::new(recipe, horizon, Arc::new(Lattice { width, is_family }), 1.0)
}

const HORIZONS: [u64; 9] = [1, 2, 7, 8, 9, 63, 64, 65, 200];

#[test]
fn every_lane_follows_the_definition() {
    for horizon in HORIZONS {
        for (number, recipe) in recipes(horizon).iter().enumerate() {
            for (width, is_family) in [(1, false), (1, true), (3, false), (16, false), (300, true)] {
                let rows = run(&mut machine::<f64>(recipe, horizon, width, is_family), horizon);
                let singles = run(&mut machine::<f32>(recipe, horizon, width, is_family), horizon);
                for lane in [0, width / 2, width - 1] {
                    for (t, want) in by_definition(recipe, horizon, width, lane).into_iter().enumerate() {
                        let at = t * width + lane;
                        let where_ =
                            format!("recipe {number}, n = {horizon}, width {width}, lane {lane}, t = {t}");
                        assert!((rows[at] - want).abs() < 1e-11, "{where_}: {} {want}", rows[at]);
                        assert!((singles[at] - want).abs() < 1e-2, "{where_}: {} {want}", singles[at]);
                    }
                }
            }
        }
    }
}

/// Crosses the borders of blocks of grades and of white noise.
#[test]
fn long_runs_follow_the_definition() {
    let horizon = 2 * GRADED_BLOCK + 5;
    for (number, recipe) in recipes(horizon).iter().enumerate() {
        for (width, is_family) in [(1, false), (3, false)] {
            let rows = run(&mut machine::<f64>(recipe, horizon, width, is_family), horizon);
            for (t, want) in by_definition(recipe, horizon, width, width - 1).into_iter().enumerate() {
                let got = rows[t * width + width - 1];
                assert!((got - want).abs() < 1e-10, "recipe {number}, width {width}, t = {t}: {got} {want}");
            }
        }
    }
}

/// Crosses the borders of tiles, on one thread and on several, with a scale.
#[test]
fn every_tile_follows_the_definition() {
    let horizon = 9;
    let recipe = &recipes(horizon)[3];
    for width in [many_lanes::TILE + 1, many_lanes::LANES_FOR_THREADS + 300] {
        let field = Arc::new(Lattice { width, is_family: false });
        let rows = run(&mut StreamingCorrelator::<f64>::new(recipe, horizon, field, 2.5), horizon);
        for lane in [0, many_lanes::TILE - 1, many_lanes::TILE, width - 1] {
            for (t, want) in by_definition(recipe, horizon, width, lane).into_iter().enumerate() {
                let got = rows[t * width + lane];
                assert!(
                    (got - 2.5 * want).abs() < 1e-11,
                    "width {width}, lane {lane}, t = {t}: {got} {want}"
                );
            }
        }
    }
}

#[test]
fn what_is_released_is_scaled() {
    let horizon = 20;
    for recipe in recipes(horizon) {
        let field = Arc::new(Lattice { width: 1, is_family: false });
        let rows = run(&mut StreamingCorrelator::<f64>::new(&recipe, horizon, field, 4.0), horizon);
        let plain = run(&mut machine::<f64>(&recipe, horizon, 1, false), horizon);
        assert_eq!(bits(&rows), bits(&plain.iter().map(|value| 4.0 * value).collect::<Vec<_>>()));
    }
}

/// Any number of lanes may be passed.
#[test]
fn any_number_of_lanes_can_be_asked_about() {
    assert_eq!(rows_together::<f64>(usize::MAX, false), 1);
    assert_eq!(rows_together::<f32>(MAX_AHEAD_BYTES / 32, false), BURST);
    assert_eq!(rows_together::<f32>(MAX_AHEAD_BYTES / 32 + 1, false), 1);
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|value| value.to_bits()).collect()
}

#[test]
fn a_lane_does_not_know_of_the_others() {
    let horizon = 100;
    for recipe in recipes(horizon) {
        let alone = bits(&run(&mut machine::<f64>(&recipe, horizon, 1, true), horizon));
        for width in [2, 17, many_lanes::TILE, many_lanes::TILE + 1, 3 * many_lanes::TILE - 72] {
            let rows = run(&mut machine::<f64>(&recipe, horizon, width, true), horizon);
            let first: Vec<f64> = rows.iter().step_by(width).copied().collect();
            assert_eq!(bits(&first), alone, "width {width}");
        }
    }
}

#[test]
fn threads_do_not_matter() {
    let (horizon, width) = (20, many_lanes::LANES_FOR_THREADS + 300);
    let recipe = &recipes(horizon)[1];
    let rows = || bits(&run(&mut machine::<f64>(recipe, horizon, width, false), horizon));
    let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    let one = pool(1).install(rows);
    assert_eq!(one, pool(2).install(rows));
    assert_eq!(one, pool(7).install(rows));
}

/// A run may be saved at any step and restored, sought, or filled in pieces. The rows that follow
/// are the same, bit for bit.
#[test]
fn every_way_there_is_the_same() {
    let horizon = 100_u64;
    for recipe in recipes(horizon) {
        for (width, is_family) in [(1, false), (1, true), (5, false)] {
            let make = || machine::<f64>(&recipe, horizon, width, is_family);
            let whole = bits(&run(&mut make(), horizon));
            let mut going = make();
            for step in 0..=horizon {
                let left = horizon - step;
                let mut resumed = make();
                resumed.restore_state(step, &going.save_state()).unwrap();
                assert_eq!(
                    bits(&run(&mut resumed, left)),
                    whole[step as usize * width..],
                    "restored at {step}"
                );
                let mut sought = make();
                sought.seek(step);
                assert_eq!(bits(&run(&mut sought, left)), whole[step as usize * width..], "sought {step}");
                let mut filled = make();
                let mut out = vec![0.0; horizon as usize * width];
                let (first, second) = out.split_at_mut(step as usize * width);
                filled.fill(first);
                filled.fill(second);
                assert_eq!(bits(&out), whole, "filled in two at {step}");
                if left > 0 {
                    going.next_row();
                }
            }
        }
    }
}

#[test]
fn a_long_fill_is_the_same_on_any_threads() {
    let horizon = 3 * LONG_BLOCK as u64 + 77;
    let recipe = &recipes(horizon)[3];
    let rows = bits(&run(&mut machine::<f64>(recipe, horizon, 1, false), horizon));
    let mut out = vec![0.0; horizon as usize];
    machine::<f64>(recipe, horizon, 1, false).fill(&mut out);
    assert_eq!(bits(&out), rows);
}

#[test]
fn numbers_that_are_no_state_are_refused() {
    let recipe = &recipes(20)[1];
    for (width, is_family) in [(1, false), (4, false)] {
        let mut machine = machine::<f64>(recipe, 20, width, is_family);
        let saved = machine.save_state();
        for (step, numbers) in [
            (0, &saved[1..]),
            (0, &[saved.as_slice(), &vec![0.0; 9 * width]].concat()),
            (21, &saved[..]),
            (u64::MAX, &[saved.as_slice(), &vec![0.0; width]].concat()),
        ] {
            assert!(machine.restore_state(step, numbers).is_err(), "step {step}");
        }
    }
}

/// Lanes that are advanced at different steps, in any combination, compared with the same lanes in
/// a correlator.
#[test]
fn lazy_lanes_are_those_of_a_machine() {
    use crate::noise::{KeyedField, KeyedNoise, NoiseKey};
    let (horizon, width) = (5000_u64, 300);
    let noise = || KeyedNoise::gaussian(NoiseKey::insecure_from_seed(3).stream(b"lazy"));
    let names: Vec<String> = (0..width).map(|lane| format!("lane {lane}")).collect();
    for recipe in recipes(horizon) {
        let field = KeyedField::new(noise(), names.iter().map(String::as_str)).unwrap();
        let rows = run(&mut StreamingCorrelator::<f64>::new(&recipe, horizon, Arc::new(field), 1.0), horizon);
        let mut lazy = LazyLanes::new(&recipe, horizon, noise());
        let mut lanes = vec![(0, vec![0.0; recipe.rows()]); width];
        // Steps on both sides of bursts, of blocks of grades and of waves. The last is the horizon.
        for (round, to) in [1, 2, 7, 8, 9, 64, 513, 700, 4095, 4999, 5000].into_iter().enumerate() {
            // Every lane is chosen in some of the rounds, so that the lanes of one round are at
            // many different steps.
            let mut chosen: Vec<usize> = (0..width).filter(|lane| (lane * 7 + round) % 5 < 2).collect();
            chosen.sort_by_key(|lane| lanes[*lane].0);
            let mut tiles: Vec<Tile> = chosen
                .chunks(if round % 2 == 0 { 37 } else { LazyLanes::TILE })
                .map(|chosen| {
                    let mut tile = Tile::new(recipe.rows(), chosen.len());
                    for &lane in chosen {
                        let (made, numbers) = &lanes[lane];
                        tile.push(*made, noise().tag(names[lane].as_bytes()), numbers.iter().copied());
                    }
                    tile
                })
                .collect();
            lazy.advance(&mut tiles, to);
            let results = tiles.iter().flat_map(|tile| tile.numbers().zip(tile.released()));
            for (&lane, (numbers, released)) in chosen.iter().zip(results) {
                let want = rows[(to as usize - 1) * width + lane];
                assert_eq!(released.to_bits(), want.to_bits(), "lane {lane} to {to}");
                lanes[lane] = (to, numbers.to_vec());
            }
        }
    }
}

/// A large family is made row by row, straight into the caller's memory. The rows are the same when
/// saved and sought anywhere.
#[test]
fn a_large_family_is_the_same_row_by_row() {
    let (horizon, width) = (20, MAX_FAMILY_AHEAD_LANES + 1);
    let recipe = &recipes(horizon)[1];
    let make = || machine::<f64>(recipe, horizon, width, true);
    let rows = bits(&run(&mut machine::<f64>(recipe, horizon, width, false), horizon));
    assert_eq!((make().together, machine::<f64>(recipe, horizon, width, false).together), (1, BURST));
    let mut going = make();
    let mut out = vec![0.0; width];
    for step in 0..horizon {
        let mut sought = make();
        sought.seek(step);
        let mut resumed = make();
        resumed.restore_state(step, &going.save_state()).unwrap();
        let want = &rows[step as usize * width..][..width];
        for machine in [&mut going, &mut sought, &mut resumed] {
            machine.next_into(&mut out);
            assert_eq!(bits(&out), want, "step {step}");
        }
        assert!(going.ahead.is_empty());
    }
    assert_eq!(bits(&run(&mut make(), horizon)), rows);
}

/// Losses that single precision cannot distinguish near one keep their digits as slow decays.
#[test]
fn singles_keep_the_digits_of_slow_losses() {
    struct Spike(usize);
    impl WhiteField for Spike {
        fn width(&self) -> usize {
            self.0
        }
        fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]) {
            for (index, row) in (first..).zip(out.chunks_mut(lanes.len())) {
                row.fill(f64::from(u8::from(index == 0)));
            }
        }
    }
    let (loss, horizon) = (1.03e-7, 200_000);
    let recipe =
        Recipe { decays: vec![decay(1.0, 0.5), decay(1.0 - loss, 1.0)], impulse: 0.0, ..Recipe::default() };
    let mut machine = StreamingCorrelator::<f32>::new(&recipe, horizon, Arc::new(Spike(2)), 1.0);
    let mut last = 0.0;
    for _ in 0..horizon {
        last = f64::from(machine.next_row()[1]);
    }
    let lost = 1.5 - last;
    let expected = -libm::expm1(horizon as f64 * libm::log1p(-loss));
    // As θ, the loss would be an eighth too large.
    assert!((lost / expected - 1.0).abs() < 5e-3, "{lost} {expected}");
    let (singles, charge) = recipe.in_singles();
    assert_eq!((singles.decays.len(), singles.slow.len()), (1, 1));
    assert!(charge > 1.0 && charge < 1.0 + 1e-6);
    let graded = Recipe { grading: Some(Arc::new(Wavy(horizon))), ..recipe };
    assert!(graded.in_singles().1 - 1.0 > 60.0 * (charge - 1.0));
}
