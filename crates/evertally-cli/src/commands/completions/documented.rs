//! The command line as the help shows it.

use clap::builder::Resettable;
use clap::{ArgGroup, Command};

/// Copies a command without what is hidden: options and commands under older names.
///
/// `clap_complete` offers hidden options and commands too, and `clap` cannot remove them from a
/// command. `research` is hidden only because the help lists its commands in a group of their own.
pub(super) fn documented(command: &Command) -> Command {
    let shown = |name: &str| {
        command.get_arguments().any(|argument| argument.get_id() == name && !argument.is_hide_set())
    };
    let groups = command.get_groups().map(|group| {
        let members = group.get_args().filter(|member| shown(member.as_str())).cloned();
        let copy = ArgGroup::new(group.get_id().clone()).args(members);
        copy.required(group.is_required_set()).multiple(group.clone().is_multiple())
    });
    let mut copy = Command::new(command.get_name().to_owned())
        .args(command.get_arguments().filter(|argument| !argument.is_hide_set()).cloned())
        .groups(groups)
        .subcommand_required(command.is_subcommand_required_set());
    for inner in command.get_subcommands() {
        if !inner.is_hide_set() || inner.get_name() == "research" {
            copy = copy.subcommand(documented(inner));
        }
    }
    let after_help = command.get_after_long_help().or(command.get_after_help());
    let texts = [command.get_about(), command.get_long_about(), after_help];
    let [about, long_about, after_help] = texts.map(|text| Resettable::from(text.cloned()));
    copy = copy.about(about).long_about(long_about).after_help(after_help);
    match command.get_version() {
        Some(version) => copy.version(version.to_owned()),
        None => copy,
    }
}
