// The worker of the playground: the simulator as a module of WebAssembly, and the controllers that the page brings.
"use strict";

const MOST_NUMBERS = 56;
const LARGEST_WINDOW = 1e7;
const KINDS = { u32: Uint32Array, u64: BigUint64Array, f64: Float64Array, bool: Uint8Array };
const NONE = { u32: 2 ** 32 - 1, u64: 2 ** 64 };

let wasm = null; // the functions of the module
let answered = null; // the latest answer, out of the memory of the module
let raised = null; // an `error` that a controller threw, which may be null
let classes = {}; // the controllers of the page, by name
let controllers = []; // those of the run
let events = []; // the methods of controllers with the makers of their arguments
let context = null; // the maker of contexts
let wants = [];

const text = (at, bytes) => new TextDecoder().decode(new Uint8Array(wasm.memory.buffer, at, bytes));

// Gives bytes to the module. Room for them may move its memory.
function hand(bytes) {
  const at = wasm.reserve(bytes.length);
  new Uint8Array(wasm.memory.buffer, at, bytes.length).set(bytes);
}

const encoded = (value) => new TextEncoder().encode(JSON.stringify(value));

// A column out of the memory of the module: numbers with NaN for none, texts, or codes with their names.
function column(of) {
  if (of.kind === "text") return of.values;
  const buffer = wasm.memory.buffer;
  if (of.kind === "names") return { codes: new Uint16Array(buffer, of.at, of.length).slice(), names: of.names };
  const raw = new KINDS[of.kind](buffer, of.at, of.length);
  if (of.kind === "bool") return Array.from(raw, Boolean);
  const found = of.kind === "f64" ? raw.slice() : Float64Array.from(raw, Number);
  if (of.null) found.forEach((value, row) => { if (!Number.isFinite(value) || value === NONE[of.kind]) found[row] = NaN; });
  return found;
}

// What the module imports.
const page = {
  answer(at, bytes) {
    answered = JSON.parse(text(at, bytes));
    if (!answered.tables) return;
    const tables = {};
    for (const table of answered.tables) {
      tables[table.name] = Object.fromEntries(table.columns.map((one) => [one.name, column(one)]));
    }
    answered.tables = tables;
    const { capture } = answered;
    if (capture) answered.capture = new Uint8Array(wasm.memory.buffer, capture.at, capture.length).slice();
  },
  panicked(at, bytes) { raised = { error: new Error(`the simulator failed, please report it: ${text(at, bytes)}`) }; },
  progress(seconds) { postMessage({ progress: seconds }); },
  clock: () => performance.now() / 1000,
  make(at, bytes, decisions) {
    return attempt(-1, () => {
      const { class: name, parameters } = JSON.parse(text(at, bytes));
      const made = new classes[name](parameters);
      const bits = [...made.wants].map((want) => {
        const bit = wants.indexOf(want);
        if (bit < 0) throw new Error(`${name}.wants has \`${want}\`: allowed are ${wants.slice(0, -1).join(", ")}`);
        return 2 ** bit;
      });
      if (made.ecn_codepoint === "ect1") bits.push(2 ** wants.indexOf("ect1"));
      decide(made, decisions, bits.reduce((sum, bit) => sum + bit, 0));
      return controllers.push(made) - 1;
    });
  },
  event(number, kind, numbers, decisions) {
    return attempt(0, () => {
      const values = new Float64Array(wasm.memory.buffer, numbers, MOST_NUMBERS);
      const controller = controllers[number];
      const { name, make } = events[kind];
      const cx = context(values);
      controller[name](cx, make && make(values));
      if (name === "on_timer" && controller.wake_up_at !== null && controller.wake_up_at <= cx.now) {
        throw new Error(`${controller.constructor.name}.wake_up_at is ${controller.wake_up_at} after on_timer at ${cx.now} s: allowed is a later time, or null`);
      }
      decide(controller, decisions, 0);
      return 1;
    });
  },
  probe(number) {
    return attempt(0, () => {
      hand(encoded(controllers[number].probe()));
      return 1;
    });
  },
};

function attempt(failed, call) {
  try {
    return call();
  } catch (error) {
    raised ??= { error };
    return failed;
  }
}

// Writes the decisions of a controller for the module.
function decide(controller, at, bits) {
  const { window, slow_start_threshold: threshold, pacing_rate: rate, send_quantum: quantum } = controller;
  const refuse = (name, value, allowed) => {
    throw new Error(`${controller.constructor.name}.${name} is ${value}: allowed is ${allowed}`);
  };
  // `null`, texts and lists compare as numbers.
  const within = (value, least, most) => typeof value === "number" && value >= least && value <= most;
  if (!within(window, 0, LARGEST_WINDOW)) refuse("window", window, "a number of segments from 0 to 10000000");
  if (typeof threshold !== "number" || Number.isNaN(threshold)) refuse("slow_start_threshold", threshold, "a number of segments, or Infinity");
  if (rate !== null && !within(rate, 1, Number.MAX_VALUE)) refuse("pacing_rate", rate, "a finite rate of at least 1 bit/s, or null");
  if (rate !== null && !within(quantum, 1, LARGEST_WINDOW)) refuse("send_quantum", quantum, "a number of segments from 1 to 10000000");
  const time = (name) => {
    const value = controller[name];
    if (value !== null && !within(value, -Infinity, Infinity)) refuse(name, value, "a time in seconds, or null");
    return value ?? NaN;
  };
  new Float64Array(wasm.memory.buffer, at, 7).set([window, threshold, rate ?? NaN, rate === null ? 1 : quantum, time("wake_up_at"), time("pause_until"), bits]);
}

// Base class of controllers, as `ackclock.Controller` in Python.
class Controller {
  window = 1;
  slow_start_threshold = Infinity;
  pacing_rate = null;
  send_quantum = 1;
  wants = [];
  ecn_codepoint = "ect0";
  wake_up_at = null;
  pause_until = null;
  on_start(cx) { this.window = cx.initial_window; }
  on_ack() { throw new Error(`${this.constructor.name} has no on_ack(cx, ack)`); }
  on_duplicate_ack() {}
  on_loss() { throw new Error(`${this.constructor.name} has no on_loss(cx, loss)`); }
  on_ecn(cx, marks) { this.on_loss(cx, marks.as_loss()); }
  on_recovered() {}
  on_timeout() { throw new Error(`${this.constructor.name} has no on_timeout(cx, loss)`); }
  on_spurious() {}
  on_idle_restart(cx) {
    this.window = Math.min(this.window, cx.restart_window);
    this.slow_start_threshold = Math.max(this.slow_start_threshold, cx.restart_threshold);
  }
  on_sent() {}
  on_transmit_start() {}
  on_segment_delivered() {}
  on_segment_lost() {}
  on_timer() { throw new Error(`${this.constructor.name} has no on_timer(cx)`); }
  probe() { return {}; }
}

// A function from numbers to an object with `names`: `a?` is a flag, `a.b` belongs to an object, `a()` is a method.
function maker(names, first) {
  const methods = [];
  const literal = (entries) => {
    const own = new Map();
    for (const [path, number] of entries) {
      const [head, ...rest] = path.split(".");
      if (!own.has(head)) own.set(head, []);
      own.get(head).push([rest.join("."), number]);
    }
    return [...own].map(([name, parts]) => {
      const at = `n[${parts[0][1]}]`;
      if (parts[0][0] && name.endsWith("()")) { methods.push(name.slice(0, -2)); return `_${name.slice(0, -2)}: {${literal(parts)}}`; }
      if (parts[0][0]) return `${name}: ${at} !== ${at} ? null : {${literal(parts)}}`;
      if (name.endsWith("?")) return `${name.slice(0, -1)}: ${at} === 1`;
      if (name.endsWith("()")) { methods.push(name.slice(0, -2)); return `_${name.slice(0, -2)}: ${at}`; }
      return `${name}: ${at} !== ${at} ? null : ${at}`;
    }).join(", ");
  };
  const body = literal(names.map((name, number) => [name, first + number]));
  const functions = methods.map((name) => `${name}() { return this._${name}; }`);
  return new Function("n", `return {${[body, ...functions].join(", ")}};`);
}

async function load(bytes) {
  const { instance } = await WebAssembly.instantiate(bytes, { page });
  wasm = instance.exports;
  wasm.describe_events();
  const { context: names, events: methods } = answered;
  wants = answered.wants;
  const known = maker(names, 0);
  context = (values) => Object.assign(known(values), { random: wasm.random });
  events = methods.map(({ name, argument }) => {
    if (argument.length === 1) return { name, make: (values) => values[names.length] };
    return { name, make: argument.length ? maker(argument, names.length) : null };
  });
}

// A function of a text whose errors know their lines in it.
const written = (argument, text) => new Function(argument, `${text}\n//# sourceURL=controllers.js`);

// The line of the text in which an error was thrown, as the browser counts it, or null. It is null for a syntax error.
function lineOf(error) {
  const found = /controllers\.js:(\d+)/.exec(error?.stack ?? "");
  return found && Number(found[1]);
}

// The lines that the browser counts before a text.
const BEFORE = lineOf(written("", "return new Error();")()) - 1;

// The line of a syntax error in a text, or null: a browser names it for a worker that it cannot read, and for no function.
// In the worker the text is in a function that nothing calls. A browser that says nothing at all has 10 s for it.
async function unreadable(source) {
  const text = new Blob([`(Controller) => {"use strict"; ${source}\n};postMessage(null);`], { type: "text/javascript" });
  const reader = new Worker(URL.createObjectURL(text));
  const line = await new Promise((resolve) => {
    reader.onerror = (event) => resolve(event.lineno || null);
    reader.onmessage = () => resolve(null);
    setTimeout(resolve, 10000, null);
  });
  reader.terminate();
  return line && Math.min(line, source.trimEnd().split("\n").length);
}

// The classes in a text that derive from Controller.
function read(source, names) {
  const found = written("Controller", `"use strict"; ${source}\n;return {${names.join(", ")}};`)(Controller);
  const hooks = Object.getOwnPropertyNames(Controller.prototype).filter((name) => name.startsWith("on_"));
  for (const name of names) {
    for (const own of Object.getOwnPropertyNames(found[name].prototype)) {
      if (own.startsWith("on_") && !hooks.includes(own)) throw new Error(`${name}.${own}: there is no such event (there are ${hooks.join(", ")})`);
    }
  }
  return found;
}

// The functions of the module by the kinds of requests. That of a page comes as bytes.
const FUNCTIONS = { run: "run_scenario", check: "check_scenario", page: "first_page" };

async function handle(kind, request) {
  [answered, raised, controllers] = [null, null, []];
  try {
    classes = kind === "run" && request.classes?.length ? read(request.source, request.classes) : {};
    hand(kind === "page" ? request : encoded(request));
    wasm[FUNCTIONS[kind]]();
  } catch (error) {
    raised ??= { error };
  }
  if (!raised) return answered;
  const thrown = lineOf(raised.error);
  const isRead = thrown !== null || !(raised.error instanceof SyntaxError);
  const line = isRead ? thrown && thrown - BEFORE : await unreadable(request.source);
  const place = line === null ? "" : `line ${line} of the controllers: `;
  const message = place + (raised.error?.message ?? `a controller threw ${String(raised.error)}`);
  return { error: { line: null, key: "", message, text: message } };
}

let loaded = null;
onmessage = async ({ data }) => {
  if (data.bytes) loaded = load(data.bytes);
  await loaded;
  if (data.kind) postMessage({ answer: await handle(data.kind, data.request) });
};
