"""The engine: scenarios, runs and their tables, and the signals that a controller receives.

Times are seconds, rates bits per second, windows segments, unless a name says otherwise.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any, final

class ScenarioError(ValueError):
    """A scenario cannot be run. The message is one sentence; its parts are attributes."""

    file: str
    """The file, or ``scenario`` where there is none."""
    line: int | None
    """The line in it, counted from 1, where the key is written there."""
    key: str
    """The dotted key (``path.rate``, ``flows.0.cc``); empty for the document as a whole."""

class ControllerError(ValueError):
    """A controller failed, or decided on a value that no run can go on with. The message is one sentence."""

class MachineError(RuntimeError):
    """The machine lacks something for the request. The message is one sentence that names it."""

@final
class Endpoint:
    """One TCP endpoint whose clock the caller moves. Times are nanoseconds, packets are objects in JSON."""

    def __init__(self, plan: Plan, window_scale: int) -> None:
        """With the options and the controller of the first flow of a plan.

        It announces windows that are to be shifted by ``window_scale``. Raises ScenarioError.
        """

    def listen(self) -> None:
        """Waits for a SYN."""

    def connect(self, now: int) -> None:
        """Sends a SYN."""

    @property
    def is_open(self) -> bool:
        """Whether the handshake is over."""

    @property
    def received(self) -> int:
        """Bytes that arrived in order."""

    def write(self, size: int) -> bool:
        """The application writes ``size`` bytes; says whether the connection is open."""

    def close(self) -> bool:
        """The application closes; says whether the connection is open."""

    def set_no_delay(self, on: bool) -> None:
        """Whether small segments leave at once."""

    def end_quick_acks(self) -> None:
        """ACKs wait from now on as those of a conversation do (TCP_QUICKACK off)."""

    def inject(self, now: int, packet: str) -> str | None:
        """A packet arrives. Answers why it cannot be taken, if it cannot."""

    def poll_transmit(self, now: int) -> str | None:
        """The packet that leaves now, if one does. To be called until it answers None."""

    def poll_timeout(self) -> int | None:
        """When to call ``on_timeout``, at the latest. Valid once nothing more leaves."""

    def on_timeout(self, now: int) -> None:
        """Deadlines have passed."""

    def information(self, now: int) -> str | None:
        """What ``TCP_INFO`` would say, as an object in JSON; None before the connection is open."""

def version() -> str:
    """The version of the engine."""

def schema() -> str:
    """The JSON schema of the scenario language, as text."""

def controllers() -> list[dict[str, Any]]:
    """Every controller: ``name``, ``title``, ``summary``, ``source`` and ``parameters``.

    A parameter has ``name``, ``default``, ``unit``, ``range``, ``meaning`` and ``source``.
    """

def media_controllers() -> list[dict[str, Any]]:
    """Every controller of media, as in ``controllers``: it sets the rate of an encoder."""

def profiles() -> list[dict[str, Any]]:
    """Every profile: ``name``, ``summary`` and ``options``, the TCP options by name."""

def signals() -> list[dict[str, Any]]:
    """The classes below: ``name``, ``about``, ``attributes`` and ``methods``.

    An attribute has ``name``, ``type``, ``meaning`` and ``none``, a list of the times at which it is None.
    """

def columns() -> list[dict[str, Any]]:
    """Every column of a run's tables: ``table``, ``name``, ``unit`` and ``meaning``."""

def quantity(text: str, kind: str | None = None) -> float:
    """The number that ``text`` spells with its unit, read as scenarios read it.

    ``kind`` is ``time`` (``40ms``, in seconds), ``rate`` (``10mbit``, in bit/s), ``size`` (``64kB``, in
    bytes) or ``fraction`` (``1%`` or ``0.01``, as a share of 1). Without it the unit decides, and a bare
    number is a fraction. Raises ValueError, one sentence, for anything else.
    """

def tc_quantity(text: str, kind: str) -> str:
    """A quantity of ``tc``, a ``time``, ``rate`` or ``size``, as scenarios spell it. Raises ValueError."""

def tc_queue(name: str, words: list[str]) -> dict[str, Any]:
    """The keys of a path, ``queue`` and perhaps ``rate``, for a discipline of ``tc`` and the words behind it.

    Settings at their defaults are left out. Raises ValueError, one sentence.
    """

def tc_words() -> list[dict[str, Any]]:
    """Every word of ``tc`` for a queue.

    Each has its ``discipline``, the kind of value that it ``takes``, whether it is ``read``, the ``key`` of a
    scenario, and ``why`` it has none.
    """

def sysctls() -> list[dict[str, Any]]:
    """Every sysctl of Linux that is known.

    Each has its ``name``, the ``option`` that it sets, the values that it ``takes`` in packet scripts,
    ``why`` it takes no others, and its value in ``live`` runs of profile ``linux``.
    """

def configure(profile: str, settings: Sequence[tuple[str, str]]) -> dict[str, Any]:
    """The meaning of sysctls, names and values, for an endpoint of a profile.

    The options that they set are under ``transport``. ``controller``, ``window_scale`` and the number ``ecn``
    are ``None`` if nothing sets them, and ``acts`` says whether the last one has an effect. Raises
    ValueError, one sentence that says why the last one is not modelled.
    """

def first_page_columns() -> dict[str, list[str]]:
    """The columns of each table that ``first_page`` reads; ``stations`` only with a wireless network."""

def first_page(request: bytes) -> str:
    """The first page of a report, as JSON.

    ``request`` is a line of JSON, then doubles (little-endian): see ``crates/overview/src/lib.rs``. Raises
    ValueError, one sentence, if it is no such request.
    """

def goodput(delivered_bytes: Sequence[float], measured_s: float) -> float:
    """The bits that all flows delivered, per second of a measured interval."""

def loss_percent(data_packets: Sequence[float], loss_rate: Sequence[float]) -> float:
    """The data packets of all flows that were dropped or lost on the way, in percent of those sent.

    ``loss_rate`` is NaN for a flow without packets. NaN if none was sent.
    """

def limit(
    measured_s: Sequence[float], completion_s: Sequence[float | None], times_us: Sequence[Sequence[float]]
) -> tuple[str, float] | None:
    """The limit of the flows that lasted longest, its part of the time in percent; None for the window.

    ``times_us`` are the columns ``busy_us``, ``app_limited_us``, ``rwnd_limited_us`` and
    ``sndbuf_limited_us``.
    """

def jain(values: Sequence[float]) -> float:
    """Jain's fairness index: 1 when all are equal, 1/n when one has everything (RFC 5166, section 2.3).

    NaN without values, and when all are 0.
    """

def fairness(
    flows: str,
    goodputs: Sequence[float],
    completions: Sequence[float | None],
    routes: Sequence[Sequence[int]] = (),
    link: int | None = None,
) -> float:
    """Jain's index of the goodputs of flows that last and send all they can: see ``ackclock.Run.fairness``.

    ``flows`` is the JSON of the list in the resolved scenario. With ``link`` only flows with it in ``routes``
    count, unless routes and goodputs differ in number. Raises ValueError if ``flows`` is no JSON.
    """

@final
class Files:
    """The files that scenarios name: each is opened once, however many scenarios name it.

    It is the one door for code. ``code`` has the controllers in files that may run, as a command line spells
    them, in the current folder or ``beside``. With ``trusted`` all may run that a scenario names; without
    both none: it is not even read.
    """

    def __new__(
        cls, code: Sequence[str] = (), *, beside: str | os.PathLike[str] | None = None, trusted: bool = False
    ) -> Files: ...

@final
class Plan:
    """A scenario, resolved and planned, with the files that it names.

    It travels from the scenario to engines, caches, reports and other processes. Plans with the same text and
    files are equal. ``Plan(resolved)`` is that of a text that is resolved already; it is planned when needed.
    """

    def __new__(cls, resolved: str, files: Mapping[str, bytes] | None = None) -> Plan: ...
    @property
    def resolved(self) -> str:
        """The complete scenario as JSON."""

    @property
    def files(self) -> dict[str, bytes]:
        """The content of the files that the scenario names, by their absolute paths."""

    @property
    def name(self) -> str:
        """The name in reports."""

    @property
    def seed(self) -> int:
        """Fixes every random draw."""

    @property
    def routes(self) -> list[list[int]]:
        """The links that data of each flow cross, as rows of the table of links. Raises ScenarioError."""

    def inspect(self) -> dict[str, Any]:
        """What the scenario amounts to.

        ``warnings`` (sentences), ``estimated_memory_bytes``, ``duration_s``, ``warmup_s``, ``bottleneck``
        (name of the link that reports look at first), ``flows`` (``name``, ``cc``, ``base_rtt_ms``,
        ``start_s``, ``stop_s``, ``connections``: how many it makes, on average, ``profile``, and
        ``usual_flight_bytes``: the bytes in flight with the profile's buffers in place of unlimited ones, or
        None) and ``links`` (``name``, ``rate_bps`` or None, ``delay_ms``). Raises ScenarioError.
        """

def resolve(text: str, file: str, overrides: Sequence[tuple[str, str]], files: Files | None = None) -> Plan:
    """Resolves and plans a scenario in TOML: sets overrides, fills in defaults, checks everything.

    An override is a dotted key and a value as TOML writes it, or plain text. ``file`` names the scenario in
    errors, and traces are looked up beside it. Names of controllers that are not in the list are left to the
    engine. Without ``files`` no code may run. Raises ScenarioError.
    """

def resolve_json(
    document: str,
    overrides: Sequence[tuple[str, str]],
    files: Files | None = None,
    file: str | None = None,
) -> Plan:
    """The same for JSON of the shape of the TOML document, which is from ``file``.

    Without it files are looked up in the current directory.
    """

def trace_keys(text: str, columns: str | None = None) -> list[str]:
    """The keys of a path for which a file has values over time: "rate", "rtt" or "delay", "loss".

    Raises ValueError.
    """

def engines() -> list[str]:
    """The names of the engines that are built in, the default first."""

def has_qlog() -> bool:
    """True if runs over QUIC can write the log of their stack."""

def check(engine: str, plan: Plan) -> None:
    """Refuses a plan that the engine cannot run on this machine. Raises ScenarioError or MachineError."""

def check_virtual_time(
    plan: Plan, controllers: Sequence[str], offered: Sequence[str], disciplines: str | None = None
) -> None:
    """Refuses a plan that a kernel in virtual time with these controllers cannot run: ScenarioError."""

def controller_label(cc: str) -> str:
    """What tables and plots call the controller that scenarios spell ``cc``: of a file its name only."""

def controller_at(cc: str, folder: str) -> str | None:
    """The spelling of the controller ``cc`` whose file is named from ``folder``, or None if it is in none."""

def available_memory(root: str = "/") -> int | None:
    """Bytes that a run may take, by the files of ``/proc`` and ``/sys`` below ``root``; None if unknown.

    The least of what the machine, the control groups of the process and its address space have left.
    """

@final
class Table:
    """A table of a run, by the Arrow PyCapsule interface: ``pyarrow.table(t)``, ``polars.DataFrame(t)``.

    Nothing is copied.
    """

    def __len__(self) -> int: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

def joined(tables: Sequence[Table]) -> Table:
    """The tables, one below the other.

    They have the same columns, none of which is coded by a dictionary. Raises RuntimeError.
    """

@final
class Run:
    """The tables of one run."""

    def table(self, name: str) -> Table:
        """The table called ``name``, one of ``ackclock.result.TABLES``. Raises KeyError."""

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The rows of the table called ``name``: the value of each column, None for null. Raises KeyError."""

    def fairness(self, plan: Plan, link: int | None = None) -> float:
        """Jain's index of the goodputs of the flows of ``plan`` that last and send all they can.

        With ``link`` only flows whose data cross it count. See ``ackclock.Run.fairness``.
        """

    @property
    def engine(self) -> dict[str, Any]:
        """``kind`` ("sim" or "live"), ``events``, ``data_packets``, ``cpu_s`` and ``wall_s``.

        Of a live run also ``kernel``, ``valid``, ``reasons``, ``lateness_us``, ``stalls``, ``drops_outside``,
        ``emulator_cpu_s``, ``trains``, ``scheduling``, ``rtt_source``, ``state_source``, ``missed_records``,
        ``gso_max_segs`` and ``sysctls``.
        """

@final
class Batch:
    """Runs on threads of their own. They start at once; dropping the batch stops them."""

    def __new__(
        cls,
        jobs: Sequence[tuple[Plan, int]],
        *,
        engine: str = "sim",
        threads: int | None = None,
        pcap: Sequence[str | None] | None = None,
        **options: Any,
    ) -> Batch:
        """Starts the jobs, each a plan and a seed, on ``threads`` threads of an engine.

        The default is one thread a core for ``sim``, and one for ``live``. ``pcap`` names a packet capture to
        write for each job, or None. Options of both engines are ``pcap_at``, where all captures are taken
        (``sender``, ``receiver``, ``bottleneck`` or ``all``); of ``sim`` ``controllers``: a flow whose ``cc``
        is ``python:<n>`` or ``python:<n>:<label>`` gets what ``controllers[n]()`` returns; of ``live``
        ``gso_max_segs``: TCP sends at most so many segments at once.
        """

    def next(self, timeout_s: float | None = None) -> tuple[int, Run] | None:
        """The next run that finishes and the index of its job; None if none does in time, or none is left.

        Raises what made a run fail: the exception of a controller in Python, ControllerError, ScenarioError,
        MachineError, or RuntimeError. The other runs go on.
        """

    @property
    def done(self) -> bool:
        """Whether ``next`` has returned every run, or they were stopped."""

    def progress(self) -> float:
        """The share of the time of all jobs that is behind, 0 to 1."""

    def cancel(self) -> None:
        """Stops every run; ``next`` does not return those that have not finished."""

def become_root() -> None:
    """Moves the process into a user namespace in which ``shell`` works for those who are not root.

    To be called before there is a second thread. Raises MachineError.
    """

def shell(
    plan: Plan,
    seed: int,
    near: Sequence[str],
    far: Sequence[str],
    log: str | os.PathLike[str] | None = None,
    meter: Callable[[float, int, int, int], None] | None = None,
    gso_max_segs: int | None = None,
    pcap: str | os.PathLike[str] | None = None,
    pcap_at: str = "sender",
) -> tuple[int, Run, list[str | None]]:
    """Runs the command ``near``, and ``far`` at the other end unless empty, across the path of a plan.

    What passes the queue from near to far is written to ``log``, as Mahimahi's mm-link does.
    ``meter`` is called once a second with the seconds since the start, the IP bytes delivered to the far and
    to the near end, and the packets that wait. Returns the exit status of ``near``, the tables of the
    links, and why log and packet capture are not whole if they are not. ``engine`` of the run also has
    ``turned_away``, the connections and datagrams of ``near`` that no program accepted. ``pcap`` and
    ``pcap_at`` as in ``Batch``.
    Raises ScenarioError or MachineError.
    """

def kernel_load(controller: str, parameters: str) -> str:
    """Loads a controller into the kernel and pins it there; ``parameters`` is a JSON object.

    ``controller`` is a name or the path of a source that ends in ``.bpf.c``. Returns what TCP_CONGESTION
    takes. Raises MachineError, as the other functions on the kernel do.
    """

def kernel_unload(name: str) -> None:
    """Takes a controller out of the kernel."""

def kernel_list() -> list[dict[str, Any]]:
    """The pinned controllers: ``name`` and ``parameters``."""

def kernel_set(name: str, parameters: str) -> None:
    """Sets parameters (a JSON object) of a pinned controller, all or none, also for open connections."""

# Below: written by tools/written from crates/control/src/signals/declared.rs.

@final
class Context:
    """The world while a controller handles an event."""

    @property
    def now(self) -> float:
        """Time of the event."""

    @property
    def segment_size(self) -> int:
        """Payload of a full segment in bytes (SMSS, RFC 5681)."""

    @property
    def initial_window(self) -> float:
        """Initial window of the connection, in segments."""

    @property
    def slow_start_at_threshold(self) -> bool:
        """A window that equals the threshold is still in slow start, by the stack of the sender.

        After each reduction one ACK then grows it as in slow start. It is so in FreeBSD and in Linux before
        4.3; RFC 5681, section 3.1, leaves it open.
        """

    @property
    def restart_window(self) -> float:
        """At ``on_idle_restart``: the window is at most this, in segments."""

    @property
    def restart_threshold(self) -> float:
        """At ``on_idle_restart``: the slow-start threshold is at least this, in segments, or 0."""

    def random(self) -> float:
        """The next number of the random stream of the flow, in [0, 1): the same for the same seed."""

@final
class Ack:
    """One ACK: the single source of signals. All counts are in segments."""

    @property
    def rtt(self) -> float | None:
        """The RTT sample of this ACK, if it gives one; never of a retransmission."""

    @property
    def smoothed_rtt(self) -> float | None:
        """Smoothed RTT (RFC 6298). None before the first sample."""

    @property
    def min_rtt(self) -> float | None:
        """The smallest RTT of the connection, or of the time that the stack remembers.

        None before the first sample.
        """

    @property
    def one_way_delay(self) -> float | None:
        """Delay of the forward path, where both clocks are known to agree (in simulation)."""

    @property
    def newly_acknowledged(self) -> int:
        """By how many segments the cumulative point advanced."""

    @property
    def newly_delivered(self) -> int:
        """Segments known to be delivered by this ACK and not before, cumulatively or by SACK."""

    @property
    def newly_lost(self) -> int:
        """Segments deemed lost since the last ACK.

        Each is reported once: here, or in ``Loss.newly_lost`` if it starts a loss event.
        """

    @property
    def delivered(self) -> int:
        """Segments delivered since the start, with those of this ACK (C.delivered)."""

    @property
    def lost(self) -> int:
        """Segments deemed lost since the start, with those that this ACK showed (C.lost)."""

    @property
    def in_flight_before(self) -> int:
        """Segments in flight (pipe, RFC 6675) before the ACK was processed."""

    @property
    def in_flight(self) -> int:
        """Segments in flight after it."""

    @property
    def newly_sacked(self) -> int | None:
        """The highest segment that this ACK SACKs and none before did.

        If the receiver acknowledges every segment that is out of order, it is the one that arrived.
        """

    @property
    def first_duplicate(self) -> bool:
        """The first sign of a hole: a duplicate ACK or a SACK block.

        Nothing above the cumulative point was known to have arrived before.
        """

    @property
    def ends_recovery(self) -> bool:
        """The ACK ends a fast recovery or a reduction for a mark, and the window may grow on it.

        It covers segments that were SACKed before, too (Linux since 4.6 at the latest).
        """

    @property
    def rate(self) -> RateSample | None:
        """The delivery rate, if the ACK delivers anything."""

    @property
    def round_start(self) -> bool:
        """One round-trip interval ends here (the interval of Vegas and CDG).

        The ACK covers, cumulatively or by SACK, the first new segment sent after the previous such ACK.
        """

    @property
    def ecn_echo(self) -> bool:
        """The ACK carries an ECN echo (ECE); with accurate ECN, it reports new marks."""

    @property
    def newly_marked(self) -> int:
        """With accurate ECN: segments that this ACK reports as marked and none before did.

        It may exceed the number that the ACK delivers if an ACK was lost.
        """

    @property
    def marked(self) -> int:
        """With accurate ECN: segments reported as marked since the start (C.delivered_ce)."""

    @property
    def application_limited(self) -> bool:
        """The application had nothing more to send at some time since the segments in flight left.

        It is C.app_limited of delivery rate estimation. Whether the window was used is ``window_limited``.
        """

    @property
    def window_limited(self) -> bool:
        """The window was fully used: without this, it must not grow (RFC 7661, RFC 9438 section 5.8)."""

    @property
    def acknowledged_to(self) -> int:
        """The cumulative point: every segment below this number is acknowledged."""

    @property
    def sent_to(self) -> int:
        """The number of the next new segment: everything below it was sent."""

    @property
    def rtt_delayed(self) -> bool:
        """The RTT sample may contain the delayed-ACK timer."""

    @property
    def timestamp_rtt(self) -> float | None:
        """RTT by the timestamp option."""

    def slow_start_credit(self) -> float:
        """Segments that this ACK counts in slow start, by the counting of the sender's stack."""

    def avoidance_credit(self) -> float:
        """Segments that this ACK counts in congestion avoidance."""

@final
class Loss:
    """A loss event, or an expiry of the retransmission timer."""

    @property
    def in_flight(self) -> int:
        """Segments in flight when it was detected, before any was deemed lost (pipe, RFC 6675)."""

    @property
    def newly_lost(self) -> int:
        """Segments deemed lost that no ACK has reported (see ``Ack.newly_lost``)."""

    @property
    def again(self) -> bool:
        """For a timeout: not the first of a row without progress.

        Also if the window of data was already reduced for a loss.
        """

    @property
    def acknowledged_to(self) -> int:
        """The cumulative point."""

    @property
    def sent_to(self) -> int:
        """The number of the next new segment: recovery ends when everything below it is acknowledged."""

    @property
    def sent_at(self) -> float:
        """When the oldest lost segment was last sent."""

@final
class Marks:
    """Congestion marks echoed by the receiver."""

    @property
    def in_flight(self) -> int:
        """Segments in flight when the echo arrived."""

    @property
    def acknowledged_to(self) -> int:
        """The cumulative point."""

    @property
    def sent_to(self) -> int:
        """The number of the next new segment."""

    @property
    def at(self) -> float:
        """When the echo arrived."""

    def as_loss(self) -> Loss:
        """The equivalent loss event, for a controller without a rule for ECN."""

@final
class RateSample:
    """A delivery rate sample (draft-cheng-iccrg-delivery-rate-estimation)."""

    @property
    def delivered(self) -> int:
        """Segments delivered over ``interval``."""

    @property
    def interval(self) -> float:
        """The longer of the send and the ACK interval."""

    @property
    def application_limited(self) -> bool:
        """The sample was taken while the application limited the flow."""

    @property
    def prior_delivered(self) -> int:
        """Segments delivered, of all, when the segment of the sample left (rs.prior_delivered)."""

    @property
    def is_retransmission(self) -> bool:
        """The segment of the sample was sent more than once."""

    @property
    def sent(self) -> SentState | None:
        """The state of the connection when the segment left, if ``segments`` are wanted.

        Segments lost since are ``Ack.lost`` less ``SentState.lost``.
        """

@final
class SentState:
    """The state of the connection when a segment left.

    P.delivered, P.lost and P.tx_in_flight of draft-ietf-ccwg-bbr.
    """

    @property
    def at(self) -> float:
        """When that was."""

    @property
    def delivered(self) -> int:
        """Segments delivered by then; see ``Ack.delivered``."""

    @property
    def lost(self) -> int:
        """Segments deemed lost by then; see ``Ack.lost``."""

    @property
    def marked(self) -> int:
        """Segments reported as marked by then; see ``Ack.marked``."""

    @property
    def in_flight(self) -> int:
        """Segments in flight (pipe), this one included."""

    @property
    def application_limited(self) -> bool:
        """The application limited the flow."""

@final
class Transmission:
    """A segment that leaves."""

    @property
    def sequence(self) -> int:
        """Its number."""

    @property
    def retransmission(self) -> bool:
        """It left before."""

    @property
    def in_flight(self) -> int:
        """Segments in flight (pipe), this one included."""

    @property
    def application_limited(self) -> bool:
        """The application had nothing more to send at some time since the segments in flight left."""

@final
class SegmentReport:
    """The fate of the last transmission of a segment."""

    @property
    def sequence(self) -> int:
        """The number of the segment."""

    @property
    def retransmitted(self) -> bool:
        """It was sent more than once: its RTT is ambiguous (Karn's rule, RFC 6298 section 3)."""

    @property
    def rtt(self) -> float | None:
        """The RTT of a segment that was delivered and sent once, on the sender's clock."""

    @property
    def sent(self) -> SentState:
        """The state of the connection when it left."""

    @property
    def one_way_delay(self) -> float | None:
        """Its delay on the forward path, by the arrival time in the feedback of a media flow."""

    @property
    def payload(self) -> int | None:
        """Its payload in a media flow. Segments of TCP are full."""

    @property
    def marked(self) -> bool:
        """It arrived with a congestion mark. Only media flows have feedback on single packets."""
