//! The two styles of a controller in C: against `ack.h`, which names its controller, and as the kernel's own tests are
//! written, against `vmlinux.h` and libbpf, with a `struct tcp_congestion_ops`.

use std::fs;
use std::io;

use scratch::Scratch;

/// The folder of the names below.
const NAMES: &str = "libbpf";

/// Headers of libbpf and of the kernel, in whose place is `shim/libbpf.h`.
const TYPES: [&str; 10] = [
    "vmlinux.h",
    "bpf/bpf_helpers.h",
    "bpf/bpf_tracing.h",
    "bpf/bpf_core_read.h",
    "bpf/bpf_endian.h",
    "linux/bpf.h",
    "linux/types.h",
    "linux/stddef.h",
    "linux/tcp.h",
    "linux/version.h",
];

/// Headers of the kernel's tests, in whose place is `shim/net.h`.
const HELPERS: [&str; 2] = ["bpf_tracing_net.h", "bpf_tcp_helpers.h"];

/// The declaration of a controller in a file in the style of libbpf.
const OPS: &str = "struct tcp_congestion_ops ";

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Style {
    /// With `ack.h`.
    Ack,
    /// In the style of libbpf. With `bpf_tcp_helpers.h` it has types of its own, which differ from the simulator's.
    Libbpf {
        /// It includes that header.
        own_types: bool,
    },
}

impl Style {
    /// The style of the file with this text.
    pub(crate) fn of(text: &str) -> Self {
        let is_libbpf = text.contains(OPS) && !text.contains("ack.h\"");
        if is_libbpf { Self::Libbpf { own_types: text.contains("bpf_tcp_helpers.h") } } else { Self::Ack }
    }

    /// Writes headers in place of the foreign ones that the file includes. Returns the arguments for the compiler.
    pub(crate) fn prepare(self, scratch: &Scratch) -> io::Result<Vec<String>> {
        let Self::Libbpf { own_types } = self else { return Ok(Vec::new()) };
        let all = TYPES.iter().map(|name| (name, "libbpf")).chain(HELPERS.iter().map(|name| (name, "net")));
        for (name, header) in all {
            let path = scratch.path(NAMES).join(name);
            fs::create_dir_all(path.parent().unwrap_or(&path))?;
            fs::write(path, format!("#include \"shim/{header}.h\"\n"))?;
        }
        let first = if own_types { "shim/net.h" } else { "shim/libbpf.h" };
        let folder = scratch.path(NAMES).display().to_string();
        Ok(["-include", first, "-I", &folder].map(str::to_owned).to_vec())
    }

    /// The text to append to the preprocessed `text`, by which its object shows the controller, or an error if it
    /// declares none.
    pub(crate) fn tail(self, text: &str) -> Result<String, &'static str> {
        if self == Self::Ack {
            return Ok(String::new());
        }
        let names = declared(text);
        if names.is_empty() {
            return Err("defines no controller: it needs a `struct tcp_congestion_ops`");
        }
        let all: String = names.iter().map(|name| format!("&{name}, ")).collect();
        // The tests of the kernel have incomplete ones beside that which they use.
        Ok(format!(
            "\n# 1 \"ackclock\"\n__attribute__((visibility(\"default\"), used)) struct ack_module ack_module = {{\n    \
             sizeof(struct connection), 0, &ack_parameters, &ack_state_size, &ack_probe_names, ack_compiler}};\n\
             __attribute__((constructor)) static void ack_choose(void)\n{{\n    \
             const struct tcp_congestion_ops *const all[] = {{{all}}};\n    \
             for (unsigned at = sizeof(all) / sizeof(all[0]); at-- > 0;)\n        \
             if (!ack_module.ops || (all[at]->ssthresh && all[at]->undo_cwnd))\n            \
             ack_module.ops = all[at];\n}}\n"
        ))
    }
}

/// The names of the controllers that a preprocessed text declares with values.
fn declared(text: &str) -> Vec<&str> {
    let name = |rest: &'_ str| -> usize {
        rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '_').unwrap_or(rest.len())
    };
    text.match_indices(OPS)
        .filter_map(|(at, _)| {
            let rest = text[at + OPS.len()..].trim_start();
            let (name, after) = rest.split_at(name(rest));
            (!name.is_empty() && after.trim_start().starts_with('=')).then_some(name)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_with_values_are_controllers() {
        let text = "struct tcp_congestion_ops { int x; };\nstruct tcp_congestion_ops one = {};\n\
                    extern struct tcp_congestion_ops two;\nstruct tcp_congestion_ops three\n= {};\n";
        assert_eq!(declared(text), ["one", "three"]);
    }

    #[test]
    fn a_file_is_of_libbpf_where_it_has_the_structure_and_not_our_header() {
        let ops = "struct tcp_congestion_ops mine = {};";
        assert_eq!(Style::of(&format!("#include \"ack.h\"\n{ops}")), Style::Ack);
        assert_eq!(Style::of(ops), Style::Libbpf { own_types: false });
        assert_eq!(Style::of(&format!("#include \"bpf_tcp_helpers.h\"\n{ops}")), Style::Libbpf { own_types: true });
        assert!(Style::of(ops).tail("int x;").is_err());
    }
}
