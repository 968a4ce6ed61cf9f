//! Seekable white noise and the convolutions that correlate it.

mod key;
mod portable;
mod white;

#[cfg(test)]
mod white_statistics;

pub use key::{NoiseKey, StreamKey};
pub use white::WhiteNoise;
