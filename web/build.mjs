// Bundles web/src into the folder that is given, with the licenses of what is in it and a manifest of digests.
import { createHash } from "node:crypto";
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = dirname(fileURLToPath(import.meta.url));
const target = process.argv[2];
rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });

const built = await build({
  absWorkingDir: here,
  entryPoints: ["pages.js", "ask.js", "answer.js", "series.js", "spending.js", "pages.css", "mark.svg"].map((name) => join("src", name)),
  outdir: target,
  bundle: true,
  splitting: true,
  format: "esm",
  minify: true,
  charset: "utf8",
  target: ["es2022", "chrome110", "firefox115", "safari16"],
  loader: { ".woff2": "file", ".svg": "copy" },
  assetNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  legalComments: "none",
  metafile: true,
});

// A package is in the bundle when any of its files is.
const packages = new Set();
for (const output of Object.values(built.metafile.outputs)) {
  for (const input of Object.keys(output.inputs)) {
    const found = input.match(/^node_modules\/((?:@[^/]+\/)?[^/]+)/);
    if (found) packages.add(found[1]);
  }
}
const licenses = [...packages].sort().map((name) => {
  const folder = join(here, "node_modules", name);
  const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((entry) => /^licen[cs]e/i.test(entry));
  if (!file) throw new Error(`${name} has no license file`);
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), "utf8").trim()}\n`;
});
const rule = `\n${"-".repeat(80)}\n\n`;
writeFileSync(
  join(target, "LICENSES.txt"),
  `The files in this folder are bundled from the sources in web/src and from these packages:\n${rule}${licenses.join(rule)}`,
);

const digest = (path) => createHash("sha256").update(readFileSync(path)).digest("hex");
const digests = (folder, names) => Object.fromEntries(names.sort().map((name) => [name, digest(join(folder, name))]));
const sources = ["build.mjs", "package.json", "package-lock.json", ...readdirSync(join(here, "src")).map((name) => `src/${name}`)];
const manifest = { files: digests(target, readdirSync(target)), sources: digests(here, sources) };
writeFileSync(join(target, "manifest.json"), `${JSON.stringify(manifest, null, 2)}\n`);
const size = readdirSync(target).map((name) => `${(readFileSync(join(target, name)).length / 1024).toFixed(0).padStart(6)} KB  ${name}`);
console.log(`${relative(process.cwd(), target)}:\n${size.join("\n")}`);
