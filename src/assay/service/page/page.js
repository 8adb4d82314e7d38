"use strict";

const byId = (id) => document.getElementById(id);
const [code, verdict, status, token] = ["code", "verdict", "status", "token"].map(byId);
const PERMISSIVE = /^(MIT|MIT-0|Apache-2\.0|BSD-\d-Clause|BSD-3-Clause-.*|0BSD|ISC|PSF-2\.0|Python-2\.0|Unlicense|CC0-1\.0|Zlib|BSL-1\.0|HPND)$/;
const COPYLEFT = /(^|[^A-Z])(A?GPL|LGPL|MPL|EPL|CDDL|EUPL|OSL|CC-BY-SA)/;

let indexShown = false;

token.value = sessionStorage.getItem("assay-token") || "";

async function ask(path, body) {
  const headers = { "Content-Type": "application/json" };
  if (token.value) headers.Authorization = `Bearer ${token.value}`;
  const answer = await fetch(path, body ? { method: "POST", headers, body: JSON.stringify(body) } : { headers });
  if (answer.status === 401) {
    byId("token-row").hidden = false;
    token.focus();
  }
  const content = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(typeof content.detail === "string" ? content.detail : `the service answered ${answer.status}`);
  if (token.value) sessionStorage.setItem("assay-token", token.value);
  return content;
}

function element(tag, text, className) {
  const node = document.createElement(tag);
  node.textContent = text;
  if (className) node.className = className;
  return node;
}

function licenceBadge(licence) {
  const parts = licence.replace(/[()]/g, "").split(/ (?:AND|OR) /).map((name) => name.split(" WITH ")[0]);
  const kind = COPYLEFT.test(licence) ? "copyleft" : parts.every((name) => PERMISSIVE.test(name)) ? "permissive" : "other";
  const badge = element("span", licence === "unknown" ? "licence unknown" : licence, `badge ${kind}`);
  badge.title = { copyleft: "asks for the same licence of what is derived", permissive: "asks for the notice to be kept", other: "read it before you use it" }[kind];
  return badge;
}

const KINDS = { characters: "the same code", tokens: "the same code under other names", vector: "similar code, no common line" };
const confidence = (finding) => {
  // of what is no copy it says only that the likeness is no chance
  if (!finding.is_copy) return "no copy";
  return finding.confidence === null ? "confidence not measured" : `confidence ${(Math.floor(finding.confidence * 1000) / 10).toFixed(1)} %`;
};
const range = (lines) => lines.split("-").map(Number).concat(Number(lines.split("-")[0])).slice(0, 2);

function place(match) {
  return match.lines.length ? `${match.path}:${match.lines.join(", ")}` : match.path;
}

function extent(finding) {
  const part = finding.name || (finding.part === "file" ? "your code" : "the code outside of functions");
  const kind = KINDS[finding.by];
  if (finding.by === "vector") return `${part}: ${kind} · ${confidence(finding)}`;
  const lines = finding.part_lines === 1 ? "line" : "lines";
  return `${finding.matched_lines} of ${finding.part_lines} ${lines} of ${part}: ${kind} · ${confidence(finding)}`;
}

function attribution(match) {
  const where = [match.repository, place(match)].filter(Boolean).join(" ");
  const lines = [`Source: ${where}`];
  if (match.url) lines.push(`URL: ${match.url}`);
  if (match.author) lines.push(`Author: ${match.author}`);
  lines.push(`Licence: ${match.licence}`);
  return lines.join("\n");
}

const WORDS =
  "abstract and as assert async await break case catch class const continue def default del do elif else enum except export extends extern " +
  "final finally fn for from func function global goto if impl implements import in include interface is lambda let loop match mod mut namespace " +
  "new not or package pass private protected pub public raise return self static struct super switch template this throw throws trait try type " +
  "typedef typename union unsafe use using var virtual void volatile where while with yield None True False null nil true false";
const KEYWORDS = new Set(WORDS.split(" "));
const HASH_COMMENTS = new Set(["python", "ruby", "shell", "perl", "r", "julia", "elixir", "cython", "powershell"]);
const STRING = /"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?/.source;

// pieces of a text with the class of their colour, in order; nothing is left out
function coloured(text, language) {
  const comment = HASH_COMMENTS.has(language) ? /#[^\n]*/.source : /\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)/.source;
  const token = new RegExp(`(${comment})|(${STRING})|\\b(\\d[\\w.]*)|([A-Za-z_$][\\w$]*)`, "g");
  const pieces = [];
  let end = 0;
  for (const hit of text.matchAll(token)) {
    if (hit.index > end) pieces.push(["", text.slice(end, hit.index)]);
    pieces.push([hit[1] ? "comment" : hit[2] ? "string" : hit[3] ? "number" : KEYWORDS.has(hit[4]) ? "keyword" : "", hit[0]]);
    end = hit.index + hit[0].length;
  }
  pieces.push(["", text.slice(end)]);
  return pieces;
}

// the pieces of each line, a piece as [colour, text]
function colouredLines(text, language) {
  const lines = [[]];
  for (const [colour, piece] of coloured(text.replace(/\r\n?/g, "\n").replace(/\n$/, ""), language)) {
    piece.split("\n").forEach((part, at) => {
      if (at) lines.push([]);
      if (part) lines.at(-1).push([colour, part]);
    });
  }
  return lines;
}

const NAME = /^[A-Za-z_$][\w$]*$/;
const isFree = ([colour, text]) => colour === "string" || colour === "number" || (!colour && NAME.test(text));

// what stays of a line where names and literals are free, "" for one that shows nothing
function shapeOf(pieces) {
  const code = pieces.filter(([colour, text]) => colour !== "comment" && text.trim());
  return code.length > 1 ? code.map((piece) => (isFree(piece) ? "x" : piece[1].trim())).join(" ") : "";
}

const MOST_CELLS = 4e6; // of the table that aligns two texts

// pairs of lines that correspond, ascending on both sides: the longest common sequence, equal lines before equal shapes
function aligned(mine, there) {
  if (mine.length * there.length > MOST_CELLS) return [];
  const words = (lines) => lines.map((pieces) => pieces.map(([, text]) => text).join("").trim());
  const [texts, others, shapes, otherShapes] = [words(mine), words(there), mine.map(shapeOf), there.map(shapeOf)];
  const width = there.length + 1;
  const best = new Int32Array((mine.length + 1) * width);
  const worth = (i, j) => (texts[i] && texts[i] === others[j] ? 3 : shapes[i] && shapes[i] === otherShapes[j] ? 2 : 0);
  for (let i = mine.length - 1; i >= 0; i--) {
    for (let j = there.length - 1; j >= 0; j--) {
      const pair = worth(i, j);
      best[i * width + j] = Math.max(best[(i + 1) * width + j], best[i * width + j + 1], pair && pair + best[(i + 1) * width + j + 1]);
    }
  }
  const pairs = [];
  for (let i = 0, j = 0; i < mine.length && j < there.length; ) {
    const pair = worth(i, j);
    if (pair && best[i * width + j] === pair + best[(i + 1) * width + j + 1]) pairs.push([i++, j++]);
    else if (best[i * width + j] === best[(i + 1) * width + j]) i++;
    else j++;
  }
  return pairs;
}

// number of a piece among the free ones of two corresponding lines → what the other side has in its place
function renamed(pieces, other) {
  const free = other.filter(isFree);
  return pieces.filter(isFree).map(([, text], at) => (free[at] && free[at][1] !== text ? free[at][1] : ""));
}

function lineElement(pieces, number, isHit, others) {
  const line = element("div", "", isHit ? "line hit" : "line");
  // one box for all pieces: a line is a flex container, which would drop the spaces between its items
  const whole = element("span", pieces.length ? "" : " ");
  let free = 0;
  for (const piece of pieces) {
    const instead = isFree(piece) ? others[free++] : "";
    const part = instead ? element("mark", piece[1], piece[0]) : element("span", piece[1], piece[0]);
    if (instead) part.title = `on the other side: ${instead}`;
    whole.append(part);
  }
  line.append(whole);
  line.dataset.line = number;
  return line;
}

// a side is {box, lines, first, ranges}; corresponding lines stand at one height, with gaps where a side has none
function showSides(sides) {
  const [mine, there] = sides;
  const rows = [[], []];
  const ends = [0, 0];
  for (const pair of [...aligned(mine.lines, there.lines), [mine.lines.length, there.lines.length]]) {
    const isLast = pair[0] === mine.lines.length;
    sides.forEach((side, at) => {
      const add = (number, others) => {
        const hit = side.ranges.some(([low, high]) => low <= side.first + number && side.first + number <= high);
        rows[at].push(lineElement(side.lines[number], side.first + number, hit, others));
      };
      const gap = Math.max(pair[0] - ends[0], pair[1] - ends[1]) - (pair[at] - ends[at]);
      for (let number = ends[at]; number < pair[at]; number++) add(number, []);
      if (!isLast) {
        for (let filler = 0; filler < gap; filler++) rows[at].push(element("div", "", "line gap"));
        add(pair[at], renamed(side.lines[pair[at]], sides[1 - at].lines[pair[1 - at]]));
      }
    });
    ends[0] = pair[0] + 1;
    ends[1] = pair[1] + 1;
  }
  sides.forEach((side, at) => side.box.replaceChildren(...rows[at]));
  const hit = there.box.querySelector(".hit") || mine.box.querySelector(".hit");
  for (const { box } of sides) if (hit) box.scrollTop = hit.offsetTop - hit.parentNode.offsetTop - 24;
}

// both sides scroll by the same distance, from where their first matched lines are level
function scrollTogether(first, second) {
  const distance = second.scrollTop - first.scrollTop;
  let answering = null;
  const follow = (box, other, shift) =>
    box.addEventListener("scroll", () => {
      if (answering === box) {
        answering = null;
        return;
      }
      const target = Math.max(0, Math.min(box.scrollTop + shift, other.scrollHeight - other.clientHeight));
      if (Math.abs(other.scrollTop - target) < 1) return;
      answering = other;
      other.scrollTop = target;
    });
  follow(first, second, distance);
  follow(second, first, -distance);
}

async function fill(item, finding, query, language) {
  const details = item.querySelector("details");
  if (details.dataset.filled) return;
  details.dataset.filled = "yes";
  const [mine, there] = [item.querySelector(".query-side"), item.querySelector(".document-side")];
  const match = finding.places[0];
  try {
    const stored = await ask(`api/documents/${match.document_id}`);
    showSides([
      { box: mine, lines: colouredLines(query, language), first: 1, ranges: finding.lines.map(range) },
      { box: there, lines: colouredLines(stored.text, stored.language || language), first: match.first_line, ranges: match.lines.map(range) },
    ]);
    item.querySelector(".there").textContent = match.path;
    scrollTogether(mine, there);
  } catch (error) {
    there.textContent = error.message;
  }
}

function show(finding, query, language) {
  const item = byId("match").content.cloneNode(true).querySelector("li");
  const match = finding.places[0];
  const heading = item.querySelector(".path");
  const link = /^https?:\/\//.test(match.url || "") ? element("a", place(match)) : document.createTextNode(place(match));
  if (link.href !== undefined) Object.assign(link, { href: match.url, rel: "noopener noreferrer" });
  heading.append(link);
  const facts = item.querySelector(".facts");
  facts.append(...finding.licences.map(licenceBadge));
  for (const fact of [match.name, match.repository, match.author]) if (fact) facts.append(element("span", fact));
  const others = finding.places.length - 1;
  if (others) facts.append(element("span", `and ${others} more ${others === 1 ? "place" : "places"}`, "soft"));
  item.querySelector(".extent").textContent = extent(finding);
  const conflict = item.querySelector(".conflict");
  conflict.hidden = !finding.conflict.length;
  conflict.textContent = `This code occurs under several licences: ${finding.conflict.join(", ")}. Which one holds for your copy is unknown.`;
  const details = item.querySelector("details");
  details.addEventListener("toggle", () => details.open && fill(item, finding, query, language));
  details.open = finding.is_copy;
  if (finding.is_copy) item.querySelector(".copy").addEventListener("click", () => copyAttribution(item, match));
  else item.querySelector(".attribution").remove();
  return item;
}

async function copyAttribution(item, match) {
  const state = item.querySelector(".attribution span");
  try {
    await navigator.clipboard.writeText(attribution(match));
    state.textContent = "copied";
  } catch {
    const box = element("textarea", attribution(match));
    box.readOnly = true;
    box.rows = 4;
    state.replaceChildren(box);
    box.select();
  }
}

function showAnswer(answer, query) {
  const items = (findings) => findings.map((finding) => show(finding, query, answer.language));
  const copies = answer.findings.filter((finding) => finding.is_copy);
  const others = answer.findings.filter((finding) => !finding.is_copy);
  verdict.textContent = `${answer.verdict[0].toUpperCase()}${answer.verdict.slice(1)}`;
  byId("copies").replaceChildren(...items(copies));
  byId("others").replaceChildren(...items(others));
  const weaker = byId("weaker");
  weaker.hidden = !others.length;
  weaker.open = false;
  const sources = others.length === 1 ? "source" : "sources";
  weaker.querySelector("summary").textContent = `Similar code in ${others.length} ${sources}`;
}

async function trace(event) {
  event.preventDefault();
  const button = byId("trace");
  const query = code.value;
  if (!query || button.disabled) return;
  button.disabled = true;
  byId("results").setAttribute("aria-busy", "true");
  status.className = "soft";
  status.textContent = "Tracing …";
  try {
    if (!indexShown) await showIndex(); // the first request had no token: the methods of the index are not known yet
    const began = performance.now();
    const body = { code: query, method: byId("method").value, top: Number(byId("top").value) };
    if (byId("language").value) body.language = byId("language").value;
    const answer = await ask("api/trace", body);
    showAnswer(answer, query);
    const further = answer.further ? ` ${answer.further} more with a larger number of sources.` : "";
    const time = `${Math.round(performance.now() - began)} ms.`;
    status.textContent = answer.too_short ? time : `${answer.explanation}${further} ${time}`;
  } catch (error) {
    showAnswer({ verdict: "no answer", findings: [], language: null }, query);
    status.className = "problem";
    status.textContent = error.message;
  } finally {
    button.disabled = false;
    byId("results").setAttribute("aria-busy", "false");
  }
}

byId("query").addEventListener("submit", trace);
document.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) byId("query").requestSubmit();
});
for (const kind of ["dragover", "dragleave", "drop"]) {
  code.addEventListener(kind, async (event) => {
    event.preventDefault();
    code.classList.toggle("dropping", kind === "dragover");
    const file = kind === "drop" && event.dataTransfer.files[0];
    if (file) code.value = await file.text();
    else if (kind === "drop") code.value = event.dataTransfer.getData("text");
  });
}

async function showIndex() {
  const info = await ask("api/info");
  byId("about").textContent = `${info.documents.toLocaleString("en")} ${info.documents === 1 ? "document" : "documents"} in the index`;
  byId("language").append(...info.languages.map((name) => element("option", name)));
  for (const option of [...byId("method").options]) option.disabled = !info.methods.includes(option.value);
  byId("method").value = info.methods.includes("union") ? "union" : info.methods[0];
  indexShown = true;
}

showIndex().catch((error) => {
  byId("about").textContent = error.message;
});
