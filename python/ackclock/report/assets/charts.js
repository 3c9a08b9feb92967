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

  const pen = document.createElement("canvas").getContext("2d");

  // The label of the y axis of a chart: beside the axis, or above the chart where it is longer than the axis.
  function beside(label, height, place) {
    pen.font = "12px system-ui";
    if (pen.measureText(label).width <= height - 75) return label;
    const above = document.createElement("div");
    above.className = "y-label";
    above.textContent = label;
    place.append(above);
    return undefined;
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
    const height = place.clientWidth < PHONE ? 200 : 230;
    const options = {
      width: place.clientWidth, height, series, bands,
      scales: { x: { time: false, distr: panel.log_x ? 3 : 1 }, y: { distr: panel.log ? 3 : 1 } },
      axes: [axis(panel.x_label, 42, panel.log_x), axis(beside(panel.title, height, place), 64, panel.log)],
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
    const height = place.clientWidth < PHONE ? 240 : 320;
    const chart = new uPlot({
      width: place.clientWidth, height, series,
      scales: { x: { time: false, dir: -1, range: (_, low, high) => [low - 0.04 * (high - low || 1), high + 0.04 * (high - low || 1)] }, y: { range: (_, low, high) => [Math.min(0, low), high > 0 ? high * 1.05 : 1] } },
      axes: [axis(place.clientWidth < PHONE ? `${plane.x_label.replace("the base RTT", "base")}, less →` : `${plane.x_label}, less is to the right`, 42), axis(beside(plane.y_label, height, place), 64)],
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
        (one.path ?? SHAPES[one.shape % SHAPES.length])(path, 7, 6, 4.5);
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

  // Panels of figures: every curve has an x of its own, which need not rise, so each is drawn here, in its order.
  // uPlot has axes, zoom, legend and the values under the cursor.
  function figureChart(panel, place) {
    const named = panel.curves.filter((one) => one.label && one.look !== "background");
    const series = [{ label: panel.x.label, value: (_, v) => shown(v) }];
    for (const one of named) {
      series.push({ label: one.label, stroke: colour(one), dash: one.dash, show: !hidden.has(one.label), paths: () => null, points: { show: false }, value: (_, v) => shown(v) });
    }
    const rows = named.length ? uPlot.join(named.map(inOrder)) : [panel.x.ends];
    const height = place.clientWidth < PHONE ? 220 : 260;
    const chart = new uPlot({
      width: place.clientWidth, height, series, legend: { show: named.length > 0 },
      scales: {
        x: { time: false, distr: panel.x.log ? 3 : 1, range: (u, low, high) => (isWhole(u, low, high) ? panel.x.ends : [low, high]) },
        y: { distr: panel.y.log ? 3 : 1, range: () => panel.y.ends },
      },
      axes: [axis(panel.x.label, 42, panel.x.log), axis(beside(panel.y.label, height, place), 64, panel.y.log)],
      cursor: { drag: { x: true, y: false }, dataIdx: nearest },
      hooks: { draw: [(u) => drawCurves(u, panel)], setSeries: [toggled] },
    }, rows, place);
    keys(chart, [null, ...named.map((one) => ({ colour: colour(one), dash: one.dash, ...marker(one, panel.curves.indexOf(one)) }))]);
    const title = panel.title && `${panel.title}: `;
    tell(chart, described(`${title}${panel.y.label} against ${panel.x.label}`, named.map((one) => ({ label: one.label, values: one.y }))));
    return chart;
  }

  // The marker at the points of a curve, if it has one: a star for reported values.
  function marker(one, number) {
    if (one.look === "reported" || one.look === "across") return { shape: number, path: star };
    if (one.look === "marked" || (one.low && one.look !== "band")) return { shape: number, path: SHAPES[number % SHAPES.length] };
    return {};
  }

  // True for the ends of the values, which uPlot asks for where nothing is zoomed.
  const isWhole = (u, low, high) => low === u.data[0][0] && high === u.data[0].at(-1);

  // The points of a curve by rising x, without gaps.
  function inOrder(one) {
    const points = one.x.map((x, number) => [x, one.y[number]]).filter(([x, y]) => x !== null && y !== null);
    points.sort((a, b) => a[0] - b[0]);
    return [points.map((point) => point[0]), points.map((point) => point[1])];
  }

  // The point of a series nearest to the cursor: curves have points at different x.
  function nearest(u, index, at) {
    const values = u.data[index];
    if (!index || at === null || values[at] !== undefined) return at;
    for (let away = 1; away < values.length; away++) {
      for (const other of [at - away, at + away]) if (values[other] !== undefined && values[other] !== null) return other;
    }
    return at;
  }

  function drawCurves(u, panel) {
    const { ctx, bbox } = u;
    const ratio = window.devicePixelRatio || 1;
    ctx.save();
    ctx.beginPath();
    ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
    ctx.clip();
    panel.curves.forEach((one, number) => {
      if (hidden.has(one.label)) return;
      const place = (x, y) => [u.valToPos(x, "x", true), u.valToPos(y, "y", true)];
      const points = one.x.map((x, at) => (x === null || one.y[at] === null || (panel.x.log && x <= 0) || (panel.y.log && one.y[at] <= 0) ? null : place(x, one.y[at])));
      ctx.globalAlpha = one.look === "background" ? 0.45 : 1;
      ctx.strokeStyle = ctx.fillStyle = one.look === "background" || one.look === "level" ? theme().level : colour(one);
      ctx.lineWidth = (one.look === "background" ? 0.8 : 1.6) * ratio;
      if (one.low && one.look === "band") drawBand(ctx, one, place);
      else if (one.low) drawBars(ctx, one, place, 4 * ratio);
      if (one.look === "points") return points.forEach((at) => at && ctx.fillRect(at[0] - 1.5 * ratio, at[1] - 1.5 * ratio, 3 * ratio, 3 * ratio));
      const { path } = marker(one, number);
      if (path !== star) drawLine(ctx, points, one.look === "level" ? [2 * ratio, 4 * ratio] : (one.dash || []).map((length) => length * ratio));
      for (const at of path ? points.filter(Boolean) : []) {
        const mark = new Path2D();
        path(mark, at[0], at[1], (path === star ? 5 : 3) * ratio);
        ctx.fill(mark);
      }
    });
    ctx.restore();
  }

  function drawLine(ctx, points, dash) {
    ctx.setLineDash(dash);
    ctx.beginPath();
    points.forEach((at, number) => { if (at) points[number - 1] ? ctx.lineTo(...at) : ctx.moveTo(...at); });
    ctx.stroke();
    ctx.setLineDash([]);
  }

  function drawBand(ctx, one, place) {
    const edge = (values) => one.x.map((x, at) => (x === null || values[at] === null ? null : place(x, values[at]))).filter(Boolean);
    ctx.globalAlpha = 0.15;
    ctx.beginPath();
    [...edge(one.high), ...edge(one.low).reverse()].forEach((at, number) => (number ? ctx.lineTo(...at) : ctx.moveTo(...at)));
    ctx.fill();
    ctx.globalAlpha = 1;
  }

  // Bars from the low to the high end of each point, up and down, or aside.
  function drawBars(ctx, one, place, cap) {
    ctx.beginPath();
    one.x.forEach((x, at) => {
      if (x === null || one.low[at] === null || one.high[at] === null) return;
      const aside = one.look === "across";
      for (const end of [one.low[at], one.high[at]]) {
        const [left, top] = aside ? place(end, one.y[at]) : place(x, end);
        ctx.moveTo(left - (aside ? 0 : cap), top - (aside ? cap : 0));
        ctx.lineTo(left + (aside ? 0 : cap), top + (aside ? cap : 0));
      }
      ctx.moveTo(...(aside ? place(one.low[at], one.y[at]) : place(x, one.low[at])));
      ctx.lineTo(...(aside ? place(one.high[at], one.y[at]) : place(x, one.high[at])));
    });
    ctx.stroke();
  }

  function star(path, x, y, r) {
    polygon(path, Array.from({ length: 10 }, (_, corner) => {
      const [length, angle] = [corner % 2 ? 0.5 * r : 1.3 * r, (Math.PI * corner) / 5];
      return [x + length * Math.sin(angle), y - length * Math.cos(angle)];
    }));
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
      else if (kind === "figures") charts.push(figureChart(data.figures[name], place));
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
