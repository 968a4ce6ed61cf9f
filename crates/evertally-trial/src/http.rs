//! A minimal HTTP client: one persistent connection, one request at a time.
//!
//! Trials need to know exactly what happened to a request: whether it was sent completely, whether
//! the answer arrived, and whether the connection was new. A library that retries on its own would
//! hide this.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// The time after which a request without an answer counts as lost.
const TIMEOUT: Duration = Duration::from_secs(20);

/// One connection at a time to one address.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    token: String,
    connection: Option<BufReader<TcpStream>>,
}

/// An answer of the server.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The complete body.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Errors
    /// The status and the body, if the body is not JSON or the status is not a success.
    pub fn json(&self) -> Result<Value, String> {
        let text = || String::from_utf8_lossy(&self.body).into_owned();
        if !(200..300).contains(&self.status) {
            return Err(format!("{}: {}", self.status, text()));
        }
        serde_json::from_slice(&self.body).map_err(|error| format!("{error} in {}", text()))
    }
}

impl Client {
    /// A client that connects at its first request.
    pub fn new(address: SocketAddr, token: &str) -> Self {
        Self { address, token: token.to_owned(), connection: None }
    }

    /// Gets a document.
    ///
    /// # Errors
    /// If the connection fails before the answer is complete.
    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.send("GET", path, None)?;
        self.answer()
    }

    /// Posts a JSON document.
    ///
    /// # Errors
    /// If the connection fails before the answer is complete. It is then unknown whether the
    /// request was processed.
    pub fn post(&mut self, path: &str, document: &Value) -> io::Result<Answer> {
        self.post_bytes(path, "application/json", document.to_string().as_bytes())
    }

    /// Posts raw bytes.
    ///
    /// # Errors
    /// As [`Client::post`].
    pub fn post_bytes(&mut self, path: &str, kind: &str, body: &[u8]) -> io::Result<Answer> {
        self.send("POST", path, Some((kind, body)))?;
        self.answer()
    }

    /// Posts a body and closes the connection without waiting for the answer, to simulate a lost
    /// reply.
    ///
    /// # Errors
    /// If the request could not be sent.
    pub fn post_and_leave(&mut self, path: &str, kind: &str, body: &[u8]) -> io::Result<()> {
        let sent = self.send("POST", path, Some((kind, body)));
        self.connection = None;
        sent
    }

    /// Gets an endless document, and returns its lines as they arrive.
    ///
    /// # Errors
    /// If the connection fails or the status is not 200.
    pub fn follow(mut self, path: &str) -> io::Result<impl Iterator<Item = io::Result<String>> + use<>> {
        self.send("GET", path, None)?;
        let connection = self.connection.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let (status, _) = head(connection)?;
        if status != 200 {
            return Err(io::Error::other(format!("status {status}")));
        }
        let connection = self.connection.take().ok_or(io::ErrorKind::NotConnected)?;
        // Chunk sizes are on separate lines, which do not look like event fields.
        Ok(connection.lines())
    }

    fn send(&mut self, method: &str, path: &str, body: Option<(&str, &[u8])>) -> io::Result<()> {
        let connection = match self.connection.take() {
            Some(connection) => connection,
            None => connect(self.address)?,
        };
        let mut request = format!(
            "{method} {path} HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\n",
            self.address, self.token
        );
        if let Some((kind, body)) = body {
            request.push_str(&format!("content-type: {kind}\r\ncontent-length: {}\r\n", body.len()));
        }
        request.push_str("\r\n");
        let mut request = request.into_bytes();
        request.extend(body.map_or(&[][..], |(_, body)| body));
        // One write, so that the body does not wait for the acknowledgement of the head.
        connection.get_ref().write_all(&request)?;
        // A failed connection is not reused.
        self.connection = Some(connection);
        Ok(())
    }

    fn answer(&mut self) -> io::Result<Answer> {
        let mut connection = self.connection.take().ok_or(io::ErrorKind::NotConnected)?;
        let (status, head) = head(&mut connection)?;
        let body = match head.length {
            Some(length) => {
                let mut body = vec![0; length];
                connection.read_exact(&mut body)?;
                body
            }
            None if head.is_chunked => chunks(&mut connection)?,
            None => Vec::new(),
        };
        if !head.closes {
            self.connection = Some(connection);
        }
        Ok(Answer { status, body })
    }
}

fn connect(address: SocketAddr) -> io::Result<BufReader<TcpStream>> {
    let stream = TcpStream::connect_timeout(&address, TIMEOUT)?;
    stream.set_read_timeout(Some(TIMEOUT))?;
    stream.set_write_timeout(Some(TIMEOUT))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

/// The information about the body in the head of an answer.
#[derive(Default)]
struct Head {
    length: Option<usize>,
    is_chunked: bool,
    closes: bool,
}

fn head(connection: &mut BufReader<TcpStream>) -> io::Result<(u16, Head)> {
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "no HTTP answer");
    let mut line = String::new();
    if connection.read_line(&mut line)? == 0 {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok()).ok_or_else(bad)?;
    let mut head = Head::default();
    loop {
        line.clear();
        connection.read_line(&mut line)?;
        let field = line.trim_end().to_ascii_lowercase();
        if field.is_empty() {
            return if line.is_empty() { Err(bad()) } else { Ok((status, head)) };
        }
        let (name, value) = field.split_once(':').ok_or_else(bad)?;
        match (name, value.trim()) {
            ("content-length", length) => head.length = Some(length.parse().map_err(|_| bad())?),
            ("transfer-encoding", "chunked") => head.is_chunked = true,
            ("connection", "close") => head.closes = true,
            _ => {}
        }
    }
}

fn chunks(connection: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
    let bad = || io::Error::new(io::ErrorKind::InvalidData, "no chunk");
    let mut body = Vec::new();
    loop {
        let mut line = String::new();
        connection.read_line(&mut line)?;
        let length = usize::from_str_radix(line.trim(), 16).map_err(|_| bad())?;
        let start = body.len();
        body.resize(start + length, 0);
        connection.read_exact(&mut body[start..])?;
        connection.read_exact(&mut [0; 2])?;
        if length == 0 {
            return Ok(body);
        }
    }
}
