//! The `evertally` program.

fn main() -> std::process::ExitCode {
    evertally_cli::run()
}
