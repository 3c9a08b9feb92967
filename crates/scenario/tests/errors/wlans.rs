//! Keys of wireless networks.

use crate::sentence;

/// A WLAN whose table is `wlan`, and a flow up from `sta-0`.
fn wlan(wlan: &str) -> String {
    let text = format!(
        "duration = \"10s\"\nwlans = [{{ {wlan} }}]\nflows = [{{ cc = \"newreno\", from = \"sta-0\", to = \"ap\" }}]\n"
    );
    sentence(&text)
}

#[test]
fn a_standard_that_is_missing_or_unknown() {
    assert_eq!(wlan("stations = 2"), "demo.toml, line 2: wlans.0.standard: is missing");
    assert_eq!(
        wlan("standard = \"802.11x\", stations = 2"),
        "demo.toml, line 2: wlans.0.standard: unknown variant `802.11x`, expected one of `802.11a`, `802.11b`, \
         `802.11g`, `802.11n`, `802.11ac`, `802.11ax`"
    );
}

#[test]
fn stations_that_are_none_or_no_stations() {
    let none = "demo.toml, line 2: wlans.0.stations: a network needs at least one station";
    assert_eq!(wlan("standard = \"802.11g\", stations = 0"), none);
    assert_eq!(wlan("standard = \"802.11g\", stations = []"), none);
    assert_eq!(
        wlan("standard = \"802.11g\", stations = \"phone\""),
        "demo.toml, line 2: wlans.0.stations: invalid type: string \"phone\", expected a number of stations like 8, or \
         a list like [\"laptop\", { name = \"tv\" }]"
    );
    assert_eq!(
        wlan("standard = \"802.11g\", stations = [{ name = \"sta\", count = 0 }]"),
        "demo.toml, line 2: wlans.0.stations.0.count: `0` is out of range (allowed: 1 to 10000)"
    );
    assert_eq!(
        wlan("standard = \"802.11g\", stations = [\"sta-0\", \"sta-0\"]"),
        "demo.toml, line 2: wlans: two links or stations are named `sta-0`: names must differ"
    );
    // A name for each of the second number would not fit into memory.
    for stations in [20_000, u32::MAX] {
        assert_eq!(
            wlan(&format!("standard = \"802.11g\", stations = {stations}")),
            format!("demo.toml, line 2: wlans.0.stations.0.count: `{stations}` is out of range (allowed: 1 to 10000)")
        );
    }
}

#[test]
fn a_rate_that_the_standard_does_not_have() {
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, rate = \"11mbit\""),
        "demo.toml, line 2: wlans.0.rate: `11mbit` is no rate of this standard; there are 6mbit, 9mbit, 12mbit, \
         18mbit, 24mbit, 36mbit, 48mbit, 54mbit"
    );
    assert_eq!(
        wlan("standard = \"802.11b\", stations = [{ name = \"sta-0\", rate = \"mcs7\" }]"),
        "demo.toml, line 2: wlans.0.stations.0.rate: `mcs7` is no rate of this standard; there are 1mbit, 2mbit, \
         5.5mbit, 11mbit"
    );
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, rate = \"quick\""),
        "demo.toml, line 2: wlans.0.rate: `quick` is no rate of frames: write `54mbit`, `mcs7`, `fastest`, `arf`, \
         `samplerate`, `samplerate-freebsd` or `minstrel`"
    );
}

#[test]
fn a_queue_in_time_limits_of_zero_and_protection_of_others() {
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, queue = \"100ms\""),
        "demo.toml, line 2: wlans.0.queue: `100ms` needs a rate that is known in advance; the queue of a station has \
         packets `200p`, bytes `300kB` or `infinite`"
    );
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, retry_limit = 0"),
        "demo.toml, line 2: wlans.0.retry_limit: `0` is out of range (allowed: 1 to 255)"
    );
    assert_eq!(
        wlan("standard = \"802.11a\", stations = 1, protection = true"),
        "demo.toml, line 2: wlans.0.protection: is for networks of `802.11g` beside stations of 802.11b"
    );
}

#[test]
fn a_lifetime_that_is_none_or_no_time() {
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, lifetime = \"0s\""),
        "demo.toml, line 2: wlans.0.lifetime: `0s` is out of range (allowed: 1ns to 3600s)"
    );
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, lifetime = \"500\""),
        "demo.toml, line 2: wlans.0.lifetime: `500` has no unit: write `500ms` or `500s`"
    );
}

#[test]
fn a_path_beside_a_wlan() {
    let text = "duration = \"10s\"\npath = { rate = \"10mbit\", rtt = \"40ms\", queue = \"84p\" }\n\
                wlans = [{ standard = \"802.11g\", stations = 1 }]\nflows = [{ cc = \"newreno\" }]\n";
    assert_eq!(
        sentence(text),
        "demo.toml, line 3: wlans: there is a [path] too: beside [[wlans]] the wired part is written as [[links]]"
    );
}

#[test]
fn a_distance_that_is_none_or_beside_a_share_of_errors() {
    let network = "standard = \"802.11g\", stations = 1";
    assert_eq!(
        wlan(&format!("{network}, distance = \"20\"")),
        "demo.toml, line 2: wlans.0.distance: `20` is not a distance from 1 to 10000 metres, like `20m`"
    );
    assert_eq!(
        wlan(&format!("{network}, distance = \"20m\", frame_errors = \"1%\"")),
        "demo.toml, line 2: wlans.0.distance: there are `frame_errors` too: give either of the two"
    );
}

#[test]
fn an_access_category_where_there_is_none() {
    let text = "duration = \"10s\"\nwlans = [{ standard = \"802.11g\", stations = 1 }]\n\
                flows = [{ cc = \"newreno\", from = \"sta-0\", to = \"ap\", access_category = \"voice\" }]\n";
    assert_eq!(
        sentence(text),
        "demo.toml, line 3: flows.0.access_category: needs a WLAN whose frames contend by category: write `edca = \
         true` there"
    );
}

#[test]
fn keys_of_802_11n_and_later_are_for_these() {
    for (standard, key, value, message) in [
        ("802.11g", "channel_width", "\"40MHz\"", "is for networks of `802.11n`, `ac` or `ax`"),
        ("802.11n", "channel_width", "\"80MHz\"", "must be `20MHz` or `40MHz`: 80 and 160 MHz are of `802.11ac`"),
        (
            "802.11ax",
            "short_guard_interval",
            "true",
            "is for networks of `802.11n` or `ac`; `802.11ax` has `guard_interval`",
        ),
        (
            "802.11ac",
            "guard_interval",
            "\"1.6us\"",
            "is for networks of `802.11ax`; `802.11n` and `ac` have `short_guard_interval`",
        ),
        ("802.11g", "streams", "1", "is for networks of `802.11n`, `ac` or `ax`"),
    ] {
        assert_eq!(
            wlan(&format!("standard = \"{standard}\", stations = 1, {key} = {value}")),
            format!("demo.toml, line 2: wlans.0.{key}: {message}")
        );
    }
    assert_eq!(
        wlan("standard = \"802.11ac\", stations = 1, rate = \"mcs10\", streams = 2"),
        "demo.toml, line 2: wlans.0.rate: `mcs10` is no rate of this standard; there are mcs0, mcs1, mcs2, mcs3, \
         mcs4, mcs5, mcs6, mcs7, mcs8, mcs9"
    );
    assert_eq!(
        wlan("standard = \"802.11n\", stations = 1, streams = 5"),
        "demo.toml, line 2: wlans.0.streams: must be from 1 to 4"
    );
}

#[test]
fn txops_are_short_and_those_of_the_standard_by_category() {
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, txop = \"1s\""),
        "demo.toml, line 2: wlans.0.txop: `1s` is no TXOP limit: write `standard`, or a time up to 8.16ms"
    );
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, txop = \"standard\""),
        "demo.toml, line 2: wlans.0.txop: `standard` is by access category: write `edca = true` too, or a time"
    );
}

#[test]
fn basic_rates_are_rates_of_the_standard() {
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, basic_rates = [\"6mbit\", \"7mbit\"]"),
        "demo.toml, line 2: wlans.0.basic_rates: `7mbit` is no rate of this standard without MCS"
    );
}

#[test]
fn names_that_are_none_and_rates_beside_those_of_the_standard() {
    for key in ["name", "access_point"] {
        assert_eq!(
            wlan(&format!("standard = \"802.11g\", stations = 1, {key} = \"\"")),
            format!("demo.toml, line 2: wlans.0.{key}: \"\" is not a name: it needs letters, and no line breaks")
        );
    }
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, basic_rates = [\"6000100bit\"]"),
        "demo.toml, line 2: wlans.0.basic_rates: `6000.1kbit` is no rate of this standard without MCS"
    );
}

#[test]
fn a_station_of_another_standard_is_one_of_802_11b_in_802_11g() {
    assert_eq!(
        wlan("standard = \"802.11g\", stations = [{ name = \"old\", standard = \"802.11a\" }]"),
        "demo.toml, line 2: wlans.0.stations.0.standard: must be that of the network, or `802.11b` in a network of \
         `802.11g`"
    );
    assert!(
        wlan("standard = \"802.11n\", stations = [{ name = \"old\", standard = \"802.11b\" }]")
            .contains("stations.0.standard: must be that of the network")
    );
    assert_eq!(
        wlan("standard = \"802.11g\", stations = [{ name = \"old\", standard = \"802.11b\", rate = \"54mbit\" }]"),
        "demo.toml, line 2: wlans.0.stations.0.rate: `54mbit` is no rate of this standard; there are 1mbit, 2mbit, \
         5.5mbit, 11mbit"
    );
}

#[test]
fn an_eifs_rate_that_the_standard_does_not_have() {
    assert_eq!(
        wlan("standard = \"802.11a\", stations = 1, conventions = { eifs_rate = \"1mbit\" }"),
        "demo.toml, line 2: wlans.0.conventions.eifs_rate: `1mbit` is no rate of this standard without MCS"
    );
}

#[test]
fn hidden_stations_that_are_none() {
    for (hidden, message) in [
        ("[[\"sta-0\", \"tv\"]]", "there is no station `tv`"),
        ("[[\"sta-0\", \"ap\"]]", "`ap` is the access point, which all stations sense"),
        ("[[\"sta-0\"]]", "each list needs two stations or more that do not sense each other"),
        ("[[\"sta\", \"sta-1\"]]", "`sta` and `sta-1` are the same station"),
        (
            "\"sta-0\"",
            "invalid value: string \"sta-0\", expected \"all\", or lists of stations that do not sense each other like \
             [[\"laptop\", \"tv\"]]",
        ),
    ] {
        assert_eq!(
            wlan(&format!("standard = \"802.11g\", stations = 2, hidden = {hidden}")),
            format!("demo.toml, line 2: wlans.0.hidden: {message}")
        );
    }
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1001, hidden = \"all\""),
        "demo.toml, line 2: wlans.0.hidden: at most 1000 stations share a network where some are hidden"
    );
}

#[test]
fn beacons_too_close_and_among_hidden_stations() {
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 1, beacon_interval = \"10ms\""),
        "demo.toml, line 2: wlans.0.beacon_interval: `10ms` must be from 15.36ms to 67.10784s; access points mostly \
         have 102.4ms",
    );
    assert_eq!(
        wlan("standard = \"802.11g\", stations = 2, beacon_interval = \"102.4ms\", hidden = \"all\""),
        "demo.toml, line 2: wlans.0.beacon_interval: a network with `hidden` stations sends no beacons here: leave one \
         of the two out",
    );
}
