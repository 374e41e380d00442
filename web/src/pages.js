// On every page: says that there is JavaScript, and moves the focus to what went wrong.
document.documentElement.classList.add("js");
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });
document.querySelector("[data-focus]")?.focus();

for (const button of document.querySelectorAll("[data-copy]")) {
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent.trim());
    button.textContent = "Copied";
  });
}

// A page that was opened from another site came without the session's cookie; asked from here, it is sent.
const perhaps = document.querySelector("[data-perhaps]");
if (perhaps) {
  const found = await fetch("/signed-in", { credentials: "same-origin", cache: "no-store" }).then((answer) => answer.json());
  if (found.signed_in) location.replace(new URL(perhaps.dataset.perhaps, location.origin));
}
