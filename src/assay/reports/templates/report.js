"use strict";
/* The sample table and the token heat map. Samples are untrusted text: they reach the page through textContent only. */

// ---- one figure of several, chosen from a list ---------------------------------------------------------------------
document.querySelectorAll("select[data-chooses]").forEach((chooser) => {
  const figures = document.querySelectorAll(`#${chooser.dataset.chooses} [data-choice]`);
  const show = () => figures.forEach((figure) => { figure.hidden = figure.dataset.choice !== chooser.value; });
  chooser.addEventListener("change", show);
  show();
});

(() => {
  const source = document.getElementById("data");
  if (!source) return; // a report without a list of samples
  const data = JSON.parse(source.textContent);
  const PAGE = 25;
  const RUN_LENGTH = data.run_length;
  const STEPS = data.steps; // shares of probability mass at which the shading changes, ascending

  const bytes = (base64) => Uint8Array.from(atob(base64), (c) => c.charCodeAt(0)).buffer;
  const floats = (base64) => new Float32Array(bytes(base64));
  const shorts = (base64) => new Uint16Array(bytes(base64));
  const element = (tag, properties = {}, ...children) => {
    const node = Object.assign(document.createElement(tag), properties);
    node.append(...children);
    return node;
  };
  const number = (value) => {
    if (value === 0) return "0";
    const size = Math.abs(value);
    const text = size >= 1e5 || size < 1e-4 ? value.toExponential(2) : value.toPrecision(size < .01 ? 3 : 4);
    return text.replace(/-/g, "−");
  };

  const chance = (p) => (p < .001 ? "< .001" : p.toFixed(p < .01 ? 3 : 2).replace(/^0/, ""));

  // ---- columns -------------------------------------------------------------------------------------------------
  const columns = [
    { key: "id", title: "Sample", values: data.ids, text: true },
    ...data.columns.map((column) => {
      const reasons = new Map(column.reasons);
      return {
        title: column.title, about: column.about, score: column.kind === "score", chance: column.kind === "p_value",
        text: column.kind === "text", reason: (row) => column.reason_texts[reasons.get(row)],
        values: typeof column.values === "string" ? floats(column.values) : column.values,
      };
    }),
  ];
  const scoreColumns = columns.filter((column) => column.score);

  // ---- table: filter, sort, one page at a time ---------------------------------------------------------------------
  const table = document.getElementById("samples");
  const head = table.tHead.rows[0];
  const body = table.tBodies[0];
  const filterBox = document.getElementById("filter");
  const showBox = document.getElementById("show");
  const [previous, next] = ["previous-page", "next-page"].map((id) => document.getElementById(id));
  const count = document.getElementById("count");
  const haystack = data.ids.map((id, row) =>
    [id, data.labels?.[row], data.groups?.[row], data.previews[row]].join("\n").toLowerCase());
  let order = data.ids.map((_, row) => row);
  let sorted = { column: null, descending: false };
  let page = 0;

  const isMissing = (value) => value === null || value === "" || Number.isNaN(value);
  const compare = (column) => (a, b) => {
    const [x, y] = [column.values[a], column.values[b]];
    if (isMissing(x) || isMissing(y)) return isMissing(x) - isMissing(y) || a - b; // the unscorable stay last
    const difference = column.text ? collator.compare(x, y) : x - y;
    return (sorted.descending ? -difference : difference) || a - b;
  };
  const collator = new Intl.Collator("en", { numeric: true });

  const select = () => {
    const words = filterBox.value.trim().toLowerCase();
    const show = showBox.value;
    order = data.ids.map((_, row) => row).filter((row) =>
      haystack[row].includes(words) &&
      (show !== "unscorable" || scoreColumns.some((c) => Number.isNaN(c.values[row]))) &&
      (show !== "tokens" || row in data.tokens) &&
      (!show.startsWith("label:") || data.labels[row] === show.slice(6)));
    if (sorted.column) order.sort(compare(sorted.column));
    page = 0;
    draw();
  };

  const cell = (column, row) => {
    const value = column.values[row];
    if (column.key === "id") {
      const open = element("button", { type: "button", className: "open", textContent: value, title: value });
      open.dataset.row = row;
      return element("td", {}, open);
    }
    if (column.score && Number.isNaN(value)) {
      const reason = column.reason(row) ?? "unscorable";
      return element("td", { className: "none", textContent: reason, title: reason });
    }
    const missing = isMissing(value);
    return element("td", {
      className: column.text ? "left" : "",
      textContent: missing ? "–" : column.chance ? chance(value) : column.score ? number(value) : value,
    });
  };

  const draw = () => {
    const rows = order.slice(page * PAGE, (page + 1) * PAGE);
    body.replaceChildren(...rows.map((row) => {
      const line = element("tr", {}, ...columns.map((column) => cell(column, row)),
        element("td", { className: "preview", textContent: data.previews[row] }));
      line.dataset.row = row;
      return line;
    }));
    const first = rows.length ? page * PAGE + 1 : 0;
    const [from, to, of, all] = [first, page * PAGE + rows.length, order.length, data.ids.length]
      .map((amount) => amount.toLocaleString("en"));
    count.textContent = `${from}–${to} of ${of}${of === all ? "" : ` (${all} in all)`}`;
    previous.disabled = page === 0;
    next.disabled = (page + 1) * PAGE >= order.length;
  };

  const sortBy = (column, descending) => {
    sorted.column?.header.removeAttribute("aria-sort");
    sorted = { column, descending };
    column.header.setAttribute("aria-sort", descending ? "descending" : "ascending");
  };

  for (const column of columns) {
    const header = element("th", { scope: "col", className: column.text ? "left" : "" });
    const button = element("button", { type: "button", textContent: column.title, title: column.about ?? "" });
    button.addEventListener("click", () => {
      // a first click shows the highest score, the smallest p, the first name
      sortBy(column, sorted.column === column ? !sorted.descending : !(column.text || column.chance));
      select();
    });
    header.append(button);
    head.append(header);
    column.header = header;
  }
  head.append(element("th", { scope: "col", className: "left" }, element("button", {
    type: "button", textContent: "First line", disabled: true })));

  filterBox.addEventListener("input", select);
  showBox.addEventListener("change", select);
  previous.addEventListener("click", () => { page -= 1; draw(); });
  next.addEventListener("click", () => { page += 1; draw(); });
  body.addEventListener("click", (event) => {
    const line = event.target.closest("tr");
    if (line) openSample(Number(line.dataset.row));
  });

  // ---- one sample -----------------------------------------------------------------------------------------------------
  const dialog = document.getElementById("sample");
  const [title, about, scores, legend, tokens, readout, shading, missing] =
    ["sample-title", "sample-about", "sample-scores", "sample-legend", "sample-tokens", "sample-readout",
      "sample-shading", "sample-missing"].map((id) => document.getElementById(id));
  const [earlier, later] = ["sample-earlier", "sample-later"].map((id) => document.getElementById(id));
  let current = 0;
  let pieces = [];
  let chosen = -1;

  /** Which of the shading classes k0 … k4 a share of probability falls into. */
  const level = (share) => STEPS.filter((step) => share >= step).length;

  /** Tokens as pieces of the text. Tokens that add no character (bytes of one letter) join the piece before. */
  const readTokens = (row) => {
    const packed = data.tokens[row];
    const text = Array.from(data.texts[row]); // offsets count characters, not UTF-16 units
    const [gaps, lengths, nats, mass, ranks] =
      ["gaps", "lengths", "nats", "mass", "ranks"].map((key) => shorts(packed[key]));
    const parts = [];
    let at = 0;
    for (let i = 0; i < gaps.length; i += 1) {
      const token = { logProb: -nats[i] / 1000, mass: Math.exp(-mass[i] / 1000), rank: ranks[i] };
      if (gaps[i]) parts.push({ text: text.slice(at, at + gaps[i]).join(""), tokens: [] });
      at += gaps[i];
      if (lengths[i] || !parts.length) parts.push({ text: text.slice(at, at + lengths[i]).join(""), tokens: [token] });
      else parts[parts.length - 1].tokens.push(token);
      at += lengths[i];
    }
    if (at < text.length) parts.push({ text: text.slice(at).join(""), tokens: [] });
    markRuns(parts);
    return parts;
  };

  /** Marks the pieces inside runs of at least RUN_LENGTH tokens that the model ranks first. */
  const markRuns = (parts) => {
    let run = [];
    const close = () => {
      if (run.reduce((n, piece) => n + piece.tokens.length, 0) >= RUN_LENGTH) run.forEach((p) => { p.memorised = true; });
      run = [];
    };
    for (const piece of parts) {
      if (piece.tokens.length && piece.tokens.every((t) => t.rank === 1)) run.push(piece);
      else if (piece.tokens.length) close();
    }
    close();
  };

  const share = (token) => (shading.value === "mass" ? token.mass : Math.exp(token.logProb));

  const paint = () => {
    tokens.replaceChildren(...pieces.map((piece, i) => {
      const node = element("span", { textContent: piece.text });
      node.dataset.piece = i;
      node.className = piece.tokens.length
        ? `token k${level(Math.min(...piece.tokens.map(share)))}${piece.memorised ? " run" : ""}` : "unscored";
      return node;
    }));
    choose(-1);
  };

  const percent = (p) => (p >= .0995 ? `${(100 * p).toFixed(0)} %` : p >= .00095 ? `${(100 * p).toFixed(1)} %` : "< 0.1 %");

  const choose = (index) => {
    tokens.querySelector(".chosen")?.classList.remove("chosen");
    chosen = index;
    if (index < 0) {
      readout.textContent = "Point at, tap, or use ← → on the text to read a token.";
      return;
    }
    const node = tokens.children[index];
    node.classList.add("chosen");
    const readings = pieces[index].tokens.map((t) =>
      `rank ${t.rank === 65535 ? "65535 or more" : t.rank} · probability ${percent(Math.exp(t.logProb))} ` +
      `(ln p ${number(t.logProb)}) · tail mass u ${percent(t.mass)}`);
    readout.replaceChildren(element("code", { textContent: pieces[index].text.replace(/\n/g, "⏎").replace(/\t/g, "⇥") }),
      ` ${readings.length ? readings.join(" | ") : "not scored: no prediction was made for it"}` +
      (pieces[index].memorised ? " · in a memorised run" : ""));
  };

  const pieceOf = (event) => {
    const node = event.target.closest("[data-piece]");
    return node ? Number(node.dataset.piece) : chosen;
  };
  tokens.addEventListener("pointerover", (event) => choose(pieceOf(event)));
  tokens.addEventListener("click", (event) => choose(pieceOf(event)));
  tokens.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    choose(Math.max(0, Math.min(pieces.length - 1, chosen + step)));
    tokens.children[chosen].scrollIntoView({ block: "nearest" });
  });
  shading.addEventListener("change", paint);

  /** Share of the samples that a score is compared with (those of one label, or all) that score below this sample. */
  const standing = (column, row) => {
    let below = 0;
    let all = 0;
    column.values.forEach((value, other) => {
      if (other === row || Number.isNaN(value) || (data.compared_with && data.labels[other] !== data.compared_with)) return;
      all += 1;
      below += value < column.values[row];
    });
    return all ? below / all : NaN;
  };

  const openSample = (row) => {
    current = row;
    title.textContent = data.ids[row];
    const facts = [...columns.filter((c) => !c.score && c.key !== "id").map((c) => [c.title, c.values[row], c.chance ? chance : String]),
      ["Language", data.languages?.[row], String],
      ...Object.entries(data.details[row] ?? {}).map(([name, value]) => [name, value, String])];
    about.replaceChildren(...facts.filter(([, value]) => !isMissing(value ?? null)).map(([name, value, show]) =>
      element("div", {}, element("dt", { textContent: name }),
        element("dd", { textContent: show(value) }))));
    scores.replaceChildren(...scoreColumns.map((column) => {
      const value = column.values[row];
      const rank = standing(column, row);
      return element("tr", {}, element("th", { scope: "row", textContent: column.title }), ...(Number.isNaN(value)
        ? [element("td", { colSpan: 2, className: "none left", textContent: column.reason(row) ?? "unscorable" })]
        : [element("td", { textContent: number(value) }),
          element("td", { textContent: Number.isNaN(rank) ? "–" : `${(100 * rank).toFixed(0)} %` })]));
    }));
    const hasTokens = row in data.tokens;
    const hasText = row in data.texts;
    for (const node of [legend, readout, shading.parentElement]) node.hidden = !hasTokens;
    missing.hidden = hasTokens;
    missing.textContent = hasText
      ? "This sample has no token statistics in the report, so its text stands unshaded."
      : "The text of this sample is not in the report, which keeps the file small; the files of the run have it.";
    tokens.hidden = !hasText;
    if (hasTokens) {
      pieces = readTokens(row);
      paint();
    } else {
      pieces = [];
      tokens.textContent = hasText ? data.texts[row] : "";
    }
    const place = order.indexOf(row);
    earlier.disabled = place <= 0;
    later.disabled = place < 0 || place >= order.length - 1;
    if (!dialog.open) dialog.showModal();
    dialog.querySelector(".body").scrollTop = 0;
  };
  earlier.addEventListener("click", () => openSample(order[order.indexOf(current) - 1]));
  later.addEventListener("click", () => openSample(order[order.indexOf(current) + 1]));
  document.getElementById("sample-close").addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  dialog.addEventListener("close", () => {
    // the row may have left the page while the reader stepped through samples
    page = Math.max(0, Math.floor(order.indexOf(current) / PAGE));
    draw();
    body.querySelector(`button[data-row="${current}"]`)?.focus();
  });

  sortBy(columns[1] ?? columns[0], true); // the headline score: the highest values come first
  select();
})();
