//! A server with a key of its own, made as it starts.

use std::net::IpAddr;
use std::sync::Arc;

use ring::error::Unspecified;
use ring::rand::SystemRandom;
use ring::signature::{ECDSA_P256_SHA256_ASN1_SIGNING, EcdsaKeyPair, KeyPair};
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::{Connection, ServerConfig, ServerConnection};

use crate::{ALPN, Http, VERSIONS, certificate, provider};

/// Common data of the TLS sessions of a server.
#[derive(Debug)]
pub struct Server {
    config: Arc<ServerConfig>,
    /// Of HTTPS: the status of its answers.
    status: Option<u16>,
    certificate: Vec<u8>,
}

impl Server {
    /// At an address, with a key and a certificate that are made here.
    pub fn new(address: IpAddr) -> Result<Self, String> {
        let (key, certificate) = made(address).map_err(|error| error.to_string())?;
        let mut config = ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(VERSIONS)
            .and_then(|builder| {
                let key = PrivatePkcs8KeyDer::from(key).into();
                let own = vec![certificate.clone().into()];
                builder.with_no_client_auth().with_single_cert(own, key)
            })
            .map_err(|error| error.to_string())?;
        // Nobody resumes a session.
        config.send_tls13_tickets = 0;
        Ok(Self { config: Arc::new(config), status: None, certificate })
    }

    /// The same, with the same key, by HTTPS, whose answers have a status, or with 0 none.
    pub fn with_https(&self, status: u16) -> Self {
        let mut config = ServerConfig::clone(&self.config);
        config.alpn_protocols = vec![ALPN.to_vec()];
        Self {
            config: Arc::new(config),
            status: Some(status),
            certificate: self.certificate.clone(),
        }
    }

    /// HTTP that begins; None without HTTPS.
    pub fn http(&self) -> Option<Http> {
        self.status.map(Http::server)
    }

    /// Its certificate as text (PEM).
    pub fn certificate(&self) -> String {
        certificate::to_text(&self.certificate)
    }

    /// A session that begins.
    pub fn session(&self) -> Result<Connection, String> {
        let session = ServerConnection::new(Arc::clone(&self.config));
        session.map(Into::into).map_err(|error| error.to_string())
    }
}

/// A key (PKCS #8) and its certificate.
fn made(address: IpAddr) -> Result<(Vec<u8>, Vec<u8>), Unspecified> {
    let (algorithm, random) = (&ECDSA_P256_SHA256_ASN1_SIGNING, SystemRandom::new());
    let key = EcdsaKeyPair::generate_pkcs8(algorithm, &random)?;
    let pair =
        EcdsaKeyPair::from_pkcs8(algorithm, key.as_ref(), &random).map_err(|_| Unspecified)?;
    let sign = |bytes: &[u8]| pair.sign(&random, bytes).map(|signed| signed.as_ref().to_vec());
    let certificate = certificate::of(address, pair.public_key().as_ref(), sign)?;
    Ok((key.as_ref().to_vec(), certificate))
}
