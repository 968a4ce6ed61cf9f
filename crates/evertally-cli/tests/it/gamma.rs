//! `evertally gamma`: known norms, certificates that are proved again from their file, and files
//! that are refused.

use crate::common::Place;

fn bounds(line: &str) -> serde_json::Value {
    bounds_in(&Place::new(), line)
}

fn bounds_in(place: &Place, line: &str) -> serde_json::Value {
    serde_json::from_str(&place.run(line).ok().stdout).unwrap()
}

#[track_caller]
fn encloses(bounds: &serde_json::Value, value: f64) {
    let number = |name: &str| bounds[name].as_f64().unwrap();
    assert!(number("lower") <= value * (1.0 + 1e-13) && value <= number("upper") * (1.0 + 1e-13), "{bounds}");
    assert!(number("gap") < 1e-8, "{bounds}");
}

#[test]
fn json_has_exactly_the_promised_shape() {
    let text = Place::new().run("research gamma --workload prefix-sum --horizon 16 --json").ok().stdout;
    let keys: Vec<_> = text.split('"').skip(1).step_by(2).collect();
    assert_eq!(
        keys,
        ["lower", "upper", "gap", "mean_error_lower", "mean_error_upper", "iterations", "gap_reached"]
    );
    let bounds: serde_json::Value = serde_json::from_str(&text).unwrap();
    let number = |name: &str| bounds[name].as_f64().unwrap();
    assert!((number("mean_error_lower") / (number("lower").powi(2) / 16.0) - 1.0).abs() < 1e-14);
    assert!((number("mean_error_upper") / (number("upper").powi(2) / 16.0) - 1.0).abs() < 1e-14);
}

#[test]
fn known_norms() {
    encloses(&bounds("research gamma --workload identity --horizon 9 --json"), 3.0);
    encloses(&bounds("research gamma --workload parity:4,2 --json"), 6.0);
    encloses(&bounds("research gamma --workload window:1 --horizon 25 --json"), 5.0);
    let worst = bounds("research gamma --workload prefix-sum --horizon 2 --objective worst --json");
    assert!((worst["worst_error_upper"].as_f64().unwrap() - 4.0 / 3.0).abs() < 1e-8, "{worst}");
    let place = Place::new();
    // Diagonal: the Euclidean norm of the entries. A row of ones: one. Both with a header and without.
    place.write("diagonal.csv", "a,b\n3,0\n0,-4\n").write("ones.csv", "1,1,1\n");
    encloses(&bounds_in(&place, "research gamma --matrix diagonal.csv --json"), 5.0);
    encloses(&bounds_in(&place, "research gamma --matrix ones.csv --json"), 1.0);
    let text = place.run("research gamma --matrix ones.csv").ok().stdout;
    for part in ["γ_F of a real 1 × 3 matrix", "lower bound", "upper bound", "gap", "iterations", "time"] {
        assert!(text.contains(part), "{part:?} is missing from {text}");
    }
}

#[test]
fn the_price_of_an_unknown_end() {
    let text = Place::new().run("research gamma --unknown-end 256 --json").ok().stdout;
    let keys: Vec<_> = text.split('"').skip(1).step_by(2).collect();
    assert_eq!(keys, ["steps", "price_lower", "price_upper", "gap", "certified_horizons", "gap_reached"]);
    let price: serde_json::Value = serde_json::from_str(&text).unwrap();
    // By the dense oracle, it is 1.55691.
    assert!((1.5559..1.5570).contains(&price["price_lower"].as_f64().unwrap()), "{price}");
    assert!((1.5569..1.5585).contains(&price["price_upper"].as_f64().unwrap()), "{price}");
    assert!(price["gap"].as_f64().unwrap() <= 1e-3, "{price}");
    let words = Place::new().run("research gamma --unknown-end 2 --gap 1e-6").ok().stdout;
    for part in ["lower bound", "1.135543", "certified horizons  2", "known to end there"] {
        assert!(words.contains(part), "{part:?} is missing from {words}");
    }
    let place = Place::new();
    place.run("research gamma --unknown-end 0").refused(&["steps", "1048576"]);
    place.run("research gamma --unknown-end 1048577").refused(&["steps", "1048576"]);
    place.run("research gamma --unknown-end 8 --gap 0").refused(&["gap"]);
    place.run("research gamma --unknown-end 8 --workload prefix-sum").refused(&["--unknown-end"]);
    place.run("research gamma --unknown-end 8 --objective worst").refused(&["--unknown-end"]);
}

/// The 2 × 2 unitary (1, i; i, 1)/√2 as numpy lays it out.
fn unitary() -> Vec<u8> {
    let half = 0.5_f64.sqrt();
    npy("<c16", "(2, 2)", &[half, 0.0, 0.0, half, 0.0, half, half, 0.0])
}

fn npy(descr: &str, shape: &str, values: &[f64]) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
    let mut bytes = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
    bytes.extend(format!("{header:<117}\n").as_bytes());
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
    bytes
}

#[test]
fn certificates_are_proved_again() {
    let place = Place::new();
    place.write("unitary.npy", unitary()).write("a.csv", "1,2,0\n0,1,1\n").write("b.csv", "1,2,0\n0,1,2\n");
    let prefix = "1,0,0\n1,1,0\n1,1,1\n";
    place.write("prefix.csv", prefix);
    for (subject, matrix) in [
        ("--matrix unitary.npy", "unitary.npy"),
        ("--matrix a.csv", "a.csv"),
        ("--matrix a.csv --objective worst", "a.csv"),
        ("--workload prefix-sum --horizon 3", "prefix.csv"),
        ("--workload decay:0.9 --horizon 2000", ""),
    ] {
        let found = bounds_in(&place, &format!("research gamma {subject} --output cert.npz --force --json"));
        let proved = bounds_in(&place, "research gamma --certificate cert.npz --json");
        for (name, sharper) in [("lower", 1.0), ("upper", -1.0)] {
            let of = |bounds: &serde_json::Value| bounds[name].as_f64().unwrap();
            assert!(sharper * (of(&proved) - of(&found)) >= 0.0, "{subject}: {found} {proved}");
        }
        if !matrix.is_empty() {
            place.run(&format!("research gamma --certificate cert.npz --matrix {matrix}")).ok();
        }
        place
            .run("research gamma --certificate cert.npz --matrix b.csv")
            .refused(&["cert.npz", "another matrix"]);
    }
}

/// Overwrites eight bytes of a stored entry, and its checksums, so that the archive itself is sound.
fn tampered(bytes: &[u8], entry: &str, index: usize, change: impl Fn(f64) -> f64) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    let find = |bytes: &[u8], from: usize, what: &[u8]| {
        from + bytes[from..].windows(what.len()).position(|window| window == what).unwrap()
    };
    let name = find(&bytes, 0, entry.as_bytes());
    let header = name - 30;
    let size = u32::from_le_bytes(bytes[header + 22..header + 26].try_into().unwrap()) as usize;
    let start = name + entry.len();
    let at = start + 128 + 8 * index;
    let value = f64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
    bytes[at..at + 8].copy_from_slice(&change(value).to_le_bytes());
    let checksum = crc32fast::hash(&bytes[start..start + size]).to_le_bytes();
    bytes[header + 14..header + 18].copy_from_slice(&checksum);
    let listed = find(&bytes, start + size, entry.as_bytes()) - 46;
    bytes[listed + 16..listed + 20].copy_from_slice(&checksum);
    bytes
}

#[test]
fn tampered_certificates_are_refused() {
    let place = Place::new();
    place.write("a.csv", "1,2,0\n0,1,1\n5,0,1\n");
    place.run("research gamma --matrix a.csv --output cert.npz").ok();
    let whole = place.read("cert.npz");
    // Claimed bounds, weights, the matrix and the factors; each with sound checksums.
    let better = |x: f64| x * (1.0 + 1e-7);
    let worse = |x: f64| x * (1.0 - 1e-7);
    place.write("bad.npz", tampered(&whole, "bounds.npy", 0, better));
    place
        .run("research gamma --certificate bad.npz")
        .refused(&["bad.npz is refused", "follow from its weights"]);
    place.write("bad.npz", tampered(&whole, "bounds.npy", 1, worse));
    place.run("research gamma --certificate bad.npz").refused(&["bad.npz is refused"]);
    for (entry, change) in [
        ("bounds.npy", f64::NAN),
        ("columns.npy", 0.5),
        ("columns.npy", -1.0),
        ("columns.npy", f64::INFINITY),
        ("matrix.npy", 1.001),
        ("L.npy", 0.5),
        ("R.npy", 2.0),
    ] {
        let change = move |x: f64| if change.is_finite() && change > 0.0 { x * change } else { change };
        place.write("bad.npz", tampered(&whole, entry, 0, change));
        place.run("research gamma --certificate bad.npz").refused(&["bad.npz"]);
    }
    // A byte changed without its checksum, a cut file, and something else.
    let mut changed = whole.clone();
    changed[300] ^= 1;
    place.write("bad.npz", changed);
    place.run("research gamma --certificate bad.npz").refused(&["damaged"]);
    place.write("bad.npz", &whole[..whole.len() - 10]);
    place.run("research gamma --certificate bad.npz").refused(&["damaged, cut"]);
    place.write("bad.npz", "");
    place.run("research gamma --certificate bad.npz").refused(&["not a usable .npz"]);
    place.run("research gamma --certificate missing.npz").refused(&["missing.npz cannot be read"]);
}

/// Such bounds were once printed without a word.
#[test]
fn a_gap_that_is_not_reached_is_said() {
    let place = Place::new();
    place.write("a.csv", "1,1e-9\n3e8,2\n1e-12,1e7\n");
    let found = place.run("research gamma --matrix a.csv --gap 1e-16 --json");
    assert_eq!(found.code, Some(0), "{}", found.stderr);
    assert!(found.stderr.contains("gap of 1e-16 was not reached: "), "{}", found.stderr);
    let bounds: serde_json::Value = serde_json::from_str(&found.stdout).unwrap();
    assert_eq!(bounds["gap_reached"], false);
    assert!(bounds["reason"].as_str().unwrap().contains("rounding"), "{bounds}");
    assert!(bounds["lower"].as_f64().unwrap() <= bounds["upper"].as_f64().unwrap());
    let found = place.run("research gamma --matrix a.csv --gap 1e-3 --json").ok();
    assert!(found.stderr.is_empty() && found.stdout.contains("\"gap_reached\":true"), "{}", found.stdout);
}

/// The tolerance was once relative to the largest entry, so a factorization that answered 0 instead of
/// a small query was accepted.
#[test]
fn factors_that_lose_a_small_row_or_column_are_refused() {
    let place = Place::new();
    for matrix in ["1,0\n0,1e-9\n", "3,1e-9,1\n1,2e-9,1\n", "1,2\n2e-9,1e-9\n1,1\n", "1,1\n1,1\n1e-10,0\n"] {
        place.write("a.csv", matrix);
        let columns = matrix.lines().next().unwrap().split(',').count();
        let rows = matrix.lines().count();
        let inner = rows.min(columns);
        for objective in ["mean", "worst"] {
            place
                .run(&format!(
                    "research gamma --matrix a.csv --gap 1e-6 --output c.npz --force --objective {objective}"
                ))
                .ok();
            place.run("research gamma --certificate c.npz").ok();
            let whole = place.read("c.npz");
            let zeroed = |entry: &str, places: Vec<usize>| {
                places.into_iter().fold(whole.clone(), |bytes, at| tampered(&bytes, entry, at, |_| 0.0))
            };
            for j in 0..columns {
                place.write("bad.npz", zeroed("R.npy", (0..inner).map(|k| k * columns + j).collect()));
                place.run("research gamma --certificate bad.npz").refused(&["its L and R are not"]);
            }
            for i in 0..rows {
                place.write("bad.npz", zeroed("L.npy", (0..inner).map(|k| i * inner + k).collect()));
                place.run("research gamma --certificate bad.npz").refused(&["its L and R are not"]);
            }
        }
    }
}

/// What this program writes is accepted, also where rows and columns differ by many orders.
#[test]
fn honest_factors_of_uneven_matrices_are_accepted() {
    let place = Place::new();
    let mut state = 7_u64;
    let mut random = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64 - 0.5
    };
    for case in 0..24 {
        let (rows, columns) = (1 + case % 7, 1 + (case * 5) % 6);
        let scales: Vec<f64> = (0..rows + columns).map(|_| 10_f64.powf(12.0 * random())).collect();
        let mut text = String::new();
        for i in 0..rows {
            let entry = |j: usize, x: f64| format!("{:e}", scales[i] * scales[rows + j] * x);
            let cells: Vec<String> = (0..columns).map(|j| entry(j, random())).collect();
            text.push_str(&(cells.join(",") + "\n"));
        }
        place.write("a.csv", &text);
        for objective in ["mean", "worst"] {
            place
                .run(&format!(
                    "research gamma --matrix a.csv --gap 1e-6 --output c.npz --force --objective {objective}"
                ))
                .ok();
            place.run("research gamma --certificate c.npz").ok();
        }
    }
}

/// numpy compares the two names of an entry, so a reader that does not would see other entries.
#[test]
fn archives_with_names_that_numpy_refuses_are_refused() {
    let place = Place::new();
    place.write("a.csv", "1,2\n0,1\n");
    place.run("research gamma --matrix a.csv --output cert.npz").ok();
    let whole = place.read("cert.npz");
    let at = whole.windows(5).position(|window| window == b"L.npy").unwrap();
    let listed = whole.windows(5).rposition(|window| window == b"L.npy").unwrap();
    for change in [
        vec![(at, b'M')],
        vec![(listed, b'M')],
        // A zero byte ends a name, a code page decides what a high byte is, and flags encrypt.
        vec![(at + 1, 0), (listed + 1, 0)],
        vec![(at, 0xc3), (at + 1, 0xa9), (listed, 0xc3), (listed + 1, 0xa9)],
        vec![(listed - 46 + 8, 1)],
        vec![(at - 30 + 6, 1)],
    ] {
        let mut bytes = whole.clone();
        change.iter().for_each(|(at, byte)| bytes[*at] = *byte);
        place.write("bad.npz", bytes);
        place.run("research gamma --certificate bad.npz").refused(&["not a usable .npz"]);
    }
}

#[test]
fn bad_input_is_refused() {
    let place = Place::new();
    place.write("nan.csv", "1,nan\n").write("ragged.csv", "1,2\n3\n").write("empty.csv", "");
    place
        .write("cut.npy", &unitary()[..150])
        .write("list.npy", npy("<f8", "(1,)", &[1.0]))
        .write("a.txt", "1");
    place
        .write("object.npy", npy("|O", "(1, 1)", &[1.0]))
        .write("inf.npy", npy("<f8", "(1, 1)", &[f64::INFINITY]));
    let cases: &[(&str, &[&str])] = &[
        ("research gamma", &["--workload", "--matrix", "--certificate"]),
        ("research gamma --workload prefix-sum", &["--horizon"]),
        ("research gamma --workload prefix-sums --horizon 3", &["prefix-sums"]),
        ("research gamma --workload window:0 --horizon 3", &["window"]),
        ("research gamma --workload window:x --horizon 3", &["window:x"]),
        ("research gamma --workload decay:1.5 --horizon 3", &["decay"]),
        ("research gamma --workload parity:3 --horizon 3", &["parity:D,W"]),
        ("research gamma --workload parity:3,4", &["degree"]),
        ("research gamma --workload parity:30,2", &["435 exactly"]),
        ("research gamma --workload identity --horizon 100000", &["4096"]),
        ("research gamma --workload prefix-sum --horizon 1000000000000", &["horizon", "16777216"]),
        ("research gamma --workload decay:1e-40 --horizon 1000000", &["4096"]),
        ("research gamma --workload identity --horizon 0", &["not empty"]),
        ("research gamma --workload prefix-sum --horizon 3 --gap 0", &["gap"]),
        ("research gamma --workload prefix-sum --horizon 3 --matrix a.csv", &["--matrix"]),
        ("research gamma --matrix nan.csv", &["nan.csv, line 1, column 2", "finite"]),
        ("research gamma --matrix ragged.csv", &["line 2", "expected 2 numbers"]),
        ("research gamma --matrix empty.csv", &["empty.csv is empty"]),
        ("research gamma --matrix cut.npy", &["cut.npy", "ends before"]),
        ("research gamma --matrix list.npy", &["two dimensions"]),
        ("research gamma --matrix object.npy", &["Python objects"]),
        ("research gamma --matrix inf.npy", &["row 1, column 1"]),
        ("research gamma --matrix a.txt", &[".npy or .csv"]),
        ("research gamma --matrix nothing.npy", &["cannot be read"]),
    ];
    for (line, parts) in cases {
        place.run(line).refused(parts);
    }
    place.write("one.csv", "1\n");
    place.run("research gamma --matrix one.csv --output one.csv").refused(&["cannot be an output"]);
}

#[test]
fn factors_of_a_long_workload_are_refused_unread() {
    // Written out, 200,000 steps would take 320 GB.
    let place = Place::new();
    place.run("research gamma --workload decay:0.5 --horizon 200000 --gap 1e-3 --output cert.npz").ok();
    let whole = place.read("cert.npz");
    let one = npy("<f8", "(1, 1)", &[1.0]);
    place.write("bad.npz", with_entries(&whole, &[("L.npy", &one), ("R.npy", &one)]));
    place.run("research gamma --certificate bad.npz").refused(&["bad.npz is refused", "1024 steps"]);
}

/// The archive with stored entries added.
fn with_entries(archive: &[u8], added: &[(&str, &[u8])]) -> Vec<u8> {
    let end = archive.len() - 22;
    let field = |at: usize| u32::from_le_bytes(archive[at..at + 4].try_into().unwrap());
    let start = field(end + 16) as usize;
    let (mut bytes, mut directory) = (archive[..start].to_vec(), archive[start..end].to_vec());
    for (name, contents) in added {
        let place = bytes.len() as u32;
        let mut fixed = vec![20, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        fixed.extend(crc32fast::hash(contents).to_le_bytes());
        fixed.extend((contents.len() as u32).to_le_bytes());
        fixed.extend((contents.len() as u32).to_le_bytes());
        fixed.extend((name.len() as u32).to_le_bytes());
        bytes.extend([b"PK\x03\x04", &fixed[..], name.as_bytes(), contents].concat());
        directory.extend([b"PK\x01\x02\x14\0", &fixed[..], &[0; 10]].concat());
        directory.extend(place.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let count = u16::from_le_bytes([archive[end + 10], archive[end + 11]]) + added.len() as u16;
    let (place, size) = (bytes.len() as u32, directory.len() as u32);
    bytes.extend(directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
    bytes.extend([size.to_le_bytes(), place.to_le_bytes()].concat());
    bytes.extend([0, 0]);
    bytes
}
