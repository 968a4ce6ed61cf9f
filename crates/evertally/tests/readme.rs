//! The example in Rust of both READMEs is the one at the top of the crate's documentation, which is
//! compiled.

/// The lines of the first block that begins with this line.
fn example<'a>(lines: impl Iterator<Item = &'a str>, fence: &str) -> Vec<&'a str> {
    let mut lines = lines.skip_while(|line| *line != fence);
    lines.next();
    lines.take_while(|line| *line != "```").filter(|line| !line.starts_with("# ")).collect()
}

#[test]
fn the_example_is_that_of_the_documentation() {
    let documentation = include_str!("../src/lib.rs").lines().map_while(|line| line.strip_prefix("//!"));
    let documentation = example(documentation.map(|line| line.strip_prefix(' ').unwrap_or(line)), "```");
    assert!(documentation.len() > 5);
    for readme in [include_str!("../README.md"), include_str!("../../../README.md")] {
        assert_eq!(example(readme.lines(), "```rust"), documentation);
    }
}
