//! The configuration of quiche: its defaults, with the settings of the engine, and a certificate.

use std::sync::OnceLock;

use boring::asn1::Asn1Time;
use boring::error::ErrorStack;
use boring::hash::MessageDigest;
use boring::pkey::{PKey, Private};
use boring::rsa::Rsa;
use boring::ssl::{SslContextBuilder, SslMethod};
use boring::x509::{X509, X509Name};
use quiche::Config;
use stack::Settings;

/// Streams in one direction that the other side may have open: as many as noq and quinn allow.
const STREAMS: u64 = 100;
/// Datagrams that wait at either side.
const DATAGRAMS: usize = 1000;
/// The end of the certificate's validity in seconds since 1970, which no side looks at.
const UNTIL: libc::time_t = 2_000_000_000;

/// A key, and a certificate of it. RSA has signatures of one length.
fn certificate() -> Result<(PKey<Private>, X509), ErrorStack> {
    let key = PKey::from_rsa(Rsa::generate(2048)?)?;
    let mut name = X509Name::builder()?;
    name.append_entry_by_text("CN", "receiver")?;
    let name = name.build();
    let mut builder = X509::builder()?;
    builder.set_version(2)?;
    builder.set_subject_name(&name)?;
    builder.set_issuer_name(&name)?;
    builder.set_pubkey(&key)?;
    builder.set_not_before(&*Asn1Time::from_unix(0)?)?;
    builder.set_not_after(&*Asn1Time::from_unix(UNTIL)?)?;
    builder.sign(&key, MessageDigest::sha256())?;
    Ok((key, builder.build()))
}

/// The context of TLS of one side.
fn context(is_client: bool) -> Result<SslContextBuilder, ErrorStack> {
    static MADE: OnceLock<Result<(PKey<Private>, X509), ErrorStack>> = OnceLock::new();
    let mut context = SslContextBuilder::new(SslMethod::tls())?;
    if !is_client {
        let (key, made) = MADE.get_or_init(certificate).as_ref().map_err(Clone::clone)?;
        context.set_private_key(key)?;
        context.set_certificate(made)?;
    }
    Ok(context)
}

/// The configuration of one side, which has quiche's controller `controller` if it sends.
pub(crate) fn config(settings: &Settings, controller: Option<&str>) -> Result<Config, String> {
    let context = context(settings.is_client).map_err(|error| error.to_string())?;
    let config = Config::with_boring_ssl_ctx_builder(quiche::PROTOCOL_VERSION, context);
    let mut config = config.map_err(|error| error.to_string())?;
    if let Some(name) = controller {
        config.set_cc_algorithm_name(name).map_err(|_| format!("quiche has no controller `{name}`"))?;
    }
    let size = usize::from(settings.packet_size);
    config.set_application_protos(&[b"ackclock"]).map_err(|error| error.to_string())?;
    config.verify_peer(false);
    config.set_max_send_udp_payload_size(size);
    config.set_max_recv_udp_payload_size(size.max(1472));
    config.set_initial_congestion_window_packets((settings.initial_window / u64::from(settings.packet_size)) as usize);
    config.set_initial_max_data(settings.receive_window);
    config.set_max_connection_window(settings.receive_window);
    config.set_initial_max_stream_data_uni(settings.receive_window);
    config.set_max_stream_window(settings.receive_window);
    config.set_initial_max_streams_uni(STREAMS);
    config.enable_dgram(true, DATAGRAMS, DATAGRAMS);
    Ok(config)
}
