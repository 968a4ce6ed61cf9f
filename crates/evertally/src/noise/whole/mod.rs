//! Noise in whole numbers: exactly drawn, correlated without rounding that could tell anything of the data.
//!
//! docs/exact.md has the proof. Nothing here is a float that a release depends on: draws come from an exact sampler, are correlated by a
//! reversible filter in integers, and added to totals that are integers too.
//!
//! | file | its one decision |
//! |---|---|
//! | `sampler` | the discrete Gaussian and Laplace laws, exactly, from random bits |
//! | `draws` | which random bits belong to a draw |
//! | `field` | the draws of several lanes |
//! | `fixed` | products of whole numbers and doubles |
//! | `filter` | correlation by decays, reversible |
//! | `comb` | the same for windows |
//! | `steps` | what all lanes need to know of a step |
//! | `correlator` | one row of noise a step |

mod correlator;
mod field;
mod filter;
mod fixed;
mod steps;
