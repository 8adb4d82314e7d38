"use strict";

const byId = (id) => document.getElementById(id);
const [code, matches, status, token] = ["code", "matches", "status", "token"].map(byId);
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
  const found = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(typeof found.detail === "string" ? found.detail : `the service answered ${answer.status}`);
  if (token.value) sessionStorage.setItem("assay-token", token.value);
  return found;
}

function element(tag, text, className) {
  const made = document.createElement(tag);
  made.textContent = text;
  if (className) made.className = className;
  return made;
}

function licenceBadge(licence) {
  const parts = licence.replace(/[()]/g, "").split(/ (?:AND|OR) /).map((one) => one.split(" WITH ")[0]);
  const kind = COPYLEFT.test(licence) ? "copyleft" : parts.every((one) => PERMISSIVE.test(one)) ? "permissive" : "other";
  const badge = element("span", licence === "unknown" ? "licence unknown" : licence, `badge ${kind}`);
  badge.title = { copyleft: "asks for the same licence of what is derived", permissive: "asks for the notice to be kept", other: "read it before you use it" }[kind];
  return badge;
}

const percent = (share) => `${Math.round(share * 100)} %`;
const confidence = (value) => (value === null ? "confidence not measured" : `confidence ${(Math.floor(value * 1000) / 10).toFixed(1)} %`);

function place(match) {
  const span = match.spans[0];
  return span ? `${match.path}:${span.document_first}` : match.path;
}

function attribution(match) {
  const where = [match.repository, place(match)].filter(Boolean).join(" ");
  const lines = [`Source: ${where}`];
  if (match.url) lines.push(`URL: ${match.url}`);
  if (match.author) lines.push(`Author: ${match.author}`);
  lines.push(`Licence: ${match.licence}`);
  return lines.join("\n");
}

function showCode(box, text, firstLine, ranges) {
  box.replaceChildren(
    ...text.replace(/\r\n?/g, "\n").replace(/\n$/, "").split("\n").map((content, at) => {
      const number = firstLine + at;
      const line = element("div", content || " ", ranges.some(([low, high]) => low <= number && number <= high) ? "line hit" : "line");
      line.dataset.line = number;
      return line;
    }),
  );
  const hit = box.querySelector(".hit");
  if (hit) box.scrollTop = hit.offsetTop - box.offsetTop - 24;
}

function show(match, query) {
  const item = byId("match").content.cloneNode(true).querySelector("li");
  const heading = item.querySelector(".path");
  const link = /^https?:\/\//.test(match.url || "") ? element("a", place(match)) : document.createTextNode(place(match));
  if (link.href !== undefined) Object.assign(link, { href: match.url, rel: "noopener noreferrer" });
  heading.append(link);
  const facts = item.querySelector(".facts");
  facts.append(licenceBadge(match.licence));
  for (const fact of [match.name, match.repository, match.author]) if (fact) facts.append(element("span", fact));
  if (match.origins > 1) facts.append(element("span", `and ${match.origins - 1} more ${match.origins === 2 ? "place" : "places"}`, "soft"));
  item.querySelector(".measures").textContent =
    `${confidence(match.confidence)} · ${percent(match.containment)} of your code stands there · similarity ${match.similarity.toFixed(2)} · found by ${match.channel}`;
  item.querySelector("details").addEventListener("toggle", async (event) => {
    if (!event.target.open || event.target.dataset.filled) return;
    event.target.dataset.filled = "yes";
    const there = item.querySelector(".document-side");
    try {
      const stored = await ask(`api/documents/${match.document_id}`);
      showCode(item.querySelector(".query-side"), query, 1, match.spans.map((span) => [span.query_first, span.query_last]));
      showCode(there, stored.text, stored.first_line, match.spans.map((span) => [span.document_first, span.document_last]));
      item.querySelector(".there").textContent = match.path;
    } catch (error) {
      there.textContent = error.message;
    }
  });
  item.querySelector(".copy").addEventListener("click", async () => {
    const told = item.querySelector(".attribution span");
    try {
      await navigator.clipboard.writeText(attribution(match));
      told.textContent = "copied";
    } catch {
      const box = element("textarea", attribution(match));
      box.readOnly = true;
      box.rows = 4;
      told.replaceChildren(box);
      box.select();
    }
  });
  return item;
}

async function trace(event) {
  event.preventDefault();
  const button = byId("trace");
  const query = code.value;
  if (!query.trim() || button.disabled) return;
  button.disabled = true;
  byId("results").setAttribute("aria-busy", "true");
  status.className = "soft";
  status.textContent = "Tracing …";
  try {
    if (!indexShown) await showIndex(); // the first request had no token: the methods of the index are not known yet
    const began = performance.now();
    const body = { code: query, method: byId("method").value, top: Number(byId("top").value) };
    if (byId("language").value) body.language = byId("language").value;
    const found = await ask("api/trace", body);
    matches.replaceChildren(...found.matches.map((match) => show(match, query)));
    const count = found.matches.length;
    const head = count ? `${count} ${count === 1 ? "source" : "sources"}` : "No source found";
    status.textContent = `${head}, ${Math.round(performance.now() - began)} ms. ${found.explanation}`;
  } catch (error) {
    matches.replaceChildren();
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
  byId("about").textContent = `${info.documents.toLocaleString("en")} documents in the index`;
  byId("language").append(...info.languages.map((name) => element("option", name)));
  for (const option of [...byId("method").options]) option.disabled = !info.methods.includes(option.value);
  byId("method").value = info.methods.includes("union") ? "union" : info.methods[0];
  indexShown = true;
}

showIndex().catch((error) => {
  byId("about").textContent = error.message;
});
