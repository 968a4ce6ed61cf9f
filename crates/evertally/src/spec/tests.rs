use std::fmt::{Debug, Display};
use std::str::FromStr;

use proptest::prelude::*;
use serde::de::DeserializeOwned;

use super::*;
use crate::{Budget, Error, Plan};

fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

/// Values are read back from their words and from JSON.
fn are_read_back<T>(values: impl IntoIterator<Item = T>)
where
    T: Display + FromStr<Err = Error> + Debug + PartialEq + Serialize + DeserializeOwned,
{
    for value in values {
        let words = value.to_string();
        assert_eq!(words.parse::<T>().as_ref(), Ok(&value), "{words}");
        let text = serde_json::to_string(&value).unwrap();
        assert_eq!(serde_json::from_str::<T>(&text).unwrap(), value, "{text}");
    }
}

#[test]
fn every_choice_is_read_back_from_words_and_json() {
    are_read_back([Horizon::Steps(0), Horizon::Steps(u64::MAX), Horizon::Unbounded]);
    let width = 60;
    are_read_back([Workload::PrefixSum, Workload::SlidingWindow { width }, Workload::Decay { factor: 0.1 }]);
    are_read_back(Mechanism::ALL);
    are_read_back([Mechanism::BandedSquareRoot { band: Some(64) }]);
    are_read_back([Neighbours::AddRemove, Neighbours::Replace]);
    let participations = [(1, 1), (1, 7), (4, 1), (4, 7), (u64::MAX, u64::MAX)];
    are_read_back(participations.map(|(steps, gap)| Participation::at_most(steps, gap).unwrap()));
    are_read_back([Objective::Mean, Objective::Worst, Objective::Report, Objective::Anytime]);
    are_read_back([Arithmetic::Exact, Arithmetic::Float]);
    for (lo, hi) in [(0.0, 1.0), (-0.5, 1e300), (-1e-300, 0.0), (0.1, 0.3)] {
        are_read_back([Contribution::range(lo, hi).unwrap()]);
        are_read_back([Contribution::norm(hi.max(0.1)).unwrap()]);
    }
    let keys = ["", "north", "a,b", r"back\slash", r"\,", "ключ", "keys:x"].map(str::to_owned);
    are_read_back([
        Shape::Scalar,
        Shape::Vector { dimension: 3 },
        Shape::OpenKeys,
        Shape::Keyed { keys: vec![String::new()] },
        Shape::Keyed { keys: keys.into() },
    ]);
    let zcdp = "epsilon=3,delta=0.1,calibration=zcdp";
    let budgets = ["epsilon=1,delta=1e-6", "epsilon=1,delta=0", "rho=0.5", "sigma=2", zcdp];
    are_read_back(budgets.map(|words| words.parse::<BudgetSpec>().unwrap()));
}

#[test]
fn bad_words_have_one_clear_reason() {
    fn reason<T: FromStr<Err = Error>>(words: &str) -> String {
        words.parse::<T>().err().unwrap_or_else(|| panic!("{words:?} was taken")).to_string()
    }
    for words in ["", "1e3", "-1", "infinite", "Unbounded", "99999999999999999999"] {
        let expected = format!("horizon must be a number of steps, or unbounded, got {words:?}");
        assert_eq!(reason::<Horizon>(words), expected);
    }
    for words in ["", "window", "window:x", "decay:", "prefix"] {
        assert!(reason::<Workload>(words).starts_with("workload must be prefix-sum, window:STEPS or"));
    }
    assert!(reason::<Mechanism>("cubic-root").starts_with("mechanism must be one of "));
    assert!(reason::<Neighbours>("swap").starts_with("neighbours must be add-remove or replace"));
    for words in ["", "two steps", "at most 4 steps", "at most x steps, at least 2 apart"] {
        assert!(reason::<Participation>(words).starts_with("participation must be one step, or at most K"));
    }
    assert!(reason::<Participation>("at most 0 steps, at least 1 apart").starts_with("max_steps must be"));
    assert!(reason::<Objective>("median").starts_with("objective must be mean, worst, report or anytime"));
    assert!(reason::<Arithmetic>("decimal").starts_with("arithmetic must be exact or float"));
    for words in ["", "[0, 1]", "a value in [0]", "a value in [a, b]", "a vector of norm at most x"] {
        assert!(reason::<Contribution>(words).starts_with("contribution must be a value in [LO, HI]"));
    }
    assert!(reason::<Contribution>("a value in [2, 1]").starts_with("range must be ordered"));
    for words in ["", "vector", "vector:", "vector:-1", r"keys:a\b", r"keys:a\", "secret"] {
        let expected = "shape must be scalar, vector:D, keys:A,B,C or open-keys, got another text";
        assert_eq!(reason::<Shape>(words), expected);
    }
}

#[test]
fn json_has_defaults_and_refuses_the_unknown() {
    let least = r#"{"horizon": 24, "budget": "rho=0.5"}"#;
    let spec: PlanSpec = serde_json::from_str(least).unwrap();
    assert_eq!(spec, PlanSpec::new(24, Budget::zcdp(0.5).unwrap()));
    for (text, reason) in [
        (r#"{"horizon": 24}"#, "missing field `budget`"),
        (r#"{"budget": "rho=1"}"#, "missing field `horizon`"),
        (r#"{"horizon": 24, "budget": "rho=1", "steps": 24}"#, "unknown field `steps`"),
        (r#"{"horizon": 24, "budget": "rho=1", "workload": "median"}"#, "workload must be prefix-sum"),
        (r#"{"horizon": 24, "budget": "rho=1", "definition": "0x"}"#, "pairs of hexadecimal digits"),
        (r#"{"horizon": 24, "budget": "rho=1", "definition": "012"}"#, "pairs of hexadecimal digits"),
    ] {
        let error = serde_json::from_str::<PlanSpec>(text).unwrap_err().to_string();
        assert!(error.contains(reason), "{text}: {error}");
    }
}

fn build_again(spec: &PlanSpec) -> Plan {
    let plan = spec.build().unwrap_or_else(|error| panic!("{spec:?}: {error}"));
    let filled_in = plan.spec();
    let text = serde_json::to_string(&filled_in).unwrap();
    assert_eq!(serde_json::from_str::<PlanSpec>(&text).unwrap(), filled_in, "{text}");
    let again = filled_in.build().unwrap_or_else(|error| panic!("{filled_in:?}: {error}"));
    assert_eq!(again.fingerprint(), plan.fingerprint(), "{spec:?}");
    assert_eq!(again.spec(), filled_in);
    plan
}

#[test]
fn a_filled_in_spec_makes_the_same_plan() {
    let base = || PlanSpec::new(40, budget());
    for mechanism in Mechanism::ALL {
        let pure = mechanism == Mechanism::LaplaceTree;
        let budget = if pure { Budget::pure(1.0).unwrap() } else { budget() };
        build_again(&PlanSpec { mechanism: Some(mechanism), budget: budget.into(), ..base() });
    }
    let vector = Contribution::norm(2.5).unwrap();
    let window = Workload::SlidingWindow { width: 7 };
    let decay = Workload::Decay { factor: 0.99 };
    for spec in [
        PlanSpec { workload: window, ..base() },
        PlanSpec { workload: decay, objective: Objective::Worst, grid: Some(0.25), ..base() },
        PlanSpec { arithmetic: Some(Arithmetic::Float), neighbours: Neighbours::Replace, ..base() },
        PlanSpec { participation: Participation::at_most(3, 5).unwrap(), ..base() },
        PlanSpec { participation: Participation::at_most(1, 5).unwrap(), ..base() },
        PlanSpec { contribution: Contribution::range(-0.5, 0.25).unwrap(), ..base() },
        PlanSpec { shape: Shape::Vector { dimension: 3 }, contribution: vector, ..base() },
        PlanSpec { shape: Shape::Keyed { keys: vec!["b".into(), "a".into()] }, ..base() },
        PlanSpec { keys_per_step: 2, shape: Shape::Keyed { keys: vec!["b".into(), "a".into()] }, ..base() },
        PlanSpec { horizon: 400.into(), shape: Shape::OpenKeys, memory_limit: Some(1 << 20), ..base() },
        PlanSpec { stream: "visits".into(), definition: vec![0, 7, 255], ..base() },
        PlanSpec { budget: "sigma=3".parse().unwrap(), ..base() },
        PlanSpec { budget: "epsilon=0.5,delta=1e-9,calibration=paper".parse().unwrap(), ..base() },
        PlanSpec::new(Horizon::Unbounded, budget()),
        PlanSpec { shape: Shape::OpenKeys, ..PlanSpec::new(Horizon::Unbounded, budget()) },
        PlanSpec { workload: decay, ..PlanSpec::new(Horizon::Unbounded, budget()) },
        PlanSpec::new(Horizon::Unbounded, Budget::pure(1.0).unwrap()),
    ] {
        build_again(&spec);
    }
}

/// The cap of an exact window without a known end is lowered only if no mechanism is named. A spec
/// that named the mechanism would make a plan with another horizon and other noise.
#[test]
fn a_window_without_an_end_keeps_its_cap() {
    let window = Workload::SlidingWindow { width: 60 };
    let plan = build_again(&PlanSpec { workload: window, ..PlanSpec::new(Horizon::Unbounded, budget()) });
    assert_eq!((plan.arithmetic(), plan.spec().mechanism), (Arithmetic::Exact, None));
    let named = PlanSpec { mechanism: Some(Mechanism::SquareRoot), ..plan.spec() };
    assert_ne!(named.build().map(|plan| plan.horizon()), Ok(plan.horizon()));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn keys_are_read_back(keys in prop::collection::vec(r"[a,\\:. ]{0,4}", 1..5)) {
        are_read_back([Shape::Keyed { keys }]);
    }

    #[test]
    fn contributions_are_read_back(lo: f64, hi: f64) {
        if let Ok(range) = Contribution::range(lo, hi) {
            are_read_back([range]);
        }
    }

    #[test]
    fn any_words_are_refused_or_read_back(words in r"[a-z:=,\[\] 0-9]{0,12}") {
        if let Ok(shape) = words.parse::<Shape>() {
            are_read_back([shape]);
        }
        if let Ok(budget) = words.parse::<BudgetSpec>() {
            are_read_back([budget]);
        }
    }

    #[test]
    fn plans_of_any_spec_are_made_again(
        horizon in 1_u64..50, width in 1_u64..9, steps in 1_u64..4, gap in 1_u64..9, grid in 1e-3..1e3,
    ) {
        build_again(&PlanSpec {
            workload: Workload::SlidingWindow { width },
            participation: Participation::at_most(steps, gap).unwrap(),
            grid: Some(grid),
            ..PlanSpec::new(horizon, budget())
        });
    }
}
