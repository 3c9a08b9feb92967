//! Every controller grows again after a disturbance has passed.

mod common;

use common::run;

/// Megabits a second that a flow of `cc` delivers in the last 40 s of a minute, on `path`, beside a burst of datagrams
/// at `burst` between seconds 7 and 10.
fn after_a_burst(cc: &str, path: &str, burst: &str) -> f64 {
    goodput(&format!(
        r#"
        duration = "60s"
        warmup = "20s"
        path = {{ {path} }}

        [[flows]]
        cc = "{cc}"

        [[flows]]
        cc = "newreno"
        kind = "datagram"
        echo = false
        start = "7s"
        stop = "10s"
        source = {{ rate = "{burst}" }}
        "#
    ))
}

fn goodput(text: &str) -> f64 {
    run(text).flows[0].goodput_bps * 1e-6
}

#[test]
fn c4_probes_with_a_whole_segment_and_regains_the_link() {
    // The burst leaves it a window of two segments, of which a sixteenth is no segment.
    let regained = after_a_burst("c4", r#"rate = "10mbit", rtt = "100ms", queue = "83p""#, "11.7mbit");
    assert!(regained > 9.5, "{regained}");
}

#[test]
fn bbr_takes_pauses_of_its_pacing_for_no_idle_time() {
    // With less than a segment a round trip, each leaves with nothing in flight. Had the gain of 1.25 ended there, no
    // probe would have found more: it had 0.73 and 0.54.
    let step = r#"rate = [["0s", "20mbit"], ["7s", "0.73mbit"], ["10s", "20mbit"]], rtt = "15ms", queue = "15p""#;
    let text = format!("duration = \"40s\"\nwarmup = \"20s\"\npath = {{ {step} }}\nflows = [{{ cc = \"bbr1\" }}]");
    let regained = goodput(&text);
    assert!(regained > 18.5, "{regained}");
    let regained = after_a_burst("bbr3", r#"rate = "10mbit", rtt = "40ms", queue = "16p""#, "11.7mbit");
    assert!(regained > 9.0, "{regained}");
}

#[test]
fn dual_starts_slowly_while_it_repairs_what_slow_start_lost() {
    // Hundreds are lost at once. At a segment a round trip of 155 ms it had 0.15.
    let regained = goodput(
        r#"
        duration = "60s"
        warmup = "10s"
        path = { rate = "50mbit", rtt = "155ms", queue = "484p" }
        flows = [{ cc = "dual" }]
        "#,
    );
    assert!(regained > 10.0, "{regained}");
}

#[test]
fn pairs_of_copa_share_a_short_queue_that_they_fill() {
    // One lost 57 % for good while the other sent three segments in 25 s.
    for seed in 1..6 {
        let tables = run(&format!(
            r#"
            duration = "30s"
            warmup = "5s"
            seed = {seed}
            path = {{ rate = "2.63mbit", rtt = "11ms", queue = "5p", loss = "1%" }}
            flows = [{{ cc = "copa" }}, {{ cc = "copa", start = "2s" }}]
            "#
        ));
        let [one, other] = [0, 1].map(|flow| tables.flows[flow].goodput_bps * 1e-6);
        assert!(one.min(other) > 0.4 * (one + other), "seed {seed}: {one} and {other}");
    }
}

#[test]
fn dctcp_answers_echoes_that_end() {
    // A receiver of RFC 3168 repeats the echo until it receives an answer (CWR). Without one the window stayed at two
    // segments, 5.7 % of the link, without a single mark.
    let shared = |ecn: &str| {
        goodput(&format!(
            r#"
            duration = "20s"
            warmup = "5s"
            path = {{ rate = "100mbit", rtt = "10ms", queue = {{ limit = "200p", mark_above = "20p" }} }}
            flows = [{{ cc = "dctcp", transport = {{ {ecn} }} }}]
            "#
        ))
    };
    let (echoed, counted) = (shared("ecn = true"), shared(""));
    assert!(echoed > 70.0, "{echoed}");
    assert!(counted > 94.0, "{counted}");
}
