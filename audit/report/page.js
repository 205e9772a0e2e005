// Shows an element's story beside the pointer, or where it was touched; switches between partitions; leads from a
// piece of evidence to its moment in the picture.
const tip = document.getElementById("tip");
function show(event) {
  const told = event.target.closest("[data-tip]");
  if (!told) { tip.style.display = "none"; return; }
  tip.textContent = told.dataset.tip;
  tip.style.display = "block";
  const width = tip.offsetWidth, height = tip.offsetHeight;
  tip.style.left = Math.max(4, Math.min(event.clientX + 14, innerWidth - width - 8)) + "px";
  tip.style.top = (event.clientY + height + 24 > innerHeight ? event.clientY - height - 12 : event.clientY + 16) + "px";
}
for (const name of ["pointermove", "pointerdown"]) document.addEventListener(name, show);
document.addEventListener("scroll", () => { tip.style.display = "none"; }, true);
const choice = document.getElementById("partition");
function choose(number) {
  for (const one of document.querySelectorAll(".picture")) one.hidden = one.dataset.partition !== number;
  if (choice) choice.value = number;
  zoom.again();
}
choice?.addEventListener("change", () => choose(choice.value));
document.addEventListener("click", (event) => {
  const asked = event.target.closest(".where");
  if (!asked) return;
  choose(asked.dataset.in);
  const pane = document.getElementById("picture"), plot = pane.querySelector(".picture:not([hidden]) .plot");
  for (const old of document.querySelectorAll(".here")) old.remove();
  const line = document.createElementNS(plot.namespaceURI, "line");
  for (const [name, value] of [["class", "here"], ["x1", asked.dataset.x], ["x2", asked.dataset.x], ["y1", 0],
    ["y2", plot.viewBox.baseVal.height]]) line.setAttribute(name, value);
  plot.append(line);
  zoom.show(Number(asked.dataset.x));
  pane.scrollIntoView({ block: "center" });
});
