use super::*;

fn canonical(text: &str) -> String {
    Filter::parse(text).unwrap().canonical().to_owned()
}

/// Whether a condition on the column `n` holds for a cell.
fn holds(text: &str, cell: Cell) -> Result<bool, Undecided> {
    Filter::parse(text).unwrap().holds(&[cell])
}

fn text(text: &str) -> Cell {
    let mut cell = Cell::Missing;
    cell.set_text(text);
    cell
}

#[test]
fn numbers_texts_and_truths_compare_by_their_kind() {
    for (condition, cell, expected) in [
        ("n > 5", text("10"), true),
        ("n > '5'", text("10"), false),
        ("n = 10", text(" 10.0 "), true),
        ("n = '10'", Cell::Integer(10), true),
        ("n = 'north'", text(" north "), true),
        ("n != 'north'", text("south"), true),
        ("n in ('a', 'b')", text("b"), true),
        ("n not in ('a', 'b')", text("b"), false),
        ("n in (1, 2.5)", Cell::Decimal(2.5), true),
        ("n = true", Cell::Literal("true".to_owned()), true),
        ("n = false", text("FALSE"), true),
        ("n >= -1e3 and n <= +.5", Cell::Integer(0), true),
        ("not (n < 3 or n > 5)", Cell::Integer(4), true),
        // Integers compare exactly, where doubles cannot.
        ("n = 9007199254740993", Cell::Integer(9_007_199_254_740_992), false),
        ("n > 9007199254740992", text("9007199254740993"), true),
    ] {
        assert_eq!(holds(condition, cell), Ok(expected), "{condition}");
    }
}

#[test]
fn comparisons_with_missing_cells_do_not_hold() {
    for condition in ["n = 1", "n != 1", "n < 'a'", "n in (1)", "n is not null", "n = true"] {
        assert_eq!(holds(condition, Cell::Missing), Ok(false), "{condition}");
    }
    for condition in ["n is null", "not n = 1", "n not in ('a')", "n > 1 or n is null"] {
        assert_eq!(holds(condition, Cell::Missing), Ok(true), "{condition}");
    }
}

/// A typing error must not silently count nothing, and both parts are looked at.
#[test]
fn cells_of_another_kind_are_errors_of_their_row() {
    for condition in ["n > 5", "n = 1 or n = 'x'", "n = 'x' or n = 1", "n = true"] {
        assert!(holds(condition, text("x")).is_err(), "{condition}");
    }
    assert!(holds("n > '2026'", Cell::Time(0)).is_err());
}

#[test]
fn the_canonical_form_does_not_depend_on_typing() {
    let expected = r#"("status" = 'paid') and (("n" > 1) or (not ("user.id" in ('a', 2))))"#;
    for text in [
        "status='paid' and (n>1 or user.id not in ('a',2))",
        r#"  "status" == 'paid' AND (("n" > +1) OR NOT "user.id" IN ('a' , 2))"#,
    ] {
        assert_eq!(canonical(text), expected);
    }
    assert_eq!(canonical(expected), expected);
    assert_eq!(canonical("n <> 1.50 or \"a \"\"b\" = 'it''s'"), r#"("n" != 1.5) or ("a ""b" = 'it''s')"#);
    // What could count differently is written differently.
    let different =
        ["n = 1", "n = 1.0", "n = '1'", "n = true", "n = 'true'", "m = 1", "n != 1", "not n = 1", "n in (1)"];
    let forms: std::collections::HashSet<String> = different.iter().map(|text| canonical(text)).collect();
    assert_eq!(forms.len(), different.len());
}

#[test]
fn errors_point_at_the_place() {
    for (text, parts) in [
        ("", "at the end expected the name of a column"),
        ("n", "at the end expected ="),
        ("n >", "at the end expected a number"),
        ("n > m", "at character 5 expected a number, or a text in single quotes, got \"m\""),
        ("n = 1 m = 2", "at character 7 expected and, or, or the end"),
        ("n = 1 and", "at the end"),
        ("(n = 1", "at the end expected and, or, or a closing"),
        ("n = 'x", "at character 5 a quote is opened"),
        ("n = 1x", "at character 5 \"1x\" is no number"),
        ("é = 1 ; b", "at character 7"),
        ("n in 1", "at character 6"),
        ("n in ()", "at character 7"),
        ("n is 1", "at character 6 expected null"),
        ("1 = n", "at character 1 expected the name of a column"),
        ("n not 1", "at character 7 expected in"),
        ("n = inf", "at character 5"),
        ("n = 1e999", "is no number"),
    ] {
        let error = Filter::parse(text).unwrap_err();
        assert!(error.contains(parts), "{text}: {error}");
    }
    let deep = format!("{}n = 1{}", "(".repeat(100_000), ")".repeat(100_000));
    assert!(Filter::parse(&deep).unwrap_err().contains("at most"));
    assert!(Filter::parse(&format!("{}n = 1", "not ".repeat(100_000))).is_err());
}
