"use strict";
const field = document.querySelector("#search");
const count = document.querySelector("#count");
const entries = Array.from(document.querySelectorAll("article"));
const folds = Array.from(document.querySelectorAll("details"));
const texts = entries.map((entry) => entry.textContent.toLowerCase());
const every = (open) => { for (const fold of folds) fold.open = open; };
let waiting = 0;
const search = () => {
  const wanted = field.value.trim().toLowerCase();
  let found = 0;
  entries.forEach((entry, index) => {
    const hit = wanted === "" || texts[index].includes(wanted);
    entry.classList.toggle("hidden", !hit);
    if (!hit || wanted === "") return;
    found += 1;
    for (const fold of entry.querySelectorAll("details")) {
      fold.open = fold.textContent.toLowerCase().includes(wanted);
    }
  });
  count.textContent = wanted === "" ? "" : found + (found === 1 ? " entry" : " entries");
};
field.addEventListener("input", () => { clearTimeout(waiting); waiting = setTimeout(search, 120); });
document.querySelector("#unfold").addEventListener("click", () => every(true));
document.querySelector("#fold").addEventListener("click", () => every(false));
document.addEventListener("keydown", (event) => {
  if (event.key === "/" && document.activeElement !== field) { event.preventDefault(); field.focus(); }
  if (event.key === "Escape" && document.activeElement === field) { field.value = ""; search(); }
});
