//! A client of a few lines: one connection that is kept, one request at a time.
//!
//! Trials need to know exactly what happened to a request: whether it was sent whole, whether the
//! answer came, whether the connection was new. A library that retries by itself would hide what is
//! to be tested.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// How long an answer may take before a request is taken to be lost.
const PATIENCE: Duration = Duration::from_secs(20);

/// One connection at a time to one address.
#[derive(Debug)]
pub struct Client {
    address: SocketAddr,
    token: String,
    connection: Option<BufReader<TcpStream>>,
}

/// What a server answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The status code.
    pub status: u16,
    /// The body, whole.
    pub body: Vec<u8>,
}

impl Answer {
    /// The body as JSON.
    ///
    /// # Errors
    /// With the status and the body where the body is no JSON, or the status is not one of success.
    pub fn json(&self) -> Result<Value, String> {
        let text = || String::from_utf8_lossy(&self.body).into_owned();
        if !(200..300).contains(&self.status) {
            return Err(format!("{}: {}", self.status, text()));
        }
        serde_json::from_slice(&self.body).map_err(|error| format!("{error} in {}", text()))
    }
}

impl Client {
    /// A client that connects when it first asks something.
    pub fn new(address: SocketAddr, token: &str) -> Self {
        Self { address, token: token.to_owned(), connection: None }
    }

    /// Asks for a document.
    ///
    /// # Errors
    /// Where the connection fails before the answer is whole.
    pub fn get(&mut self, path: &str) -> io::Result<Answer> {
        self.send("GET", path, None)?;
        self.answer()
    }

    /// Posts a document of JSON.
    ///
    /// # Errors
    /// Where the connection fails before the answer is whole. Nobody knows then whether it was carried out.
    pub fn post(&mut self, path: &str, document: &Value) -> io::Result<Answer> {
        self.post_bytes(path, "application/json", document.to_string().as_bytes())
    }

    /// Posts a body as it stands.
    ///
    /// # Errors
    /// As [`Client::post`].
    pub fn post_bytes(&mut self, path: &str, kind: &str, body: &[u8]) -> io::Result<Answer> {
        self.send("POST", path, Some((kind, body)))?;
        self.answer()
    }

    /// Posts a body and hangs up without waiting for the answer: a reply that is lost.
    ///
    /// # Errors
    /// Where not even the request could be sent.
    pub fn post_and_leave(&mut self, path: &str, kind: &str, body: &[u8]) -> io::Result<()> {
        let sent = self.send("POST", path, Some((kind, body)));
        self.connection = None;
        sent
    }

    /// Asks for a document that does not end, and returns its lines as they come.
    ///
    /// # Errors
    /// Where the connection fails or the status is not 200.
    pub fn follow(mut self, path: &str) -> io::Result<impl Iterator<Item = io::Result<String>> + use<>> {
        self.send("GET", path, None)?;
        let connection = self.connection.as_mut().ok_or(io::ErrorKind::NotConnected)?;
        let (status, _) = head(connection)?;
        if status != 200 {
            return Err(io::Error::other(format!("status {status}")));
        }
        let connection = self.connection.take().ok_or(io::ErrorKind::NotConnected)?;
        // Chunk sizes stand on lines of their own, which no reader of events takes for a field.
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
        // One write, so that a request is not held back for the acknowledgement of its head.
        connection.get_ref().write_all(&request)?;
        // A connection on which something failed is not used again.
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
    let stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_nodelay(true)?;
    Ok(BufReader::new(stream))
}

/// What the head of an answer says of its body.
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
