//! Counters from the user's view: resumption, limits, queries, refusals.

use crate::common::{budget, budget_for, builder, mechanisms_and_workloads, plan};
use evertally::{
    Arithmetic, Budget, Contribution, Counter, Error, ErrorClass, KeyedCounter, Mechanism, Neighbours,
    NoiseKey, Objective, Participation, Plan, PlanBuilder, VectorCounter, Workload,
};

fn input(t: u64) -> f64 {
    ((t * 7) % 11) as f64
}

#[test]
fn a_resumed_counter_continues_bit_for_bit() {
    let n = 23;
    for (mechanism, workload) in mechanisms_and_workloads() {
        let plan = plan(mechanism, workload, n);
        let key = || NoiseKey::insecure_from_seed(42);
        let mut whole = Counter::new(&plan, key()).unwrap();
        let expected: Vec<u64> = (0..n).map(|t| whole.step(input(t)).unwrap().value.to_bits()).collect();
        for cut in 0..=n {
            let mut first = Counter::new(&plan, key()).unwrap();
            (0..cut).for_each(|t| {
                first.step(input(t)).unwrap();
            });
            let mut second = Counter::resume(&plan, key(), &first.save()).unwrap();
            assert_eq!(second.steps_taken(), cut);
            for t in cut..n {
                let got = second.step(input(t)).unwrap().value.to_bits();
                assert_eq!(got, expected[t as usize], "{mechanism} {workload}, cut at {cut}, step {t}");
            }
        }
    }
}

#[test]
fn keyed_and_vector_counters_resume_too() {
    for mechanism in Mechanism::ALL {
        let keyed = builder(Workload::PrefixSum, 9)
            .mechanism(mechanism)
            .budget(budget_for(mechanism))
            .keys(["a", "b"])
            .build()
            .unwrap();
        let key = || NoiseKey::insecure_from_seed(7);
        let mut whole = KeyedCounter::new(&keyed, key()).unwrap().remember_releases().unwrap();
        let all: Vec<_> = (0..9).map(|t| whole.step(&[input(t), 1.0]).unwrap()).collect();
        let mut first = KeyedCounter::new(&keyed, key()).unwrap().remember_releases().unwrap();
        (0..4).for_each(|t| assert_eq!(first.step(&[input(t), 1.0]).unwrap(), all[t as usize]));
        let mut second = KeyedCounter::resume(&keyed, key(), &first.save()).unwrap();
        (4..9).for_each(|t| assert_eq!(second.step(&[input(t), 1.0]).unwrap(), all[t as usize]));
        assert_eq!(second.interval("b", 2, 8).unwrap(), whole.interval("b", 2, 8).unwrap());

        let vector = builder(Workload::PrefixSum, 9)
            .mechanism(mechanism)
            .budget(budget_for(mechanism))
            .dimension(3)
            .contribution(Contribution::norm(2.0).unwrap());
        if mechanism == Mechanism::LaplaceTree {
            // A vector of Euclidean norm 2 can have a sum of magnitudes of 2√3, so the bound would
            // not be sound.
            assert_eq!(vector.build().unwrap_err().class(), ErrorClass::Unsupported);
            continue;
        }
        let vector = vector.build().unwrap();
        let mut whole = VectorCounter::new(&vector, key()).unwrap();
        let all: Vec<_> = (0..9).map(|t| whole.step(&[input(t), 0.5, -1.0]).unwrap()).collect();
        let mut first = VectorCounter::new(&vector, key()).unwrap();
        (0..5).for_each(|t| assert_eq!(first.step(&[input(t), 0.5, -1.0]).unwrap(), all[t as usize]));
        let mut second = VectorCounter::resume(&vector, key(), &first.save()).unwrap();
        (5..9).for_each(|t| assert_eq!(second.step(&[input(t), 0.5, -1.0]).unwrap(), all[t as usize]));
    }
}

#[test]
fn a_state_of_another_plan_or_key_or_with_a_flipped_bit_is_refused() {
    let plan = plan(Mechanism::Binary, Workload::PrefixSum, 10);
    let other = plan_with_budget(Budget::new(2.0, 1e-6).unwrap());
    let mut counter = Counter::new(&plan, NoiseKey::insecure_from_seed(1)).unwrap();
    counter.step(1.0).unwrap();
    let state = counter.save();
    let refused = |plan: &Plan, seed, state: &[u8]| {
        let error = Counter::resume(plan, NoiseKey::insecure_from_seed(seed), state).unwrap_err();
        assert_eq!(error.class(), ErrorClass::BadState, "{error}");
    };
    refused(&other, 1, &state);
    refused(&plan, 2, &state);
    for length in 0..state.len() {
        refused(&plan, 1, &state[..length]);
    }
    for bit in 0..8 * state.len() {
        let mut flipped = state.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        refused(&plan, 1, &flipped);
    }
    assert!(Counter::resume(&plan, NoiseKey::insecure_from_seed(1), &state).is_ok());
}

fn plan_with_budget(budget: Budget) -> Plan {
    Plan::prefix_sum(10).mechanism(Mechanism::Binary).budget(budget).build().unwrap()
}

#[test]
fn step_n_plus_one_is_an_error_and_stays_one() {
    for mechanism in Mechanism::ALL {
        let plan = plan(mechanism, Workload::PrefixSum, 3);
        let mut counter = Counter::new(&plan, NoiseKey::insecure_from_seed(1)).unwrap();
        for _ in 0..3 {
            counter.step(1.0).unwrap();
        }
        for _ in 0..2 {
            assert_eq!(counter.step(1.0).unwrap_err(), Error::HorizonSpent { horizon: 3 });
        }
        let mut resumed = Counter::resume(&plan, NoiseKey::insecure_from_seed(1), &counter.save()).unwrap();
        assert!(resumed.step(1.0).is_err());
    }
}

#[test]
fn a_refused_input_does_not_use_up_a_step() {
    let plan = plan(Mechanism::SquareRoot, Workload::PrefixSum, 4);
    let mut clean = Counter::new(&plan, NoiseKey::insecure_from_seed(3)).unwrap();
    let mut dirty = Counter::new(&plan, NoiseKey::insecure_from_seed(3)).unwrap();
    for t in 0..4 {
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e30] {
            assert!(matches!(dirty.step(bad), Err(Error::BadInput { step, .. }) if step == t));
        }
        assert_eq!(clean.step(input(t)).unwrap(), dirty.step(input(t)).unwrap());
    }
}

/// Without their noise, interval sums are those of the data. Their error is that of the rows of L.
#[test]
fn interval_sums_have_the_error_of_the_difference_of_rows() {
    for mechanism in Mechanism::ALL {
        let n = 20;
        let plan = plan(mechanism, Workload::PrefixSum, n);
        let decoder = plan.dense().unwrap().decoder;
        let mut counter =
            Counter::new(&plan, NoiseKey::insecure_from_seed(5)).unwrap().remember_releases().unwrap();
        let releases: Vec<_> = (0..n).map(|t| counter.step(input(t)).unwrap()).collect();
        for first in 0..n {
            for last in first..n {
                let sum = counter.interval(first, last).unwrap();
                let before = if first == 0 { 0.0 } else { releases[first as usize - 1].value };
                assert_eq!(sum.value, releases[last as usize].value - before);
                let norm: f64 = (0..decoder.columns())
                    .map(|j| {
                        let earlier = if first == 0 { 0.0 } else { decoder[(first as usize - 1, j)] };
                        (decoder[(last as usize, j)] - earlier).powi(2)
                    })
                    .sum();
                // Both ends of the interval were rounded to the grid.
                let ends = if first == 0 { 1.0 } else { 2.0 };
                let rounded = ends * plan.grid().unwrap_or(0.0).powi(2) / 12.0;
                let expected = (plan.noise_scale().powi(2) * norm + rounded).sqrt();
                assert!((sum.standard_error / expected - 1.0).abs() < 1e-9, "{mechanism} {first}..={last}");
                assert!(sum.margin(0.95) > sum.standard_error);
            }
        }
        assert!(counter.interval(5, 4).is_err());
        assert!(counter.interval(0, n).is_err());
    }
    let forgetful =
        Counter::new(&plan(Mechanism::Binary, Workload::PrefixSum, 3), NoiseKey::insecure_from_seed(5));
    assert!(forgetful.unwrap().interval(0, 0).is_err());
}

#[test]
fn intervals_of_windows_are_refused() {
    let plan = plan(Mechanism::SquareRoot, Workload::SlidingWindow { width: 2 }, 5);
    let mut counter =
        Counter::new(&plan, NoiseKey::insecure_from_seed(5)).unwrap().remember_releases().unwrap();
    counter.step(1.0).unwrap();
    assert_eq!(counter.interval(0, 0).unwrap_err().class(), ErrorClass::Unsupported);
    assert!(counter.remember_releases().is_ok(), "asking twice is harmless");
}

/// Counting `north,other` and `north,south,other` under one key once gave `other` the same noise in
/// both, and the difference of the two releases was the exact count of `south`. Plans that declare
/// different keys share no noise. Parts of one plan do, key by key, because they count the same
/// thing.
#[test]
fn a_keys_noise_depends_on_the_declared_keys_and_not_on_its_part() {
    let plan = |keys: &[&str]| {
        let builder = Plan::prefix_sum(6).budget(budget()).mechanism(Mechanism::SquareRoot);
        builder.keys(keys.to_vec()).build().unwrap()
    };
    let counter = |plan: &Plan| KeyedCounter::new(plan, NoiseKey::insecure_from_seed(9)).unwrap();
    let whole = plan(&["x", "b", "y", "a"]);
    let mut many = counter(&whole);
    let mut part = counter(&whole.part(["a", "b"]).unwrap());
    let mut another = counter(&plan(&["a", "b"]));
    for _ in 0..6 {
        let many = many.step(&[9.0, 2.0, 9.0, 1.0]).unwrap();
        let part = part.step(&[1.0, 2.0]).unwrap();
        let another = another.step(&[1.0, 2.0]).unwrap();
        assert_eq!((part[0].value, part[1].value), (many[3].value, many[1].value));
        assert_ne!(part[0].value - 1.0, part[1].value - 2.0);
        assert_ne!((part[0].value, part[1].value), (another[0].value, another[1].value));
    }
}

#[test]
fn plans_that_differ_do_not_share_noise() {
    let noise = |plan: &Plan| {
        let mut counter = Counter::new(plan, NoiseKey::insecure_from_seed(1)).unwrap();
        counter.step(0.0).unwrap().value / plan.standard_error(0).unwrap()
    };
    let base = noise(&plan_with_budget(budget()));
    assert_ne!(base, noise(&plan_with_budget(Budget::new(2.0, 1e-6).unwrap())));
    assert_ne!(base, noise(&plan(Mechanism::Binary, Workload::PrefixSum, 11)));
    let graded = |objective| {
        let builder =
            Plan::prefix_sum(10).budget(budget()).mechanism(Mechanism::GradedSquareRoot { decays: None });
        noise(&builder.objective(objective).build().unwrap())
    };
    assert!((graded(Objective::Mean) - graded(Objective::Worst)).abs() > 1e-6);
    assert_eq!(base, noise(&plan_with_budget(budget())));

    // Changes one choice at a time. Fresh noise on every output shows its first draw for any
    // choice.
    let fresh = |plan: PlanBuilder| plan.mechanism(Mechanism::OutputPerturbation).budget(budget());
    let choices = [
        fresh(Plan::prefix_sum(10)),
        fresh(Plan::sliding_window(10, 3)),
        fresh(Plan::decay(10, 0.5)),
        fresh(Plan::prefix_sum(10)).mechanism(Mechanism::InputPerturbation),
        fresh(Plan::prefix_sum(10)).neighbours(Neighbours::Replace),
        fresh(Plan::prefix_sum(10)).participation(Participation::at_most(2, 1).unwrap()),
        fresh(Plan::prefix_sum(10)).contribution(Contribution::range(0.0, 2.0).unwrap()),
        fresh(Plan::prefix_sum(10)).stream("visits"),
        fresh(Plan::prefix_sum(10)).stream("amounts"),
    ];
    let draws: Vec<f64> = choices.iter().map(|choice| noise(&choice.build().unwrap())).collect();
    for (i, a) in draws.iter().enumerate() {
        for (j, b) in draws[..i].iter().enumerate() {
            assert!((a - b).abs() > 1e-9, "choices {i} and {j} share their noise");
        }
    }
}

/// A key may have any name, including one that has another meaning elsewhere.
#[test]
fn no_name_of_a_key_leads_to_the_noise_of_another_counter() {
    let builder = Plan::prefix_sum(4).budget(budget()).mechanism(Mechanism::OutputPerturbation);
    let key = || NoiseKey::insecure_from_seed(1);
    let mut scalar = Counter::new(&builder.build().unwrap(), key()).unwrap();
    let names = ["scalar", "vector 1", "key:scalar", "", "|scalar"];
    let mut keyed = KeyedCounter::new(&builder.keys(names).build().unwrap(), key()).unwrap();
    let released = keyed.step(&[0.0; 5]).unwrap();
    let mut seen = vec![scalar.step(0.0).unwrap().value];
    for release in released {
        assert!(!seen.contains(&release.value), "noise used twice");
        seen.push(release.value);
    }
}

#[test]
fn the_plan_scales_with_contribution_and_neighbours() {
    let plan = |neighbours, contribution, mechanism| {
        Plan::prefix_sum(50)
            .budget(budget())
            .mechanism(mechanism)
            .neighbours(neighbours)
            .contribution(contribution)
            .build()
            .unwrap()
            .noise_scale()
    };
    let unit = plan(Neighbours::AddRemove, Contribution::unit(), Mechanism::SquareRoot);
    let ratio = |scale: f64| scale / unit;
    let close = |a: f64, b: f64| assert!((a / b - 1.0).abs() < 1e-7, "{a} {b}");
    let range = |lo, hi| Contribution::range(lo, hi).unwrap();
    close(ratio(plan(Neighbours::AddRemove, range(-3.0, 7.0), Mechanism::SquareRoot)), 7.0);
    close(ratio(plan(Neighbours::Replace, Contribution::unit(), Mechanism::SquareRoot)), 2.0_f64.sqrt());
    close(ratio(plan(Neighbours::Replace, range(-1.0, 1.0), Mechanism::SquareRoot)), 2.0);
    let group = plan(Neighbours::AddRemove, Contribution::unit(), Mechanism::GroupAlgebra);
    close(plan(Neighbours::Replace, Contribution::unit(), Mechanism::GroupAlgebra) / group, 2.0);

    // Laplace noise depends on sums of magnitudes, in which a moved event counts twice for either
    // sign.
    let laplace = |neighbours| {
        let builder = Plan::prefix_sum(50).budget(Budget::pure(1.0).unwrap()).neighbours(neighbours);
        builder.build().unwrap().noise_scale()
    };
    close(laplace(Neighbours::Replace) / laplace(Neighbours::AddRemove), 2.0);
}

#[test]
fn the_default_is_the_most_accurate_that_fits_the_memory() {
    let markov = Mechanism::Markov { chains: None };
    let small = Plan::prefix_sum(100).budget(budget());
    assert_eq!(small.build().unwrap().mechanism(), markov);
    // The optimum gains less than it is worth: its digits depend on the processor.
    let small = small.arithmetic(Arithmetic::Float).build().unwrap();
    assert_eq!(small.mechanism(), markov);
    let medium = Plan::prefix_sum(5000).budget(budget()).build().unwrap();
    assert_eq!(medium.mechanism(), markov);
    let decayed = Plan::decay(5000, 0.99).budget(budget()).build().unwrap();
    assert_eq!(decayed.mechanism(), markov);
    let endless = Plan::unbounded(Workload::Decay { factor: 0.99 }).budget(budget()).build().unwrap();
    assert_eq!((endless.mechanism(), endless.arithmetic()), (markov, Arithmetic::Exact));
    let whole = Plan::sliding_window(500, 500).budget(budget()).build().unwrap();
    assert_eq!(whole.mechanism(), markov);
    let open = Plan::prefix_sum(5000).budget(budget()).open_keys().build().unwrap();
    assert_eq!(open.mechanism(), markov);
    let tight = Plan::prefix_sum(5000).budget(budget()).memory_limit(1024).build().unwrap();
    assert!(tight.cost().bytes(1) <= 1024);
    assert!(tight.accuracy().mean_error > medium.accuracy().mean_error);
    let long = Plan::prefix_sum(1 << 30).budget(budget()).build().unwrap();
    assert_eq!(long.mechanism(), Mechanism::GradedSquareRoot { decays: None });
    let endless = Plan::prefix_sum(1 << 50).budget(budget()).build().unwrap();
    assert!(matches!(endless.mechanism(), Mechanism::Blt { .. }), "{}", endless.mechanism());
    let pure = Plan::prefix_sum(5000).budget(Budget::pure(1.0).unwrap()).build().unwrap();
    assert_eq!(pure.mechanism(), Mechanism::LaplaceTree);
    assert!(Plan::prefix_sum(5000).budget(budget()).memory_limit(4).build().is_err());
    let twelve = Participation::at_most(12, 400).unwrap();
    let many = Plan::prefix_sum(5000).budget(budget()).participation(twelve).build().unwrap();
    for mechanism in Mechanism::ALL {
        let named =
            Plan::prefix_sum(5000).budget(budget()).participation(twelve).mechanism(mechanism).build();
        if let Ok(named) = named
            && named.arithmetic() == Arithmetic::Exact
        {
            assert!(many.accuracy().mean_error <= named.accuracy().mean_error * (1.0 + 1e-12), "{mechanism}");
        }
    }
}

#[test]
fn bad_parameters_are_refused_with_their_name() {
    let refused = |result: Result<Plan, Error>, word: &str| {
        let error = result.expect_err(word);
        assert!(error.to_string().contains(word), "'{error}' does not mention {word}");
    };
    refused(Plan::prefix_sum(0).budget(budget()).build(), "horizon");
    refused(Plan::prefix_sum((1 << 60) + 1).budget(budget()).build(), "horizon");
    refused(Plan::prefix_sum(10).build(), "budget");
    refused(Plan::sliding_window(10, 0).budget(budget()).build(), "window");
    for factor in [0.0, 1.0, -0.5, 2.0, f64::NAN, f64::INFINITY] {
        refused(Plan::decay(10, factor).budget(budget()).build(), "decay");
    }
    refused(Plan::prefix_sum(10).budget(budget()).dimension(0).build(), "dimension");
    refused(Plan::prefix_sum(10).budget(budget()).dimension(3).build(), "contribution");
    let norm = Contribution::norm(1.0).unwrap();
    refused(Plan::prefix_sum(10).budget(budget()).contribution(norm).build(), "contribution");
    refused(Plan::prefix_sum(10).budget(budget()).keys(Vec::<String>::new()).build(), "keys");
    refused(Plan::prefix_sum(10).budget(budget()).keys(["a", "a"]).build(), "keys");
    refused(Plan::decay(10, 0.9).budget(budget()).mechanism(Mechanism::Binary).build(), "binary");
    let pure = Budget::pure(1.0).unwrap();
    refused(Plan::prefix_sum(10).budget(pure).mechanism(Mechanism::SquareRoot).build(), "square-root");
    refused(Plan::prefix_sum(10).budget(budget()).mechanism(Mechanism::LaplaceTree).build(), "laplace-tree");
    refused(
        Plan::decay(1 << 40, 0.5).budget(budget()).mechanism(Mechanism::NormalizedSquareRoot).build(),
        "normalized-square-root",
    );
    for (k, b) in [(0, 1), (1, 0)] {
        assert!(Participation::at_most(k, b).is_err());
    }
    for mechanism in
        [Mechanism::BandedSquareRoot { band: Some(0) }, Mechanism::BandedInverseSquareRoot { band: Some(0) }]
    {
        refused(Plan::prefix_sum(10).budget(budget()).mechanism(mechanism).build(), "band");
    }
    for buffers in [0, 33] {
        let mechanism = Mechanism::Blt { buffers: Some(buffers) };
        refused(Plan::prefix_sum(10).budget(budget()).mechanism(mechanism).build(), "buffers");
    }
    refused(Plan::sliding_window(10, 3).budget(budget()).mechanism("blt".parse().unwrap()).build(), "blt");
    for text in ["binry", "binary:3", "banded-square-root:0", "banded-square-root:x", "blt:0", "blt:x", ""] {
        assert!(text.parse::<Mechanism>().is_err(), "{text}");
    }
    let scalar = Plan::prefix_sum(10).budget(budget()).build().unwrap();
    assert!(KeyedCounter::new(&scalar, NoiseKey::insecure_from_seed(1)).is_err());
    assert!(VectorCounter::new(&scalar, NoiseKey::insecure_from_seed(1)).is_err());
}

#[test]
fn nothing_secret_is_in_debug_output() {
    let plan = plan(Mechanism::Binary, Workload::PrefixSum, 10);
    let mut counter = Counter::new(&plan, NoiseKey::insecure_from_seed(1)).unwrap();
    counter.step(123_456.0).unwrap();
    let text = format!("{counter:?}");
    assert!(!text.contains("123456") && !text.contains("total"), "{text}");
}

/// Draws of a vector are numbered index by index, so a stream shared by two dimensions would repeat
/// noise.
#[test]
fn vectors_of_different_dimension_do_not_share_noise() {
    let noise = |dimension: usize| {
        let plan = Plan::prefix_sum(4)
            .budget(budget())
            .mechanism(Mechanism::OutputPerturbation)
            .dimension(dimension)
            .contribution(Contribution::norm(1.0).unwrap())
            .build()
            .unwrap();
        let mut counter = VectorCounter::new(&plan, NoiseKey::insecure_from_seed(1)).unwrap();
        let zero = vec![0.0; dimension];
        (0..4).flat_map(|_| counter.step(&zero).unwrap().values).map(f64::to_bits).collect::<Vec<_>>()
    };
    let (two, four) = (noise(2), noise(4));
    assert!(two.iter().all(|draw| !four.contains(draw)));
}

/// Replacement costs √2 or 2, depending on the mechanism, so the error factors alone do not
/// determine the best one.
#[test]
fn the_default_is_the_most_accurate_for_replaced_contributions_too() {
    for (horizon, width) in [(40, 5), (60, 3)] {
        let builder = Plan::sliding_window(horizon, width).budget(budget()).neighbours(Neighbours::Replace);
        let chosen = builder.build().unwrap();
        for (mechanism, plan) in builder.compare(&()).unwrap().entries {
            // A counter of numbers does not choose mechanisms without an exact path.
            let plan = plan.ok().filter(|plan| plan.arithmetic() == Arithmetic::Exact);
            let rmse = plan.map_or(f64::INFINITY, |plan| plan.accuracy().rmse);
            assert!(
                chosen.accuracy().rmse <= rmse * (1.0 + 1e-12),
                "{} against {mechanism}",
                chosen.mechanism()
            );
        }
    }
}

#[test]
fn the_memory_limit_counts_the_inputs_inside_a_window() {
    let plan = |limit| Plan::sliding_window(1 << 40, 1 << 20).budget(budget()).memory_limit(limit).build();
    assert!(plan(1 << 20).is_err(), "the window alone takes 16 MiB");
    assert!(plan(1 << 25).unwrap().cost().bytes(1) >= 16 << 20);
}

#[test]
fn noise_without_a_finite_scale_is_refused() {
    for hi in [1e308, 5e-324] {
        let huge = Contribution::range(0.0, hi).unwrap();
        let error = Plan::prefix_sum(10).budget(budget()).contribution(huge).build().unwrap_err();
        assert_eq!(error.class(), ErrorClass::Unsupported, "{error}");
    }
}

/// A counter whose later releases may be known to others resumes with other noise. Its totals stay
/// the same, and its noise is that of a counter that ran under the new name from the first step.
#[test]
fn fresh_noise_changes_noise_and_nothing_else() {
    let inputs: Vec<f64> = (0..40).map(|t| f64::from((t * 7) % 5)).collect();
    for workload in
        [Workload::PrefixSum, Workload::SlidingWindow { width: 6 }, Workload::Decay { factor: 0.75 }]
    {
        for arithmetic in [Arithmetic::Exact, Arithmetic::Float] {
            let budget = Budget::new(1.0, 1e-6).unwrap();
            let plan =
                Plan::for_workload(40, workload).budget(budget).arithmetic(arithmetic).build().unwrap();
            let renamed = plan.with_stream("another");
            let key = || NoiseKey::insecure_from_seed(3);
            let mut under = [Counter::new(&plan, key()).unwrap(), Counter::new(&renamed, key()).unwrap()];
            let mut before = [Vec::new(), Vec::new()];
            for x in &inputs {
                for (counter, values) in under.iter_mut().zip(&mut before) {
                    values.push(counter.step(*x).unwrap().value);
                }
            }
            let mut counter = Counter::new(&plan, key()).unwrap();
            for x in &inputs[..25] {
                counter.step(*x).unwrap();
            }
            assert!(counter.with_fresh_noise(&plan, key()).is_err(), "the same noise is not fresh");
            let other = Plan::for_workload(41, workload).budget(budget).build().unwrap();
            assert!(counter.with_fresh_noise(&other, key()).is_err(), "another plan");
            let mut fresh = counter.with_fresh_noise(&renamed, key()).unwrap();
            assert_eq!(fresh.steps_taken(), 25);
            let after: Vec<f64> = inputs[25..].iter().map(|x| fresh.step(*x).unwrap().value).collect();
            assert_eq!(after, before[1][25..], "{workload}, {arithmetic}");
            assert_ne!(after, before[0][25..]);
            assert!(fresh.step(1.0).is_err(), "the horizon is that of the plan");
        }
    }
    let plan = Plan::prefix_sum(4).budget(Budget::new(1.0, 1e-6).unwrap()).keys(["a", "b"]).build().unwrap();
    let key = || NoiseKey::insecure_from_seed(3);
    let mut counter = KeyedCounter::new(&plan, key()).unwrap();
    counter.step(&[1.0, 2.0]).unwrap();
    let renamed = plan.with_stream("another");
    let again =
        KeyedCounter::resume(&renamed, key(), &counter.with_fresh_noise(&renamed, key()).unwrap().save());
    assert_eq!(again.unwrap().steps_taken(), 1, "and it is saved as its own");
    let remembering = KeyedCounter::new(&plan, key()).unwrap().remember_releases().unwrap();
    assert!(remembering.with_fresh_noise(&renamed, key()).is_err());
}
