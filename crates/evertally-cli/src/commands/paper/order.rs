//! The claims in the paper's order, under its sections.
//!
//! The numbers are those of its counters: lemmas, theorems, corollaries, propositions, facts,
//! remarks and definitions share one counter, which sections do not reset; equations, figures and
//! algorithms each have their own. A statement without a number is named after its place. The tests
//! derive every number.

use super::claim::{Claim, Section};
use super::{error, gamma, learning, lower, matrices, privacy, square_root, tree};
use crate::error::Result;

/// All sections that hold claims. `figure_one` is made with its drawings.
pub(super) fn sections(figure_one: Claim) -> Result<Vec<Section>> {
    let mut sections = introduction(figure_one)?;
    sections.extend(preliminaries()?);
    sections.extend(proofs()?);
    sections.extend(appendix()?);
    Ok(sections)
}

fn introduction(figure_one: Claim) -> Result<Vec<Section>> {
    let mut contributions = vec![
        square_root::upper_bound()?,
        lower::matrix_mechanisms()?,
        lower::additive_gap()?,
        lower::any_mechanism()?,
        tree::ratio()?,
        figure_one,
        learning::regret_bound()?,
        learning::improvement()?,
        learning::extensions(),
    ];
    contributions.extend(privacy::parity()?);
    Ok(vec![
        Section::new("", "Abstract", vec![tree::factor_ten()?]),
        Section::new(
            "1.1",
            "Problem Statement and Our Contributions",
            vec![error::equation_one()?, error::equation_two()],
        ),
        Section::new(
            "1.1.1",
            "Main Result",
            vec![error::equation_three(), error::equation_four()?, gamma::main_lemma()?],
        ),
        Section::new("1.1.2", "Other Contributions", contributions),
        Section::new("1.2.1", "Main Result: Useful Properties of $γ_F$", vec![gamma::programs()?]),
        Section::new(
            "1.2.2",
            "Other Contributions",
            vec![square_root::sandwich()?, privacy::algorithm_one()?, tree::written()?],
        ),
    ])
}

fn preliminaries() -> Result<Vec<Section>> {
    let mut algebra = matrices::before_relation();
    algebra.push(gamma::relation()?);
    algebra.extend(matrices::after_relation());
    let mut optimisation = learning::definitions();
    optimisation.push(learning::leader()?);
    let mut private = privacy::definitions();
    private.extend([
        privacy::gaussian_mechanism()?,
        privacy::calibration()?,
        privacy::adaptive()?,
        privacy::factorization()?,
    ]);
    Ok(vec![
        Section::new("2.1", "Linear Algebra", algebra),
        Section::new("2.2", "Convex Optimization", optimisation),
        Section::new("2.3", "Differential Privacy", private),
    ])
}

fn proofs() -> Result<Vec<Section>> {
    Ok(vec![
        Section::new("3", "Semidefinite Program for the $γ_F$ Norm", vec![gamma::printed_dual()]),
        Section::new("4", "Proof of Lemma 1", matrices::for_the_main_lemma()),
        Section::new(
            "5.1",
            "Proof of Upper Bound on Differentially Private Continual Counting",
            vec![
                square_root::unbounded()?,
                square_root::row_norm()?,
                square_root::factor_norms()?,
                square_root::corollary()?,
            ],
        ),
        Section::new(
            "5.2",
            "Proof of Lower Bounds on Continual Counting",
            vec![lower::integral()?, lower::lost_square()?],
        ),
        Section::new(
            "6",
            "Factorization View of Known Mechanisms and Suboptimality of the Binary Mechanism",
            vec![tree::lemma()?],
        ),
        Section::new(
            "7",
            "Non-asymptotic Bound on Private Online Optimization",
            vec![learning::clipping(), learning::restated()?, learning::algorithm()?, learning::minimised()?],
        ),
    ])
}

fn appendix() -> Result<Vec<Section>> {
    let mut properties = vec![gamma::norm()?];
    properties.extend(gamma::factors());
    Ok(vec![
        Section::new(
            "A",
            "Dual Characterization of the $γ_F$ SDP",
            vec![gamma::duality()?, gamma::supremum()?],
        ),
        Section::new("B.1", "Useful Properties of $γ_F$", properties),
        Section::new(
            "B.2",
            "Useful Bounds on $γ_F$",
            vec![gamma::equal_singular_values(), gamma::diagonal()],
        ),
    ])
}
