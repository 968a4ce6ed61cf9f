//! The noise key of a run, and the check of what it is used for.
//!
//! Every command that takes a key goes through here, in one order. Under a lock on the record
//! beside the key file, the name and the input of the run are compared with the record, the budget
//! is charged, and the record is extended. Only then is anything released. A refusal leaves neither
//! a record nor a charge.

use crate::budget_file::{BudgetReceipt, Charge, KeyUse};
use crate::error::{CliError, Result};
use crate::manners::note;
use clap::Args;
use evertally::{NoiseKey, NoiseName, Spend};
use evertally_keys::{Guard, InputChain, Uses, key_file};
use evertally_stream::Amount;
use std::path::{Path, PathBuf};

#[derive(Debug, Args)]
#[command(next_help_heading = "Privacy")]
pub(crate) struct NoiseKeyArgs {
    /// A file with a secret noise key of 64 hexadecimal digits, so that the run can be repeated. By
    /// default, noise comes fresh from the operating system. A key remembers its input in
    /// FILE.uses: the same options with other data are refused
    #[arg(long, alias = "key-file", value_name = "FILE")]
    noise_key: Option<PathBuf>,
}

impl NoiseKeyArgs {
    pub(crate) fn path(&self) -> Option<&Path> {
        self.noise_key.as_deref()
    }

    /// The key in the file, or a fresh one that is not kept.
    pub(crate) fn read(&self) -> Result<Key> {
        let Some(path) = &self.noise_key else {
            return Ok(Key { noise: NoiseKey::from_os()?, file: None });
        };
        let noise = key_file::read(path)?;
        let uses = Uses::beside(path, &noise)?;
        Ok(Key { noise, file: Some((path.clone(), uses)) })
    }
}

/// A key, with its record if it comes from a file.
pub(crate) struct Key {
    noise: NoiseKey,
    file: Option<(PathBuf, Uses)>,
}

impl Key {
    /// The public tag of a key that comes from a file.
    pub(crate) fn tag(&self) -> Option<[u8; 8]> {
        self.file.as_ref().map(|(_, uses)| uses.key_tag())
    }

    /// The key itself.
    pub(crate) fn noise(&self) -> &NoiseKey {
        &self.noise
    }

    /// Refuses outputs inside the record of the key.
    pub(crate) fn refuse_outputs(&self, written: &[Option<&Path>]) -> Result<()> {
        let Some(record) = self.file.as_ref().and_then(|(_, uses)| uses.directory()) else { return Ok(()) };
        for path in written.iter().flatten() {
            let parent = path.parent().and_then(|parent| std::fs::canonicalize(parent).ok());
            if parent.as_deref() == Some(record) {
                let name = path.display();
                return Err(CliError::bad(format!(
                    "{name} cannot be an output: that directory holds the record of the key"
                )));
            }
        }
        Ok(())
    }

    /// The key for noise of this name, and the watch over its input. A fresh key needs no watch,
    /// because only this run uses it.
    pub(crate) fn watched(self, name: &NoiseName) -> Result<(NoiseKey, Watch)> {
        self.watched_after(name, None)
    }

    /// The same for a run that goes on from a saved state: its steps so far, and the digest of their
    /// input. The record of the key must hold these steps.
    pub(crate) fn watched_after(
        self,
        name: &NoiseName,
        state: Option<(u64, [u8; 16])>,
    ) -> Result<(NoiseKey, Watch)> {
        let Some((path, uses)) = self.file else { return Ok((self.noise, Watch::of_fresh_key())) };
        let guard = match state {
            None => uses.guard(name)?,
            Some((steps, digest)) => {
                let guard = uses.guard_resumed(name, steps, &digest)?;
                refuse_other_past(&guard, &path, steps, digest)?;
                guard
            }
        };
        if !guard.is_known()? && uses.has_others(name) {
            let file = path.display();
            note(format_args!(
                "{file} was used before with other options or data; this run has noise of its own, and spends its budget again"
            ));
        }
        let watched =
            Watched { guard, key_tag: uses.key_tag(), name: uses.name_digest(name), path, order: Vec::new() };
        Ok((self.noise, Watch(Some(watched))))
    }
}

/// Refuses a state whose steps the record of the key does not hold. Its next steps could have been
/// released already, with other data.
fn refuse_other_past(guard: &Guard, key: &Path, steps: u64, digest: [u8; 16]) -> Result<()> {
    if steps == 0 {
        return Ok(());
    }
    let key = key.display();
    if !guard.is_known()? {
        return Err(CliError::bad(format!(
            "{key}.uses does not know the steps of the state: bring back the record of the key. Without it, \
             other data of the next steps could be counted under the same noise"
        )));
    }
    if guard.digest().to_bytes() != digest {
        return Err(CliError::bad(format!(
            "{key}.uses and the state hold different data before step {steps}: bring back the state that \
             belongs to the record, or use a new key"
        )));
    }
    Ok(())
}

/// Calls a function with the totals of every step, in order.
pub(crate) type EachStep<'a> = &'a dyn Fn(&mut dyn FnMut(&[Amount]));

/// Compares the input of a run with the record of its key. Does nothing for a fresh key.
pub(crate) struct Watch(Option<Watched>);

struct Watched {
    guard: Guard,
    key_tag: [u8; 8],
    name: [u8; 32],
    path: PathBuf,
    /// The indices of a step's totals, sorted by the names of their keys. Empty without keys.
    order: Vec<usize>,
}

/// What is charged for a run, if there is a budget file.
pub(crate) type Payment = Option<(Charge, Spend)>;

impl Watch {
    /// For a key that only one run uses.
    pub(crate) fn of_fresh_key() -> Self {
        Self(None)
    }

    /// The same for totals of these keys, if there are any. The order in which keys are declared is not
    /// part of the name of the noise, so it must not be part of the input either. Totals are digested in
    /// the order of the names of their keys.
    pub(crate) fn for_keys(mut self, names: &[String]) -> Self {
        if let Some(watched) = &mut self.0 {
            watched.order = (0..names.len()).collect();
            watched.order.sort_unstable_by_key(|place| &names[*place]);
        }
        self
    }

    /// The digest of all steps that were admitted, for a saved state. Zeros for a fresh key.
    pub(crate) fn digest(&self) -> [u8; 16] {
        self.0.as_ref().map(|watched| watched.guard.digest().to_bytes()).unwrap_or_default()
    }

    /// Admits a run whose whole input is known, and charges for it.
    pub(crate) fn admit_whole(
        &mut self,
        payment: Payment,
        digests: impl FnOnce(&mut InputChain),
    ) -> Result<Option<BudgetReceipt>> {
        self.admit_charged(digests, |used| pay(payment, used))
    }

    /// The same with another way to charge. It receives what the key is used for.
    pub(crate) fn admit_charged<T>(
        &mut self,
        digests: impl FnOnce(&mut InputChain),
        charge: impl FnOnce(Option<&KeyUse>) -> Result<T>,
    ) -> Result<T> {
        let Some(watched) = &mut self.0 else { return charge(None) };
        let Watched { key_tag, name, .. } = *watched;
        // The digest of the input goes into the budget file, which then needs no record.
        let work = |_is_new, digest| charge(Some(&KeyUse::new(key_tag, name, Some(digest))));
        watched.guard.admit_run(digests, work)
    }

    /// Admits all steps of a run whose number is fixed.
    pub(crate) fn admit_all_steps(
        &mut self,
        steps: EachStep<'_>,
        payment: Payment,
    ) -> Result<Option<BudgetReceipt>> {
        let order = self.0.as_ref().map(|watched| watched.order.clone()).unwrap_or_default();
        self.admit_whole(payment, |chain| digest_all(chain, steps, &order))
    }

    /// Admits the next steps of a run that may have more later. When this returns, they are paid
    /// for and may be released.
    pub(crate) fn admit_steps(
        &mut self,
        steps: EachStep<'_>,
        payment: Payment,
    ) -> Result<Option<BudgetReceipt>> {
        let Some(watched) = &mut self.0 else { return pay(payment, None) };
        let Watched { guard, key_tag, name, path, order } = watched;
        let digests = |chain: &mut InputChain| {
            let mut digests = Vec::new();
            steps(&mut |totals| digests.push(chain.step(in_order(totals, order))));
            digests
        };
        guard.admit(digests, |is_new| {
            let used = KeyUse::new(*key_tag, *name, None);
            if let Some((charge, _)) = payment.as_ref().filter(|_| is_new)
                && charge.knows(&used)?
            {
                return Err(CliError::bad(format!(
                    "the budget file says that {} was used with these options before, but its record does not: \
                     bring back {0}.uses, or use a new key",
                    path.display()
                )));
            }
            pay(payment, Some(&used))
        })
    }
}

fn pay(payment: Payment, used: Option<&KeyUse>) -> Result<Option<BudgetReceipt>> {
    payment.map(|(charge, spend)| charge.enter(spend, used)).transpose()
}

/// Digests all steps of a run. Zeros at the end are left out, because a shorter input has them too.
fn digest_all(chain: &mut InputChain, steps: EachStep<'_>, order: &[usize]) {
    let mut zeros = 0_u64;
    steps(&mut |totals| {
        if totals.iter().all(|total| *total == Amount::default()) {
            zeros += 1;
            return;
        }
        for _ in 0..std::mem::take(&mut zeros) {
            chain.step([]);
        }
        chain.step(in_order(totals, order));
    });
}

/// Totals in the order of their keys' names, as the doubles that are digested. What a double leaves
/// of a total follows after all of them, so that totals that doubles hold have the digests that
/// they always had.
fn in_order<'a>(totals: &'a [Amount], order: &'a [usize]) -> impl Iterator<Item = f64> + 'a {
    let exact = |place: usize| totals[order.get(place).copied().unwrap_or(place)].to_exact_f64s();
    (0..3).flat_map(move |part| (0..totals.len()).map(move |place| exact(place)[part]))
}
