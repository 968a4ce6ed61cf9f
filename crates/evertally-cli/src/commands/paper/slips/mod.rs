//! The places where the paper's text cannot be followed to the letter, each with its effect, in the
//! order of the paper.

mod introduction;
mod proofs;

use super::claim::{Slip, figure};
use crate::error::Result;
use evertally::privacy::{gaussian_epsilon, gaussian_sigma, paper_sigma};

/// The budget at which the effect of slips is computed.
const BUDGET: (f64, f64) = (0.5, 1e-6);

pub(super) fn slips() -> Result<Vec<Slip>> {
    let mut slips = introduction::results()?;
    slips.extend(introduction::techniques()?);
    slips.extend(proofs::slips()?);
    Ok(slips)
}

/// What the text says, what is right, and the figures that show it.
fn slip(
    title: &str,
    place: &'static str,
    [printed, correct]: [&str; 2],
    figures: impl Into<super::math::Prose>,
) -> Slip {
    Slip {
        title: title.into(),
        place,
        printed: printed.into(),
        correct: correct.into(),
        figures: figures.into(),
        matters: false,
    }
}

/// One that breaks privacy or a bound.
fn grave(title: &str, place: &'static str, texts: [&str; 2], figures: impl Into<super::math::Prose>) -> Slip {
    Slip { matters: true, ..slip(title, place, texts, figures) }
}

/// What is spent if the noise is too small by a factor.
fn spent_words(factor: f64) -> Result<String> {
    let (epsilon, delta) = BUDGET;
    let exact = gaussian_epsilon(gaussian_sigma(epsilon, delta)? / factor, delta)?;
    let closed = gaussian_epsilon(paper_sigma(epsilon, delta)? / factor, delta)?;
    Ok(format!(
        "At $n = 1024$ the noise falls short by {}. Asked for $ε = {epsilon}$, $δ = {delta:e}$, $ε$ = {} is \
         spent with the exact $σ$ and {} with the paper's larger $C$.",
        figure(factor),
        figure(exact),
        figure(closed)
    ))
}
