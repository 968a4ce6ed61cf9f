//! Every entry of the table answers for all of it.

use super::*;
use crate::noise::{NoiseKey, VectorField, WhiteNoise};
use crate::objective::Objective;
use crate::privacy::Participation;

fn request(workload: Workload, horizon: u64) -> Request<'static> {
    Request {
        horizon,
        workload,
        participation: Participation::single(),
        objective: Objective::Mean,
        report: None,
        progress: &(),
    }
}

/// Noise under an old name or number would be other noise: these never change.
#[test]
fn names_and_numbers_are_those_of_earlier_versions() {
    let known = [
        "input-perturbation",
        "output-perturbation",
        "binary",
        "honaker-streaming",
        "honaker-full",
        "smooth-binary",
        "group-algebra",
        "square-root",
        "normalized-square-root",
        "graded-square-root",
        "blt",
        "banded-square-root",
        "banded-inverse-square-root",
        "optimal",
        "laplace-tree",
    ];
    for (code, name) in known.into_iter().enumerate() {
        let mechanism = Mechanism::ALL.into_iter().find(|mechanism| mechanism.name() == name).unwrap();
        assert_eq!(usize::from(mechanism.code()), code, "{name}");
    }
    assert_eq!(Mechanism::EndlessSquareRoot.code(), 16);
}

#[test]
fn every_mechanism_has_a_name_and_a_number_of_its_own() {
    for (i, mechanism) in Mechanism::ALL.into_iter().enumerate() {
        assert!(!mechanism.name().is_empty() && mechanism.code() != Kind::DEFAULT.code, "{mechanism:?}");
        for other in &Mechanism::ALL[..i] {
            assert!(mechanism.name() != other.name() && mechanism.code() != other.code(), "{mechanism}");
        }
    }
}

#[test]
fn every_mechanism_reads_what_it_writes() {
    for mechanism in Mechanism::ALL {
        assert_eq!(mechanism.to_string().parse::<Mechanism>().unwrap(), mechanism);
        assert_eq!(mechanism.parameter(), None);
        let named = format!("{mechanism}:7").parse::<Mechanism>();
        match mechanism.with_parameter(7) {
            Some(expected) => {
                assert_eq!((named.unwrap(), expected.parameter()), (expected, Some(7)));
                assert_eq!(expected.to_string(), format!("{mechanism}:7"));
            }
            None => assert!(named.is_err(), "{mechanism}"),
        }
        assert!(format!("{mechanism}:0").parse::<Mechanism>().is_err());
        assert!(format!("{mechanism}:").parse::<Mechanism>().is_err());
    }
    assert!("toy".parse::<Mechanism>().is_err());
}

/// The registered kind and the factorization that it makes agree with each other.
#[test]
fn every_mechanism_answers_every_question() {
    let (workload, horizon) = (Workload::PrefixSum, 8);
    for mechanism in Mechanism::ALL {
        let factorization = mechanism.factorize(request(workload, horizon)).unwrap();
        assert_eq!(factorization.mechanism().name(), mechanism.name());
        assert_eq!(factorization.horizon(), horizon);
        // The optimum has integers for reports only.
        let has_integers = mechanism.has_exact_path() && mechanism != Mechanism::Optimal;
        assert_eq!(factorization.integer().is_some(), has_integers, "{mechanism}");
        assert!(factorization.sensitivity(Participation::single()) > 0.0, "{mechanism}");
        assert!(mechanism.preparation(horizon, workload) >= 1.0, "{mechanism}");

        let (least, cost) = (mechanism.min_cost(horizon, workload), factorization.cost());
        assert!(least.shared_bytes <= cost.shared_bytes, "{mechanism}");
        assert!(least.bytes_per_coordinate <= cost.bytes_per_coordinate, "{mechanism}");
        assert!(cost.operations_per_step > 0.0, "{mechanism}");

        let dense = factorization.dense().unwrap();
        let product = dense.decoder.times(&dense.encoder);
        let a = workload.matrix(horizon as usize);
        for t in 0..horizon as usize {
            for j in 0..horizon as usize {
                assert!((product[(t, j)] - a[(t, j)]).abs() < 1e-9, "{mechanism} at ({t}, {j})");
            }
        }

        let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(4).stream(b"table"));
        let field: Arc<VectorField> = Arc::new(VectorField::new(white, 1));
        let mut correlator = factorization.correlator(Arc::clone(&field) as _, &());
        let mut resumed = factorization.correlator(field, &());
        let (mut row, mut again) = ([0.0], [0.0]);
        for step in 0..horizon {
            resumed.restore(step, &correlator.save()).unwrap();
            correlator.next(&mut row);
            resumed.next(&mut again);
            assert_eq!(row, again, "{mechanism} at step {step}");
        }
    }
}

/// A mechanism of the tests, registered like those of the library: one file, one entry.
mod toy {
    use super::*;

    pub(super) static KIND: Kind = Kind {
        name: "toy",
        code: 200,
        factorize: |request, _| Mechanism::SquareRoot.factorize(*request),
        ..Kind::DEFAULT
    };

    mechanisms! {
        /// A table of its own.
        enum Toys {
            /// The one entry.
            Toy {
                /// The number after the colon.
                depth
            } = KIND,
        }
    }

    #[test]
    fn an_entry_is_all_that_a_new_mechanism_needs() {
        let toy = Toys::ALL[0];
        assert_eq!((Toys::ALL.len(), toy.kind().name, toy.parameter()), (1, "toy", None));
        assert_eq!(toy.with_parameter(3), Some(Toys::Toy { depth: Some(3) }));
    }
}
