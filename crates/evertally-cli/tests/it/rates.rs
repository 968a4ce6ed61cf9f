//! `count --per`: totals per public unit, such as cases per 100,000 people.

use crate::common::{Place, TIMED, column, rows};

const EVENTS: &str =
    "time,region\n2026-01-05T00:10:00Z,north\n2026-01-05T01:10:00Z,south\n2026-01-05T01:20:00Z,east\n";

const REGIONS: &str = "population,region,name\n2000,north,Oberland\n50000, south ,\"Unterland, low\"\n";

fn place() -> Place {
    let place = Place::new();
    place.with_key().write("in.csv", EVENTS).write("regions.csv", REGIONS);
    place
}

fn line(extra: &str) -> String {
    format!("count in.csv {TIMED} --noise-key noise.key --group-by region --groups regions.csv {extra}")
}

#[test]
fn rates_stand_beside_totals_and_change_nothing_else() {
    let place = place();
    let plain = place.run(&line("")).ok().stdout;
    assert_eq!(column(&plain, "key"), ["north", "south", "other"].repeat(4));
    // The same key, and no word that the noise is another: the counts are the same.
    let rates = place.run(&line("--per population")).ok().stdout;
    for (plain, rated) in rows(&plain).iter().zip(rows(&rates)) {
        assert_eq!(*plain, rated[..7]);
    }
    let columns = "estimate,standard_error,lower,upper,rate,rate_standard_error,rate_lower,rate_upper";
    assert!(rates.contains(&format!("\nstep,start,key,{columns}\n")), "{rates}");
    let note = "# per: rates are totals times 100000, divided by the population of their key";
    assert!(rates.contains(&format!("\n{note}\n# denominators: [2000.0,50000.0,null]\n")), "{rates}");
    for row in rows(&rates) {
        for (total, rate) in row[3..7].iter().zip(&row[7..]) {
            let factor = match row[2].as_str() {
                "north" => 50.0,
                "south" => 2.0,
                _ => {
                    assert_eq!(rate, "");
                    continue;
                }
            };
            let [total, rate] = [total, rate].map(|cell| cell.parse::<f64>().unwrap());
            assert!((rate - factor * total).abs() <= 1e-9 * rate.abs(), "{row:?}");
        }
    }
    let per_unit = place.run(&line("--per population --per-unit 1000")).ok().stdout;
    assert_eq!(column(&per_unit, "estimate"), column(&rates, "estimate"));
    // A file with the names alone declares the same groups.
    place.write("names.txt", "north\nsouth\n");
    let names = place.run(&line("").replace("regions.csv", "names.txt")).ok().stdout;
    assert_eq!(names, plain);
}

#[test]
fn formats_periods_and_plots_have_rates() {
    let place = place();
    let csv = place.run(&line("--per population --report 2,total --round")).ok().stdout;
    assert_eq!(rows(&csv).len(), 3 * (2 + 4));
    let json = place.run(&line("--per population --report 2,total --round --format jsonl")).ok().stdout;
    for (line, row) in json.lines().skip(1).zip(rows(&csv)) {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let names = ["estimate", "standard_error", "lower", "upper", "rate", "rate_standard_error"];
        for (name, cell) in names.iter().zip(&row[5..]) {
            assert_eq!(line[name].as_f64(), cell.parse().ok(), "{name} {line}");
        }
        assert_eq!(line["rate"].is_null(), line["key"] == "other");
    }
    place.forget_uses().run(&line("--per population --output out.parquet --plot p.svg")).ok();
    let picture = String::from_utf8(place.read("p.svg")).unwrap();
    for part in ["by region, per 100,000 population", "north", "south"] {
        assert!(picture.contains(part), "{part}");
    }
    assert!(!picture.contains("other"));
    let read =
        "count out.parquet --time start --every 1d --from 2026-01-05 --horizon 1 --value rate --clamp 0,1e6";
    let ran = place.run(&format!("{read} --epsilon 1 --delta 1e-6"));
    ran.refused(&["column \"rate\""]);
}

#[test]
fn bad_tables_are_refused() {
    let place = place();
    let refused = |table: &str, extra: &str, parts: &[&str]| {
        place.write("regions.csv", table);
        place.run(&line(extra)).refused(parts);
    };
    refused(
        REGIONS,
        "--per people",
        &["regions.csv", "no column \"people\"", "\"population\", \"region\", \"name\""],
    );
    for (cell, got) in [
        ("0", "0"),
        ("-5", "-5"),
        ("NaN", "NaN"),
        ("inf", "inf"),
        ("", "nothing"),
        ("1e", "1e"),
        ("1e-320", "1e-320"),
        ("1e301", "1e301"),
    ] {
        let table = format!("region,population\nnorth,7\nsouth,{cell}\n");
        let parts = ["regions.csv: line 3, column \"population\"", "expected a number above zero", got];
        refused(&table, "--per population", &parts);
    }
    refused("region,population\nnorth,7\nnorth,8\n", "--per population", &["regions.csv", "once"]);
    refused(
        "region,population\nnorth,7\nsouth\n",
        "--per population",
        &["regions.csv", "line 3", "2 values, got 1"],
    );
    refused("region,population\n", "--per population", &["regions.csv", "at least one key"]);
    refused("north\nsouth\n", "--per population", &["--per needs a table", "region", "regions.csv"]);
    refused(REGIONS, "--per population --per-unit 0", &["--per-unit", "above zero"]);
    // Such a rate was infinite.
    refused(REGIONS, "--per population --per-unit 1e305", &["--per-unit", "1e100"]);
    for header in ["region,population,population", "region,region,population"] {
        let named = header.split(',').nth(1).unwrap();
        let parts = ["regions.csv", "more than one column is named", named];
        refused(&format!("{header}\nnorth,5,6\n"), "--per population", &parts);
    }
    refused(REGIONS, "--per-unit 5", &["--per"]);
    refused(REGIONS, "--per population --mean x --clamp 0,1", &["--per cannot be used with --mean"]);
    let list = line("--per population").replace("regions.csv", "north,south");
    place.run(&list).refused(&["--per needs --groups FILE"]);
    place.run(&format!("count in.csv {TIMED} --per population")).refused(&["--groups"]);
    assert_eq!(place.files(), ["in.csv", "noise.key", "regions.csv"]);
}
