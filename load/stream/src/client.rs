//! How a client takes the certificate of a server.

use std::net::IpAddr;
use std::path::Path;
use std::sync::Arc;

use rustls::client::danger::{
    HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier,
};
use rustls::client::{Resumption, WebPkiServerVerifier};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, Connection, DigitallySignedStruct, Error, RootCertStore,
    SignatureScheme, pki_types,
};

use crate::{ALPN, Http, VERSIONS, provider};

/// Common data of the TLS sessions with a server.
#[derive(Clone, Debug)]
pub struct Client {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    /// Of HTTPS: the server as requests name it.
    authority: Option<String>,
}

impl Client {
    /// Of a server at an address, whose certificate has to be one of a file (PEM), or signed by
    /// one of them, for its name or else its address; any certificate will do without a file.
    ///
    /// # Errors
    /// A file without certificates; a name that is none.
    pub fn new(
        server: IpAddr,
        trusted: Option<&Path>,
        name: Option<&str>,
    ) -> Result<Self, String> {
        let builder = ClientConfig::builder_with_provider(provider())
            .with_protocol_versions(VERSIONS)
            .map_err(said)?;
        let builder = match trusted {
            None => builder.dangerous().with_custom_certificate_verifier(Arc::new(Anybody)),
            Some(path) => {
                let roots = roots(path).map_err(|why| format!("{}: {why}", path.display()))?;
                let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider());
                builder.with_webpki_verifier(verifier.build().map_err(said)?)
            }
        };
        let mut config = builder.with_no_client_auth();
        // Otherwise the second connection would cost the server less than the first.
        config.resumption = Resumption::disabled();
        let name = match name {
            Some(name) => ServerName::try_from(name.to_owned())
                .map_err(|error| format!("{name:?}: {error}"))?,
            None => ServerName::from(server),
        };
        Ok(Self { config: Arc::new(config), name, authority: None })
    }

    /// The same by HTTPS, of a server at a port.
    pub fn with_https(mut self, port: u16) -> Self {
        Arc::make_mut(&mut self.config).alpn_protocols = vec![ALPN.to_vec()];
        let name = match &self.name {
            ServerName::IpAddress(pki_types::IpAddr::V6(address)) => {
                format!("[{}]", std::net::Ipv6Addr::from(*address))
            }
            name => name.to_str().into_owned(),
        };
        self.authority = Some(if port == 443 { name } else { format!("{name}:{port}") });
        self
    }

    /// HTTP that begins; None without HTTPS.
    pub fn http(&self) -> Option<Http> {
        self.authority.as_deref().map(Http::client)
    }

    /// A session that begins.
    pub fn session(&self) -> Result<Connection, String> {
        let session = ClientConnection::new(Arc::clone(&self.config), self.name.clone());
        session.map(Into::into).map_err(said)
    }
}

fn roots(path: &Path) -> Result<Arc<RootCertStore>, String> {
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(path).map_err(said)? {
        roots.add(certificate.map_err(said)?).map_err(said)?;
    }
    if roots.is_empty() {
        return Err("no certificate in it".into());
    }
    Ok(Arc::new(roots))
}

fn said(error: impl ToString) -> String {
    error.to_string()
}

/// Takes every certificate: servers of a lab make theirs themselves as they start.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}
