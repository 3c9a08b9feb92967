// The first page of a report from tables, as `overview.py` makes it: sentences, and the document that `charts.js` reads.
"use strict";
const overview = (() => {
  const [LOW, HIGH] = [20, 80];
  const POINTS = 400;
  const BINS = 60;
  const MANY_FLOWS = 16;
  const MOST_CURVES = 40;
  const MOST_TICKS = 500;
  const TENFOLD = 10;
  const DEEPEST = 1000;
  const SIZES = [[0, "below 10 kB"], [1e4, "10 to 100 kB"], [1e5, "100 kB to 1 MB"], [1e6, "1 MB and more"]];

  const finite = (values) => Array.from(values).filter(Number.isFinite);
  const sum = (values) => values.reduce((total, value) => total + value, 0);
  const texts = (column) => (column.codes ? Array.from(column.codes, (code) => column.names[code]) : column);
  const unique = (values) => [...new Set(values)];
  // As numpy has them to the bit: samples may lie on these points.
  const linspace = (low, high, count) => {
    const step = (high - low) / (count - 1);
    return Array.from({ length: count }, (_, n) => (n === count - 1 ? high : n * step + low));
  };
  const geomspace = (low, high, count) => {
    const between = linspace(Math.log10(low), Math.log10(high), count).map((power) => 10 ** power);
    return [low, ...between.slice(1, -1), high];
  };

  function percentile(values, at) {
    const sorted = finite(values).sort((a, b) => a - b);
    if (!sorted.length) return NaN;
    const place = ((sorted.length - 1) * at) / 100;
    const below = Math.floor(place);
    const above = Math.min(below + 1, sorted.length - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (place - below);
  }
  const median = (values) => percentile(values, 50);

  // How many of sorted `values` are at most `x`, or below it.
  function rank(values, x, below = false) {
    let [low, high] = [0, values.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (below ? values[middle] < x : values[middle] <= x) low = middle + 1; else high = middle;
    }
    return low;
  }

  function interpolate(x, xs, ys) {
    const at = rank(xs, x);
    if (at === 0) return ys[0];
    if (at === xs.length) return ys[ys.length - 1];
    return ys[at - 1] + ((ys[at] - ys[at - 1]) * (x - xs[at - 1])) / (xs[at] - xs[at - 1]);
  }

  // Flows, groups, links.

  const flowCount = (run) => run.tables.flows.name.length;

  function onlyController(run) {
    const of = unique(texts(run.tables.flows.cc));
    return of.length === 1 ? of[0] : "";
  }

  function groups(run) {
    const names = texts(run.tables.flows.name);
    const found = new Map();
    texts(run.tables.flows.cc).forEach((cc, flow) => {
      const match = /^(.+)-\d+$/.exec(names[flow]);
      const name = match ? match[1] : names[flow];
      const key = JSON.stringify([name, cc]);
      if (!found.has(key)) found.set(key, { name, cc, flows: [] });
      found.get(key).flows.push(flow);
    });
    return [...found.values()].map((one) => ({ ...one, name: one.flows.length === 1 ? one.name : `${one.flows.length} x ${one.name}` }));
  }

  const bottleneck = (run) => run.tables.links.is_bottleneck.indexOf(true);
  const ofBottleneck = (run, name) => (bottleneck(run) < 0 ? NaN : run.tables.links[name][bottleneck(run)]);

  // The sentences.

  function digits(number) {
    if (!Number.isFinite(number)) return "unknown";
    if (Math.abs(number) >= 100) return String(roundHalfEven(number));
    const [mantissa, exponent] = number.toExponential(2).split("e");
    if (number !== 0 && Number(exponent) < -4) return `${Number(mantissa)}e-${String(-exponent).padStart(2, "0")}`;
    return String(Number(number.toPrecision(3)));
  }
  const roundHalfEven = (x) => (Math.abs(x % 1) === 0.5 ? 2 * Math.round(x / 2) : Math.round(x));

  function said(runs, value, unit) {
    const found = runs.map(({ label, of }) => [label, median(of.map(value))]);
    if (found.length === 1) return `${digits(found[0][1])} ${unit}`;
    return `${found.map(([label, number]) => `${label} ${digits(number)}`).join(", ")} ${unit}`;
  }

  const measured = (run) => run.duration_s - run.warmup_s;
  const totalGoodput = (run) => (sum(run.tables.flows.delivered_bytes) * 8) / measured(run);

  function lossPercent(run) {
    const { data_packets: sent, loss_rate: share } = run.tables.flows;
    const lost = sent.reduce((total, count, row) => total + (Number.isNaN(count * share[row]) ? 0 : count * share[row]), 0);
    return sum(sent) ? (100 * lost) / sum(sent) : NaN;
  }

  function fairness(run) {
    const { goodput_bps: rates, completion_s: completion } = run.tables.flows;
    const greedy = run.scenario.flows.flatMap((flow) => Array(flow.count ?? 1).fill((flow.source ?? "greedy") === "greedy"));
    const lasting = rates.map((_, row) => !Number.isFinite(completion[row]));
    const apart = greedy.length === rates.length && greedy.some((is, row) => is && lasting[row]);
    const compared = rates.filter((_, row) => lasting[row] && (!apart || greedy[row]));
    if (rates.length !== 1 && compared.length < 2) return NaN;
    const squares = sum(compared.map((x) => x * x));
    return squares ? sum(compared) ** 2 / (compared.length * squares) : NaN;
  }

  function fairnessSaid(runs) {
    if (runs.every(({ of }) => flowCount(of[0]) === 1)) return "a flow has the path for itself";
    const several = runs.filter(({ of }) => Number.isFinite(fairness(of[0])));
    if (!several.length) return "less than two flows that send all they can last, and only these are compared";
    return `Jain's index of the lasting flows: ${said(several, fairness, "(1 is equal)")}`;
  }

  const sharesChannel = (run) => Boolean(run.scenario.wlans?.length) && run.tables.stations.link.includes(run.tables.links.link[bottleneck(run)]);

  function ofRate(runs) {
    if (runs.some(({ of }) => sharesChannel(of[0]))) return "";
    const rates = unique(runs.map(({ of }) => ofBottleneck(of[0], "rate_bps")));
    return rates.length === 1 && Number.isFinite(rates[0]) ? `, of the ${digits(rates[0] / 1e6)} that the bottleneck carries` : "";
  }

  function at(runs) {
    const names = unique(runs.map(({ of }) => texts(of[0].tables.links.name)[Math.max(bottleneck(of[0]), 0)]));
    return runs.some(({ of }) => !of[0].scenario.path) && names.length === 1 ? ` at the bottleneck, ${names[0]}` : "";
  }

  function sentences(runs) {
    const rows = [["Throughput", said(runs, (run) => totalGoodput(run) / 1e6, "Mbit/s") + ofRate(runs)]];
    if (runs.every(({ of }) => bottleneck(of[0]) >= 0)) {
      const mean = said(runs, (run) => ofBottleneck(run, "queue_delay_mean_ms"), "ms");
      const most = said(runs, (run) => ofBottleneck(run, "queue_delay_p95_ms"), "ms");
      rows.push(["Delay", `${mean} of queueing on average${at(runs)}; 95 % of the time at most ${most}`]);
    }
    const silent = runs.filter(({ of }) => !of.some(totalGoodput)).map(({ label }) => label);
    if (silent.length) {
      const beside = runs.length > 1 ? ` with ${silent.join(", ")}` : "";
      rows.unshift(["Delivery", `no data was delivered in the measured time${beside}`]);
    }
    rows.push(["Loss", said(runs, lossPercent, "% of the data packets, on the way")]);
    rows.push(["Fairness", fairnessSaid(runs)]);
    return rows;
  }

  // The curves over time.

  // The samples of each flow: times and values of a column.
  function samples(run, column) {
    const { flow, time_s: times, [column]: values } = run.tables.flow_series;
    const found = new Map();
    flow.forEach((number, row) => {
      if (!found.has(number)) found.set(number, [[], []]);
      found.get(number)[0].push(times[row]);
      found.get(number)[1].push(values[row]);
    });
    return found;
  }

  const present = ([times, values]) => [times.filter((_, n) => Number.isFinite(values[n])), values.filter(Number.isFinite)];

  // The latest value at the times of the grid; none where the last is older than `longest`.
  function held([times, values], grid, longest) {
    return grid.map((time) => {
      const row = rank(times, time) - 1;
      return row >= 0 && time - times[row] <= longest + 1e-9 ? values[row] : NaN;
    });
  }

  function goodputByFlow(run, width) {
    const { flow, start_s: starts, stop_s: stops } = run.tables.flows;
    const counted = samples(run, "delivered_bytes");
    const end = Math.max(...stops);
    const edges = Array.from({ length: Math.round(end / width) + 1 }, (_, n) => n * width);
    return eachFlow(run, (row) => {
      if (!counted.has(flow[row])) return [[], []];
      const [times, values] = counted.get(flow[row]);
      const [xs, ys] = [[Math.min(starts[row], times[0]), ...times], [0, ...values]];
      const delivered = edges.map((edge) => interpolate(edge, xs, ys));
      const centres = edges.slice(1).map((edge, n) => (edges[n] + edge) / 2);
      const alive = (centre) => centre >= starts[row] && centre <= stops[row];
      return present([centres, centres.map((centre, n) => (alive(centre) ? ((delivered[n + 1] - delivered[n]) * 8) / width : NaN))]);
    });
  }

  function eachFlow(run, points) {
    const [names, ccs] = [texts(run.tables.flows.name), texts(run.tables.flows.cc)];
    return names.map((name, row) => ({ name, cc: ccs[row], points: points(row) }));
  }

  function goodputByGroup(run, width) {
    const rows = run.tables.flows;
    const counted = samples(run, "delivered_bytes");
    const bins = Math.max(1, Math.round(Math.max(...rows.stop_s) / width));
    const centres = Array.from({ length: bins }, (_, n) => (n + 0.5) * width);
    const bin = (time) => Math.min(Math.max(Math.ceil(time / width - 1e-6) - 1, 0), bins - 1);
    return groups(run).map(({ name, cc, flows }) => {
      const rates = new Array(bins).fill(0);
      for (const row of flows) {
        const [times, totals] = counted.get(rows.flow[row]) ?? [[], []];
        totals.forEach((total, n) => { rates[bin(times[n])] += total - (n ? totals[n - 1] : 0); });
        const life = rows.stop_s[row] - rows.start_s[row];
        if (Math.abs(rows.measured_s[row] - life) <= 1e-8 + 1e-5 * Math.abs(life)) {
          rates[bin(rows.stop_s[row])] += Math.max(rows.delivered_bytes[row] - (totals.at(-1) ?? 0), 0);
        }
      }
      return { name, cc, points: [centres, rates.map((bytes) => (bytes * 8) / width)] };
    });
  }

  function signalByGroup(run, column) {
    const of = samples(run, column);
    return groups(run).map(({ name, cc, flows }) => {
      const instants = new Map();
      for (const row of flows) {
        const [times, values] = present(of.get(run.tables.flows.flow[row]) ?? [[], []]);
        times.forEach((time, n) => {
          const [total, count] = instants.get(time) ?? [0, 0];
          instants.set(time, [total + values[n], count + 1]);
        });
      }
      const times = [...instants.keys()].sort((a, b) => a - b);
      return { name, cc, points: [times, times.map((time) => instants.get(time)[0] / instants.get(time)[1])] };
    });
  }

  function goodput(run, width, grid, byFlow) {
    const found = byFlow && flowCount(run) <= MANY_FLOWS ? goodputByFlow(run, width) : goodputByGroup(run, width);
    const curves = found.map(({ name, cc, points }) => ({ name, cc, values: held(points, grid, width).map((v) => v / 1e6) }));
    return byFlow || curves.length === 1 ? curves : [together(run, curves, (values) => sum(values.filter((v) => !Number.isNaN(v))))];
  }

  function together(run, curves, join) {
    const values = curves[0].values.map((_, n) => join(curves.map((curve) => curve.values[n])));
    return { name: "", cc: onlyController(run), values };
  }

  function signal(run, column, grid, byFlow) {
    const longest = Math.max(run.duration_s / 20, 1);
    let found;
    if (flowCount(run) > MANY_FLOWS) found = signalByGroup(run, column);
    else {
      const of = samples(run, column);
      found = eachFlow(run, (row) => present(of.get(run.tables.flows.flow[row]) ?? [[], []]));
    }
    const curves = found.map(({ name, cc, points }) => ({ name, cc, values: held(points, grid, longest) }));
    if (byFlow || curves.length === 1) return curves;
    return [together(run, curves, (values) => { const known = finite(values); return known.length ? sum(known) / known.length : NaN; })];
  }

  function linkSamples(run) {
    const table = run.tables.link_series;
    const link = run.tables.links.link[Math.max(bottleneck(run), 0)];
    const of = (name) => Array.from(table[name]).filter((_, row) => table.link[row] === link);
    return { times: of("time_s"), queue: of("queue_bytes"), capacity: of("capacity_bytes") };
  }

  // How long the bottleneck takes from each instant on for so many bytes, in seconds.
  function waits(run, { times, capacity }, bytes) {
    const last = capacity.length - 1;
    if (last < 0 || !capacity.every(Number.isFinite) || capacity[last] <= 0) return bytes.map((n) => (n * 8) / ofBottleneck(run, "rate_bps"));
    return bytes.map((waiting, n) => {
      const until = interpolate(capacity[n] + waiting, capacity, times);
      const behind = (Math.max(capacity[n] + waiting - capacity[last], 0) * times[last]) / capacity[last];
      return until + behind - times[n];
    });
  }

  function queue(run, grid) {
    const of = linkSamples(run);
    const values = waits(run, of, of.queue).map((wait) => wait * 1e3);
    return { name: "", cc: onlyController(run), values: held([of.times, values], grid, run.duration_s) };
  }

  function rateLevel(run, grid) {
    const { times, capacity } = linkSamples(run);
    if (capacity.length < 2 || !capacity.every(Number.isFinite)) return [];
    const rates = capacity.slice(1).map((value, n) => ((value - capacity[n]) * 8e-6) / (times[n + 1] - times[n]));
    return [{ label: "rate of the link", values: grid.map((time) => rates[Math.min(Math.max(rank(times, time, true) - 1, 0), rates.length - 1)]) }];
  }

  function baseLevel(run, grid) {
    const base = unique(finite(run.tables.flows.base_rtt_ms));
    return base.length === 1 ? [{ label: "base RTT", values: grid.map(() => base[0]) }] : [];
  }

  // A limit of a queue in bytes at a rate (bit/s); null where it is unknown or infinite.
  const UNITS = { ns: 1e-9, us: 1e-6, "µs": 1e-6, ms: 1e-3, s: 1, min: 60, h: 3600 };
  const PREFIXES = { "": 1, k: 1e3, M: 1e6, G: 1e9, Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3 };
  const seconds = (text) => { const match = /^([\d.e+-]+?) *(ns|us|µs|ms|s|min|h)$/.exec(text); return match ? Number(match[1]) * UNITS[match[2]] : null; };

  function limitSeconds(limit, rate, rtt) {
    const match = /^([\d.]+)(bdp|p)$/.exec(limit);
    if (match) return Number(match[1]) * (match[2] === "bdp" ? rtt : (1500 * 8) / rate);
    const size = /^([\d.]+) *([kMG]i?|)B$/.exec(limit);
    return size ? (Number(size[1]) * PREFIXES[size[2]] * 8) / rate : seconds(limit);
  }

  function limitLevel(run, grid) {
    const path = run.scenario.path ?? {};
    const limit = typeof path.queue === "object" && path.queue ? path.queue.limit : path.queue;
    const rate = ofBottleneck(run, "rate_bps");
    if (typeof limit !== "string" || !Number.isFinite(rate) || typeof path.rtt !== "string") return [];
    const wait = limitSeconds(limit, rate, seconds(path.rtt));
    if (wait === null) return [];
    const of = linkSamples(run);
    const values = waits(run, of, of.times.map(() => (wait * rate) / 8)).map((value) => value * 1e3);
    return [{ label: "buffer", values: held([of.times, values], grid, run.duration_s) }];
  }

  function drops({ label, of: [run] }) {
    const { kind, time_s: times } = run.tables.events;
    const drop = kind.names.indexOf("drop");
    let found = Array.from(times).filter((_, row) => kind.codes[row] === drop);
    if (found.length > MOST_TICKS) {
      found = unique(found.map((time) => roundHalfEven((time / run.duration_s) * MOST_TICKS) / MOST_TICKS)).map((place) => place * run.duration_s);
      found.sort((a, b) => a - b);
    }
    return { label, cc: onlyController(run), at: found };
  }

  // Medians over the repetitions of each curve, with the ends of the band.
  function bands(runs, curves) {
    const found = [];
    for (const { label, of } of runs) {
      const ofRuns = of.map(curves);
      ofRuns[0].forEach((first, number) => {
        const same = ofRuns.map((one) => one[number]).filter((one) => one && one.name === first.name).map((one) => one.values);
        const band = { label: ofRuns[0].length === 1 ? label : first.name, cc: first.cc, median: same[0] };
        if (same.length > 1) {
          const over = (at) => same[0].map((_, n) => percentile(same.map((values) => values[n]), at));
          Object.assign(band, { low: over(LOW), median: over(50), high: over(HIGH) });
        }
        found.push(band);
      });
    }
    return found.slice(0, MOST_CURVES);
  }

  function overTime(name, title, x, curves, levels = [], ticks = []) {
    const medians = curves.map((one) => median(one.median)).filter((value) => value > 0);
    const log = medians.length > 1 && Math.max(...medians) > TENFOLD * Math.min(...medians);
    return { name, title, x_label: "time (s)", log, log_x: false, floor: log ? floor(curves, levels) : null, x, curves, levels, ticks };
  }

  function floor(curves, levels) {
    let [least, most] = [Infinity, 0];
    for (const values of [...curves.map((one) => one.median), ...levels.map((one) => one.values)]) {
      for (const value of values) if (value > 0 && value < Infinity) [least, most] = [Math.min(least, value), Math.max(most, value)];
    }
    return Math.max(least, most / DEEPEST);
  }

  function stack(runs) {
    const first = runs[0].of[0];
    const duration = Math.max(...runs.map(({ of }) => of[0].duration_s));
    const grid = linspace(0, duration, POINTS + 1);
    const times = unique(first.tables.flow_series.time_s).sort((a, b) => a - b);
    const step = times.length > 1 ? median(times.slice(1).map((time, n) => time - times[n])) : duration;
    const width = Math.max(1, roundHalfEven(duration / BINS / step)) * step;
    const byFlow = runs.length === 1;
    return [
      overTime("goodput", "goodput (Mbit/s)", grid, bands(runs, (run) => goodput(run, width, grid, byFlow)), rateLevel(first, grid)),
      overTime("rtt", "RTT (ms)", grid, bands(runs, (run) => signal(run, "latest_rtt_ms", grid, byFlow)), baseLevel(first, grid)),
      overTime("queue", "queue (ms)", grid, bands(runs, (run) => [queue(run, grid)]), limitLevel(first, grid), runs.map(drops)),
      overTime("window", "window (segments)", grid, bands(runs, (run) => signal(run, "window_segments", grid, byFlow))),
    ];
  }

  // Delay against throughput, and distributions.

  function coloured(runs) {
    return runs.flatMap(({ label, of }) => {
      const first = of[0];
      const count = flowCount(first);
      if (runs.length > 1 || count < 2 || count > MANY_FLOWS) {
        return [{ label, cc: onlyController(first), rows: of.map((run) => [run, Array.from(run.tables.flows.flow, (_, row) => row)]) }];
      }
      return eachFlow(first, (row) => of.filter((run) => row < flowCount(run)).map((run) => [run, [row]])).map(({ name, cc, points }) => ({ label: name, cc, rows: points }));
    });
  }

  function plane(runs) {
    const points = coloured(runs).map(({ label, cc, rows }) => {
      const every = rows.flatMap(([{ tables: { flows } }, of]) => of.map((row) => [flows.rtt_p50_ms[row] - flows.base_rtt_ms[row], flows.goodput_bps[row] / 1e6]));
      const known = every.filter((point) => point.every(Number.isFinite));
      return { label, cc, x: known.map(([x]) => x), y: known.map(([, y]) => y) };
    });
    return { x_label: "median RTT above the base RTT (ms)", y_label: "goodput of a flow (Mbit/s)", points };
  }

  function distributions(runs) {
    const found = [];
    const rtts = coloured(runs).map(({ label, cc, rows }) => ({
      label, cc,
      values: rows.flatMap(([run, of]) => {
        const { flow, latest_rtt_ms: rtt } = run.tables.flow_series;
        const own = new Set(of.map((row) => run.tables.flows.flow[row]));
        return Array.from(rtt).filter((value, row) => own.has(flow[row]) && Number.isFinite(value));
      }),
    }));
    if (rtts.some(({ values }) => values.length)) found.push(distribution("rtt-distribution", "share of the time", "RTT (ms)", rtts));
    SIZES.forEach(([least, name], number) => {
      const most = SIZES[number + 1]?.[0] ?? Infinity;
      const times = runs.map(({ label, of }) => ({
        label, cc: onlyController(of[0]),
        values: of.flatMap(({ tables: { flows } }) => Array.from(flows.completion_s).filter((time, row) => Number.isFinite(time) && flows.delivered_bytes[row] >= least && flows.delivered_bytes[row] < most)).map((time) => time * 1e3),
      }));
      if (times.some(({ values }) => values.length > 1)) found.push(distribution(`completion-${number}`, `share of the transfers of ${name}`, "completion time (ms)", times));
    });
    return found;
  }

  function distribution(name, title, xLabel, of) {
    const every = of.flatMap(({ values }) => values).sort((a, b) => a - b);
    const [low, high] = [every[0], every[every.length - 1]];
    const log = low > 0 && high > TENFOLD * low;
    const x = log ? geomspace(low, high, POINTS) : linspace(low, high, POINTS);
    const curves = of.filter(({ values }) => values.length).map(({ label, cc, values }) => {
      const sorted = values.toSorted?.((a, b) => a - b) ?? [...values].sort((a, b) => a - b);
      return { label, cc, median: x.map((at) => rank(sorted, at) / sorted.length) };
    });
    return { name, title, x_label: xLabel, log: false, log_x: log, floor: null, x, curves, levels: [], ticks: [] };
  }

  // The looks of each name in one figure: its own, or spare colours where those are near to another's.
  function apart(names, looks) {
    const rank = (name) => (looks.first.includes(name) ? 0 : name in looks.of ? 1 : 2);
    const chosen = new Map();
    const taken = [];
    let others = 0;
    for (const name of [...names].sort((a, b) => rank(a) - rank(b))) {
      const own = name in looks.of ? name : `other ${others++ % 6}`;
      const free = (one) => !taken.some((other) => one === other || (looks.near[one] ?? []).includes(other));
      const colours = own ? ([own, ...looks.spare].find(free) ?? own) : own;
      if (own) taken.push(colours);
      chosen.set(name, { own, colours });
    }
    return chosen;
  }

  // The looks of curves, by label and controller, from those of registered controllers.
  function looked(document, looks) {
    const of = (things) => things.forEach((one) => Object.assign(one, look(one)));
    const seen = new Map();
    const known = new Map();
    const every = [...document.plane.points, ...[...document.stack, ...document.distributions].flatMap((panel) => panel.curves)];
    const lone = unique(every.filter(({ cc }) => !cc).map(({ label }) => label)).length === 1;
    const nameOf = ({ label, cc }) => cc || (lone ? "" : label);
    const ticks = [...document.stack, ...document.distributions].flatMap((panel) => panel.ticks);
    const chosen = apart(unique([...every, ...ticks].map(nameOf)), looks);
    function look(one) {
      const key = JSON.stringify([one.label, one.cc]);
      if (known.has(key)) return known.get(key);
      const name = nameOf(one);
      const turn = seen.get(name) ?? 0;
      seen.set(name, turn + 1);
      const { own, colours } = chosen.get(name);
      const at = (which) => looks.of[which][turn % looks.of[which].length];
      known.set(key, { ...at(colours), dash: at(own).dash });
      return known.get(key);
    }
    of(document.plane.points);
    for (const panel of [...document.stack, ...document.distributions]) { of(panel.curves); of(panel.ticks); }
    return document;
  }

  const plain = (values) => Array.from(values, (value) => (Number.isFinite(value) ? value : null));

  // `runs` are labels with their repetitions: `{ label, of: [answer of the engine] }`.
  function overview(runs, looks) {
    const sampled = runs.every(({ of }) => of[0].tables.flow_series.time_s.length && of[0].tables.link_series.time_s.length);
    const document = { stack: sampled ? stack(runs) : [], distributions: distributions(runs), plane: plane(runs) };
    for (const panel of [...document.stack, ...document.distributions]) {
      for (const curve of panel.curves) for (const key of ["median", "low", "high"]) if (curve[key]) curve[key] = plain(curve[key]);
      for (const level of panel.levels) level.values = plain(level.values);
    }
    return { sentences: sentences(runs), document: looked(document, looks) };
  }
  return overview;
})();
