// The looks of curves, points and ticks: colours and dashes by label and controller, as `style.looks` of reports chooses them.
"use strict";
const looked = (() => {
  const unique = (values) => [...new Set(values)];

  // The looks of each name in one figure: its own, or spare colours where those are near to another's.
  function apart(names, looks) {
    const rank = (name) => (looks.first.includes(name) ? 0 : name in looks.of ? 1 : 2);
    const chosen = new Map();
    const taken = [];
    let others = 0;
    const place = Object.keys(looks.of);
    for (const name of [...names].sort((a, b) => rank(a) - rank(b))) {
      const own = name in looks.of ? name : `other ${others++ % 6}`;
      const free = (one) => !taken.some((other) => one === other || (looks.near[one] ?? []).includes(place.indexOf(other)));
      const colours = own ? ([own, ...looks.spare].find(free) ?? own) : own;
      if (own) taken.push(colours);
      chosen.set(name, { own, colours });
    }
    return chosen;
  }

  // The document with the looks of everything in it, from those of registered controllers.
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
  return looked;
})();
