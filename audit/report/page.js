// Shows an element's story beside the pointer, or where it was touched; switches between partitions; leads from a claim
// to its moment in the picture.
const tip = document.getElementById("tip");
function show(event) {
  const told = event.target.closest?.("[data-tip]");
  if (!told) { tip.style.display = "none"; return; }
  tip.textContent = told.dataset.tip;
  tip.style.display = "block";
  const width = tip.offsetWidth, height = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
  tip.style.top = (event.clientY + height + 24 > innerHeight ? event.clientY - height - 12 : event.clientY + 16) + "px";
}
for (const name of ["pointermove", "pointerdown"]) document.addEventListener(name, show);
document.addEventListener("scroll", () => { tip.style.display = "none"; }, true);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.style.display = "none"; });

const choice = document.getElementById("partition");
function choose(number) {
  for (const one of document.querySelectorAll(".picture")) one.hidden = one.dataset.partition !== number;
  if (choice) choice.value = number;
  view.again();
  view.look(view.moment());
}
choice?.addEventListener("change", () => choose(choice.value));

document.addEventListener("click", (event) => {
  const asked = event.target.closest?.("a.where");
  if (asked) {
    event.preventDefault();
    if (asked.dataset.in !== undefined && Number(asked.dataset.in) !== view.picture()) choose(asked.dataset.in);
    view.look(Number(asked.dataset.at), true);
    document.getElementById("picture").scrollIntoView({ block: "center" });
    document.getElementById("picture").focus({ preventScroll: true });
  }
  const check = event.target.closest?.('a[href^="#check-"]');
  if (check) document.getElementById(check.getAttribute("href").slice(1)).open = true;
});

// What the pointer is told of the picture's marks, for who has none: those nearest to the moment, in the order of time.
const near = document.getElementById("near"), NEAR_MAX = 15;
function nearest() {
  if (!near.open) return;
  const marks = [...document.querySelectorAll(".picture:not([hidden]) .plot :is(:not(.fine))[data-tip]")]
    .map((one) => one.dataset.tip).filter((told) => /^[\d.]+ s /.test(told));
  const told = [...new Set(marks)].map((text) => ({ text, at: parseFloat(text) * 1000 }));
  const far = (one) => Math.abs(one.at - view.moment());
  const some = told.sort((a, b) => far(a) - far(b)).slice(0, NEAR_MAX).sort((a, b) => a.at - b.at);
  near.querySelector("ol").replaceChildren(...some.map((one) => {
    const item = document.createElement("li");
    item.textContent = one.text;
    return item;
  }));
}
near.hidden = false;
near.addEventListener("toggle", nearest);
document.addEventListener("moment", nearest);

messages.start();
logs.start();
view.start();
