// One row as it is shown, and the buttons of its classes.

import { colour, symbol } from "./symbols.js";

const byId = (id) => document.getElementById(id);

export function make(name, text = "", classes = "") {
  const element = document.createElement(name);
  element.textContent = text;
  if (classes) element.className = classes;
  return element;
}

export const percent = (share, digits = 0) => `${(100 * share).toFixed(digits)}\u202f%`;

/** Show a row: its name, pictures, texts and columns. */
export function showRow(row, total) {
  const name = row.ids.map(([key, value]) => `${key} ${value}`).join(", ");
  byId("row-title").replaceChildren(
    name || `Row ${row.row}`,
    make("span", name ? ` row ${row.row} of ${total}` : ` of ${total}`, "quiet"),
  );
  byId("pictures").replaceChildren(...row.pictures.map(([column, path]) => picture(row.row, column, path)));
  byId("texts").replaceChildren(
    ...row.texts.flatMap(([key, value]) => [make("h3", key), make("p", value || "–", value ? "" : "quiet")]),
  );
  const columns = row.columns.map(([key, value]) => {
    const pair = make("div");
    pair.append(make("dt", key), make("dd", value || "–", value ? "" : "quiet"));
    return pair;
  });
  if (row.hidden) columns.push(make("p", `and ${row.hidden} more columns`, "quiet"));
  const list = byId("columns");
  list.replaceChildren(...columns);
  list.hidden = columns.length === 0;
  list.scrollTop = 0;
}

function picture(row, column, path) {
  const figure = make("figure");
  const image = document.createElement("img");
  image.alt = `${column}: ${path}`;
  image.addEventListener("error", () => {
    figure.replaceChildren(make("p", `No picture ${path} in the folder of the table.`, "quiet"));
  });
  image.src = `api/picture?${new URLSearchParams({ row, column })}`;
  figure.append(image);
  return figure;
}

/** Make the buttons of the classes, once. */
export function makeClasses(classes, keys, choose) {
  byId("find-line").hidden = classes.length <= 10;
  byId("classes").classList.toggle("many", classes.some((name) => name.length > 8));
  byId("classes").replaceChildren(
    ...classes.map((name, code) => {
      const button = make("button", "", `class ${colour(code)}`);
      button.type = "button";
      button.dataset.code = code;
      button.title = name;
      const key = make("kbd", keys[code] ?? "");
      key.hidden = !keys[code];
      button.append(key, symbol(code), make("span", name, "name"), make("span", "", "share"));
      button.addEventListener("click", (event) => {
        if (event.detail) button.blur(); // by pointer: Enter is the guess again
        choose(name);
      });
      return button;
    }),
  );
}

/** Say what the model thinks of the row. */
export function showGuess(row, classes) {
  const guess = byId("guess");
  if (row.guess === null) {
    guess.replaceChildren("No guess yet: the model is being fitted, and rows come in random order.");
  } else {
    guess.replaceChildren("Guess: ", make("strong", row.guess), ` ${percent(row.probability)} `, make("kbd", "Enter"));
  }
  for (const button of byId("classes").children) {
    const code = Number(button.dataset.code);
    const share = row.probabilities?.[code] ?? (classes[code] === row.guess ? row.probability : null);
    button.classList.toggle("guessed", classes[code] === row.guess);
    button.lastChild.textContent = share === null ? "" : percent(share);
    button.style.setProperty("--share", share ?? 0);
  }
}

/** Show the classes whose names hold some text; returns the first. */
export function filterClasses(text) {
  const wanted = text.trim().toLocaleLowerCase();
  let first = null;
  for (const button of byId("classes").children) {
    const name = button.querySelector(".name").textContent;
    const fits = name.toLocaleLowerCase().includes(wanted);
    button.hidden = !fits;
    const isExact = name.toLocaleLowerCase() === wanted;
    if (fits && (first === null || isExact)) first = name;
    button.classList.remove("found");
  }
  for (const button of byId("classes").children) {
    button.classList.toggle("found", wanted !== "" && button.querySelector(".name").textContent === first);
  }
  return first;
}
