//! Noise in whole numbers, drawn exactly.

mod draws;
mod law;
mod words;

pub(crate) use draws::WholeNoise;
pub(crate) use law::WholeLaw;
