// The page: asks for rows, sends answers, shows how things stand.

import { drawChart, drawMap, moveRing } from "./map.js";
import { filterClasses, make, makeClasses, showGuess, showRow } from "./row.js";

const byId = (id) => document.getElementById(id);
const POLL = 1500; // milliseconds
const REST = 300; // after which the map is drawn again

const windowName = sessionStorage.getItem("window") ?? name();
sessionStorage.setItem("window", windowName);

let job = null; // classes and names
let state = null; // what the server said last
let busy = false; // an answer is on its way
let turn = 0; // how many were
let unsent = null; // an answer that was not taken: the same key sends it again, under the same name
let points = null; // of the map
let drawn = ""; // which map that is
let rest = 0; // timer

function name() {
  return [...crypto.getRandomValues(new Uint8Array(12))].map((each) => each.toString(16).padStart(2, "0")).join("");
}

async function ask(path, content) {
  const options = content && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ window: windowName, ...content }),
  };
  let response;
  try {
    response = await fetch(`api/${path}`, options);
  } catch {
    throw new Error(
      "The server does not answer. Labels so far are saved: start ilspace label again, and open the address that it prints.",
    );
  }
  const answer = await response.json().catch(() => ({ error: `The server answered ${response.status}.` }));
  if (!response.ok && response.status !== 409) throw new Error(answer.error);
  return answer;
}

function alertUser(sentence) {
  const box = byId("alert");
  box.textContent = sentence;
  box.hidden = !sentence;
}

const say = (sentence) => { byId("status").textContent = sentence; };

// -- answers --------------------------------------------------------------------------------------

async function send(path, content, done) {
  if (busy || !state) return;
  busy = true;
  turn += 1;
  document.body.classList.add("busy");
  const asked = JSON.stringify([path, content]);
  if (unsent?.asked !== asked) unsent = { asked, event: name() };
  try {
    const answer = await ask(path, { ...content, event: unsent.event });
    unsent = null;
    alertUser(answer.error ?? "");
    show(answer, answer.error ?? done);
  } catch (error) {
    alertUser(error.message);
  } finally {
    busy = false;
    document.body.classList.remove("busy");
  }
}

function answer(kind, label) {
  if (!state?.row) return;
  const row = state.row.row;
  const words = { label: `Row ${row}: ${label}.`, skip: `Row ${row} skipped.`, other: `Row ${row}: not one of these.` };
  send("answer", { kind, row, ...(label === undefined ? {} : { label }) }, words[kind]);
}

const choose = (label) => {
  clearFind();
  answer("label", label);
};

function clearFind() {
  const find = byId("find");
  if (find.value) {
    find.value = "";
    filterClasses("");
  }
  find.blur();
}

const undo = () => { if (state?.progress.can_undo) send("undo", {}, "Undone."); };

// -- what is shown --------------------------------------------------------------------------------

function show(next, said) {
  const before = state?.row?.row;
  const changed = next.row?.row !== before;
  if (!changed && next.row && state.row.guess !== null) {
    // what Enter confirms stays what was read, though a new model may guess otherwise
    const { guess, probability, probabilities } = state.row;
    Object.assign(next.row, { guess, probability, probabilities });
  }
  state = next;
  if (next.row) {
    if (changed) showRow(next.row, next.progress.rows);
    showGuess(next.row, job.classes);
  }
  byId("done").hidden = next.row !== null;
  byId("answers").hidden = next.row === null && !next.progress.can_undo;
  for (const id of ["columns", "pictures", "texts", "guess"]) byId(id).classList.toggle("gone", next.row === null);
  if (next.row === null) byId("row-title").textContent = "Done";
  for (const button of byId("classes").children) button.disabled = next.row === null;
  byId("skip").disabled = byId("other").disabled = next.row === null;
  byId("undo").disabled = !next.progress.can_undo;
  showProgress(next.progress);
  showModel(next.model);
  if (changed) byId("card").scrollIntoView({ block: "nearest" });
  if (said) say(changed && next.row ? `${said} Next: row ${next.row.row}.` : said);
  refreshMap();
}

function showProgress({ labelled, skipped, other, given, left, windows }) {
  const number = (count) => count.toLocaleString("en");
  const parts = [`${number(labelled)} labelled`];
  if (given) parts.push(`${number(given)} given`);
  if (other) parts.push(`${number(other)} of no class`);
  if (skipped) parts.push(`${number(skipped)} skipped`);
  parts.push(`${number(left)} left`);
  if (windows > 1) parts.push(`${windows} windows`);
  byId("progress").textContent = parts.join(" · ");
}

function showModel(model) {
  const chip = byId("learning");
  chip.hidden = !model.learning && !model.trouble;
  chip.classList.toggle("trouble", !model.learning && model.trouble !== "");
  chip.textContent = model.learning ? "Learning …" : model.trouble;
  if (model.labels === undefined) return;
  const [accuracy, ...others] = model.rely;
  if (accuracy) {
    byId("accuracy-title").textContent = accuracy.title;
    byId("accuracy").firstElementChild.textContent = accuracy.value;
    byId("interval").textContent = accuracy.text;
  }
  byId("rely").replaceChildren(...others.flatMap(({ title, value, text }) => [
    make("h3", title), make("p", value, "value"), make("p", text, "quiet"),
  ]));
  const facts = [["Labels learned from", `${model.labels}`], ["Last fit", `${model.fit_seconds} s`]];
  byId("facts").replaceChildren(...facts.map(([key, value]) => {
    const pair = make("div");
    pair.append(make("dt", key), make("dd", value));
    return pair;
  }));
  drawChart(byId("chart"), model.history);
}

/** Move the ring at once; draw the rest when no key has been pressed for a moment. */
function refreshMap() {
  if (points) moveRing(byId("map"), points, state.row?.row);
  clearTimeout(rest);
  rest = setTimeout(drawRest, points ? REST : 0);
}

async function drawRest() {
  const wanted = `${state.model.version} ${state.progress.left}`;
  if (state.model.labels === undefined || wanted === drawn) return;
  drawn = wanted;
  try {
    points = await ask("map");
  } catch {
    drawn = "";
    return;
  }
  if (points) drawMap(byId("map"), points, state.row?.row);
}

async function poll() {
  if (!busy) {
    try {
      const before = state?.row?.row;
      const mine = turn;
      const next = await ask(`state?${new URLSearchParams({ window: windowName })}`);
      if (!busy && mine === turn) { // else it tells of a time before the last answer
        const moved = before !== undefined && next.row?.row !== before;
        const sentence = moved ? `Row ${before} has an answer by now, from another window.` : "";
        if (moved || byId("alert").dataset.lost) alertUser(sentence);
        delete byId("alert").dataset.lost;
        show(next, sentence);
      }
    } catch (error) {
      alertUser(error.message);
      byId("alert").dataset.lost = "yes";
    }
  }
  setTimeout(poll, POLL);
}

// -- keys -----------------------------------------------------------------------------------------

const findable = () => !byId("find-line").hidden;

function pressed(event) {
  if (event.isComposing || event.altKey || event.ctrlKey || event.metaKey || byId("help").open) return;
  const inFind = event.target === byId("find");
  if (inFind) {
    if (event.key === "Escape") clearFind();
    else if (event.key === "Enter") {
      const first = byId("find").value.trim() && filterClasses(byId("find").value);
      if (first) choose(first);
    } else return;
    event.preventDefault();
    return;
  }
  if (event.repeat) return;
  const onButton = event.target instanceof HTMLButtonElement;
  const code = job.keys.indexOf(event.key);
  if (code >= 0) choose(job.classes[code]);
  else if (event.key === "Enter" && !onButton) {
    if (state?.row?.guess) choose(state.row.guess);
  } else if (event.key === "n") answer("other");
  else if (event.key === "s") answer("skip");
  else if (event.key === "u") undo();
  else if (event.key === "?") byId("help").showModal();
  else if (event.key === "/" && findable()) byId("find").focus();
  else return;
  event.preventDefault();
}

async function start() {
  try {
    job = await ask("job");
  } catch (error) {
    alertUser(error.message);
    setTimeout(start, POLL);
    return;
  }
  byId("target").textContent = job.target;
  byId("labels-path").textContent = job.labels;
  document.title = `Label ${job.target} – ilspace`;
  makeClasses(job.classes, job.keys, choose);
  byId("other").addEventListener("click", () => answer("other"));
  byId("skip").addEventListener("click", () => answer("skip"));
  byId("undo").addEventListener("click", undo);
  byId("help-button").addEventListener("click", () => byId("help").showModal());
  byId("find").addEventListener("input", () => filterClasses(byId("find").value));
  document.addEventListener("keydown", pressed);
  poll();
}

start();
