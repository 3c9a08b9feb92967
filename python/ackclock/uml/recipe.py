"""The configuration of the kernel, and the edits of its sources."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import NamedTuple

CONTROLLERS = (
    *(
        "bbr",
        "bic",
        "cdg",
        "cubic",
        "dctcp",
        "highspeed",
        "htcp",
        "hybla",
        "illinois",
        "lp",
        "nv",
        "scalable",
    ),
    *("vegas", "veno", "westwood", "yeah"),
)
"""Congestion controllers besides ``reno``, by their names in Linux."""
DISCIPLINES = (
    *("cake", "choke", "codel", "dualpi2", "fq", "fq_codel", "fq_pie", "htb", "netem", "pie", "prio", "red"),
    *("sfq", "tbf"),
)
"""Queue disciplines besides ``pfifo`` and ``bfifo``. A kernel without one of them is built without it."""

_OPTION = {"highspeed": "HSTCP"}
"""Names of options that differ from their controllers'."""

_SYSTEM = """
64BIT HOSTFS UML_TIME_TRAVEL_SUPPORT MULTIUSER NAMESPACES NET_NS BINFMT_ELF BINFMT_SCRIPT PRINTK BUG BASE_FULL
FUTEX EPOLL SIGNALFD TIMERFD EVENTFD SHMEM AIO POSIX_TIMERS HIGH_RES_TIMERS MEMBARRIER FILE_LOCKING
ADVISE_SYSCALLS SYSVIPC PROC_FS PROC_SYSCTL SYSFS TMPFS DEVTMPFS DEVTMPFS_MOUNT
NET UNIX PACKET INET IP_ADVANCED_ROUTER NETDEVICES NET_CORE TUN VETH NET_SCHED
TCP_CONG_ADVANCED DEFAULT_CUBIC
"""


class Edit(NamedTuple):
    """One change of a source file: every occurrence of a text is replaced."""

    file: str
    old: str
    new: str
    why: str


EDITS = (
    Edit(
        "arch/um/Kconfig",
        "config HZ\n\tint\n\tdefault 100\n",
        "config HZ\n\tint\n\tdefault 250\n",
        "250 ticks a second, as most distributions have; the option has no prompt",
    ),
    Edit(
        "arch/um/os-Linux/util.c",
        "#include <sys/random.h>\n",
        "#include <sys/random.h>\n#include <fcntl.h>\n",
        "for the next change",
    ),
    Edit(
        "arch/um/os-Linux/util.c",
        "\treturn getrandom(buf, len, flags);\n",
        """\tconst char *file = getenv("ACKCLOCK_RANDOM");
\tint random = file ? open(file, O_RDONLY) : -1;
\tssize_t got = random < 0 ? -1 : read(random, buf, len);

\tif (random >= 0)
\t\tclose(random);
\treturn got < 0 ? -errno : got;
""",
        "random numbers come from a file that the run writes, in place of the host's source",
    ),
    Edit(
        "drivers/char/random.c",
        "\textract_entropy(key, sizeof(key));\n\n\t/*\n\t * We copy the new key into the base_crng",
        "\textract_entropy(key, sizeof(key));\n"
        "#ifdef CONFIG_UML\n"
        "\t{\n"
        "\t\textern ssize_t os_getrandom(void *buf, size_t len, unsigned int flags);\n\n"
        "\t\tos_getrandom(key, sizeof(key), 0);\n"
        "\t}\n"
        "#endif\n\n\t/*\n\t * We copy the new key into the base_crng",
        "the key of the random source is that file alone, not the history of the machine",
    ),
    Edit(
        "drivers/char/random.c",
        "\tCRNG_RESEED_START_INTERVAL = HZ,\n\tCRNG_RESEED_INTERVAL = 60 * HZ\n",
        "\tCRNG_RESEED_START_INTERVAL = 1 << 30,\n\tCRNG_RESEED_INTERVAL = 1 << 30\n",
        "the random source takes a new key only when a run asks for it",
    ),
    Edit(
        "arch/x86/um/vdso/vma.c",
        "\tcopy_page(page_address(um_vdso), vdso_start);\n",
        """\tcopy_page(page_address(um_vdso), vdso_start);
\t{
\t\textern unsigned long long *time_travel_shown;

\t\tBUG_ON(vdso_end - vdso_start > PAGE_SIZE - 16);
\t\ttime_travel_shown = page_address(um_vdso) + PAGE_SIZE - 8;
\t\ttime_travel_shown[-1] = 0x6b636f6c636b6361ULL;
\t}
""",
        "the end of the page that all programs see shows the time, so that to read it takes no system call",
    ),
    Edit(
        "arch/um/kernel/time.c",
        "static void time_travel_set_time(unsigned long long ns)\n{\n",
        "unsigned long long *time_travel_shown;\n\n"
        "static void time_travel_set_time(unsigned long long ns)\n{\n"
        "\tif (time_travel_shown)\n\t\t*time_travel_shown = ns;\n",
        "that time",
    ),
    Edit(
        "arch/um/os-Linux/skas/process.c",
        "\tsiginfo_t si;\n\n\t/* Handle any immediate reschedules or signals */\n",
        "\tsiginfo_t si;\n\tint full = 0;\n\n\t/* Handle any immediate reschedules or signals */\n",
        "for the next two changes",
    ),
    Edit(
        "arch/um/os-Linux/skas/process.c",
        "\t\tif (put_fp_registers(pid, regs->fp)) {",
        "\t\tif (full ? put_fp_registers(pid, regs->fp) : ptrace(PTRACE_SETFPREGS, pid, 0, regs->fp)) {",
        "at a system call only the registers of SSE live on; the others take most of the time of a switch",
    ),
    Edit(
        "arch/um/os-Linux/skas/process.c",
        "\t\tif (get_fp_registers(pid, regs->fp)) {",
        "\t\tfull = !WIFSTOPPED(status) || WSTOPSIG(status) != (SIGTRAP | 0x80);\n"
        "\t\tif (full ? get_fp_registers(pid, regs->fp) : ptrace(PTRACE_GETFPREGS, pid, 0, regs->fp)) {",
        "likewise",
    ),
    Edit(
        "arch/um/os-Linux/skas/process.c",
        "PTRACE_O_TRACESYSGOOD)",
        "(PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL))",
        "processes of the kernel end with it, also by SIGKILL",
    ),
    Edit(
        "arch/x86/um/os-Linux/registers.c",
        "int restore_fp_registers(int pid, unsigned long *fp_regs)\n{\n",
        "/* The state that the host's processor has, which may be longer than what is kept of it. */\n"
        "static char host_state[1 << 16];\n"
        "static size_t host_state_bytes;\n\n"
        "int restore_fp_registers(int pid, unsigned long *fp_regs)\n{\n",
        "for the next three changes",
    ),
    Edit(
        "arch/x86/um/os-Linux/registers.c",
        "\t\tiov.iov_base = fp_regs;\n"
        "\t\tiov.iov_len = FP_SIZE * sizeof(unsigned long);\n"
        "\t\tif (ptrace(PTRACE_SETREGSET,",
        "\t\tmemcpy(host_state, fp_regs, FP_SIZE * sizeof(unsigned long));\n"
        "\t\tiov.iov_base = host_state;\n"
        "\t\tiov.iov_len = host_state_bytes;\n"
        "\t\tif (ptrace(PTRACE_SETREGSET,",
        "processors with AMX have 8 KiB of state more, and the host takes all of it or none",
    ),
    Edit(
        "arch/x86/um/os-Linux/registers.c",
        "\tiov.iov_base = fp_regs;\n"
        "\tiov.iov_len = FP_SIZE * sizeof(unsigned long);\n"
        "\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) == 0)\n"
        "\t\thave_xstate_support = 1;\n",
        "\tiov.iov_base = host_state;\n"
        "\tiov.iov_len = sizeof(host_state);\n"
        "\tif (ptrace(PTRACE_GETREGSET, pid, NT_X86_XSTATE, &iov) == 0) {\n"
        "\t\thave_xstate_support = 1;\n"
        "\t\thost_state_bytes = iov.iov_len;\n"
        "\t\tmemset(host_state, 0, sizeof(host_state));\n"
        "\t}\n",
        "likewise",
    ),
    Edit(
        "arch/x86/um/os-Linux/registers.c",
        "#include <stdlib.h>\n",
        "#include <stdlib.h>\n#include <string.h>\n",
        "likewise",
    ),
)


def options() -> str:
    """The options that are set, as a file of them. All others are off."""
    names = [
        *_SYSTEM.split(),
        *(f"TCP_CONG_{_OPTION.get(name, name.upper())}" for name in CONTROLLERS),
        *(f"NET_SCH_{name.upper()}" for name in DISCIPLINES),
    ]
    return "".join(f"CONFIG_{name}=y\n" for name in names)


def digest() -> str:
    """Eight digits that change with configuration and edits."""
    return hashlib.sha256(repr((options(), EDITS)).encode()).hexdigest()[:8]


def apply(tree: Path) -> None:
    """Makes the edits in a tree of sources. Raises ValueError for a file without the text to replace."""
    for edit in EDITS:
        file = tree / edit.file
        text = file.read_text("utf-8") if file.is_file() else ""
        if edit.old not in text:
            raise ValueError(f"{edit.file} has not the lines to change ({edit.why})")
        file.write_text(text.replace(edit.old, edit.new), "utf-8")
