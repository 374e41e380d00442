// On every page: says that there is JavaScript, and moves the focus to what went wrong.
document.documentElement.classList.add("js");

addEventListener("DOMContentLoaded", () => {
  document.querySelector("[data-focus]")?.focus();
  for (const button of document.querySelectorAll("[data-copy]")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(document.querySelector(button.dataset.copy).textContent.trim());
      button.textContent = "Copied";
    });
  }
});
