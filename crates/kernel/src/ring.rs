//! Draining a BPF ring buffer.

use libbpf_rs::{MapCore, RingBufferBuilder};

use crate::error::{LoadError, refused};

/// Hands every record that waits in `map` to `take`, oldest first.
pub(crate) fn drain(map: &dyn MapCore, mut take: impl FnMut(&[u8])) -> Result<(), LoadError> {
    let failed = "records from the kernel cannot be read";
    let mut builder = RingBufferBuilder::new();
    builder
        .add(map, |record| {
            take(record);
            0
        })
        .map_err(refused(failed))?;
    builder.build().and_then(|ring| ring.consume()).map_err(refused(failed))
}

/// A record, read field by field, with `None` past its end.
pub(crate) struct Fields<'a>(pub(crate) &'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (first, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*first)
    }

    pub(crate) fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_ne_bytes)
    }

    pub(crate) fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_ne_bytes)
    }

    pub(crate) fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_ne_bytes)
    }

    pub(crate) fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_ne_bytes)
    }

    pub(crate) fn i64(&mut self) -> Option<i64> {
        self.take().map(i64::from_ne_bytes)
    }
}
