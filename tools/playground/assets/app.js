// The playground: opens, edits, runs, compares, shares and saves scenarios.
"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const data = JSON.parse(by("data").textContent);
  const area = by("scenario");
  const editor = makeEditor(area, by("lines"), by("choices"), data.schema, () => [...classes().map((name) => ({ name, title: "of this page" })), ...data.controllers]);
  const HASH = "#s=";
  const UNREAD = "This link brings a controller in JavaScript. Read it, then press Run.";
  let kept = [];
  let shown = [];
  let open = { file: "scenario.toml", files: {} };

  // The module of WebAssembly, unpacked once.
  const bytes = (async () => {
    const packed = Uint8Array.from(atob(by("wasm").textContent), (letter) => letter.charCodeAt(0));
    return new Response(new Blob([packed]).stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
  })();

  // A worker with the simulator, which answers one request after the other.
  class Engine {
    constructor(progress = () => {}) {
      this.progress = progress;
      this.queue = Promise.resolve();
      this.begin();
    }

    begin() {
      const source = new Blob([by("worker").textContent], { type: "text/javascript" });
      this.worker = new Worker(URL.createObjectURL(source));
      this.ready = bytes.then((module) => this.worker.postMessage({ bytes: module }));
    }

    ask(kind, request) {
      const answer = this.queue.then(() => this.ready).then(() => new Promise((resolve) => {
        this.settle = resolve;
        this.worker.onmessage = ({ data: message }) => ("progress" in message ? this.progress(message.progress) : resolve(message.answer));
        this.worker.onerror = (event) => resolve({ error: { line: null, key: "", message: event.message, text: event.message } });
        this.worker.postMessage({ kind, request });
      }));
      this.queue = answer;
      return answer;
    }

    // Ends what it does; the answer is null.
    stop() {
      this.worker.terminate();
      this.settle?.(null);
      this.begin();
    }
  }

  let duration = 1;
  const runner = new Engine((seconds) => { by("progress").value = seconds / duration; });
  const checker = new Engine();

  const classes = () => [...by("script").value.matchAll(/^[ \t]*class\s+(\w+)\s+extends\s+Controller\b/gm)].map((match) => match[1]);
  const request = (more = {}) => ({ text: area.value, file: open.file, files: open.files, classes: classes(), source: by("script").value, ...more });

  function fault(error) {
    by("fault").textContent = error ? error.text : "";
    editor.fault(error?.line ?? null);
  }

  let checks = 0;
  async function check() {
    const mine = ++checks;
    const late = setTimeout(() => { by("stop").disabled = false; }, 500);
    const answer = await checker.ask("check", request());
    clearTimeout(late);
    by("stop").disabled = !running;
    if (mine !== checks || !answer) return;
    fault(answer.error);
    if (answer.warnings?.length) by("fault").textContent = answer.warnings.join(" ");
  }

  // Runs.

  const chosen = () => [...by("names").querySelectorAll("input:checked")].map((one) => one.value);

  // The runs that are written side by side: a line is `name: key = value; key = value`, without a name its settings.
  function variants(text = by("variants").value) {
    const lines = text.split("\n").map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
    return lines.map((line) => {
      const [, name, settings] = /^(?:([^:"]+):(?:\s+|$))?(.*)$/.exec(line);
      const overrides = settings.split(/;\s*(?=[\w.*-]+\s*=)/).filter(Boolean).map((one) => {
        const at = one.indexOf("=");
        return at < 0 ? [one.trim(), ""] : [one.slice(0, at).trim(), one.slice(at + 1).trim()];
      });
      return { label: (name ?? settings).trim(), overrides };
    });
  }

  // Each of the runs side by side with each of the chosen controllers.
  function wanted(name) {
    const runs = variants();
    const all = runs.length ? runs : [{ label: "", overrides: [] }];
    const names = chosen();
    const each = names.length ? names.map((cc) => ({ label: cc, overrides: [["flows.*.cc", cc]] })) : [{ label: "", overrides: [] }];
    return all.flatMap((one) => each.map((other) => ({
      label: [one.label, other.label].filter(Boolean).join(", ") || name, overrides: [...one.overrides, ...other.overrides],
    })));
  }

  let running = false;
  let again = false;
  // The controller came with a link, and the reader has not run it.
  let unread = false;

  async function run() {
    if (unread) { by("said").textContent = UNREAD; return check(); }
    if (running) { again = true; return; }
    running = true;
    by("run").disabled = true;
    by("stop").disabled = by("progress").hidden = false;
    try {
      do { again = false; await runOnce(); } while (again);
    } finally {
      running = by("run").disabled = false;
      by("stop").disabled = by("progress").hidden = true;
    }
  }

  async function runOnce() {
    const checked = await checker.ask("check", request());
    if (!checked) { by("said").textContent = "Stopped."; return; }
    fault(checked.error);
    if (checked.error) return;
    duration = checked.duration_s;
    const found = [];
    for (const { label, overrides } of wanted(checked.scenario.name)) {
      by("progress").value = 0;
      const answer = await runner.ask("run", request({ overrides }));
      if (!answer) { by("said").textContent = "Stopped."; return; }
      if (answer.error) { fault({ ...answer.error, text: variants().length ? `${label}: ${answer.error.text}` : answer.error.text }); return; }
      found.push({ label, of: [answer], request: request({ overrides }) });
    }
    shown = found;
    if (opened) await mark(found[0].of[0]);
    await draw();
  }

  // Exercises.

  let opened = null;
  // The best of each exercise, with the link to it.
  const marks = new Map();

  // Shows the exercise of a file, whose scenario a link may have changed.
  function assign(file) {
    opened = scenarios.find((one) => one.file === file && one.exercise);
    by("exercise").hidden = !opened;
    if (!opened) return;
    const { task, hint, controller, tests } = opened.exercise;
    by("task").textContent = task;
    by("hint").textContent = hint;
    by("hinted").open = false;
    by("own").open ||= Boolean(controller);
    by("tests").replaceChildren(...tests.map(({ words, points }) => element("li", `${words} (${points})`)));
    by("points").textContent = "";
  }

  async function mark(run) {
    const { id, exercise, text, title } = opened;
    const original = await checker.ask("check", request({ text }));
    const found = judge(exercise, original.scenario, run, classes());
    by("points").textContent = found.why ?? `${found.points} of ${found.of} points`;
    if (found.why) return;
    by("tests").replaceChildren(...found.tests.map(({ words, value, points, passed }) => element("li", `${words} (${points}): ${Number(value.toPrecision(4))}, ${passed ? "passed" : "not yet"}`, { class: passed ? "passed" : "open" })));
    if (found.points >= (marks.get(id)?.points ?? 0)) marks.set(id, { title, ...found, link: await fragment() });
  }

  // A row for each test of each exercise, and a link that opens the solution. Spreadsheets take no text for a formula.
  function marked() {
    const student = by("student").value.trim().replace(/^[=+@-]+/, "");
    const lines = [["student", "exercise", "test", "value", "passed", "points", "of", "solution"]];
    for (const { title, tests, link } of marks.values()) {
      for (const { words, value, points, passed } of tests) lines.push([student, title, words, value, passed ? "yes" : "no", passed ? points : 0, points, `app.html${link}`]);
    }
    return `${lines.map((cells) => cells.map(cell).join(",")).join("\n")}\n`;
  }

  // Labels of all that is shown, each once.
  function labelled() {
    const seen = new Map();
    return [...kept, ...shown].map((one) => {
      const times = (seen.get(one.label) ?? 0) + 1;
      seen.set(one.label, times);
      return { ...one, label: times === 1 ? one.label : `${one.label} ${times}` };
    });
  }

  // Results.

  function element(name, text = "", attributes = {}) {
    const made = document.createElement(name);
    made.textContent = text;
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  const CAPTIONS = { throughput: "Throughput", rtt: "Round-trip time", queue: "Queue at the bottleneck; ticks are drops", window: "Congestion window", "rtt-distribution": "Distribution of the round-trip time" };

  // Runs as the module reads them for a first page: a line of JSON, then the columns of numbers.
  function packed(runs) {
    const columns = [];
    let length = 0;
    const place = (values) => {
      columns.push([values, length]);
      length += values.length;
      return { at: length - values.length, length: values.length };
    };
    const column = (of) => (of.codes ? { names: of.names, ...place(of.codes) } : typeof of[0] === "string" ? of : place(of));
    const tables = (of) => Object.entries(data.columns).map(([table, names]) => [table, Object.fromEntries(names.map((name) => [name, column(of[table][name])]))]);
    const facts = ({ scenario, duration_s, warmup_s, routes, tables: of }) => ({ scenario, duration_s, warmup_s, routes, tables: Object.fromEntries(tables(of)) });
    const line = new TextEncoder().encode(`${JSON.stringify(runs.map(({ label, of }) => ({ label, of: of.map(facts) })))}\n`);
    const numbers = new Float64Array(length);
    for (const [values, at] of columns) numbers.set(values, at);
    const bytes = new Uint8Array(line.length + numbers.byteLength);
    bytes.set(line);
    bytes.set(new Uint8Array(numbers.buffer), line.length);
    return bytes;
  }

  // The first page of a report on runs: sentences, and the numbers of the charts with their colours.
  async function firstPage(runs) {
    const answer = await checker.ask("page", packed(runs));
    return answer.error ? answer : looked(answer, data.looks);
  }

  let drawings = 0;
  async function draw() {
    const mine = ++drawings;
    const runs = labelled();
    const numbers = await firstPage(runs);
    if (mine !== drawings) return;
    if (numbers.error) { fault(numbers.error); return; }
    const answers = element("dl", "", { class: "answers" });
    for (const [question, answer] of numbers.sentences) answers.append(element("dt", question), element("dd", answer));
    const places = [...numbers.stack.map((one) => ["stack", one]), ["plane", { name: "", title: "" }], ...numbers.distributions.map((one) => ["distributions", one])];
    const charts = places.map(([kind, { name, title }]) => {
      const figure = element("figure", "", { class: "chart" });
      const caption = kind === "plane" ? "Delay against goodput: a point for each flow" : (CAPTIONS[name] ?? title);
      figure.append(element("div", "", { "data-chart": kind === "plane" ? "plane" : `${kind}/${name}`, role: "img", "aria-label": caption }), element("figcaption", caption));
      return figure;
    });
    by("results").replaceChildren(answers, flowTable(runs), ...charts);
    ackclock.show(numbers);
    const tables = Object.entries(runs[0].of[0].tables).filter(([, columns]) => Object.values(columns)[0] && rowsOf(columns));
    by("table").replaceChildren(...tables.map(([name]) => element("option", name)));
    by("downloads").hidden = false;
    by("keep").disabled = !shown.length;
    by("forget").disabled = !kept.length;
    const packets = runs.reduce((sum, { of: [one] }) => sum + one.cost.data_packets, 0);
    const seconds = runs.reduce((sum, { of: [one] }) => sum + one.cost.wall_s, 0);
    by("said").textContent = `${packets.toLocaleString("en")} packets in ${seconds.toFixed(2)} s.`;
    document.documentElement.dataset.runs = String(Number(document.documentElement.dataset.runs ?? 0) + 1);
  }

  const texts = (column) => (column.codes ? Array.from(column.codes, (code) => column.names[code]) : Array.from(column));
  const rowsOf = (columns) => texts(Object.values(columns)[0]).length;
  const MOST_ROWS = 24;

  function flowTable(runs) {
    const headings = ["run", "flow", "controller", "goodput Mbit/s", "RTT p50 ms", "RTT p95 ms", "loss %", "timeouts"];
    const rows = runs.flatMap(({ label, of: [{ tables: { flows } }] }) => texts(flows.name).map((name, row) => [
      label, name, texts(flows.cc)[row], (flows.goodput_bps[row] / 1e6).toFixed(3), flows.rtt_p50_ms[row].toFixed(1), flows.rtt_p95_ms[row].toFixed(1), (100 * flows.loss_rate[row]).toFixed(3), flows.timeouts[row],
    ]));
    const table = element("table");
    const head = table.createTHead().insertRow();
    for (const heading of headings) head.append(element("th", heading, { scope: "col" }));
    const body = table.createTBody();
    for (const cells of rows.slice(0, MOST_ROWS)) {
      const row = body.insertRow();
      cells.forEach((cell, number) => row.append(element("td", String(cell).replace("NaN", "–"), { class: number > 2 ? "number" : "name" })));
    }
    if (rows.length > MOST_ROWS) table.createCaption().textContent = `The first ${MOST_ROWS} of ${rows.length} flows; the table as CSV has all.`;
    const wide = element("div", "", { class: "wide" });
    wide.append(table);
    return wide;
  }

  // Downloads.

  function save(name, blob) {
    const link = element("a", "", { href: URL.createObjectURL(blob), download: name });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  function cell(value) {
    if (typeof value === "number") return Number.isNaN(value) ? "" : String(value);
    return /[",\n]/.test(value) ? `"${String(value).replaceAll('"', '""')}"` : String(value);
  }

  function csv(name) {
    const runs = labelled();
    const lines = [["run", ...Object.keys(runs[0].of[0].tables[name])].join(",")];
    for (const { label, of: [{ tables }] } of runs) {
      const columns = Object.values(tables[name]).map(texts);
      columns[0].forEach((_, row) => lines.push([cell(label), ...columns.map((column) => cell(column[row]))].join(",")));
    }
    return `${lines.join("\n")}\n`;
  }

  async function capture() {
    by("said").textContent = "Capturing…";
    const answer = await runner.ask("run", { ...shown[0].request, capture: by("point").value });
    by("said").textContent = answer?.error ? answer.error.text : "";
    if (answer?.capture) save("ackclock.pcapng", new Blob([answer.capture]));
  }

  // All charts, one below the other, with their labels.
  function figure() {
    const charts = [...document.querySelectorAll(".uplot canvas")];
    const [pad, line] = [24, 30];
    const canvas = element("canvas");
    canvas.width = Math.max(...charts.map((one) => one.width)) + 2 * pad;
    canvas.height = charts.reduce((sum, one) => sum + one.height + pad, 2 * pad + line);
    const ink = canvas.getContext("2d");
    const style = getComputedStyle(document.body);
    ink.fillStyle = style.backgroundColor;
    ink.fillRect(0, 0, canvas.width, canvas.height);
    ink.font = "20px system-ui";
    let x = pad;
    for (const one of ackclock.charts[0].series.slice(1).filter(({ label }) => label)) {
      const stroke = typeof one.stroke === "function" ? one.stroke() : one.stroke;
      if (stroke === "transparent") continue;
      ink.fillStyle = stroke;
      ink.fillText(`— ${one.label}`, x, pad + 20);
      x += ink.measureText(`— ${one.label}`).width + pad;
    }
    let y = 2 * pad + line;
    for (const one of charts) { ink.drawImage(one, pad, y); y += one.height + pad; }
    canvas.toBlob((blob) => save("ackclock.png", blob));
  }

  // Sharing: the state in the fragment of the address.

  async function through(stream, blob) {
    return new Uint8Array(await new Response(blob.stream().pipeThrough(stream)).arrayBuffer());
  }

  async function fragment() {
    const state = { text: area.value, file: open.file, controllers: chosen(), variants: by("variants").value, script: by("own").open ? by("script").value : "" };
    const packed = await through(new CompressionStream("deflate-raw"), new Blob([JSON.stringify(state)]));
    return HASH + btoa(String.fromCharCode(...packed)).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  }

  async function shared() {
    const packed = Uint8Array.from(atob(location.hash.slice(HASH.length).replaceAll("-", "+").replaceAll("_", "/")), (letter) => letter.charCodeAt(0));
    return JSON.parse(new TextDecoder().decode(await through(new DecompressionStream("deflate-raw"), new Blob([packed]))));
  }

  // Opening.

  const scenarios = data.groups.flatMap((group) => group.scenarios);

  function choose(names) {
    for (const box of by("names").querySelectorAll("input")) box.checked = names.includes(box.value);
    by("chosen").textContent = names.join(", ");
    by("compare").open ||= names.length > 0;
  }

  function beside(lines) {
    by("variants").value = lines;
    by("beside").open ||= lines !== "";
    count();
  }

  function count() {
    const runs = variants().length;
    by("counted").textContent = runs ? String(runs) : "";
  }

  function load(scenario) {
    open = { file: scenario.file, files: scenario.files ?? {} };
    assign(scenario.file);
    by("open").value = scenario.id ?? "";
    editor.set(scenario.text);
    choose(scenario.controllers ?? []);
    beside(scenario.variants ?? "");
    slide();
    run();
  }

  function fill() {
    for (const group of data.groups) {
      const options = element("optgroup", "", { label: group.name });
      for (const scenario of group.scenarios) options.append(element("option", scenario.title, { value: scenario.id }));
      by("open").append(options);
    }
    for (const { name, title } of data.controllers) {
      const label = element("label", "", { title });
      label.append(element("input", "", { type: "checkbox", value: name }), ` ${name}`);
      by("names").append(label);
    }
    by("script").value = data.script;
  }

  // Puts the cursor on the first number of a key, which the slider then holds.
  function hold(key) {
    const line = area.value.split("\n").find((one) => one.split("=")[0].trim() === key && /\d/.test(one));
    if (!line) return;
    const at = area.value.indexOf(line) + line.search(/\d/);
    area.setSelectionRange(at, at);
    slide();
  }

  async function begin() {
    fill();
    const asked = new URLSearchParams(location.hash.slice(1));
    document.documentElement.classList.toggle("embed", asked.has("embed"));
    if (!location.hash.startsWith(HASH)) {
      load(scenarios.find(({ id }) => id === asked.get("open")) ?? scenarios[0]);
      return hold(asked.get("slide"));
    }
    try {
      const state = await shared();
      const known = scenarios.find(({ file }) => file === state.file);
      const scenario = { file: String(state.file), files: known?.files, text: String(state.text), controllers: state.controllers, variants: String(state.variants ?? "") };
      if (!state.script) return load(scenario);
      // The code of others runs only when the reader says so.
      by("script").value = String(state.script);
      by("own").open = unread = true;
      open = { file: scenario.file, files: scenario.files ?? {} };
      assign(scenario.file);
      editor.set(scenario.text);
      choose(scenario.controllers ?? []);
      beside(scenario.variants);
      return run();
    } catch {
      by("said").textContent = "The link is damaged.";
      return load(scenarios[0]);
    }
  }

  // The slider of the number at the cursor: from a tenth to ten times its value.

  let slid = null;
  function slide() {
    slid = editor.number();
    by("slider").disabled = !slid;
    by("slider").value = 0;
    by("slid").textContent = slid ? `${slid.key}: ${slid.text}` : "Put the cursor on a number to slide it.";
  }

  by("slider").addEventListener("input", () => {
    const origin = (slid.origin ??= Number(slid.text));
    const value = origin === 0 ? 5 * (1 + Number(by("slider").value)) : origin * 10 ** Number(by("slider").value);
    // Counts and packets are whole numbers; so are large ones, which are easier to read.
    const unit = area.value.slice(slid.from + slid.text.length).match(/^[a-zA-Z%]*/)[0];
    const whole = Number.isInteger(origin) && origin >= 1 && (origin >= 10 || unit === "" || unit === "p");
    const next = String(whole ? Math.max(1, Math.round(value)) : Number(value.toPrecision(3)));
    editor.put(slid, next);
    slid.text = next;
    by("slid").textContent = `${slid.key}: ${next}`;
    run();
  });

  let waiting = 0;
  function edited() {
    clearTimeout(waiting);
    waiting = setTimeout(check, 250);
  }
  area.addEventListener("input", edited);
  by("script").addEventListener("input", edited);
  by("variants").addEventListener("input", count);
  for (const event of ["click", "keyup"]) area.addEventListener(event, slide);
  by("open").addEventListener("change", () => load(scenarios.find(({ id }) => id === by("open").value)));
  by("names").addEventListener("change", () => { choose(chosen()); run(); });
  function pressed() {
    unread = false;
    run();
  }
  by("run").addEventListener("click", pressed);
  by("stop").addEventListener("click", () => { again = false; runner.stop(); checker.stop(); });
  by("keep").addEventListener("click", () => { kept = labelled(); shown = []; draw(); });
  by("forget").addEventListener("click", () => { if (shown.length) { kept = []; draw(); } else { shown = kept.slice(-1); kept = []; draw(); } });
  by("csv").addEventListener("click", () => save(`${by("table").value}.csv`, new Blob([csv(by("table").value)], { type: "text/csv" })));
  by("figure").addEventListener("click", figure);
  by("marks").addEventListener("click", () => save("marks.csv", new Blob([marked()], { type: "text/csv" })));
  by("capture").addEventListener("click", capture);
  by("share").addEventListener("click", async () => {
    history.replaceState(null, "", await fragment());
    const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
    by("said").textContent = copied ? "The link is copied." : "The address of this page is the link.";
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); pressed(); } });
  window.playground = { marked, run: (asked) => runner.ask("run", asked), check: (asked) => checker.ask("check", asked), variants, csv, firstPage, runs: labelled };
  begin();
})();
