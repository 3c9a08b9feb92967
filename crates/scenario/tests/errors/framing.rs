//! Frames of links.

use ::network::Framing;

use crate::dumbbell;

#[test]
fn frames_that_are_none_or_change_nothing() {
    let queue = "queue = \"84p\"";
    let framing = |value: &str| dumbbell(queue, &format!("{queue}\nframing = {value}"));
    let known = Framing::names().iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
    assert_eq!(
        framing("\"pppoe-vmux ethernet\""),
        format!(
            "demo.toml, line 7: path.framing: `pppoe-vmux` is no keyword of framing: did you mean `pppoe-vcmux`? \
             (there are {known})"
        )
    );
    for word in ["wireguard+pppoe-vcmux", "wireguard,pppoe-vcmux", "wireguard/pppoe-vcmux"] {
        assert_eq!(
            framing(&format!("\"{word}\"")),
            format!(
                "demo.toml, line 7: path.framing: `{word}`: several headers have spaces between: \"wireguard \
                 pppoe-vcmux\""
            )
        );
    }
    assert_eq!(
        framing("{ overhead = 300 }"),
        "demo.toml, line 7: path.framing.overhead: `300` is out of range (allowed: -64 to 256)"
    );
    assert_eq!(
        framing("\"wireguard-ipv6 wireguard-ipv6 wireguard-ipv6 wireguard-ipv6\""),
        "demo.toml, line 7: path.framing: `overhead`: `320` is out of range (allowed: -64 to 256)"
    );
    assert_eq!(
        framing("{ pad = 300 }"),
        "demo.toml, line 7: path.framing.pad: `300` is out of range (allowed: 0 to 256)"
    );
    assert_eq!(
        framing("{ overhead = 8, pad_limit = 1420 }"),
        "demo.toml, line 7: path.framing.pad_limit: has no effect without `pad`"
    );
    assert_eq!(
        framing("\"ethernet\"\nreverse = { framing = \"ethernet\" }"),
        "demo.toml, line 8: path.reverse.framing: changes nothing on an unlimited link: give a `rate`"
    );
    assert_eq!(
        dumbbell(queue, "queue = { discipline = \"cake\", overhead = 8 }\nframing = \"docsis\""),
        "demo.toml, line 7: path.framing: the queue has `overhead`, `mpu` and `link_layer`, too: give either of the two"
    );
}
