//! Correlated noise for callers who add it themselves: rows of σΔ·L g, one call per step.
//!
//! A counter adds such noise to totals. Private learning adds it to sums of gradients that it holds
//! elsewhere, in the precision of the model. Raw noise is as sensitive as the data: anyone who has it
//! can subtract it from the release.

use std::ops::Range;
use std::sync::Arc;

use zeroize::Zeroizing;

use crate::counter::state::{Head, Saved, reals, words};
use crate::noise::{Correlator, NoiseKey, Progress, Real, SliceField, StreamingCorrelator};
use crate::noise_name::{Layout, NoiseName, Purpose};
use crate::plan::{Plan, first};
use crate::spec::Shape;
use crate::{Error, Result};

/// The noise of a plan, row by row, in single or double precision.
///
/// Row t is σΔ·(L g)\[t\] for every coordinate. Adding it to the true answers of step t gives the
/// release of the plan. In single precision the noise of vectors is larger by a few millionths (up
/// to 3·10⁻⁴ with grades), or by 2⁻²⁴ over the smallest loss of a decayed sum. This covers the
/// effect on the sensitivity of rounding L to singles. (Steps are rounded too; see the threat model
/// on the last bits of noise.) The noise differs from that of a counter of the same plan and key,
/// which is never returned.
///
/// ```
/// use evertally::{Budget, Contribution, NoiseKey, NoiseStream, Plan};
/// let plan = Plan::prefix_sum(1000)
///     .budget(Budget::new(1.0, 1e-6)?)
///     .dimension(4)
///     .contribution(Contribution::norm(1.0)?)
///     .build()?;
/// let mut noise = NoiseStream::<f32>::new(&plan, NoiseKey::from_os()?)?;
/// let mut sum = [0.0_f32; 4];
/// for _ in 0..10 {
///     let gradient = [0.5, 0.5, -0.5, 0.5]; // of norm one at most
///     let private: Vec<f32> = noise.next()?.iter().zip(&mut sum).zip(gradient).map(|((z, sum), g)| {
///         *sum += g;
///         *sum + z
///     }).collect();
///     assert_eq!(private.len(), 4);
/// }
/// # Ok::<(), evertally::Error>(())
/// ```
pub struct NoiseStream<F: Real = f64> {
    plan: Plan,
    key: NoiseKey,
    /// The coordinates of the plan that rows contain.
    coordinates: Range<usize>,
    step: u64,
    source: Source<F>,
}

enum Source<F: Real> {
    /// The streaming engine, in the requested precision.
    StreamingCorrelator(Box<StreamingCorrelator<F>>),
    /// Mechanisms with their own correlator, which uses doubles.
    Other { correlator: Box<dyn Correlator>, doubles: Zeroizing<Vec<f64>>, row: Zeroizing<Vec<F>> },
}

impl<F: Real> NoiseStream<F> {
    /// The noise before its first step.
    ///
    /// The key must be fresh: two streams of equal plans and precision under one key are the same noise.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a plan with open keys, whose lanes are not known, and if two
    /// declared keys would share their noise. [`Error::Unsupported`] for noise outside the range of
    /// singles.
    pub fn new(plan: &Plan, key: NoiseKey) -> Result<Self> {
        Self::with_progress(plan, key, &())
    }

    /// Like [`NoiseStream::new`], with progress reports on noise that is prepared in advance.
    ///
    /// # Errors
    /// As [`NoiseStream::new`].
    pub fn with_progress(plan: &Plan, key: NoiseKey, progress: &dyn Progress) -> Result<Self> {
        Self::of(plan, key, 0..plan.shape().width(), progress)
    }

    /// The noise of some coordinates of a plan for vectors. Its rows are those columns of the full
    /// stream's rows, bit for bit, so several machines can make the noise of one vector, each its
    /// own slice.
    ///
    /// Memory and time are those of a vector as wide as the slice. A slice of all coordinates is the
    /// full stream and shares its states. The state of another slice is refused.
    ///
    /// ```
    /// use evertally::{Budget, Contribution, NoiseKey, NoiseStream, Plan};
    /// let norm = Contribution::norm(1.0)?;
    /// let budget = Budget::new(1.0, 1e-6)?;
    /// let plan = Plan::prefix_sum(100).budget(budget).dimension(9).contribution(norm).build()?;
    /// let key = || NoiseKey::insecure_from_seed(1);
    /// let mut whole = NoiseStream::<f32>::new(&plan, key())?;
    /// let mut slice = NoiseStream::<f32>::slice(&plan, key(), 4..6)?;
    /// assert_eq!(slice.next()?, &whole.next()?[4..6]);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`NoiseStream::new`], and [`Error::BadParameter`] unless the plan is one for vectors that
    /// have these coordinates, at least one.
    pub fn slice(plan: &Plan, key: NoiseKey, coordinates: Range<usize>) -> Result<Self> {
        check_slice(plan, &coordinates)?;
        Self::of(plan, key, coordinates, &())
    }

    fn of(plan: &Plan, key: NoiseKey, coordinates: Range<usize>, progress: &dyn Progress) -> Result<Self> {
        check_range::<F>(plan)?;
        let source = Source::new(plan, &key, &coordinates, progress)?;
        Ok(Self { plan: plan.clone(), key, coordinates, step: 0, source })
    }

    /// The coordinates or keys of the plan that rows contain: all of them, unless this is a slice.
    #[must_use]
    pub fn coordinates(&self) -> Range<usize> {
        self.coordinates.clone()
    }

    /// The name of this noise. Each precision has its own name, and no counter has one of them.
    #[must_use]
    pub fn noise_name(plan: &Plan) -> NoiseName {
        let layout = match plan.shape() {
            Shape::Scalar => Layout::Scalar,
            Shape::Vector { dimension } => Layout::Vector(*dimension),
            Shape::Keyed { .. } | Shape::OpenKeys => Layout::Keys,
        };
        NoiseName::new(plan.stream_label(purpose::<F>(), layout))
    }

    /// The plan whose noise this is.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The number of rows returned so far.
    #[must_use]
    pub fn steps_taken(&self) -> u64 {
        self.step
    }

    /// The row of the next step, one number per coordinate.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] after the last step.
    #[expect(clippy::should_implement_trait, reason = "an iterator cannot lend its rows")]
    pub fn next(&mut self) -> Result<&[F]> {
        self.check(1)?;
        self.step += 1;
        Ok(self.source.next(self.plan.noise_scale()))
    }

    /// Fills `out` with the rows of the next steps. For a single coordinate this is faster than row
    /// by row.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] if fewer steps are left, and [`Error::BadParameter`] unless `out`
    /// holds complete rows. Neither takes a step.
    pub fn fill(&mut self, out: &mut [F]) -> Result<()> {
        let width = self.coordinates.len();
        if !out.len().is_multiple_of(width) {
            return Err(Error::bad("out", format!("whole rows of {width} numbers"), out.len()));
        }
        let steps = (out.len() / width) as u64;
        self.check(steps)?;
        self.step += steps;
        match &mut self.source {
            Source::StreamingCorrelator(machine) => machine.fill(out),
            source => {
                for row in out.chunks_mut(width) {
                    row.copy_from_slice(source.next(self.plan.noise_scale()));
                }
            }
        }
        Ok(())
    }

    /// Moves to any step, from the key alone. The noise of the earlier steps is made again, in
    /// O(step).
    ///
    /// Repeated rows are the same. If they are added to other answers, they cancel in the difference
    /// of the two releases.
    ///
    /// # Errors
    /// [`Error::HorizonSpent`] for a step beyond the horizon.
    pub fn seek(&mut self, step: u64) -> Result<()> {
        if step > self.plan.horizon() {
            return Err(Error::HorizonSpent { horizon: self.plan.horizon() });
        }
        match &mut self.source {
            Source::StreamingCorrelator(machine) => machine.seek(step),
            source => {
                if step < self.step {
                    *source = Source::new(&self.plan, &self.key, &self.coordinates, &())?;
                    self.step = 0;
                }
                for _ in self.step..step {
                    source.next(1.0);
                }
            }
        }
        self.step = step;
        Ok(())
    }

    /// The state as bytes. [`NoiseStream::resume`] continues from it without making earlier steps
    /// again. Raw noise can be computed from it.
    #[must_use]
    pub fn save(&self) -> Vec<u8> {
        let noise = match &self.source {
            Source::StreamingCorrelator(machine) => machine.save_state(),
            Source::Other { correlator, .. } => correlator.save(),
        };
        let saved = Saved {
            head: Head {
                fingerprint: fingerprint::<F>(&self.plan, &self.coordinates),
                key_tag: self.key.tag(),
                step: self.step,
            },
            totals: Vec::new().into(),
            noise: words(noise).into(),
            history: None,
        };
        saved.to_bytes()
    }

    /// Resumes from a saved state, bit for bit.
    ///
    /// # Errors
    /// [`Error::BadState`] if the state is damaged or belongs to another plan, precision or key.
    pub fn resume(plan: &Plan, key: NoiseKey, state: &[u8]) -> Result<Self> {
        Self::resume_of(plan, key, 0..plan.shape().width(), state)
    }

    /// Resumes a [`NoiseStream::slice`] from its saved state, bit for bit.
    ///
    /// # Errors
    /// As [`NoiseStream::slice`], and [`Error::BadState`] if the state is damaged or belongs to
    /// another plan, precision, key or slice.
    pub fn resume_slice(plan: &Plan, key: NoiseKey, coordinates: Range<usize>, state: &[u8]) -> Result<Self> {
        check_slice(plan, &coordinates)?;
        Self::resume_of(plan, key, coordinates, state)
    }

    fn resume_of(plan: &Plan, key: NoiseKey, coordinates: Range<usize>, state: &[u8]) -> Result<Self> {
        let saved = Saved::from_bytes(state)?;
        let fingerprint = |plan: &Plan| fingerprint::<F>(plan, &coordinates);
        let other = "it belongs to another plan, precision or slice";
        let plan = &saved.head.plan_by(plan, &key, fingerprint, other)?;
        let mut stream = Self::of(plan, key, coordinates, &())?;
        let noise = reals(&saved.noise)?;
        match &mut stream.source {
            Source::StreamingCorrelator(machine) => machine.restore_state(saved.head.step, &noise)?,
            Source::Other { correlator, .. } => correlator.restore(saved.head.step, &noise)?,
        }
        stream.step = saved.head.step;
        Ok(stream)
    }

    fn check(&self, steps: u64) -> Result<()> {
        let horizon = self.plan.horizon();
        if steps > horizon - self.step { Err(Error::HorizonSpent { horizon }) } else { Ok(()) }
    }
}

impl<F: Real> Source<F> {
    fn new(plan: &Plan, key: &NoiseKey, coordinates: &Range<usize>, progress: &dyn Progress) -> Result<Self> {
        let mut field = plan.white_field(key, purpose::<F>())?;
        if *coordinates != (0..field.width()) {
            field = Arc::new(SliceField::new(field, coordinates.clone()));
        }
        if let Some(recipe) = plan.factorization().recipe() {
            let machine = StreamingCorrelator::new(&recipe, plan.horizon(), field, plan.noise_scale());
            return Ok(Self::StreamingCorrelator(Box::new(machine)));
        }
        let width = field.width();
        Ok(Self::Other {
            correlator: plan.factorization().correlator(field, progress),
            doubles: vec![0.0; width].into(),
            row: vec![F::ZERO; width].into(),
        })
    }

    fn next(&mut self, scale: f64) -> &[F] {
        match self {
            Self::StreamingCorrelator(machine) => machine.next_row(),
            Self::Other { correlator, doubles, row } => {
                correlator.next(doubles);
                for (value, double) in row.iter_mut().zip(doubles.iter()) {
                    *value = F::from_f64(scale * *double);
                }
                row
            }
        }
    }
}

/// Refuses noise that the precision cannot represent: it would be infinite or zero.
fn check_range<F: Real>(plan: &Plan) -> Result<()> {
    // Rows and the numbers of a lane stay within a million deviations.
    const ROOM: f64 = 1e6;
    let (scale, worst) = (plan.noise_scale(), plan.accuracy().worst_rmse);
    let [small, large] = [scale / ROOM, scale.max(worst) * ROOM].map(|x| F::from_f64(x).to_f64());
    if small >= f64::from(f32::MIN_POSITIVE) && large.is_finite() || size_of::<F>() == size_of::<f64>() {
        return Ok(());
    }
    Err(Error::unsupported(plan.mechanism(), "its noise is outside the range of single precision"))
}

/// Refuses coordinates that the vectors of a plan do not have.
fn check_slice(plan: &Plan, coordinates: &Range<usize>) -> Result<()> {
    let Shape::Vector { dimension } = plan.shape() else {
        return Err(Error::bad("plan", "one for vectors to be cut into slices", plan.shape().kind()));
    };
    if coordinates.is_empty() || coordinates.end > *dimension {
        let expected = format!("a range of 0..{dimension} that is not empty");
        return Err(Error::bad("coordinates", expected, format!("{coordinates:?}")));
    }
    Ok(())
}

/// Singles are rounded doubles, so the two precisions must have independent white noise.
fn purpose<F: Real>() -> Purpose {
    if size_of::<F>() == 4 { Purpose::Singles } else { Purpose::Doubles }
}

fn fingerprint<F: Real>(plan: &Plan, coordinates: &Range<usize>) -> [u8; 32] {
    // Part of the saved form since 0.1. Newer names change only the fingerprint of the plan.
    let mut hasher = blake3::Hasher::new_derive_key("evertally noise stream fingerprint 1");
    hasher.update(&plan.fingerprint()).update(first::words(purpose::<F>()).as_bytes());
    if *coordinates != (0..plan.shape().width()) {
        let Range { start, end } = coordinates;
        hasher.update(format!("coordinates {start}..{end}").as_bytes());
    }
    *hasher.finalize().as_bytes()
}

impl<F: Real> std::fmt::Debug for NoiseStream<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("NoiseStream")
            .field("plan", &self.plan)
            .field("coordinates", &self.coordinates)
            .field("steps_taken", &self.step)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Budget, Contribution, Mechanism, Plan};

    const HORIZON: u64 = 21;

    fn key() -> NoiseKey {
        NoiseKey::insecure_from_seed(5)
    }

    /// Mechanisms that the engine streams and one with a correlator of its own, of one coordinate
    /// and of several.
    fn plans() -> Vec<Plan> {
        let plan = || Plan::prefix_sum(HORIZON).budget(Budget::new(1.0, 1e-6).unwrap());
        let mechanisms =
            [Mechanism::GradedSquareRoot { decays: None }, Mechanism::SquareRoot, Mechanism::SmoothBinary];
        mechanisms
            .into_iter()
            .flat_map(|mechanism| {
                let vector = plan().dimension(3).contribution(Contribution::norm(1.0).unwrap());
                [plan(), vector].map(|plan| plan.mechanism(mechanism).build().unwrap())
            })
            .collect()
    }

    fn rest<F: Real>(stream: &mut NoiseStream<F>) -> Vec<f64> {
        let mut rows = Vec::new();
        while let Ok(row) = stream.next() {
            rows.extend(row.iter().map(|value| value.to_f64()));
        }
        rows
    }

    fn every_way_there_is_the_same<F: Real>() {
        for plan in plans() {
            let width = plan.shape().width();
            let make = || NoiseStream::<F>::new(&plan, key()).unwrap();
            let whole = rest(&mut make());
            assert_eq!(whole.len() as u64, HORIZON * width as u64);
            let mut going = make();
            for step in 0..=HORIZON {
                let want = &whole[step as usize * width..];
                let mut resumed = NoiseStream::<F>::resume(&plan, key(), &going.save()).unwrap();
                assert_eq!((resumed.steps_taken(), rest(&mut resumed).as_slice()), (step, want));
                // Backwards from the end, and forwards from the start.
                for mut sought in [resumed, make()] {
                    sought.seek(step).unwrap();
                    assert_eq!(rest(&mut sought), want, "{plan:?} at {step}");
                }
                let mut out = vec![F::ZERO; step as usize * width];
                let mut filled = make();
                filled.fill(&mut out).unwrap();
                assert!(out.iter().map(|value| value.to_f64()).eq(whole[..out.len()].iter().copied()));
                assert_eq!(rest(&mut filled), want);
                going.next().ok();
            }
        }
    }

    #[test]
    fn every_way_there_is_the_same_in_both_precisions() {
        every_way_there_is_the_same::<f64>();
        every_way_there_is_the_same::<f32>();
    }

    /// The two precisions and the counters have independent noise: none is another one, rounded.
    #[test]
    fn precisions_and_counters_do_not_share_noise() {
        let plan = &plans()[0];
        let doubles = rest(&mut NoiseStream::<f64>::new(plan, key()).unwrap());
        let singles = rest(&mut NoiseStream::<f32>::new(plan, key()).unwrap());
        let counted = crate::Counter::new(plan, key()).unwrap().step(0.0).unwrap().value;
        let scale = plan.noise_scale();
        assert!((doubles[0] - singles[0]).abs() > 1e-6 * scale);
        assert!((doubles[0] - counted).abs() > 1e-6 * scale && (singles[0] - counted).abs() > 1e-6 * scale);
        let saved = NoiseStream::<f32>::new(plan, key()).unwrap().save();
        assert!(NoiseStream::<f64>::resume(plan, key(), &saved).is_err());
        assert!(NoiseStream::<f32>::resume(&plans()[1], key(), &saved).is_err());
        assert!(NoiseStream::<f32>::resume(plan, NoiseKey::insecure_from_seed(6), &saved).is_err());
        assert!(crate::Counter::resume(plan, key(), &saved).is_err());
    }

    #[test]
    fn refusals_take_no_step() {
        for plan in plans() {
            let width = plan.shape().width();
            let mut stream = NoiseStream::<f64>::new(&plan, key()).unwrap();
            stream.fill(&mut []).unwrap();
            assert!(stream.fill(&mut vec![0.0; (HORIZON as usize + 1) * width]).is_err());
            assert!(stream.seek(HORIZON + 1).is_err() && stream.seek(u64::MAX).is_err());
            if width > 1 {
                assert!(stream.fill(&mut vec![0.0; width + 1]).is_err());
            }
            assert_eq!(stream.steps_taken(), 0);
            stream.seek(HORIZON).unwrap();
            assert!(stream.next().is_err());
            stream.fill(&mut []).unwrap();
        }
    }
}
