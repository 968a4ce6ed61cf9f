//! The example of the crate's README is the one at the top of its documentation, which is compiled.

/// The lines of the first block of Rust code.
fn example<'a>(lines: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let mut lines = lines.skip_while(|line| !line.starts_with("```"));
    lines.next();
    lines.take_while(|line| *line != "```").filter(|line| !line.starts_with("# ")).collect()
}

#[test]
fn the_example_is_that_of_the_documentation() {
    let readme = example(include_str!("../README.md").lines());
    let documentation = include_str!("../src/lib.rs").lines().map_while(|line| line.strip_prefix("//!"));
    let documentation = example(documentation.map(|line| line.strip_prefix(' ').unwrap_or(line)));
    assert!(readme.len() > 5);
    assert_eq!(readme, documentation);
}
