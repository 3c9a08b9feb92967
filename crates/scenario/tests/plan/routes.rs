//! Ways of packets: delays, and the links in their order.

use network::medium::{AfterCollision, Conventions, Countdown, FrameErrors};
use network::{Limit, Propagation, Service};
use scenario::Hop;
use units::{Rate, Span};

use crate::{at, dumbbell, hop, ms, plan};

const PARKING_LOT: &str = r#"
    duration = "60s"
    [[links]]
    name = "west"
    from = "a"
    to = "b"
    rate = "10mbit"
    delay = "5ms"
    queue = "84p"
    duplex = true
    [[links]]
    name = "east"
    from = "b"
    to = "c"
    rate = "8mbit"
    delay = "10ms"
    queue = "50p"
    reverse = {}
    [[flows]]
    cc = "newreno"
    from = "a"
    to = "c"
    extra_delay = "2ms"
    [[flows]]
    cc = "newreno"
    from = "b"
    to = "c"
    [[flows]]
    cc = "newreno"
    via = ["c", "b", "a"]
"#;

#[test]
fn a_reverse_way_with_a_rate_is_a_link_of_its_own() {
    let plan = dumbbell(
        "rate = \"10mbit\"\ndelay = { forward = \"20ms\", reverse = \"30ms\" }\nqueue = \"84p\"\n\
         reverse = { rate = \"1mbit\", queue = \"1bdp\", loss = \"1%\" }",
        "",
    );
    assert_eq!(plan.links[1].name, "bottleneck:reverse");
    assert_eq!(plan.links[1].settings.service, Service::Fixed(Rate::from_mbit(1)));
    // 1 Mbit/s over 50 ms are 50 000 bits, 4.17 packets of 12 000 bits.
    assert_eq!(plan.links[1].settings.queue.limit, Limit::Packets(4));
    assert_eq!(plan.flows[0].forward, [hop(Some(0), 20)]);
    assert_eq!(plan.flows[0].reverse, [hop(Some(1), 30)]);
    assert_eq!(plan.bottleneck, Some(0));
}

#[test]
fn an_odd_nanosecond_of_the_rtt_is_not_lost() {
    let plan = dumbbell("rate = \"10mbit\"\nrtt = \"5ns\"\nqueue = \"84p\"", "");
    assert_eq!(
        (plan.flows[0].forward[0].delay.initial(), plan.flows[0].reverse[0].delay.initial()),
        (Span::from_nanos(2), Span::from_nanos(3))
    );
    assert_eq!(plan.flows[0].base_rtt, Span::from_nanos(5));
}

#[test]
fn the_steps_of_an_rtt_are_halved_each_and_the_base_rtt_is_that_of_the_beginning() {
    let steps = r#"[["0s", "100ms"], ["30s", "40ms"]]"#;
    let plan = dumbbell(
        &format!("rate = \"12mbit\"\nrtt = {steps}\nqueue = \"1bdp\"\nreorder = true"),
        "[[flows]]\ncc = \"newreno\"\nrtt = [[\"0s\", \"5ns\"], [\"1s\", \"7ns\"]]",
    );
    let route = |initial, later| Propagation::steps(initial, [later]);
    let half = route(ms(50), (at(30), ms(20)));
    assert_eq!(
        plan.flows[0].forward,
        [Hop { link: Some(0), delay: half.clone(), reorder: true, station: None, snoop: None }]
    );
    assert_eq!(plan.flows[0].reverse, [Hop { link: None, delay: half, reorder: true, station: None, snoop: None }]);
    // 12 Mbit/s over 100 ms are 100 packets.
    assert_eq!(plan.links[0].settings.queue.limit, Limit::Packets(100));
    assert_eq!((plan.flows[0].base_rtt, plan.flows[1].base_rtt), (ms(100), Span::from_nanos(5)));
    assert_eq!(plan.flows[1].forward[0].delay, route(Span::from_nanos(2), (at(1), Span::from_nanos(3))));
    assert_eq!(plan.flows[1].reverse[0].delay, route(Span::from_nanos(3), (at(1), Span::from_nanos(4))));
}

#[test]
fn the_delays_of_a_direction_may_have_steps_of_their_own() {
    let delay = r#"delay = { forward = "20ms", reverse = [["0s", "30ms"], ["10s", "10ms"]] }"#;
    let flow = dumbbell(&format!("rate = \"10mbit\"\nqueue = \"84p\"\n{delay}"), "").flows.remove(0);
    assert_eq!(flow.forward, [hop(Some(0), 20)]);
    assert_eq!(flow.reverse[0].delay, Propagation::steps(ms(30), [(at(10), ms(10))]));
}

#[test]
fn jitter_makes_a_link_of_a_reverse_direction_that_only_delayed() {
    let path = "rate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"84p\"\njitter = \"3ms\"";
    let plan = dumbbell(&format!("{path}\nreverse = {{ jitter = {{ uniform = \"2ms\", reorder = true }} }}"), "");
    let jitters: Vec<_> = plan.links.iter().map(|link| (link.name.as_str(), link.jitter.clone())).collect();
    assert_eq!(jitters, [("bottleneck", ms(3).into()), ("bottleneck:reverse", ms(2).into())]);
    assert_eq!(plan.flows[0].forward, [hop(Some(0), 20)]);
    assert_eq!(plan.flows[0].reverse, [Hop { reorder: true, ..hop(Some(1), 20) }]);
}

#[test]
fn a_direction_that_only_delays_joins_the_hop_before_it_unless_one_of_them_keeps_an_order_that_the_other_breaks() {
    let chain = |keys: &str| {
        let link = r#"rate = "10mbit", queue = "9p", delay"#;
        let text = format!(
            "duration = \"60s\"\nlinks = [{{ from = \"a\", to = \"b\", {link} = \"5ms\", duplex = true }}, \
             {{ from = \"c\", to = \"b\", {link} = [[\"0s\", \"7ms\"], [\"9s\", \"1ms\"]], reverse = {{}}, {keys} }}]\n\
             flows = [{{ cc = \"newreno\", from = \"a\", to = \"c\", extra_delay = \"1ms\" }}]"
        );
        plan(&text).flows.remove(0).forward.clone()
    };
    let steps = |first, second| Propagation::steps(ms(first), [(at(9), ms(second))]);
    assert_eq!(chain(""), [Hop { delay: steps(13, 7), ..hop(Some(0), 0) }]);
    assert_eq!(
        chain("reorder = true"),
        [hop(Some(0), 5), Hop { link: None, delay: steps(8, 2), reorder: true, station: None, snoop: None }]
    );
}

#[test]
fn a_parking_lot_routes_each_flow_over_its_links() {
    let plan = plan(PARKING_LOT);
    let links: Vec<_> = plan.links.iter().map(|link| (link.name.as_str(), link.delay)).collect();
    assert_eq!(links, [("west", ms(5)), ("west:reverse", ms(5)), ("east", ms(10))]);

    let across = &plan.flows[0];
    assert_eq!(across.forward, [hop(Some(0), 5), hop(Some(2), 12)]);
    // Back over the reverse of east, which only delays, then over the reverse of west.
    assert_eq!(across.reverse, [hop(None, 10), hop(Some(1), 7)]);
    assert_eq!(across.base_rtt, ms(34));

    assert_eq!(plan.flows[1].forward, [hop(Some(2), 10)]);
    assert_eq!(plan.flows[1].reverse, [hop(None, 10)]);

    assert_eq!(plan.flows[2].forward, [hop(None, 10), hop(Some(1), 5)]);
    assert_eq!(plan.flows[2].reverse, [hop(Some(0), 5), hop(Some(2), 10)]);
    // The slowest link with data.
    assert_eq!(plan.bottleneck, Some(2));
}

#[test]
fn the_shortest_way_wins_and_among_equals_the_first_of_the_file() {
    let link = |from: &str, to: &str| {
        format!(
            "[[links]]\nfrom = \"{from}\"\nto = \"{to}\"\nrate = \"1mbit\"\ndelay = \"1ms\"\nqueue = \"9p\"\n\
             reverse = {{}}\n"
        )
    };
    let flow = "[[flows]]\ncc = \"newreno\"\nfrom = \"a\"\nto = \"d\"\n";
    let links_of = |links: &[(&str, &str)]| {
        let links: String = links.iter().map(|(from, to)| link(from, to)).collect();
        let plan = plan(&format!("duration = \"1s\"\n{links}{flow}"));
        plan.flows[0].forward.iter().map(|hop| plan.links[hop.link.unwrap()].name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(links_of(&[("a", "b"), ("b", "c"), ("c", "d"), ("a", "c")]), ["a-c", "c-d"]);
    assert_eq!(links_of(&[("a", "b"), ("a", "c"), ("c", "d"), ("b", "d")]), ["a-b", "b-d"]);
    assert_eq!(links_of(&[("a", "c"), ("a", "b"), ("b", "d"), ("c", "d")]), ["a-c", "c-d"]);
}

#[test]
fn hops_that_only_delay_join_the_hop_before_them() {
    let plan = plan(
        r#"
        duration = "1s"
        links = [
            { from = "a", to = "b", rate = "1mbit", delay = "1ms", queue = "9p", reverse = {} },
            { from = "b", to = "c", rate = "1mbit", delay = "2ms", queue = "9p", reverse = {} },
        ]
        flows = [{ cc = "newreno", from = "a", to = "c" }]
        "#,
    );
    assert_eq!(plan.flows[0].reverse, [hop(None, 3)]);
}

#[test]
fn the_hosts_of_flows_are_their_nodes_in_the_order_of_names() {
    let plan = plan(
        r#"
        duration = "1s"
        links = [
            { from = "a", to = "b", rate = "1mbit", delay = "1ms", queue = "9p", duplex = true },
            { from = "b", to = "c", rate = "1mbit", delay = "2ms", queue = "9p", duplex = true },
        ]
        flows = [
            { cc = "newreno", from = "a", to = "c" },
            { cc = "newreno", from = "c", to = "b" },
            { cc = "newreno", via = ["b", "a"] },
        ]
        "#,
    );
    let hosts: Vec<[u32; 2]> = plan.flows.iter().map(|flow| flow.settings.class.hosts).collect();
    assert_eq!(hosts, [[0, 2], [2, 1], [1, 0]]);
}

#[test]
fn a_snoop_agent_is_before_the_link_and_behind_its_way_back() {
    let agent = |flow: &str| {
        let text = format!(
            r#"
            duration = "1s"
            links = [
                {{ from = "server", to = "base", rate = "10mbit", delay = "20ms", queue = "84p", reverse = {{}} }},
                {{ from = "base", to = "phone", rate = "2mbit", delay = "1ms", queue = "84p", reverse = {{}},
                   snoop = {{ timeout_min = "100ms" }} }},
            ]
            flows = [{{ cc = "newreno", {flow} }}]
            "#
        );
        let settings = plan(&text).flows.remove(0).settings;
        [&settings.forward, &settings.reverse].map(|hops| hops.iter().map(|hop| hop.snoop).collect::<Vec<_>>())
    };
    let here = Some(ms(100));
    assert_eq!(agent("from = \"server\", to = \"phone\""), [vec![None, here], vec![None, here]]);
    assert_eq!(agent("from = \"base\", to = \"phone\""), [vec![None], vec![None]], "at the sender");
    assert_eq!(agent("from = \"phone\", to = \"server\""), [vec![None], vec![None, None]], "the wireless end sends");
}

#[test]
fn a_wlan_is_a_medium_whose_queues_follow_the_wired_links() {
    let plan = plan(
        r#"
        duration = "1s"
        wlans = [{ standard = "802.11g", stations = ["tv", { name = "phone", rate = "6mbit", queue = "50p" }],
            lifetime = "512ms", retry_limit = 11, hidden = "all" }]
        links = [{ from = "ap", to = "server", rate = "100mbit", delay = "5ms", queue = "250p", duplex = true }]
        flows = [{ cc = "newreno", from = "phone", to = "server" }]
        "#,
    );
    let names: Vec<_> = plan.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(names, ["ap-server", "ap-server:reverse", "ap", "tv", "phone"]);
    let medium = &plan.media[0];
    assert_eq!((medium.first_link, medium.settings.stations.len(), medium.edca), (2, 3, false));
    assert_eq!((medium.settings.lifetime, medium.settings.short_retry_limit), (Some(ms(512)), 11));
    assert_eq!(medium.settings.hidden, [[2, 1]]);
    let limits: Vec<_> = medium.settings.accesses.iter().map(|access| access.queue.limit).collect();
    assert_eq!(limits, [Limit::Packets(200), Limit::Packets(200), Limit::Packets(50)]);
    // From the phone through its queue to the access point, station 0, and on over the wire. Back through the access
    // point's queue to station 2.
    let to = |hops: &[Hop]| hops.iter().map(|hop| (hop.link, hop.station)).collect::<Vec<_>>();
    assert_eq!(to(&plan.flows[0].forward), [(Some(4), Some(0)), (Some(0), None)]);
    assert_eq!(to(&plan.flows[0].reverse), [(Some(1), None), (Some(2), Some(2))]);
    assert_eq!(plan.flows[0].base_rtt, ms(10));
}

/// A network of the keys `network` with stations `tv` and `phone`, that has the keys `phone`.
fn medium(network: &str, phone: &str) -> scenario::PlannedMedium {
    let plan = plan(&format!(
        "duration = \"1s\"\nwlans = [{{ standard = \"802.11g\", stations = [\"tv\", {{ name = \"phone\", {phone} }}], \
         {network} }}]\nlinks = [{{ from = \"ap\", to = \"server\", rate = \"100mbit\", delay = \"5ms\", queue = \
         \"250p\", duplex = true }}]\nflows = [{{ cc = \"newreno\", from = \"phone\", to = \"server\" }}]"
    ));
    plan.media[0].clone()
}

#[test]
fn frames_are_lost_by_distance_or_share_of_the_station_or_else_of_the_network() {
    let errors = |network: &str, phone: &str| {
        let stations = medium(network, phone).settings.stations;
        stations.into_iter().map(|station| station.errors).collect::<Vec<_>>()
    };
    let (none, share, far) = (FrameErrors::None, FrameErrors::Share, FrameErrors::Distance);
    assert_eq!(errors("", "rate = \"6mbit\""), [none, none, none]);
    assert_eq!(errors("frame_errors = \"1%\"", "rate = \"6mbit\""), [share(0.01); 3]);
    assert_eq!(errors("frame_errors = \"1%\"", "frame_errors = 0.0"), [share(0.01), share(0.01), none]);
    assert_eq!(errors("frame_errors = \"1%\"", "distance = \"20m\""), [share(0.01), share(0.01), far(20.0)]);
    assert_eq!(errors("distance = \"9m\"", "distance = \"20m\""), [far(9.0), far(9.0), far(20.0)]);
    assert_eq!(errors("distance = \"9m\", frame_errors = 0.0", "rate = \"6mbit\""), [far(9.0); 3]);
    assert_eq!(errors("distance = \"9m\"", "frame_errors = \"2%\""), [far(9.0), far(9.0), share(0.02)]);
}

#[test]
fn conventions_of_a_network_are_those_of_its_medium() {
    let own = "conventions = { after_collision = \"difs\", countdown = \"every-slot\", eifs_rate = \"6mbit\", \
               reset_after_drop = false, immediate_access = false }";
    let expected = Conventions {
        after_collision: AfterCollision::Difs,
        eifs_rate: Some(6000),
        countdown: Countdown::EverySlot,
        reset_after_drop: false,
        immediate_access: false,
    };
    assert_eq!(medium(own, "rate = \"6mbit\"").settings.conventions, expected);
    assert_eq!(medium("", "rate = \"6mbit\"").settings.conventions, Conventions::default());
}

#[test]
fn only_links_with_data_of_greedy_flows_can_limit_them() {
    let links = r#"
        duration = "60s"
        [[links]]
        name = "wire"
        from = "ap"
        to = "server"
        rate = "10mbit"
        delay = "5ms"
        queue = "84p"
        duplex = true
        [[links]]
        name = "hop"
        from = "ap"
        to = "tv"
        rate = "20mbit"
        delay = "1ms"
        queue = "84p"
        duplex = true
    "#;
    let call = r#"
        [[flows]]
        cc = "newreno"
        kind = "datagram"
        source = { rate = "80kbit" }
        via = ["tv", "ap", "server"]
    "#;
    let download = r#"
        [[flows]]
        cc = "newreno"
        via = ["server", "ap", "tv"]
    "#;
    let both = plan(&format!("{links}{call}{download}"));
    let names: Vec<_> = both.limiting.iter().map(|&link| both.links[link].name.as_str()).collect();
    assert_eq!(names, ["wire:reverse", "hop"]);
    assert_eq!(both.bottleneck, Some(1));
    // Without a greedy flow it is the data of all.
    let alone = plan(&format!("{links}{call}"));
    assert_eq!((alone.limiting, alone.bottleneck), (vec![0, 3], Some(0)));
}

#[test]
fn a_flow_in_reverse_sends_data_where_others_send_acks() {
    let path = "rate = \"10mbit\"\nqueue = \"84p\"\ndelay = { forward = \"10ms\", reverse = \"30ms\" }\n\
                reverse = { rate = \"1mbit\", queue = \"20p\" }";
    let [download, upload] = dumbbell(path, "[[flows]]\ncc = \"cubic\"\nreverse = true").flows.try_into().unwrap();
    assert_eq!((&download.forward[..], &download.reverse[..]), (&[hop(Some(0), 10)][..], &[hop(Some(1), 30)][..]));
    assert_eq!((&upload.forward, &upload.reverse), (&download.reverse, &download.forward));
    assert_eq!((download.class.hosts, upload.class.hosts), ([0, 1], [1, 0]));
}
