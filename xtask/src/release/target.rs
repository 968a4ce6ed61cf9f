//! The systems that a release is for.

use std::env::consts::{ARCH, OS};

/// A system, and how its program and wheel are built.
pub(super) struct Target {
    /// Its name in Rust.
    pub(super) triple: &'static str,
    /// The oldest system library that the wheel supports, as installers name it. Zig links against
    /// it. Other systems than Linux use their own compiler.
    pub(super) linux: Option<&'static str>,
}

const TARGETS: [Target; 7] = [
    Target { triple: "x86_64-unknown-linux-gnu", linux: Some("manylinux2014") },
    Target { triple: "aarch64-unknown-linux-gnu", linux: Some("manylinux2014") },
    Target { triple: "x86_64-unknown-linux-musl", linux: Some("musllinux_1_2") },
    Target { triple: "aarch64-unknown-linux-musl", linux: Some("musllinux_1_2") },
    Target { triple: "x86_64-apple-darwin", linux: None },
    Target { triple: "aarch64-apple-darwin", linux: None },
    Target { triple: "x86_64-pc-windows-msvc", linux: None },
];

impl Target {
    pub(super) fn named(triple: &str) -> Result<&'static Self, String> {
        TARGETS.iter().find(|target| target.triple == triple).ok_or_else(|| {
            let known = TARGETS.map(|target| target.triple).join(", ");
            format!("there is no release for {triple}: the targets are {known}")
        })
    }

    /// The targets whose programs run on this machine.
    pub(super) fn of_this_machine() -> impl Iterator<Item = &'static Self> {
        let system = if OS == "macos" { "darwin" } else { OS };
        TARGETS.iter().filter(move |target| target.triple.starts_with(ARCH) && target.triple.contains(system))
    }

    /// Whether the program needs no library of the system.
    pub(super) fn is_static(&self) -> bool {
        self.triple.ends_with("-musl")
    }

    /// The target as zig takes it: with the version of the system library that manylinux2014 has.
    pub(super) fn for_zig(&self) -> String {
        let version = if self.triple.ends_with("-gnu") { ".2.17" } else { "" };
        format!("{}{version}", self.triple)
    }

    /// The tag that `auditwheel` must find, or a better one.
    pub(super) fn tag(&self) -> Option<&'static str> {
        self.linux.map(|name| if name == "manylinux2014" { "manylinux_2_17" } else { name })
    }

    pub(super) fn program_name(&self) -> &'static str {
        if self.triple.contains("windows") { "evertally.exe" } else { "evertally" }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_workflow_builds_every_target() {
        let workflow = include_str!("../../../.github/workflows/release.yml");
        let built: Vec<&str> = workflow
            .lines()
            .filter_map(|line| line.trim().strip_prefix("- { target: ")?.split(',').next())
            .collect();
        assert_eq!(built, TARGETS.map(|target| target.triple));
    }

    #[test]
    fn this_machine_has_a_target_and_an_unknown_one_is_refused() {
        assert!(Target::of_this_machine().count() > 0);
        assert!(Target::named("riscv64-unknown-linux-gnu").is_err());
    }
}
