//! The noise key of a run, and the watch over what it is used for.
//!
//! Every command that takes a key goes through here: the key is read, the name of the run's noise and its input are compared
//! with the record beside the key file, the budget is charged, and the record is extended, in this order. Only then is
//! something released. A refusal at any point leaves neither a record nor a charge.

use crate::error::{CliError, Result, tell};
use crate::ledger::{Charge, Entered, Used};
use clap::Args;
use evertally::{NoiseKey, NoiseName, Spend};
use evertally_keys::{Digest, Guard, InputChain, Uses, key_file};
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct KeyArgs {
    /// A file with a secret noise key of 64 hexadecimal digits, so that the run can be repeated. By default, noise
    /// comes fresh from the operating system. A key remembers its input: the same options with other data are refused
    #[arg(long, value_name = "FILE")]
    key_file: Option<PathBuf>,
    /// The directory that records what the key was used for [default: FILE.uses, beside the key file]
    #[arg(long, value_name = "DIR", requires = "key_file")]
    key_uses: Option<PathBuf>,
}

impl KeyArgs {
    pub(crate) fn path(&self) -> Option<&Path> {
        self.key_file.as_deref()
    }

    /// The key in the file, or a fresh one that nobody keeps.
    pub(crate) fn read(&self) -> Result<Key> {
        let Some(path) = &self.key_file else {
            return Ok(Key { noise: NoiseKey::from_os()?, file: None });
        };
        let noise = key_file::read(path)?;
        let uses = match &self.key_uses {
            Some(directory) => Uses::in_directory(directory, path, &noise),
            None => Uses::beside(path, &noise)?,
        };
        Ok(Key { noise, file: Some((path.clone(), uses)) })
    }
}

/// A key, with its record where it stands in a file.
pub(crate) struct Key {
    noise: NoiseKey,
    file: Option<(PathBuf, Uses)>,
}

impl Key {
    /// The public tag of a key that stands in a file.
    pub(crate) fn tag(&self) -> Option<[u8; 8]> {
        self.file.as_ref().map(|(_, uses)| uses.key_tag())
    }

    /// The key itself.
    pub(crate) fn noise(&self) -> &NoiseKey {
        &self.noise
    }

    /// The key for noise of this name, and the watch over it. A fresh key needs none: it serves this run alone.
    pub(crate) fn watched(self, name: &NoiseName) -> Result<(NoiseKey, Watch)> {
        let Some((path, uses)) = self.file else { return Ok((self.noise, Watch::of_fresh_key())) };
        let guard = uses.guard(name)?;
        let is_known = guard.is_known()?;
        if !is_known && uses.has_others(name) {
            let file = path.display();
            tell(format_args!(
                "note: {file} has served other counts before; this one has noise of its own, and spends its budget again"
            ));
        }
        let watched = Watched { guard, key_tag: uses.key_tag(), name: name.digest(), is_known, path };
        Ok((self.noise, Watch(Some(watched))))
    }
}

/// Watches over the input of a run under a key file; over nothing where the key is fresh.
pub(crate) struct Watch(Option<Watched>);

struct Watched {
    guard: Guard,
    key_tag: [u8; 8],
    name: [u8; 32],
    /// Whether the key had served this name when the run began.
    is_known: bool,
    path: PathBuf,
}

impl Watch {
    /// Over a key that serves one run alone.
    pub(crate) fn of_fresh_key() -> Self {
        Self(None)
    }

    /// Admits a run whose input is known, and charges for it.
    pub(crate) fn admit_whole(
        &mut self,
        charge: Option<Charge>,
        spend: Spend,
        digests: impl FnOnce(&mut InputChain),
    ) -> Result<Option<Entered>> {
        self.admit_charged(digests, |used| charge.map(|charge| charge.enter(spend, used)).transpose())
    }

    /// The same with another way to charge, which is told what the key is used for.
    pub(crate) fn admit_charged<T>(
        &mut self,
        digests: impl FnOnce(&mut InputChain),
        charge: impl FnOnce(Option<&Used>) -> Result<T>,
    ) -> Result<T> {
        let Some(watched) = &mut self.0 else { return charge(None) };
        let Watched { key_tag, name, .. } = *watched;
        watched.guard.admit_whole(digests, |digest| charge(Some(&Used::new(key_tag, name, Some(digest)))))
    }

    /// Charges for a run whose steps are admitted one by one, before the first of them.
    pub(crate) fn begin(&self, charge: Option<Charge>, spend: Spend) -> Result<Option<Entered>> {
        let Some(watched) = &self.0 else {
            return charge.map(|charge| charge.enter(spend, None)).transpose();
        };
        let used = Used::new(watched.key_tag, watched.name, None);
        if let Some(charge) = charge.as_ref().filter(|_| !watched.is_known)
            && charge.knows(&used)?
        {
            return Err(CliError::bad(format!(
                "the ledger says that {} was used for this count before, and its record does not know of it: \
                 bring back the record, or take a new key",
                watched.path.display()
            )));
        }
        charge.map(|charge| charge.enter(spend, Some(&used))).transpose()
    }

    /// Refuses steps that differ from what is recorded, and records nothing.
    pub(crate) fn check(&mut self, steps: &mut dyn FnMut(&mut dyn FnMut(&[f64]))) -> Result<()> {
        let Some(watched) = &self.0 else { return Ok(()) };
        Ok(watched.guard.check(|chain| digests(chain, steps))?)
    }

    /// Admits the next steps. When this returns, they may be released.
    pub(crate) fn admit(&mut self, steps: &mut dyn FnMut(&mut dyn FnMut(&[f64]))) -> Result<()> {
        let Some(watched) = &mut self.0 else { return Ok(()) };
        watched.guard.admit(|chain| digests(chain, steps), || Ok(()))
    }
}

fn digests(chain: &mut InputChain, steps: &mut dyn FnMut(&mut dyn FnMut(&[f64]))) -> Vec<Digest> {
    let mut digests = Vec::new();
    steps(&mut |totals| digests.push(chain.step(totals.iter().copied())));
    digests
}

/// Digests all steps of a run. Steps of zeros at the end are what an input without them would have too.
pub(crate) fn digest_steps(chain: &mut InputChain, steps: &dyn Fn(&mut dyn FnMut(&[f64]))) {
    let mut zeros = 0_u64;
    steps(&mut |totals| {
        if totals.iter().all(|total| *total == 0.0) {
            zeros += 1;
            return;
        }
        for _ in 0..std::mem::take(&mut zeros) {
            chain.step([]);
        }
        chain.step(totals.iter().copied());
    });
}
