//! Remarks on the lengths of queues.

use units::packet::MTU;
use units::{Rate, Span};

/// The smallest queue, in BDP, that goes without a remark.
const SHORT: f64 = 0.1;

/// The longest period of a trace that may be one in seconds.
const SHORT_PERIOD: Span = Span::from_secs(10);

/// A remark on a trace whose times look like seconds: fractions, and a short period.
pub(crate) fn short_trace(name: &str, service: &network::Service) -> Option<String> {
    let network::Service::Trace(trace) = service else { return None };
    let (period, mean) = (trace.period(), trace.mean_rate());
    (trace.has_fractions() && period < SHORT_PERIOD).then(|| {
        format!(
            "the trace of `{name}` repeats every {period} and has a mean rate of {mean}: its times are milliseconds; \
             if they are meant as seconds, multiply them by 1000"
        )
    })
}

/// A remark on a queue of two packets or more that is far below what loss-based controllers need.
pub(crate) fn short_queue(
    name: &str,
    limit: network::Limit,
    rate: Option<Rate>,
    base_rtt: Option<Span>,
) -> Option<String> {
    let (rate, base_rtt) = (rate?, base_rtt?);
    let bytes = match limit {
        network::Limit::Infinite => return None,
        network::Limit::Packets(n) => MTU * u64::from(n),
        network::Limit::Bytes(bytes) => bytes,
        network::Limit::Delay(span) => rate.bytes_in(span),
    };
    let whole = rate.bits_per_second() as f64 * base_rtt.as_secs_f64() / 8.0;
    let share = bytes.get() as f64 / whole;
    let enough_for_two = bytes >= MTU * 2;
    (enough_for_two && share < SHORT).then(|| {
        format!(
            "the queue of `{name}` is {share:.3} BDP ({rate} over {base_rtt}): controllers that wait for a loss leave \
             most of such a link unused; 1bdp lets them fill it"
        )
    })
}

/// A remark on a queue without a limit, or without room for two packets.
pub(crate) fn queue_warning(name: &str, limit: network::Limit, rate: Option<Rate>) -> Option<String> {
    let rate = rate?;
    let tiny = match limit {
        network::Limit::Infinite => {
            return Some(format!(
                "the queue of `{name}` is infinite: it drops nothing, and delay can grow without bound"
            ));
        }
        network::Limit::Packets(n) => n < 2,
        network::Limit::Bytes(bytes) => bytes < MTU * 2,
        network::Limit::Delay(span) => span < rate.time_for(MTU * 2),
    };
    tiny.then(|| format!("the queue of `{name}` has room for less than two packets of 1500 bytes"))
}
