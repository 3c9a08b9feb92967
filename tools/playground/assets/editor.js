// The editor of scenarios: line numbers, the line of an error, completion from the JSON schema, and the number at the cursor.
"use strict";
function makeEditor(area, lines, list, schema, controllers) {
  const LINE = 20;
  const PADDING = 8;
  let found = { items: [], from: 0 };
  let chosen = 0;

  // Every object that a schema may be, references followed.
  function forms(of, depth = 0) {
    if (!of || depth > 8) return [];
    if (of.$ref) return forms(of.$ref.slice(2).split("/").reduce((at, key) => at?.[key], schema), depth + 1);
    const inner = [...(of.anyOf ?? []), ...(of.oneOf ?? []), ...(of.allOf ?? [])];
    return [of, ...inner.flatMap((one) => forms(one, depth + 1))];
  }

  const items = (of) => forms(of).flatMap((one) => (one.items ? forms(one.items) : [one]));
  const below = (ofs, key) => ofs.flatMap((one) => (one.properties?.[key] ? items(one.properties[key]) : []));
  const at = (path) => path.reduce(below, items(schema));

  // The path of keys that the text before the cursor has opened, and what is being written there.
  function place() {
    const before = area.value.slice(0, area.selectionStart);
    const line = before.slice(before.lastIndexOf("\n") + 1);
    const header = [...before.slice(0, before.length - line.length).matchAll(/^\s*\[\[?\s*([^\]]+?)\s*\]\]?/gm)].at(-1);
    const path = header ? header[1].split(".").map((key) => key.trim()) : [];
    let rest = line;
    for (let open; (open = /^\s*([\w.-]+)\s*=\s*\[?\s*\{(?:[^{}]|\{[^{}]*\})*$/.exec(rest)); ) {
      path.push(...open[1].split("."));
      rest = rest.slice(rest.indexOf("{") + 1);
      const last = /(?:^|,)([^,]*)$/.exec(rest.replace(/\{[^{}]*\}/g, ""));
      if (!/\{(?:[^{}]|\{[^{}]*\})*$/.test(rest)) rest = last[1];
    }
    return { path, rest, line };
  }

  function completions() {
    const { path, rest, line } = place();
    const table = /^\s*\[\[?\s*([\w.-]*)$/.exec(line);
    if (table) {
      const parts = table[1].split(".");
      const names = at(parts.slice(0, -1)).flatMap((one) => Object.entries(one.properties ?? {}));
      return offered(names.filter(([, of]) => forms(of).some((one) => one.properties || one.items)), parts.at(-1), "");
    }
    const value = /^\s*([\w.-]+)\s*=\s*("?)([\w.+-]*)$/.exec(rest);
    if (value) {
      const keys = value[1].split(".");
      const quote = value[2] ? "" : '"';
      if (keys.at(-1) === "cc") return offered(controllers().map((one) => [one.name, one]), value[3], "", quote);
      const of = below(at([...path, ...keys.slice(0, -1)]), keys.at(-1));
      const words = of.flatMap((one) => [...(one.enum ?? []), ...("const" in one ? [one.const] : [])].map((word) => [word, one]));
      const flags = of.some((one) => [one.type].flat().includes("boolean")) ? [["true", {}], ["false", {}]] : [];
      return [...offered(words, value[3], "", quote), ...(value[2] ? [] : offered(flags, value[3], ""))];
    }
    const key = /^\s*([\w-]*)$/.exec(rest);
    if (!key) return [];
    return offered(at(path).flatMap((one) => Object.entries(one.properties ?? {})), key[1], " = ");
  }

  function offered(entries, begun, end, quote = "") {
    const seen = new Map();
    for (const [name, of] of entries) {
      const word = String(name);
      if (word.startsWith(begun) && word !== begun && !seen.has(word)) seen.set(word, { word, begun, text: quote + word + quote + end, about: (of.title ?? of.description ?? "").split(/[.\n]/)[0].slice(0, 60) });
    }
    return [...seen.values()];
  }

  function offer(asked) {
    const items = completions();
    const writing = items.length && items[0].begun !== "";
    found = { items: asked || writing ? items : [] };
    chosen = 0;
    list.hidden = !found.items.length;
    if (list.hidden) return;
    list.replaceChildren(...found.items.map((item, number) => {
      const one = document.createElement("li");
      one.role = "option";
      one.textContent = item.word;
      const about = document.createElement("small");
      about.textContent = item.about;
      one.append(about);
      one.addEventListener("mousedown", (event) => { event.preventDefault(); take(number); });
      return one;
    }));
    const { line } = place();
    const row = area.value.slice(0, area.selectionStart).split("\n").length;
    list.style.top = `${PADDING + row * LINE - area.scrollTop}px`;
    list.style.left = `${Math.min(area.offsetLeft + PADDING + line.length * 7.8 - area.scrollLeft, area.offsetLeft + area.clientWidth - 160)}px`;
    mark();
  }

  function mark() {
    [...list.children].forEach((one, number) => one.setAttribute("aria-selected", number === chosen));
    list.children[chosen]?.scrollIntoView({ block: "nearest" });
  }

  function insert(text, from, to) {
    area.setSelectionRange(from, to);
    if (!document.execCommand("insertText", false, text)) {
      area.setRangeText(text, from, to, "end");
      area.dispatchEvent(new Event("input"));
    }
  }

  function take(number) {
    const { text, begun } = found.items[number];
    list.hidden = true;
    area.focus();
    insert(text, area.selectionStart - begun.length, area.selectionStart);
    list.hidden = true;
  }

  area.addEventListener("keydown", (event) => {
    if (event.key === " " && event.ctrlKey) { event.preventDefault(); offer(true); return; }
    if (list.hidden) return;
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) chosen = (chosen + step + found.items.length) % found.items.length;
    else if (event.key === "Enter" || event.key === "Tab") take(chosen);
    else if (event.key === "Escape") list.hidden = true;
    else return;
    event.preventDefault();
    mark();
  });
  area.addEventListener("input", () => { number(); offer(false); });
  area.addEventListener("blur", () => { list.hidden = true; });
  area.addEventListener("scroll", () => { lines.scrollTop = area.scrollTop; });

  let bad = null;
  function number() {
    const count = area.value.split("\n").length;
    lines.replaceChildren(...Array.from({ length: count }, (_, row) => {
      const one = document.createElement("li");
      one.textContent = row + 1;
      if (row + 1 === bad) one.className = "bad";
      return one;
    }));
    lines.scrollTop = area.scrollTop;
  }

  return {
    // Marks the line of an error; null for none.
    fault(line) { bad = line; number(); },
    set(text) { area.value = text; list.hidden = true; number(); },
    // The number at the cursor: its place and value; null if there is none.
    number() {
      const begin = area.value.lastIndexOf("\n", area.selectionStart - 1) + 1;
      const end = (area.value + "\n").indexOf("\n", area.selectionStart);
      const line = area.value.slice(begin, end).replace(/#.*$/, "");
      for (const match of line.matchAll(/(?<![\w.])\d+(?:\.\d+)?/g)) {
        const from = begin + match.index;
        if (from <= area.selectionStart && area.selectionStart <= from + match[0].length) return { from, text: match[0], key: /^\s*([\w.-]+)/.exec(line)?.[1] ?? "" };
      }
      return null;
    },
    // Puts another number in its place.
    put({ from, text }, value) {
      area.setRangeText(value, from, from + text.length, "preserve");
      number();
    },
  };
}
