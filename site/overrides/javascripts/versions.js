// The version that is read, and the others that stand beside it, in the header. The list is a script, so that it can be
// read from a disk too, where browsers let no page fetch.
(() => {
  const title = document.querySelector(".md-header__title");
  const here = document.querySelector("meta[name=discreet-version]")?.content;
  if (!title || !here) return;
  const select = document.createElement("select");
  select.className = "versions";
  select.ariaLabel = "Version";
  for (const name of new Set([...(window.discreetVersions ?? []), here])) {
    select.add(new Option(name, name, name === here, name === here));
  }
  const root = new URL(JSON.parse(document.getElementById("__config").textContent).base, location.href);
  select.addEventListener("change", () => {
    location.href = new URL(`../${select.value}/index.html`, `${root.href.replace(/\/?$/, "/")}`);
  });
  title.after(select);
})();
