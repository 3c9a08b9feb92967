//! The two ends of a media flow: an encoder whose rate a controller sets, RTP packets (RFC 3550) with a pacer, feedback
//! on every packet (RFC 8888), and a receiver with a jitter buffer.

mod breaker;
mod encoder;
mod feedback;
mod frames;
mod receiver;
mod sender;
mod settings;

pub use breaker::Stopped;
pub use encoder::{Encoder, Frame};
pub use feedback::{Arrival, MediaReport};
pub use frames::{FrameArrival, PacketHeader};
pub use receiver::MediaSink;
pub use sender::MediaSource;
pub use settings::MediaSettings;
