//! Your own workload: windows, decays, and any matrix of queries.
//!
//! Run it with `cargo run --example workloads`.

use evertally::research::batch::BatchPlan;
use evertally::{Budget, Counter, Matrix, Mechanism, Neighbours, NoiseKey, Plan, Workload};

fn main() -> evertally::Result<()> {
    let budget = Budget::new(1.0, 1e-6)?;

    // What is released at each step is a workload: a name, or one of the builders of `Plan`.
    for name in ["prefix-sum", "window:7", "decay:0.9"] {
        let workload: Workload = name.parse()?;
        let plan = Plan::for_workload(365, workload).budget(budget).build()?;
        println!("{name}: {}, {}", plan.mechanism(), plan.accuracy());
    }

    // A mechanism can be named instead of chosen. The plan states what that costs.
    let plan = Plan::sliding_window(365, 7).budget(budget).mechanism(Mechanism::SquareRoot).build()?;
    let mut counter = Counter::new(&plan, NoiseKey::from_os()?)?;
    for x in [5.0, 8.0, 2.0] {
        let release = counter.step(x)?;
        println!("last week, day {}: {:.0} ± {:.0}", release.step, release.value, release.margin(0.95));
    }

    // Any other linear queries are a matrix, one row per query. They are answered at once, on data
    // that does not change: here each quarter, and the difference between the halves of the year.
    let rows = [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0], [-1.0, -1.0, 1.0, 1.0]];
    let queries = Matrix::from_fn(rows.len(), 4, |query, quarter| rows[query][quarter]);
    let plan = BatchPlan::new(queries, budget, Neighbours::AddRemove)?;
    for answer in plan.answer(&[900.0, 750.0, 820.0, 1010.0], NoiseKey::from_os()?)? {
        println!("query {}: {:.0} ± {:.0}", answer.query, answer.value, answer.margin(0.95));
    }
    Ok(())
}
