// A button beside each command that copies it; without a script, or where copying is not allowed, it is marked by hand.
for (const code of navigator.clipboard ? document.querySelectorAll("code") : []) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "copy";
  button.setAttribute("aria-label", "copy the command");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(code.textContent);
      button.textContent = "copied";
    } catch {
      getSelection().selectAllChildren(code);
    }
  });
  code.before(button);
}
