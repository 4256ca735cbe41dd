"use strict";
// The page can be read without it: opens the operation in the address, filters operations, and sends requests.

const every = (selector, within = document) => [...within.querySelectorAll(selector)];
const operations = every(".operation");
const token = document.getElementById("the-token");
const filter = document.getElementById("the-filter");

document.documentElement.classList.add("live");

function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!named?.matches("details")) return;
  filter.value = "";
  narrow();
  named.open = true;
  named.scrollIntoView();
  named.firstElementChild.focus({ preventScroll: true });
}

function narrow() {
  const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const each of operations) {
    const text = `${each.id} ${each.firstElementChild.textContent}`.toLowerCase();
    each.hidden = !words.every((word) => text.includes(word));
    document.querySelector(`nav a[href="#${each.id}"]`).parentElement.hidden = each.hidden;
  }
  for (const each of every("section")) each.hidden = every(".operation", each).every((inner) => inner.hidden);
  for (const each of every("nav ul")) {
    each.hidden = every("li", each).every((inner) => inner.hidden);
    each.previousElementSibling.hidden = each.hidden;
  }
  document.getElementById("the-nothing").hidden = operations.some((each) => !each.hidden);
}

function showCaller() {
  sessionStorage.setItem("partita-token", token.value);
  document.getElementById("the-whose").textContent = token.value.trim() ? caller(token.value.trim()) : "";
}

function caller(text) {
  try {
    const bytes = Uint8Array.from(atob(text.split(".")[1].replace(/-/g, "+").replace(/_/g, "/")), (each) => each.charCodeAt());
    const claims = JSON.parse(new TextDecoder().decode(bytes));
    const until = claims.exp ? `, valid until ${new Date(claims.exp * 1000).toLocaleString()}` : "";
    return `Token of ${claims.sub}${until}.`;
  } catch {
    return "This is not a JSON Web Token.";
  }
}

function request(form) {
  const { method, path } = form.dataset;
  const given = (place) => every(`[data-in=${place}]`, form).filter((each) => each.value !== "");
  const filled = given("path").reduce((so, each) => so.replace(`{${each.name}}`, encodeURIComponent(each.value)), path);
  const query = new URLSearchParams(given("query").map((each) => [each.name, each.value])).toString();
  const headers = Object.fromEntries(given("header").map((each) => [each.name, each.value]));
  if (token.value.trim()) headers.Authorization = `Bearer ${token.value.trim()}`;
  const body = form.querySelector("textarea")?.value;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  return { method, url: location.origin + filled + (query && `?${query}`), headers, body };
}

function curl({ method, url, headers, body }) {
  const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;
  const parts = method === "GET" ? ["curl -i"] : [`curl -i -X ${method}`];
  for (const [name, value] of Object.entries(headers)) {
    parts.push(name === "Authorization" ? `-H "Authorization: Bearer $TOKEN"` : `-H ${quoted(`${name}: ${value}`)}`);
  }
  if (body !== undefined) parts.push(`--data-binary ${quoted(body)}`);
  return [...parts, quoted(url)].join(" \\\n  ");
}

async function send(form) {
  const { method, url, headers, body } = request(form);
  const begun = performance.now();
  show(form, "Waiting for the response …", "");
  try {
    const reply = await fetch(url, { method, headers, body, cache: "no-store", credentials: "omit", redirect: "manual" });
    const text = await reply.text();
    const shown = ["ETag", "Location", "Allow", "Retry-After"].filter((name) => reply.headers.has(name));
    const head = shown.map((name) => `${name}: ${reply.headers.get(name)}`).join("\n");
    const milliseconds = Math.round(performance.now() - begun);
    show(form, `${reply.status} ${reply.statusText} in ${milliseconds} ms`, [head, pretty(text)].filter(Boolean).join("\n\n"));
  } catch (error) {
    show(form, `No response: ${error.message}`, "");
  }
}

function pretty(text) {
  try {
    // JavaScript has no whole numbers beyond 2^53; such a reply is shown as it came.
    return /[0-9]{16}/.test(text) ? text : JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

function show(form, status, text) {
  const reply = form.querySelector(".reply");
  reply.hidden = false;
  reply.querySelector("[role=status]").textContent = status;
  reply.lastElementChild.textContent = text;
  reply.lastElementChild.hidden = text === "";
}

token.value = sessionStorage.getItem("partita-token") ?? "";
token.addEventListener("input", showCaller);
filter.addEventListener("input", narrow);
addEventListener("hashchange", openNamed);
document.addEventListener("submit", (event) => {
  event.preventDefault();
  if (event.target.dataset.path) send(event.target);
});
document.getElementById("the-demo")?.addEventListener("click", (event) => {
  token.value = event.target.dataset.token;
  showCaller();
});
document.addEventListener("click", (event) => {
  const form = event.target.closest("button[type=button]")?.form;
  if (form?.dataset.path && form.reportValidity()) show(form, "The request as a shell command:", curl(request(form)));
  const link = event.target.closest("a[href^='#']");
  if (link && link.hash === location.hash) openNamed();
});
showCaller();
openNamed();
