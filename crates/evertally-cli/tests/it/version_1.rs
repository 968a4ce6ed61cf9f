//! Training runs that version 0.1 started resume to the model that it would have made, bit for bit.
//!
//! The files in `data/version-1` were written by 0.1: rows, the states of two runs that were killed
//! on the way, with the key in a file of its own and with the key in the state, and the models that
//! 0.1 made when it went on.

use crate::common::{Place, only_for_its_owner};

const RUN: &str = "learn customers.csv --label returns --classes no,yes --loss logistic --feature-norm 1 --radius 10 --batch-size 4 \
                   --epochs 400 --restart-every 500 --momentum 0.5 --holdout 5 --epsilon 2 --delta 1e-6 --quiet";

fn data(name: &str) -> Vec<u8> {
    std::fs::read(format!("{}/tests/data/version-1/{name}", env!("CARGO_MANIFEST_DIR"))).unwrap()
}

/// The model that 0.1 made, as made by this version.
fn model(name: &str) -> Vec<u8> {
    let text = String::from_utf8(data(&format!("{name}.model.json"))).unwrap();
    let version = format!("\"version\": \"{}\"", env!("CARGO_PKG_VERSION"));
    text.replace("\"version\": \"0.1.0\"", &version).into_bytes()
}

#[test]
fn runs_that_version_0_1_began_go_on_to_its_model() {
    for (name, key) in [("keyed", "--noise-key noise.key"), ("whole", "")] {
        let place = Place::new();
        place.write("customers.csv", data("customers.csv")).write("state", data(&format!("{name}.state")));
        place.write("noise.key", "c0ffee".repeat(10) + "0123");
        only_for_its_owner(&place.path("noise.key"));
        let line = format!("{RUN} {key} --state state --resume --model model.json");
        place.run(&line).ok();
        assert_eq!(place.read("model.json"), model(name), "{name}");
        // It is saved under the same name again, and resumes from there.
        place.run(&line).ok();
        assert_eq!(place.read("model.json"), model(name), "{name}");
        // A new run has another name, and therefore other noise.
        if name == "keyed" {
            let fresh = place.run(&format!("{RUN} {key} --model fresh.json"));
            assert_eq!(fresh.code, Some(0), "{}", fresh.stderr);
            assert_ne!(place.read("fresh.json"), place.read("model.json"));
        }
        let other = RUN.replace("--momentum 0.5", "--momentum 0.6");
        place.run(&format!("{other} {key} --state state --resume --model m.json")).refused(&["--momentum"]);
    }
}
