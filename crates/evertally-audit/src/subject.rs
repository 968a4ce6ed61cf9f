//! The subject of an audit: a mechanism that promises a plan's privacy and releases numbers at
//! every step.

use evertally::internals::noise::copy_of;
use evertally::internals::replay::replay_lane;
use evertally::privacy::NoiseKind;
use evertally::{
    Arithmetic, Budget, Contribution, Counter, Error, KeyedCounter, Neighbours, NoiseKey, Participation,
    Plan, Result, Shape, VectorCounter,
};

use crate::stream::Stream;

/// The protection that the subject claims. An audit tests this claim, independently of the
/// subject's plan.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Promise {
    /// The privacy budget.
    pub budget: Budget,
    /// The neighbouring relation.
    pub neighbours: Neighbours,
    /// The steps in which one person may take part.
    pub participation: Participation,
    /// The range of one contribution.
    pub contribution: Contribution,
}

impl Promise {
    /// The promise of a plan.
    #[must_use]
    pub fn of(plan: &Plan) -> Self {
        Self {
            budget: plan.budget(),
            neighbours: plan.neighbours(),
            participation: plan.participation(),
            contribution: plan.contribution(),
        }
    }
}

/// A mechanism under audit.
///
/// The auditor may run it any number of times, on any streams and keys. It uses the plan's figures
/// only as declarations, and measures them.
pub trait Subject: Sync {
    /// The plan whose L, R and noise scale the subject claims to run.
    fn plan(&self) -> &Plan;

    /// The protection that the subject claims.
    fn promise(&self) -> Promise {
        Promise::of(self.plan())
    }

    /// The number of lanes per step: keys or coordinates, or one for a single total.
    fn lanes(&self) -> usize {
        self.plan().shape().width()
    }

    /// The grid of all releases, or 0 if none is claimed. It may depend on the plan, never on data.
    /// Rounding to it adds grid²/12 to the variance that the plan declares.
    fn grid(&self) -> f64 {
        0.0
    }

    /// The reason why steps are not timed, if their duration is documented to depend on data.
    fn untimed(&self) -> Option<&'static str> {
        None
    }

    /// Starts a stream under a key.
    ///
    /// # Errors
    /// The mechanism's errors.
    fn start(&self, key: NoiseKey) -> Result<Box<dyn Session + '_>>;

    /// Runs a whole stream: the releases, in the order of the inputs.
    ///
    /// # Errors
    /// The mechanism's errors.
    fn run(&self, stream: &Stream, key: NoiseKey) -> Result<Vec<f64>> {
        let mut session = self.start(key)?;
        let mut releases = vec![0.0; stream.steps() * stream.lanes()];
        for (step, out) in releases.chunks_mut(stream.lanes().max(1)).enumerate() {
            session.step(stream.row(step), out)?;
        }
        Ok(releases)
    }

    /// The distance of two streams in the space of the noise draws, by the mechanism's own
    /// arithmetic. The noise z under `key` gives some output on `stream`, and z' is the noise that
    /// gives the same output on `neighbour`. The result is the length of (z' − z)/s, where s is the
    /// standard deviation of each draw: the Euclidean length, or the sum of magnitudes for Laplace
    /// noise. It must not exceed the μ that the budget allows.
    ///
    /// Infinite if those draws do not give the releases. `None` if the mechanism cannot invert its
    /// arithmetic. The dense L and R of the plan are used then.
    ///
    /// # Errors
    /// The mechanism's errors.
    fn noise_distance(&self, _stream: &Stream, _neighbour: &Stream, _key: NoiseKey) -> Result<Option<f64>> {
        Ok(None)
    }
}

/// A running stream.
pub trait Session {
    /// Takes the inputs of the next step and writes its releases, one per lane.
    ///
    /// # Errors
    /// The mechanism's errors.
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()>;
}

/// A deployed [`Counter`], [`KeyedCounter`] or [`VectorCounter`]. Keys and coordinates are lanes.
///
/// A contribution to a vector has a bounded norm, in any direction at every step. The noise of
/// vectors is drawn in floats, so their releases are audited after rounding to a grid.
///
/// ```
/// use evertally::{Budget, Contribution, Plan};
/// use evertally_audit::{CounterSubject, Subject};
/// let plan = Plan::prefix_sum(16).budget(Budget::new(1.0, 1e-6)?);
/// let subject = CounterSubject::new(plan.build()?)?.rounded_to(1.0)?;
/// assert_eq!(subject.grid(), 1.0);
/// let vectors = plan.dimension(4).contribution(Contribution::norm(1.0)?).build()?;
/// let subject = CounterSubject::new(vectors)?.rounded_to(1.0)?;
/// assert_eq!(subject.lanes(), 4);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct CounterSubject {
    plan: Plan,
    grid: f64,
}

impl CounterSubject {
    /// Audits the counters of a plan, and their unrounded releases. They lie on a grid if the plan
    /// has one.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if the plan is for open keys:
    /// [`OpenKeysSubject`](crate::OpenKeysSubject) audits those.
    pub fn new(plan: Plan) -> Result<Self> {
        if *plan.shape() == Shape::OpenKeys {
            let expected = "for one number per step, for declared keys or for vectors";
            return Err(Error::bad("plan", expected, "a plan for open keys"));
        }
        Ok(Self { grid: plan.grid().unwrap_or(0.0), plan })
    }

    /// Rounds releases to multiples of this power of two, as float releases should be rounded
    /// before publication. 0 leaves them unrounded.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for any other number. Multiples of a power of two are floats, so
    /// rounding to them is exact.
    pub fn rounded_to(self, grid: f64) -> Result<Self> {
        // An existing grid of the releases is not made finer.
        Ok(Self { grid: self.grid.max(checked_grid(grid)?), ..self })
    }
}

/// Refuses a grid that is neither zero nor a power of two.
pub(crate) fn checked_grid(grid: f64) -> Result<f64> {
    let mantissa = grid.to_bits() & ((1 << 52) - 1);
    if grid == 0.0 || (grid.is_normal() && grid > 0.0 && mantissa == 0) {
        return Ok(grid);
    }
    Err(Error::bad("grid", "zero or a power of two", grid))
}

/// The nearest multiple of the grid.
pub(crate) fn rounded(value: f64, grid: f64) -> f64 {
    if grid == 0.0 { value } else { (value / grid).round() * grid }
}

impl Subject for CounterSubject {
    fn plan(&self) -> &Plan {
        &self.plan
    }

    fn grid(&self) -> f64 {
        self.grid
    }

    fn start(&self, key: NoiseKey) -> Result<Box<dyn Session + '_>> {
        let counter = match self.plan.shape() {
            Shape::Keyed { .. } => Running::Keyed(KeyedCounter::new(&self.plan, key)?),
            Shape::Vector { .. } => Running::Vector(VectorCounter::new(&self.plan, key)?),
            _ => Running::Scalar(Counter::new(&self.plan, key)?),
        };
        Ok(Box::new(CounterSession { counter, grid: self.grid }))
    }

    fn noise_distance(&self, stream: &Stream, neighbour: &Stream, key: NoiseKey) -> Result<Option<f64>> {
        match self.plan.shape() {
            Shape::Keyed { keys } => replayed_distance(self, keys, stream, neighbour, &key),
            _ => replayed_distance(self, &[String::new()], stream, neighbour, &key),
        }
    }
}

/// The distance of two streams by the arithmetic of the exact path, run backwards for every lane in
/// which they differ. Lanes have separate draws, so squares add up, or magnitudes for Laplace
/// noise. `None` for plans without an exact path. Infinite if the recovered draws are not those of
/// the subject's releases.
pub(crate) fn replayed_distance(
    subject: &dyn Subject,
    names: &[String],
    stream: &Stream,
    neighbour: &Stream,
    key: &NoiseKey,
) -> Result<Option<f64>> {
    let plan = subject.plan();
    if plan.arithmetic() != Arithmetic::Exact {
        return Ok(None);
    }
    let noise = plan.budget().noise();
    let released = subject.run(stream, copy_of(key))?;
    let mut sum = 0.0;
    for (lane, name) in names.iter().enumerate() {
        let [ours, theirs] = [stream, neighbour].map(|stream| stream.lane(lane));
        if ours == theirs {
            continue;
        }
        let replayed = match replay_lane(plan, key, name, &ours, &theirs) {
            Ok(replayed) => replayed,
            // Trees are replayed by their dense factors, if there are any.
            Err(Error::TooCostly { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        if let Some(releases) = &replayed.releases {
            let releases = releases.iter().map(|release| rounded(*release, subject.grid()));
            if !releases.eq(released.iter().skip(lane).step_by(names.len()).copied()) {
                return Ok(Some(f64::INFINITY));
            }
        }
        sum += match noise {
            NoiseKind::Gaussian => replayed.distance * replayed.distance,
            NoiseKind::Laplace => replayed.distance,
        };
    }
    // The scale of Laplace noise is its standard deviation divided by √2.
    Ok(Some(match noise {
        NoiseKind::Gaussian => sum.sqrt(),
        NoiseKind::Laplace => sum / std::f64::consts::SQRT_2,
    }))
}

enum Running {
    Scalar(Counter),
    Keyed(KeyedCounter),
    Vector(VectorCounter),
}

struct CounterSession {
    counter: Running,
    grid: f64,
}

impl Session for CounterSession {
    fn step(&mut self, inputs: &[f64], out: &mut [f64]) -> Result<()> {
        match &mut self.counter {
            Running::Scalar(counter) => {
                let release = counter.step(inputs.first().copied().unwrap_or_default())?;
                out.iter_mut().for_each(|out| *out = release.value);
            }
            Running::Keyed(counter) => counter.step_into(inputs, out).map(|_| ())?,
            Running::Vector(counter) => counter.step_into(inputs, out).map(|_| ())?,
        }
        out.iter_mut().for_each(|out| *out = rounded(*out, self.grid));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan() -> Plan {
        Plan::prefix_sum(8).budget(Budget::new(1.0, 1e-6).unwrap()).build().unwrap()
    }

    #[test]
    fn a_run_is_a_counter_step_by_step() {
        let subject = CounterSubject::new(plan()).unwrap();
        let stream = Stream::busy(8, 1);
        let released = subject.run(&stream, NoiseKey::insecure_from_seed(3)).unwrap();
        let mut counter = Counter::new(&plan(), NoiseKey::insecure_from_seed(3)).unwrap();
        for (step, value) in released.iter().enumerate() {
            assert_eq!(*value, counter.step(stream.row(step)[0]).unwrap().value);
        }
        assert_eq!(Some(subject.grid()), plan().grid());
        let rounded = subject.rounded_to(2.0).unwrap().run(&stream, NoiseKey::insecure_from_seed(3)).unwrap();
        for (value, rounded) in released.iter().zip(&rounded) {
            assert!((value - rounded).abs() <= 1.0 && (0.5 * rounded).fract() == 0.0);
        }
    }

    #[test]
    fn keys_are_lanes() {
        let plan = Plan::prefix_sum(4)
            .budget(Budget::new(1.0, 1e-6).unwrap())
            .keys(["north", "south"])
            .build()
            .unwrap();
        let subject = CounterSubject::new(plan).unwrap();
        let released = subject.run(&Stream::busy(4, 2), NoiseKey::insecure_from_seed(3)).unwrap();
        assert_eq!(released.len(), 8);
        assert_ne!(released[0], released[1]);
    }

    #[test]
    fn what_cannot_be_audited_is_refused() {
        let open = Plan::prefix_sum(4).budget(Budget::new(1.0, 1e-6).unwrap()).open_keys();
        assert!(CounterSubject::new(open.build().unwrap()).is_err());
        for bad in [0.3, -1.0, f64::NAN, f64::INFINITY, 3.0] {
            assert!(CounterSubject::new(plan()).unwrap().rounded_to(bad).is_err(), "{bad}");
        }
    }
}
