//! The program as a child process.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use crate::http::Client;

/// The time that a start may take.
const START_TIMEOUT: Duration = Duration::from_secs(60);

/// How to start the program on a directory.
#[derive(Clone, Debug)]
pub struct Program {
    /// The path of the program.
    pub binary: PathBuf,
    /// The directory of its ledger.
    pub directory: PathBuf,
    /// Further options.
    pub options: Vec<String>,
}

/// A running process. It is killed when this value is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    lines: Receiver<String>,
    started: Instant,
    /// Its output so far, for error messages.
    said: String,
}

/// A process that is ready.
#[derive(Clone, Debug)]
pub struct Ready {
    /// Its address.
    pub address: SocketAddr,
    /// The token that it printed. Only the first start in a directory prints one.
    pub token: Option<String>,
    /// The time from the start of the process until it was ready.
    pub after: Duration,
}

impl Program {
    /// `evertally serve DIRECTORY` on any free port.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(&self) -> Result<Process, String> {
        let started = Instant::now();
        let mut child = Command::new(&self.binary)
            .arg("serve")
            .arg(&self.directory)
            .args(["--listen", "127.0.0.1:0"])
            .args(&self.options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| format!("cannot start {}: {error}", self.binary.display()))?;
        let (sender, lines) = channel();
        let pipes: [Option<Box<dyn std::io::Read + Send>>; 2] = [
            child.stdout.take().map(|pipe| Box::new(pipe) as _),
            child.stderr.take().map(|pipe| Box::new(pipe) as _),
        ];
        for pipe in pipes.into_iter().flatten() {
            let sender = sender.clone();
            // Reading never stops, so a full pipe never blocks the program.
            std::thread::spawn(move || {
                for line in BufReader::new(pipe).lines().map_while(Result::ok) {
                    // The receiver is gone once the start is over.
                    let _ = sender.send(line);
                }
            });
        }
        Ok(Process { child, lines, started, said: String::new() })
    }
}

impl Program {
    /// Reads and checks everything in the directory, while no process serves it.
    ///
    /// # Errors
    /// The program's message, if something is damaged.
    pub fn verify(&self) -> Result<(), String> {
        let output = Command::new(&self.binary).arg("serve").arg(&self.directory).arg("--verify").output();
        let output = output.map_err(|error| format!("cannot start {}: {error}", self.binary.display()))?;
        if output.status.success() {
            Ok(())
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }
}

impl Process {
    /// Waits until the program prints its address and answers that it is ready.
    ///
    /// # Errors
    /// If it exits before, or takes longer than a minute.
    pub fn ready(&mut self) -> Result<Ready, String> {
        let mut token = None;
        let address = loop {
            let left = START_TIMEOUT.saturating_sub(self.started.elapsed());
            let line = match self.lines.recv_timeout(left) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => {
                    return Err(format!("no address after a minute: {}", self.said));
                }
                Err(RecvTimeoutError::Disconnected) => return Err(format!("it ended: {}", self.said)),
            };
            self.said.push_str(&line);
            self.said.push('\n');
            token = token.or_else(|| word_with(&line, "evt_").map(str::to_owned));
            let place = word_with(&line, "http://").map(|word| &word["http://".len()..]);
            if let Some(address) = place.and_then(|place| place.trim_end_matches('/').parse().ok()) {
                break address;
            }
        };
        // The token may be printed after the address.
        while let Ok(line) = self.lines.try_recv() {
            token = token.or_else(|| word_with(&line, "evt_").map(str::to_owned));
        }
        let mut client = Client::new(address, "");
        while !client.get("/readyz").is_ok_and(|answer| answer.status == 200) {
            if self.started.elapsed() > START_TIMEOUT {
                return Err(format!("not ready after a minute: {}", self.said));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        Ok(Ready { address, token, after: self.started.elapsed() })
    }

    /// Kills the process at once, as `kill -9` does.
    ///
    /// # Errors
    /// If it had exited by itself, which it must not do.
    pub fn kill(mut self) -> Result<(), String> {
        if let Ok(Some(status)) = self.child.try_wait() {
            let rest: Vec<String> = self.lines.try_iter().collect();
            return Err(format!("it ended by itself ({status}): {}{}", self.said, rest.join("\n")));
        }
        let killed = self.child.kill().and_then(|()| self.child.wait());
        killed.map(|_| ()).map_err(|error| format!("cannot kill it: {error}"))
    }

    /// The resident memory of the process in bytes, if the system reports it.
    pub fn resident_memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? * 1024)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have been killed already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The word of a line that starts with a prefix.
fn word_with<'a>(line: &'a str, prefix: &str) -> Option<&'a str> {
    let word = &line[line.find(prefix)?..];
    let end = word.find(|c: char| c.is_whitespace() || "\"',;()".contains(c)).unwrap_or(word.len());
    Some(&word[..end])
}

/// The total size of all files of a directory, in bytes.
pub fn size_of(directory: &Path) -> u64 {
    let entries = std::fs::read_dir(directory).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.metadata().ok()).map(|data| data.len()).sum()
}

#[cfg(test)]
mod tests {
    use super::word_with;

    #[test]
    fn words_are_found_in_what_the_program_says() {
        assert_eq!(
            word_with("listening on http://127.0.0.1:80/ now", "http://"),
            Some("http://127.0.0.1:80/")
        );
        assert_eq!(word_with(r#"{"token":"evt_abc"}"#, "evt_"), Some("evt_abc"));
        assert_eq!(word_with("nothing", "evt_"), None);
    }
}
