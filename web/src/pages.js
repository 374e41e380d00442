// On every page: says that there is JavaScript, and moves the focus to what came of an action.
document.documentElement.classList.add("js");
document.querySelector(".tabs [aria-current]")?.scrollIntoView({ inline: "center", block: "nearest" });

// What went wrong or is done has the focus; after any other action, the heading of the page that it led to. A link with a
// fragment says by itself where it leads.
const came = document.querySelector("[data-focus]") ?? (sessionStorage.getItem("acted") && !location.hash && document.querySelector("main h1"));
sessionStorage.removeItem("acted");
if (came) {
  came.tabIndex = -1;
  came.focus();
}
addEventListener("submit", (event) => event.defaultPrevented || sessionStorage.setItem("acted", "yes"));

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
