//! The number of a datagram in its last bytes, for those that see only the payload.

/// The bytes of a number.
const NUMBER: usize = 8;

/// Writes `number` into the end of `content`, if that has room for it.
pub fn write_number(content: &mut [u8], number: u64) {
    if let Some(bytes) = content.last_chunk_mut::<NUMBER>() {
        *bytes = (number + 1).to_be_bytes();
    }
}

/// The number at the end of `content`, or `None` if there are zeros or nothing.
pub fn read_number(content: &[u8]) -> Option<u64> {
    content.last_chunk::<NUMBER>().map_or(0, |bytes| u64::from_be_bytes(*bytes)).checked_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_read_as_it_was_written_and_zeros_are_none() {
        let mut content = [0; 12];
        assert_eq!((read_number(&content), read_number(&content[..7])), (None, None));
        for number in [0, 1, u64::from(u32::MAX)] {
            write_number(&mut content, number);
            assert_eq!((read_number(&content), &content[..4]), (Some(number), &[0; 4][..]));
        }
        let mut short = [7; 7];
        write_number(&mut short, 1);
        assert_eq!(short, [7; 7]);
    }
}
