//! Version 2: names as fields. `docs/noise-name.md` has the same table with the numbers of all
//! choices.

use crate::noise_name::{Fields, Layout, Purpose, Value};
use crate::objective::Objective;
use crate::plan::Plan;
use crate::privacy::{Budget, Calibration, Guarantee, Neighbours, Participation};
use crate::spec::{Arithmetic, Shape};
use crate::workload::Workload;

const MAGIC: [u8; 4] = *b"EVNN";
const VERSION: u8 = 2;

pub(super) fn of(plan: &Plan) -> Vec<u8> {
    fields(plan).into_bytes()
}

pub(super) fn label(plan: &Plan, purpose: Purpose, layout: Layout) -> Vec<u8> {
    let mut fields = fields(plan);
    fields.put(32, Value::new().code(purpose_code(purpose)));
    fields.put(33, layout_value(layout));
    fields.into_bytes()
}

fn fields(plan: &Plan) -> Fields {
    let mut fields = Fields::new(MAGIC, VERSION);
    fields.put(1, workload(plan.workload()));
    fields.put(2, Value::new().integer(plan.horizon()).code(plan.is_unbounded().into()));
    fields.put(3, plan.budget().name_value());
    fields.put(4, plan.neighbours().name_value());
    fields.put(5, plan.participation().name_value());
    let contribution = plan.contribution();
    let is_split = contribution.keys() > 1;
    let range = Value::new().code(if is_split { 2 } else { contribution.is_vector().into() });
    let range = range.real(contribution.lo()).real(contribution.hi());
    fields.put(6, if is_split { range.integer(contribution.keys() as u64) } else { range });
    fields.put(7, Value::new().code(objective(plan.objective())));
    fields.put(8, mechanism(plan));
    fields.put(9, arithmetic(plan));
    fields.put(10, shape(plan.shape()));
    if let Some(digest) = plan.declared_keys() {
        fields.put(11, Value::new().raw(&digest));
    }
    if !plan.stream_name().is_empty() {
        fields.put(12, Value::new().raw(plan.stream_name().as_bytes()));
    }
    if !plan.definition().is_empty() {
        fields.put(13, Value::new().raw(plan.definition()));
    }
    if let Some(report) = plan.report().filter(|_| plan.objective() == Objective::Report) {
        fields.put(14, Value::new().raw(report.to_string().as_bytes()));
    }
    if plan.keys_per_step() > 1 {
        fields.put(15, Value::new().integer(plan.keys_per_step()));
    }
    fields
}

fn workload(workload: Workload) -> Value {
    match workload {
        Workload::PrefixSum => Value::new().code(0),
        Workload::SlidingWindow { width } => Value::new().code(1).integer(width),
        Workload::Decay { factor } => Value::new().code(2).real(factor),
    }
}

impl Budget {
    /// The budget as a field of a name.
    #[must_use]
    pub fn name_value(&self) -> Value {
        match self.guarantee() {
            Guarantee::Approximate { epsilon, delta, calibration, .. } => {
                let calibration = match calibration {
                    Calibration::Exact => 0,
                    Calibration::Zcdp => 1,
                    Calibration::Paper => 2,
                };
                Value::new().code(0).real(epsilon).real(delta).code(calibration)
            }
            Guarantee::Concentrated { rho } => Value::new().code(1).real(rho),
            Guarantee::Pure { epsilon } => Value::new().code(2).real(epsilon),
        }
    }
}

impl Neighbours {
    /// The relation as a field of a name.
    #[must_use]
    pub fn name_value(&self) -> Value {
        Value::new().code(match self {
            Self::AddRemove => 0,
            Self::Replace => 1,
        })
    }
}

impl Participation {
    /// The bound as a field of a name.
    #[must_use]
    pub fn name_value(&self) -> Value {
        let bound = Value::new().integer(self.max_steps()).integer(self.min_gap());
        match self.squares() {
            Some(_) => bound.code(2),
            None if self.is_in_turn() => bound.code(1),
            None => bound,
        }
    }
}

fn objective(objective: Objective) -> u8 {
    match objective {
        Objective::Mean => 0,
        Objective::Worst => 1,
        Objective::Report => 2,
        Objective::Anytime => 3,
    }
}

/// The mechanism, its parameter, and a hash of the factors if they were fitted to the plan.
fn mechanism(plan: &Plan) -> Value {
    let mechanism = plan.mechanism();
    // No parameter is zero, so zero means that there is none.
    let value = Value::new().code(mechanism.code()).integer(mechanism.parameter().unwrap_or(0));
    match plan.factorization().digest() {
        Some(digest) => value.code(1).raw(&digest),
        None => value.code(0),
    }
}

fn arithmetic(plan: &Plan) -> Value {
    match plan.arithmetic() {
        Arithmetic::Exact => Value::new().code(0).real(plan.grid().unwrap_or(0.0)),
        Arithmetic::Float => Value::new().code(1),
    }
}

fn shape(shape: &Shape) -> Value {
    match shape {
        Shape::Scalar => Value::new().code(0),
        Shape::Vector { dimension } => Value::new().code(1).integer(*dimension as u64),
        // Declared keys have field 11 as well.
        Shape::Keyed { .. } | Shape::OpenKeys => Value::new().code(2),
    }
}

fn purpose_code(purpose: Purpose) -> u8 {
    match purpose {
        Purpose::Float => 0,
        Purpose::Integer => 1,
        Purpose::Singles => 2,
        Purpose::Doubles => 3,
    }
}

fn layout_value(layout: Layout) -> Value {
    match layout {
        Layout::Scalar => Value::new().code(0),
        Layout::Vector(dimension) => Value::new().code(1).integer(dimension as u64),
        Layout::Keys => Value::new().code(2),
    }
}

/// Identifies a set of declared keys, in any order.
///
/// It affects every key's noise, not only that of `other`. The meaning of a key may depend on the
/// other keys, and only the caller knows whether it does.
pub(crate) fn keys_digest<K: AsRef<str>>(keys: &[K]) -> [u8; 32] {
    let mut sorted: Vec<&str> = keys.iter().map(AsRef::as_ref).collect();
    sorted.sort_unstable();
    let mut hasher = blake3::Hasher::new_derive_key("evertally 2026 declared keys");
    hasher.update(&(sorted.len() as u64).to_le_bytes());
    for key in sorted {
        hasher.update(&(key.len() as u64).to_le_bytes()).update(key.as_bytes());
    }
    *hasher.finalize().as_bytes()
}
