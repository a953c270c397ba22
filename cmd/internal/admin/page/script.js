"use strict";

const $ = (id) => document.getElementById(id);
const number = new Intl.NumberFormat("en");
const time = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit", second: "2-digit"});
const minute = new Intl.DateTimeFormat("en-GB", {hour: "2-digit", minute: "2-digit"});
const every = 2000; // ms

// An element with attributes and children; what has the attribute's value null is left out.
function make(tag, attributes, ...children) {
  const e = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) if (value !== null) e.setAttribute(name, value);
  e.append(...children);
  return e;
}

// Text is written only where it differs, so that a screen reader and a selection aren't disturbed.
function say(e, text) {
  text = String(text);
  if (e.textContent !== text) e.textContent = text;
}

// Rows are kept by key from one update to the next, so that what has the focus keeps it.
function rows(body, items, key, create, update) {
  const old = new Map([...body.children].map((row) => [row.dataset.key, row]));
  let place = body.firstElementChild;
  for (const item of items) {
    const k = key(item);
    let row = old.get(k);
    if (row) old.delete(k);
    else {
      row = create(item);
      row.dataset.key = k;
    }
    update(row, item);
    if (row === place) place = place.nextElementSibling;
    else body.insertBefore(row, place);
  }
  for (const row of old.values()) row.remove();
}

const short = (n) => n >= 100 || n === 0 ? number.format(Math.round(n)) : n.toFixed(n >= 10 ? 1 : 2);
const sum = (a) => a.reduce((x, y) => x + y, 0);

function duration(s) {
  if (s < 0) return "never";
  if (s === 0) return "now";
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  for (const [size, unit] of parts) if (s >= size) return `${+(s / size).toFixed(1)} ${unit}`;
  return `${Math.ceil(s * 1000)} ms`;
}

function bytes(n) {
  const units = ["B", "kB", "MB", "GB"];
  let i = 0;
  for (; n >= 1000 && i < units.length - 1; i++) n /= 1000;
  return `${n.toFixed(i && n < 10 ? 1 : 0)} ${units[i]}`;
}

function showNow(s) {
  say($("passed-rate"), short(s.passed_rate));
  say($("refused-rate"), short(s.refused_rate));
  say($("refused-total"), number.format(s.refused));
  const all = s.passed + s.refused;
  say($("refused-share"), all ? `${(100 * s.refused / all).toFixed(1)} % of ${number.format(all)}` : "");
  say($("keys"), number.format(s.keys));
  say($("bytes"), bytes(s.bytes));
  say($("version"), `${s.version} · up ${duration((s.now_ms - s.started_ms) / 1000)}`);
}

// The series is drawn as columns of 10 s, the newest at the right.
const perColumn = 5, columns = 90, svg = "http://www.w3.org/2000/svg";

function chart(s) {
  const group = (series, n) => {
    const out = new Array(n).fill(0);
    for (let i = series.length - 1, k = 0; i >= 0 && k < n * perColumn; i--, k++) out[n - 1 - Math.floor(k / perColumn)] += series[i];
    return out;
  };
  const passed = group(s.passed_series, columns), refused = group(s.refused_series, columns);
  const peak = Math.max(1, ...passed.map((p, i) => p + refused[i]));
  let picture = $("chart").firstElementChild;
  if (!picture) {
    picture = document.createElementNS(svg, "svg");
    picture.setAttribute("viewBox", `0 0 ${columns} 100`);
    picture.setAttribute("preserveAspectRatio", "none");
    picture.setAttribute("aria-hidden", "true");
    for (let i = 15; i < columns; i += 15) {
      const line = document.createElementNS(svg, "line");
      for (const [k, v] of Object.entries({x1: i, x2: i, y1: 0, y2: 100, class: "grid"})) line.setAttribute(k, v);
      picture.append(line);
    }
    for (const kind of ["passed", "refused"]) for (let i = 0; i < columns; i++) {
      const r = document.createElementNS(svg, "rect");
      for (const [k, v] of Object.entries({x: i + 0.1, width: 0.8, class: kind})) r.setAttribute(k, v);
      picture.append(r);
    }
    $("chart").append(picture);
  }
  const bars = picture.querySelectorAll("rect");
  for (let i = 0; i < columns; i++) {
    const low = 96 * passed[i] / peak, high = 96 * refused[i] / peak;
    bars[i].setAttribute("y", 100 - low);
    bars[i].setAttribute("height", low);
    bars[columns + i].setAttribute("y", 100 - low - high);
    bars[columns + i].setAttribute("height", high);
  }
  say($("chart-scale"), `highest column: ${short(peak / (perColumn * s.step_seconds))} a second`);
  const of = s.series_of ? `Rule ${s.series_of}` : "All rules";
  say($("chart-summary"), `${of}: ${number.format(sum(s.passed_series))} passed and ${number.format(sum(s.refused_series))} refused.`);

  const n = Math.ceil(60 / s.step_seconds), items = [];
  for (let end = s.passed_series.length; end > 0; end -= n) {
    items.push({
      at: s.now_ms - (s.passed_series.length - end) * s.step_seconds * 1000,
      passed: sum(s.passed_series.slice(Math.max(end - n, 0), end)), refused: sum(s.refused_series.slice(Math.max(end - n, 0), end)),
    });
  }
  items.forEach((item, i) => { item.key = i; });
  rows($("minutes"), items, (x) => String(x.key),
    () => make("tr", {}, make("th", {scope: "row"}), make("td", {class: "n"}), make("td", {class: "n"})),
    (row, x) => {
      say(row.children[0], `to ${minute.format(x.at)}`);
      say(row.children[1], number.format(x.passed));
      say(row.children[2], number.format(x.refused));
    });
}

function showRules(s) {
  const select = $("chart-rule"), chosen = select.value;
  rows(select, [{name: ""}, ...s.rules], (r) => r.name, (r) => make("option", {value: r.name}, r.name || "all"), () => {});
  select.value = chosen;

  const labels = ["Limit", "By", "Passed", "Refused", "Refused, last minute", "Keys"];
  rows($("rules"), s.rules, (r) => r.name,
    (r) => make("tr", {}, make("th", {scope: "row"}), ...labels.map((label, i) => make("td", {"data-label": label, class: i > 1 ? "n" : null}))),
    (row, r) => {
      const cells = row.children, now = JSON.stringify([r.mode, r.match, r.limits, r.key]);
      if (row.dataset.now !== now) {
        row.dataset.now = now;
        const mode = r.mode === "enforce" ? [] : [make("span", {class: "tag"}, r.mode)];
        const match = r.match.filter((m) => m !== "/");
        cells[0].replaceChildren(r.name, ...mode, ...(match.length ? [make("div", {class: "quiet"}, make("code", {}, match.join(", ")))] : []));
        cells[1].replaceChildren(make("ul", {}, ...(r.limits || []).map((l) => make("li", {}, l.plan ? `${l.plan}: ${l.text}` : l.text))));
        cells[2].replaceChildren(make("code", {}, r.key));
      }
      const refused = r.mode === "shadow" ? r.shadow : r.refused;
      say(cells[3], number.format(r.passed));
      say(cells[4], number.format(refused) + (r.mode === "shadow" ? " (not enforced)" : ""));
      say(cells[5], number.format(r.recent[1]));
      cells[5].className = r.recent[1] ? "n bad" : "n";
      say(cells[6], number.format(r.keys));
    });
  $("more-rules").hidden = !s.more_rules;
  say($("more-rules"), `and ${s.more_rules} more, which /metrics has`);
}

function showTop(s) {
  rows($("top"), s.top, (t) => `${t.rule} ${t.key}`,
    (t) => make("tr", {}, make("th", {scope: "row"}, make("code", {}, t.key)), make("td", {}, t.rule), make("td", {class: "n"})),
    (row, t) => say(row.children[2], number.format(t.refused)));
  $("no-top").hidden = s.top.length > 0;
}

function showStores(s) {
  $("stores-section").hidden = !s.stores.length;
  const labels = ["State", "Servers like this", "Calls", "Failed", "Decided without it"];
  rows($("stores"), s.stores, (x) => x.address,
    (x) => make("tr", {}, make("th", {scope: "row"}, make("code", {}, x.address)), ...labels.map((label, i) => make("td", {"data-label": label, class: i ? "n" : null}))),
    (row, x) => {
      say(row.children[1], x.answers ? "answers" : `doesn't answer: ${x.policy} decides`);
      row.children[1].className = x.answers ? "" : "bad";
      [x.servers, x.calls, x.errors, x.replaced].forEach((n, i) => say(row.children[i + 2], number.format(n)));
    });
}

function entry(at, text, bad) {
  return make("li", {class: bad ? "bad" : null}, make("time", {datetime: new Date(at).toISOString()}, time.format(at)), text);
}

function showReloads(s) {
  const r = s.reloads;
  const times = (n) => n === 1 ? "once" : `${n} times`;
  say($("reload-summary"), `Version ${r.version} is in force. Changed ${times(r.updates - 1)}; ${times(r.failures)} a file couldn't be used.`);
  $("reload-error").hidden = !r.error;
  say($("reload-error"), r.error ? `The file isn't in force: ${r.error}` : "");
  rows($("changes"), r.changes, (c) => `${c.at_ms} ${c.version} ${c.error}`,
    (c) => entry(c.at_ms, c.error ? `not used: ${c.error}` : `version ${c.version} in force`, c.error), () => {});
  rows($("errors"), s.errors, (e) => `${e.at_ms} ${e.message} ${e.detail}`,
    (e) => entry(e.at_ms, `${e.level.toLowerCase()}: ${e.message} ${e.detail}`, e.level === "ERROR"), () => {});
  $("no-errors").hidden = s.errors.length > 0;
}

function state(kind, text) {
  $("state").className = kind;
  say($("state-text"), text);
}

let paused = false, timer = 0, reached = Date.now();

async function update() {
  clearTimeout(timer);
  try {
    const response = await fetch("status.json?rule=" + encodeURIComponent($("chart-rule").value), {cache: "no-store", signal: AbortSignal.timeout(5000)});
    if (!response.ok) throw new Error(`answers ${response.status}`);
    const s = await response.json();
    reached = Date.now();
    state("live", paused ? "paused" : s.ready ? "live" : "stopping");
    showNow(s); chart(s); showRules(s); showTop(s); showStores(s); showReloads(s);
    document.title = `${short(s.refused_rate)} refused/s – ratelimit`;
  } catch (error) {
    state("lost", `no answer since ${time.format(reached)}`);
  }
  if (!paused) timer = setTimeout(update, every);
}

$("pause").addEventListener("click", () => {
  paused = !paused;
  $("pause").setAttribute("aria-pressed", paused);
  if (paused) {
    clearTimeout(timer);
    state("", "paused");
  } else update();
});
$("chart-rule").addEventListener("change", update);

async function ask(path, question) {
  const response = await fetch(path, {method: "POST", headers: {"Content-Type": "application/json"}, body: JSON.stringify(question)});
  if (!response.ok) throw new Error(await response.text());
  return (await response.json()).rules;
}

function showAnswer(question, found, done) {
  const counted = found.filter((r) => r.applies);
  const cells = (r) => r.peek ? [
    make("td", {"data-label": "Left", class: "n"}, `${number.format(r.peek.remaining)} of ${number.format(r.peek.limit)}`),
    make("td", {"data-label": "Passes"}, r.peek.allowed ? "now" : `in ${duration(r.peek.retry_after_seconds)}`),
    make("td", {"data-label": "Forgotten"}, r.peek.reset_after_seconds ? `in ${duration(r.peek.reset_after_seconds)}` : "nothing used"),
    make("td", {"data-label": "Reset"}, resetButton(question, r)),
  ] : [make("td", {colspan: 4}, r.why)];
  const table = make("table", {class: "cards"},
    make("thead", {}, make("tr", {}, ...["Rule", "Key", "Left", "Passes", "Forgotten", "Reset"].map((h) => make("th", {scope: "col", class: h === "Left" ? "n" : null}, h)))),
    make("tbody", {}, ...counted.map((r) => make("tr", {}, make("th", {scope: "row"}, r.name), make("td", {"data-label": "Key"}, make("code", {}, r.key || "–")), ...cells(r)))));
  const others = found.length - counted.length;
  $("answer").replaceChildren(
    make("p", {}, done || (counted.length ? `${counted.length} of ${found.length} rules apply.` : "No rule applies.")),
    ...(counted.length ? [table] : []),
    ...(others ? [make("details", {}, make("summary", {}, `${others} that don't apply`), make("ul", {class: "log"}, ...found.filter((r) => !r.applies).map((r) => make("li", {}, `${r.name}: ${r.why}`))))] : []));
}

function resetButton(question, rule) {
  const button = make("button", {type: "button", "aria-label": `Reset this client under rule ${rule.name}`}, "Reset");
  button.addEventListener("click", async () => {
    try {
      showAnswer(question, await ask("keys/reset", {...question, rule: rule.name}), `Reset: ${rule.name} has never seen ${rule.key}.`);
      const again = [...$("answer").querySelectorAll("button")].find((b) => b.getAttribute("aria-label") === button.getAttribute("aria-label"));
      if (again) again.focus(); // the button that was pressed is gone, and the focus with it
    } catch (error) {
      $("answer").replaceChildren(make("p", {class: "error"}, error.message));
    }
  });
  return button;
}

$("look").addEventListener("submit", async (event) => {
  event.preventDefault();
  const question = {
    from: $("from").value.trim(),
    request: $("request").value.trim(),
    headers: $("headers").value.split("\n").map((l) => l.trim()).filter((l) => l),
  };
  try {
    showAnswer(question, await ask("keys", question));
  } catch (error) {
    $("answer").replaceChildren(make("p", {class: "error"}, error.message));
  }
});

update();
