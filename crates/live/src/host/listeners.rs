//! Programs that answer in the network namespace of the calling thread, by the tables of the kernel.

use std::fs;

/// True if a program waits for connections or datagrams.
pub(crate) fn any_listens() -> bool {
    let table = |name: &str| fs::read_to_string(format!("/proc/thread-self/net/{name}")).unwrap_or_default();
    ["tcp", "tcp6"].iter().any(|name| has_listener(&table(name)))
        || ["udp", "udp6"].iter().any(|name| table(name).lines().count() > 1)
}

/// Connections to elsewhere that came to nothing, and datagrams that nobody took.
pub(crate) fn turned_away() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
    counter(&counters, "Tcp:", "AttemptFails") + counter(&counters, "Icmp:", "InDestUnreachs")
}

/// Datagrams for which a socket had no room, when they arrived or were sent.
pub(crate) fn datagrams_without_room() -> u64 {
    let counters = fs::read_to_string("/proc/thread-self/net/snmp").unwrap_or_default();
    counter(&counters, "Udp:", "RcvbufErrors") + counter(&counters, "Udp:", "SndbufErrors")
}

/// True if a row of the table `tcp` has a listening socket.
fn has_listener(table: &str) -> bool {
    const LISTEN: &str = "0A";
    table.lines().skip(1).any(|row| row.split_whitespace().nth(3) == Some(LISTEN))
}

/// The counter `name` of a protocol: a line of names, and below it one of numbers. 0 where there is none.
fn counter(counters: &str, protocol: &str, name: &str) -> u64 {
    let mut lines = counters.lines().filter_map(|line| line.strip_prefix(protocol));
    let (names, numbers) = (lines.next().unwrap_or_default(), lines.next().unwrap_or_default());
    let found = names.split_whitespace().zip(numbers.split_whitespace()).find(|pair| pair.0 == name);
    found.and_then(|(_, number)| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn listeners_are_told_from_connections() {
        let _alone = TcpListener::bind("127.0.0.1:0").unwrap();
        assert!(any_listens());
        let heading = "  sl  local_address rem_address   st tx_queue rx_queue\n";
        let row = "   0: 0100007F:1F90 00000000:0000 {} 00000000:00000000\n";
        assert!(has_listener(&format!("{heading}{}", row.replace("{}", "0A"))));
        assert!(!has_listener(&format!("{heading}{}", row.replace("{}", "01"))));
        assert!(!has_listener(heading));
    }

    #[test]
    fn a_refused_connection_is_counted() {
        let before = turned_away();
        let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        TcpStream::connect(nobody).unwrap_err();
        assert!(turned_away() > before);
        let counters = "Icmp: InMsgs InDestUnreachs\nIcmp: 5 3\nTcp: MaxConn AttemptFails\nTcp: -1 2\n";
        assert_eq!(counter(counters, "Tcp:", "AttemptFails"), 2);
        assert_eq!(counter(counters, "Icmp:", "InDestUnreachs"), 3);
        assert_eq!(counter(counters, "Tcp:", "MaxConn"), 0);
        assert_eq!(counter("", "Tcp:", "AttemptFails"), 0);
    }
}
