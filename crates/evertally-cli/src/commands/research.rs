//! `evertally research`: the commands for people who study mechanisms rather than count with them.

use super::{answer, bounds, gamma, noise, paper, parity, ranges};
use crate::error::Result;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Research {
    Gamma(gamma::GammaArgs),
    Bounds(bounds::BoundsArgs),
    Answer(Box<answer::AnswerArgs>),
    Parity(Box<parity::ParityArgs>),
    Noise(Box<noise::NoiseArgs>),
    Paper(paper::PaperArgs),
    Ranges(ranges::RangesArgs),
}

impl Research {
    pub(crate) fn run(&self) -> Result<()> {
        match self {
            Self::Gamma(args) => gamma::run(args),
            Self::Bounds(args) => bounds::run(args),
            Self::Answer(args) => answer::run(args),
            Self::Parity(args) => parity::run(args),
            Self::Noise(args) => noise::run(args),
            Self::Paper(args) => paper::run(args),
            Self::Ranges(args) => ranges::run(args),
        }
    }
}
