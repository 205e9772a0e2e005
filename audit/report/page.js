// Shows an element's story beside the pointer, or where it was touched; switches between partitions.
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
document.getElementById("partition")?.addEventListener("change", (event) => {
  for (const one of document.querySelectorAll(".picture")) one.hidden = one.dataset.partition !== event.target.value;
});
