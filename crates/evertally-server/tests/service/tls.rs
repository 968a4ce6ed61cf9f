//! TLS with a certificate made for the test, HTTP/1.1 and HTTP/2.

use crate::fixture::{START, Server};
use bytes::Bytes;
use evertally_ledger::{Ledger, Location, read_or_make_key};
use evertally_server::{Options, Tls};
use http_body_util::{BodyExt, Empty};
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls_pki_types::ServerName;
use rustls_pki_types::pem::PemObject;
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

#[test]
fn both_versions_of_http_are_spoken_over_tls() {
    let home = tempfile::tempdir().unwrap();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let (certificate, key) = (home.path().join("certificate.pem"), home.path().join("key.pem"));
    std::fs::write(&certificate, made.cert.pem()).unwrap();
    std::fs::write(&key, made.signing_key.serialize_pem()).unwrap();
    let tls = Tls::from_files(&certificate, &key).unwrap();
    let directory = home.path().join("counters");
    let place = Location::directory(&directory, None).unwrap();
    let ledger = Ledger::open(place, read_or_make_key(&directory).unwrap(), START).unwrap();
    let server = Server::on(ledger, Options::default(), Some(tls));

    let mut roots = RootCertStore::empty();
    roots.add(rustls_pki_types::CertificateDer::from_pem_file(&certificate).unwrap()).unwrap();
    let connect = |protocol: &'static [u8]| {
        let provider = Arc::new(tokio_rustls::rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots.clone())
            .with_no_client_auth();
        config.alpn_protocols = vec![protocol.to_vec()];
        let address = server.address;
        async move {
            let socket = TcpStream::connect(address).await.unwrap();
            let name = ServerName::try_from("localhost").unwrap();
            let stream = TlsConnector::from(Arc::new(config)).connect(name, socket).await.unwrap();
            assert_eq!(stream.get_ref().1.alpn_protocol(), Some(protocol));
            stream
        }
    };
    let request = || {
        let bearer = format!("Bearer {}", server.bearers.admin);
        hyper::Request::get("https://localhost/v1/status")
            .header("host", "localhost")
            .header("authorization", bearer)
            .body(Empty::<Bytes>::new())
            .unwrap()
    };
    let is_status = |body: Bytes| String::from_utf8(body.to_vec()).unwrap().contains("\"mode\":\"running\"");
    server.runtime().block_on(async {
        let stream: TlsStream<TcpStream> = connect(b"h2").await;
        let (mut sender, connection) =
            hyper::client::conn::http2::handshake(TokioExecutor::new(), TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        for _ in 0..3 {
            let answer = sender.send_request(request()).await.unwrap();
            assert_eq!(answer.status(), 200);
            assert!(is_status(answer.into_body().collect().await.unwrap().to_bytes()));
        }
        let stream = connect(b"http/1.1").await;
        let (mut sender, connection) =
            hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        let answer = sender.send_request(request()).await.unwrap();
        assert_eq!(answer.status(), 200);
        assert!(is_status(answer.into_body().collect().await.unwrap().to_bytes()));
    });
    // Who speaks no TLS is not answered.
    let mut wire = crate::client::Wire::open(server.address);
    wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    assert!(wire.head().is_none_or(|answer| answer.status >= 400));
}

#[test]
fn certificates_are_checked_at_the_start() {
    let home = tempfile::tempdir().unwrap();
    let one = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let other = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    let file = |name: &str, text: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let certificate = file("certificate.pem", &one.cert.pem());
    let key = file("key.pem", &one.signing_key.serialize_pem());
    let wrong = file("wrong.pem", &other.signing_key.serialize_pem());
    let empty = file("empty.pem", "nothing\n");
    assert!(Tls::from_files(&certificate, &key).is_ok());
    for (certificate, key) in [
        (&certificate, &wrong),
        (&empty, &key),
        (&certificate, &empty),
        (&key, &key),
        (&certificate, &home.path().join("none")),
    ] {
        assert!(
            Tls::from_files(certificate, key).is_err(),
            "{} with {}",
            certificate.display(),
            key.display()
        );
    }
}
