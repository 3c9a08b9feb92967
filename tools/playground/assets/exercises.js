// Exercises: a scenario with a task, and tests that judge its run for points.
"use strict";

// The number of a run that a measure names: TABLE.HOW.COLUMN, of links that of the bottleneck.
function measured(tables, measure) {
  const [table, how, column] = measure.split(".");
  const columns = tables[table];
  const values = Array.from(columns[column]).filter((_, row) => table !== "links" || columns.is_bottleneck[row]);
  const [low, high] = [Math.min(...values), Math.max(...values)];
  return { min: low, max: high, sum: values.reduce((sum, value) => sum + value, 0), ratio: high ? low / high : 0 }[how];
}

// A resolved scenario as text, without the keys that an exercise lets its reader change.
function unchanged(scenario, keys) {
  const copy = structuredClone(scenario);
  for (const key of keys) {
    const parts = key.split(".");
    const last = parts.pop();
    let tables = [copy];
    for (const part of parts) tables = tables.flatMap((one) => (part === "*" ? Object.values(one) : [one[part]]));
    for (const table of tables) delete table[last];
  }
  return JSON.stringify(copy);
}

// The tests of an exercise with their values and points, or the reason why the run does not count.
function judge(exercise, original, run, classes) {
  const { changes, controller, tests } = exercise;
  if (unchanged(run.scenario, changes) !== unchanged(original, changes)) {
    return { why: `Only ${changes.join(", ")} may change. Open the exercise again for its scenario.` };
  }
  if (controller && !run.scenario.flows.every(({ cc }) => classes.includes(cc))) {
    return { why: `Each flow needs a controller of yours: cc = "${classes.at(-1) ?? "Mine"}".` };
  }
  const judged = tests.map(({ words, measure, low = -Infinity, high = Infinity, points }) => {
    const value = measured(run.tables, measure);
    return { words, value, points, passed: value >= low && value <= high };
  });
  const sum = (all) => all.reduce((total, { points }) => total + points, 0);
  return { tests: judged, points: sum(judged.filter(({ passed }) => passed)), of: sum(judged) };
}
