// The interactive charts of a report and of the playground: draws the numbers of an overview with uPlot.
"use strict";
(() => {
  const source = document.getElementById("overview");
  let data = source && JSON.parse(source.textContent);
  const darkMode = window.matchMedia("(prefers-color-scheme: dark)");
  const hidden = new Set(); // the labels that the reader switched off, in every chart
  const charts = [];
  const PHONE = 560;

  const theme = () =>
    darkMode.matches
      ? { text: "#c9d1d9", grid: "#30363d", level: "#8b949e" }
      : { text: "#333", grid: "#e3e3e3", level: "#777" };
  const colour = (one) => (darkMode.matches ? one.dark : one.colour);
  const faint = (hex) => hex + "33";

  // Ticks of a logarithmic axis: powers of ten, between which stand 2 and 5 where there are few of them.
  const SHORT_LOG_AXIS = 300;
  function logTicks(low, high) {
    const found = [];
    for (let decade = 10 ** Math.floor(Math.log10(low)); decade <= high; decade *= 10) {
      for (const digit of high > SHORT_LOG_AXIS * low ? [1] : [1, 2, 5]) {
        const at = Number((digit * decade).toPrecision(1));
        if (at >= low && at <= high) found.push(at);
      }
    }
    return found;
  }

  function axis(label, size, log) {
    const now = theme();
    return {
      ...(log ? { splits: (_, index, low, high) => logTicks(low, high), filter: (_, splits) => splits } : {}),
      label, size, stroke: now.text, labelSize: 18, font: "12px system-ui", labelFont: "12px system-ui",
      grid: { stroke: now.grid, width: 1 }, ticks: { stroke: now.grid, width: 1 },
      values: (_, splits) => splits.map((v) => (v === null ? "" : String(Number(v.toPrecision(6))))),
    };
  }

  const shown = (v) => (v === null || v === undefined ? "–" : String(Number(v.toPrecision(4))));

  // Ticks along the lower edge: a row for each label, at the instants at which it lost packets in the queue.
  function drawTicks(panel) {
    return (u) => {
      const { ctx, bbox } = u;
      const ratio = window.devicePixelRatio || 1;
      panel.ticks.forEach((row, number) => {
        if (hidden.has(row.label)) return;
        ctx.save();
        ctx.strokeStyle = colour(row);
        ctx.globalAlpha = 0.6;
        ctx.lineWidth = ratio;
        ctx.beginPath();
        const low = bbox.top + bbox.height - number * 7 * ratio;
        for (const at of row.at) {
          const x = u.valToPos(at, "x", true);
          if (x < bbox.left || x > bbox.left + bbox.width) continue;
          ctx.moveTo(x, low);
          ctx.lineTo(x, low - 5 * ratio);
        }
        ctx.stroke();
        ctx.restore();
      });
    };
  }

  // Series, bands and rows of values of a panel of curves.
  function lines(panel) {
    const series = [{ label: panel.x_label, value: (_, v) => shown(v) }];
    const rows = [panel.x];
    const bands = [];
    const visible = (values) => (panel.log ? values.map((v) => (v === null ? null : Math.max(v, panel.floor))) : values);
    for (const curve of panel.curves) {
      const at = series.length;
      const common = { label: curve.label, stroke: colour(curve), show: !hidden.has(curve.label), points: { show: false } };
      // The value itself, where the curve lies on the edge of a logarithmic axis.
      const value = (_, drawn, index, at) => shown(at === null || at === undefined ? drawn : curve.median[at]);
      series.push({ ...common, width: 1.8, dash: curve.dash, value });
      rows.push(visible(curve.median));
      if (curve.low) {
        for (const edge of [curve.high, curve.low]) {
          series.push({ ...common, stroke: "transparent", width: 0, value: () => "", class: "edge" });
          rows.push(visible(edge));
        }
        bands.push({ series: [at + 1, at + 2], fill: faint(colour(curve)) });
      }
    }
    for (const level of panel.levels) {
      series.push({ label: level.label, stroke: theme().level, width: 1.2, dash: [2, 4], points: { show: false }, value: (_, v, index, at) => shown(at === null || at === undefined ? v : level.values[at]) });
      rows.push(visible(level.values));
    }
    return { series, rows, bands };
  }

  function panelChart(panel, place, sync) {
    const { series, rows, bands } = lines(panel);
    const options = {
      width: place.clientWidth, height: place.clientWidth < PHONE ? 200 : 230, series, bands,
      scales: { x: { time: false, distr: panel.log_x ? 3 : 1 }, y: { distr: panel.log ? 3 : 1 } },
      axes: [axis(panel.x_label, 42, panel.log_x), axis(panel.title, 64, panel.log)],
      cursor: { drag: { x: true, y: false }, sync: sync ? { key: sync, scales: ["x", null] } : undefined },
      legend: { live: true },
      hooks: { draw: [drawTicks(panel)], setSeries: [toggled], setScale: [sync ? zoomed : () => {}] },
    };
    if (panel.log) {
      // Not whole decades: half of the chart could be empty.
      options.scales.y.range = (_, low, high) => [Math.max(low || panel.floor, panel.floor) / 1.1, (high || 10 * panel.floor) * 1.1];
    } else if (panel.name !== "rtt") {
      options.scales.y.range = (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1];
    }
    if (panel.log_x) options.scales.x.range = (_, low, high) => [low / 1.05, high * 1.05];
    const distribution = panel.name.includes("distribution") || panel.name.startsWith("completion");
    if (distribution) {
      options.scales.y.range = () => [0, 1.02];
    }
    const chart = new uPlot(options, rows, place);
    chart.stacked = Boolean(sync);
    const level = (one) => ({ label: one.label, values: one.values, colour: theme().level, dash: [2, 4] });
    const curves = panel.curves.map((one) => ({ label: one.label, values: one.median, colour: colour(one), dash: one.dash, edges: Boolean(one.low) }));
    const all = [...curves, ...panel.levels.map(level)];
    keys(chart, [null, ...all.flatMap((one) => (one.edges ? [one, null, null] : [one]))]);
    tell(chart, distribution ? distributed(panel) : described(`${panel.title} against ${panel.x_label}`, all));
    return chart;
  }

  // The shapes of points, in the order of those of the figures for papers.
  const SHAPES = [
    (path, x, y, r) => path.arc(x, y, r, 0, 2 * Math.PI),
    (path, x, y, r) => path.rect(x - 0.9 * r, y - 0.9 * r, 1.8 * r, 1.8 * r),
    (path, x, y, r) => polygon(path, [[x, y - 1.2 * r], [x + 1.1 * r, y + 0.8 * r], [x - 1.1 * r, y + 0.8 * r]]),
    (path, x, y, r) => polygon(path, [[x, y - 1.3 * r], [x + r, y], [x, y + 1.3 * r], [x - r, y]]),
    (path, x, y, r) => polygon(path, [[x, y + 1.2 * r], [x + 1.1 * r, y - 0.8 * r], [x - 1.1 * r, y - 0.8 * r]]),
  ];

  function polygon(path, corners) {
    corners.forEach(([x, y], number) => (number ? path.lineTo(x, y) : path.moveTo(x, y)));
    path.closePath();
  }

  // Points of a shape, for readers who cannot tell colours apart.
  function marks(number) {
    return (u, index, from, to) => {
      const radius = 4 * (window.devicePixelRatio || 1);
      const fill = new Path2D();
      for (let at = from; at <= to; at++) {
        const value = u.data[index][at];
        if (value === null || value === undefined) continue;
        const one = new Path2D();
        SHAPES[number % SHAPES.length](one, u.valToPos(u.data[0][at], "x", true), u.valToPos(value, "y", true), radius);
        fill.addPath(one);
      }
      return { stroke: null, fill, clip: null, flags: 1 };
    };
  }

  // The plane: points of each label, one column for each, as several may have the same delay; less delay is to the right.
  function planeChart(plane, place) {
    const points = plane.points.flatMap((one, label) => one.x.map((x, number) => ({ label, x, y: one.y[number] })));
    points.sort((a, b) => a.x - b.x);
    const rows = [points.map((point) => point.x)];
    const series = [{ label: "delay (ms)", value: (_, v) => shown(v) }];
    plane.points.forEach((one, label) => {
      rows.push(points.map((point) => (point.label === label ? point.y : null)));
      series.push({
        label: one.label, stroke: colour(one), show: !hidden.has(one.label), paths: () => null, value: (_, v) => shown(v),
        points: { show: true, size: 8, fill: colour(one), paths: marks(label) },
      });
    });
    const chart = new uPlot({
      width: place.clientWidth, height: place.clientWidth < PHONE ? 240 : 320, series,
      scales: { x: { time: false, dir: -1, range: (_, low, high) => [low - 0.04 * (high - low || 1), high + 0.04 * (high - low || 1)] }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } },
      axes: [axis(place.clientWidth < PHONE ? `${plane.x_label.replace("the base RTT", "base")}, less →` : `${plane.x_label}, less is to the right`, 42), axis(plane.y_label, 64)],
      cursor: { drag: { x: true, y: true } }, hooks: { setSeries: [toggled] },
    }, rows, place);
    keys(chart, [null, ...plane.points.map((one, shape) => ({ colour: colour(one), shape }))]);
    const sides = (key) => plane.points.map((one) => ({ label: one.label, values: one[key] }));
    tell(chart, `${described(plane.y_label, sides("y"))} ${described(plane.x_label, sides("x"))}`);
    return chart;
  }

  // The keys of a legend: lines with their dashes, and the shapes of points.
  function keys(chart, of) {
    const rows = chart.root.querySelectorAll(".u-legend .u-marker");
    const ratio = window.devicePixelRatio || 1;
    rows.forEach((marker, number) => {
      const one = of[number + (rows.length < chart.series.length ? 1 : 0)];
      if (!one) { marker.remove(); return; }
      const key = document.createElement("canvas");
      [key.width, key.height, key.className] = [(one.shape === undefined ? 30 : 14) * ratio, 12 * ratio, "key"];
      [key.style.width, key.style.height] = [`${key.width / ratio}px`, "12px"];
      const ctx = key.getContext("2d");
      ctx.scale(ratio, ratio);
      ctx.strokeStyle = ctx.fillStyle = one.colour;
      if (one.shape === undefined) {
        ctx.lineWidth = 2;
        ctx.setLineDash(one.dash ?? []);
        ctx.moveTo(0, 6);
        ctx.lineTo(30, 6);
        ctx.stroke();
      } else {
        const path = new Path2D();
        SHAPES[one.shape % SHAPES.length](path, 7, 6, 4.5);
        ctx.fill(path);
      }
      marker.replaceWith(key);
    });
  }

  // A sentence for readers who hear a chart: its axes, and median and ends of each curve.
  function described(of, curves) {
    const said = curves.map(({ label, values }) => {
      const known = values.filter((v) => v !== null && v !== undefined).sort((a, b) => a - b);
      if (!known.length) return `${label} has no value`;
      const [low, high] = [shown(known[0]), shown(known[known.length - 1])];
      if (low === high) return `${label} is ${low}`;
      return `${label} lies between ${low} and ${high}, with a median of ${shown(known[Math.floor(known.length / 2)])}`;
    });
    return `${of}: ${said.join("; ") || "nothing to show"}.`;
  }

  // The same for a distribution: half and 95 % of each curve.
  function distributed(panel) {
    const until = (curve, share) => shown(panel.x[curve.median.findIndex((v) => v !== null && v >= share)]);
    const said = panel.curves.map((one) => `half of ${one.label} is at most ${until(one, 0.5)}, 95 % at most ${until(one, 0.95)}`);
    return `Distribution of ${panel.x_label}: ${said.join("; ")}.`;
  }

  function tell(chart, sentence) {
    const canvas = chart.root.querySelector(".u-wrap canvas");
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", sentence);
  }

  // A label that is switched off in one chart is off in all.
  let toggling = false;
  function toggled(u, index, options) {
    if (toggling || index === null || options.show === undefined) return;
    const label = u.series[index].label;
    options.show ? hidden.delete(label) : hidden.add(label);
    toggling = true;
    for (const chart of charts) {
      chart.series.forEach((one, number) => {
        if (number && one.label === label && one.show !== options.show) chart.setSeries(number, { show: options.show });
      });
      chart.redraw();
    }
    toggling = false;
  }

  // The charts of the stack show the same time.
  let zooming = false;
  function zoomed(u, key) {
    if (zooming || key !== "x") return;
    zooming = true;
    const { min, max } = u.scales.x;
    for (const chart of charts) if (chart !== u && chart.stacked) chart.setScale("x", { min, max });
    zooming = false;
  }

  function build() {
    if (!data) return;
    for (const chart of charts.splice(0)) chart.destroy();
    for (const place of document.querySelectorAll("[data-chart]")) {
      place.replaceChildren();
      const [kind, name] = place.dataset.chart.split("/");
      if (kind === "plane") charts.push(planeChart(data.plane, place));
      else charts.push(panelChart(data[kind].find((one) => one.name === name), place, kind === "stack" ? "stack" : null));
    }
    document.documentElement.dataset.charts = String(charts.length);
  }

  let width = 0;
  new ResizeObserver(() => {
    const now = document.body.clientWidth;
    if (Math.abs(now - width) > 4) { width = now; build(); }
  }).observe(document.body);
  darkMode.addEventListener("change", build);
  // Draws other numbers, in the places that the page has for them by now.
  function show(numbers) {
    data = numbers;
    build();
  }
  window.ackclock = { charts, hidden, show };
})();
