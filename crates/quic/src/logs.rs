//! The log of noq itself (qlog): a file for each side of a connection. Its events have the time of the run.

use std::io::{self, BufWriter, Write};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use engine::Failure;
use noq_stack::proto::{ConnectionId, QlogConfig, QlogFactory, Side, TransportConfig};

use crate::LogOf;

/// Opens a log.
type Open = Box<dyn Fn(LogOf) -> io::Result<Box<dyn Write + Send + Sync>> + Send + Sync>;
/// The first error of any log.
type Broken = Arc<Mutex<Option<io::Error>>>;

/// The logs of a run.
pub struct Logs {
    open: Open,
    broken: Broken,
}

impl Logs {
    /// Logs that `open` opens. `None` where this crate is built without them.
    pub fn new(
        open: impl Fn(LogOf) -> io::Result<Box<dyn Write + Send + Sync>> + Send + Sync + 'static,
    ) -> Option<Self> {
        Some(Self { open: Box::new(open), broken: Broken::default() })
    }

    /// Lets the connection with `transport` write its log, in which time counts from `start`.
    pub(crate) fn attach(&self, transport: &mut TransportConfig, of: LogOf, start: Instant) -> Result<(), Failure> {
        let title = format!("{}, {}", of.name, of.side);
        let to = (self.open)(of).map_err(Failure::Capture)?;
        let log = Log { to: BufWriter::new(to), broken: Arc::clone(&self.broken) };
        let mut config = QlogConfig::new(Box::new(log));
        config.title(Some(title)).start_time(start);
        transport.qlog_factory(Arc::new(Once(Mutex::new(Some(config)))));
        Ok(())
    }

    /// Fails if a log could not be written. All connections must be gone.
    pub(crate) fn check(&self) -> Result<(), Failure> {
        let broken = self.broken.lock().unwrap_or_else(PoisonError::into_inner).take();
        broken.map_or(Ok(()), |error| Err(Failure::Capture(error)))
    }
}

/// The log of the one connection that is made with it.
struct Once(Mutex<Option<QlogConfig>>);

impl QlogFactory for Once {
    fn for_connection(&self, _: Side, _: SocketAddr, _: ConnectionId, _: Instant) -> Option<QlogConfig> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// A log that notes its first error: noq goes on without a word.
struct Log {
    to: BufWriter<Box<dyn Write + Send + Sync>>,
    broken: Broken,
}

impl Log {
    fn noted<T>(&self, result: io::Result<T>) -> io::Result<T> {
        result.map_err(|error| {
            let again = io::Error::from(error.kind());
            self.broken.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
            again
        })
    }
}

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.to.write(bytes);
        self.noted(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.to.flush();
        self.noted(result)
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        // The error is noted.
        let _ = self.flush();
    }
}
