"use strict";
const pairs = [...document.querySelectorAll("main > details")];
const current = () => pairs.find((pair) => pair.open);
const partner = (mark) => {
  const pair = mark.closest("main > details");
  const side = mark.closest(".side");
  return [...pair.querySelectorAll(`mark[data-m="${mark.dataset.m}"]`)].find((other) => other.closest(".side") !== side);
};
const reveal = (mark) => {
  const box = mark.closest(".code");
  box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - innerHeight / 4;
};
const choose = (mark) => {
  document.querySelectorAll("mark.now").forEach((other) => other.classList.remove("now"));
  const other = partner(mark);
  const pair = mark.closest("main > details");
  pair.querySelectorAll(`mark[data-m="${mark.dataset.m}"]`).forEach((part) => part.classList.add("now"));
  reveal(mark);
  if (other) reveal(other);
};
document.addEventListener("click", (event) => {
  const mark = event.target.closest("mark");
  if (mark) choose(mark);
});
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !pairs.length) return;
  const open = current();
  const mark = document.activeElement.closest("mark");
  if (event.key === "Enter" && mark) {
    choose(mark);
    const other = partner(mark);
    if (other) other.focus({ preventScroll: true });
    return;
  }
  const step = { j: 1, n: 1, k: -1, p: -1 }[event.key];
  if (!step) return;
  if (event.key === "j" || event.key === "k") {
    const at = Math.min(pairs.length - 1, Math.max(0, pairs.indexOf(open) + step));
    pairs.forEach((pair, number) => { pair.open = number === at; });
    pairs[at].querySelector("summary").focus();
    pairs[at].scrollIntoView();
  } else if (open) {
    const marks = [...open.querySelector(".side").querySelectorAll("mark")];
    if (!marks.length) return;
    const now = marks.findIndex((other) => other.classList.contains("now"));
    const next = marks[(now + step + marks.length) % marks.length];
    next.focus({ preventScroll: true });
    choose(next);
  }
  event.preventDefault();
});
