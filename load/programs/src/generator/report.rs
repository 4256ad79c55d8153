//! The report of a load: one JSON document. Times are in seconds.

use leaseload_net::clock::SECOND;
use leaseload_net::thread;
use serde_json::{Map, Value, json};

use crate::generator::cli::{Asked, Target, Transport};
use crate::generator::engine::End;
use crate::generator::load::Load;
use crate::generator::schedule::Arrivals;
use crate::generator::tally::{Bin, Ends, Latencies, Tally};

/// Share of a load that may be sent later than `--lag`.
const BEHIND: f64 = 0.01;

/// Counts of a filling.
#[derive(Clone, Copy, Debug)]
pub struct Filled {
    /// Clients of the population.
    pub clients: u64,
    /// Those that have a lease.
    pub leases: u64,
    /// How long it took (ns).
    pub took: u64,
}

/// Everything that the report is made of.
#[derive(Debug)]
pub struct Outcome {
    /// Counts of all threads.
    pub tally: Tally,
    /// Why the load ended.
    pub end: End,
    /// When it began (realtime, ns).
    pub started_at: u64,
    /// How long it took, with the wait for the last replies (ns).
    pub took: u64,
    /// The filling before it.
    pub filled: Option<Filled>,
    /// Exchanges of the schedule.
    pub planned: f64,
}

/// The document.
pub fn document(asked: &Asked, load: &Load, outcome: &Outcome) -> Value {
    let tally = &outcome.tally;
    let all = tally.all();
    let counts = all.counts;
    let traffic = traffic(load, outcome);
    let behind = 1.0 - tally.lag.0.quantile_below(load.lag);
    let mut document = json!({
        "transport": match &asked.target {
            Target::Dns(target) => target.transport,
            _ => Transport::Udp,
        },
        "asked": {
            "exchanges": outcome.planned,
            "late_s": seconds(load.late),
            "window": load.window.as_ref().map(|window| window.most),
        },
        "started_at_s": seconds(outcome.started_at),
        "took_s": seconds(outcome.took),
        "traffic_s": seconds(traffic),
        "ended": outcome.end,
        "fell_behind": behind > BEHIND || (counts.attempted as f64) < short_of(load, outcome),
        "counts": named(&counts.named()),
        "kinds": tally.kinds.iter()
            .map(|(kind, ends)| (kind.word(), of_kind(ends)))
            .collect::<Map<_, _>>(),
        "refused": tally.refused,
        "replies": tally.replies.iter().map(|(word, replies)| ((*word).to_owned(), json!({
            "count": replies.count,
            "bytes": replies.bytes,
        }))).collect::<Map<_, _>>(),
        "stages": tally.stages.iter().map(|(name, stage)| json!({
            "name": name,
            "lost": stage.lost,
            "latency": of_latency(&stage.latency),
        })).collect::<Vec<_>>(),
        "whole": of_latency(&all.whole),
        "seconds": tally.seconds.iter().map(|second| json!({
            "attempted": second.attempted,
            "completed": second.completed,
            "p50_s": second.percentiles().map(|(p50, _)| seconds(p50)),
            "p99_s": second.percentiles().map(|(_, p99)| seconds(p99)),
            "largest_lag_s": seconds(second.largest_lag),
            "kinds": second.kinds.iter()
                .map(|(kind, times)| (kind.word(), named(&times.named())))
                .collect::<Map<_, _>>(),
        })).collect::<Vec<_>>(),
        "parts": load.steps.iter().enumerate().map(|(place, _)| {
            let part = tally.parts.get(place).cloned().unwrap_or_default();
            let at = |quantile| {
                let latency = part.latency.as_ref()?;
                Some(seconds(latency.value_at_quantile(quantile)))
            };
            json!({
                "attempted": part.attempted,
                "completed": part.completed,
                "late": part.late,
                "p50_s": at(0.5),
                "p99_s": at(0.99),
            })
        }).collect::<Vec<_>>(),
        "bin_s": seconds(load.bin),
        "bins": of_bins(&tally.bins),
        "reply_times": reply_times(tally),
        "connections": connections(tally),
        "peak_memory_bytes": thread::peak_memory(),
        "filled": outcome.filled.map(|filled| json!({
            "clients": filled.clients,
            "leases": filled.leases,
            "took_s": seconds(filled.took),
        })),
    });
    for (name, time) in tally.largest.named() {
        document[format!("{name}_s")] = seconds(time).into();
    }
    for (name, count) in tally.events.named() {
        document[name] = count.into();
    }
    put_queue(&mut document, &all);
    document
}

/// The load by intervals, a list for each figure.
fn of_bins(bins: &[Bin]) -> Value {
    let count = |figure: fn(&Bin) -> u32| bins.iter().map(figure).collect::<Vec<_>>();
    json!({
        "answered": count(|bin| bin.answered),
        "replies": count(|bin| bin.replies),
        "attempted": count(|bin| bin.attempted),
        "completed": count(|bin| bin.completed),
        "late": count(|bin| bin.late),
        "latency_s": bins.iter().map(|bin| seconds(bin.latency)).collect::<Vec<_>>(),
    })
}

/// What came of one kind of exchanges.
fn of_kind(ends: &Ends) -> Value {
    let mut kind = named(&ends.counts.named());
    let whole = &ends.whole.0;
    let at =
        |quantile| (!whole.is_empty()).then(|| seconds(whole.value_at_quantile(quantile)));
    kind["p50_s"] = at(0.5).into();
    kind["p99_s"] = at(0.99).into();
    put_queue(&mut kind, ends);
    kind
}

/// What says whether a queue was left as the traffic ended.
fn put_queue(into: &mut Value, Ends { after_traffic, early: Latencies(early), .. }: &Ends) {
    let known = !early.is_empty();
    into["after_traffic"] = (*after_traffic).into();
    into["early_mean_s"] = known.then(|| early.mean() / SECOND as f64).into();
    into["early_spread_s"] = known.then(|| early.stdev() / SECOND as f64).into();
}

/// The clock of the replies' times.
fn reply_times(tally: &Tally) -> &'static str {
    let replies: u64 = tally.replies.values().map(|replies| replies.count).sum();
    match tally.unstamped {
        0 => "kernel",
        unstamped if unstamped < replies => "kernel and generator",
        _ => "generator",
    }
}

fn connections(tally: &Tally) -> Value {
    if tally.connections.wanted == 0 {
        return Value::Null;
    }
    let mut connections = named(&tally.connections.named());
    connections["error"] = tally.connection_error.clone().into();
    connections
}

fn named(figures: &[(&'static str, u64)]) -> Value {
    figures.iter().map(|(name, figure)| ((*name).to_owned(), json!(figure))).collect()
}

/// For how long exchanges were begun (ns): as scheduled, unless it was interrupted or has no
/// schedule.
fn traffic(load: &Load, outcome: &Outcome) -> u64 {
    let schedule = load.traffic();
    let is_short = outcome.end.is_early() || load.window.is_some();
    if is_short { outcome.tally.last_sent.min(schedule) } else { schedule }
}

/// Exchanges that a load has begun at least that did not fall behind.
fn short_of(load: &Load, outcome: &Outcome) -> f64 {
    if outcome.end.is_early() {
        return 0.0;
    }
    // A Poisson process scatters by the root of its number.
    let scatter = if load.arrivals == Arrivals::Poisson { 5.0 } else { 0.0 };
    let starved = outcome.tally.events.starved as f64;
    (outcome.planned - starved) * (1.0 - BEHIND) - scatter * outcome.planned.sqrt()
}

fn seconds(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / SECOND as f64
}

/// Percentiles.
fn of_latency(Latencies(histogram): &Latencies) -> Value {
    if histogram.is_empty() {
        return Value::Null;
    }
    let at = |quantile| seconds(histogram.value_at_quantile(quantile));
    json!({
        "p50_s": at(0.5),
        "p90_s": at(0.9),
        "p99_s": at(0.99),
        "p99.9_s": at(0.999),
        "max_s": seconds(histogram.max()),
    })
}
