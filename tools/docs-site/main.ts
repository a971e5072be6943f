// SPDX-License-Identifier: Apache-2.0
// The documentation as a static site: `npm run docs` writes it to dist/docs (`--out DIR` elsewhere);
// `npm run docs -- --serve [--port N]` serves it on loopback and follows changes of the pages.
import { existsSync, mkdirSync, readdirSync, rmSync, watch, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { serveSite } from "./serve.ts";
import { buildSite, type Site } from "./site.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));

/** Replaces an earlier site, and nothing else. */
function writeSite(site: Site, out: string): void {
  const isOurs = existsSync(join(out, "assets/search-index.js"));
  if (!isOurs && existsSync(out) && readdirSync(out).length > 0) {
    throw new Error(`${out}: not empty, and not an earlier site: choose another folder with --out`);
  }
  rmSync(out, { recursive: true, force: true });
  for (const [address, text] of site) {
    mkdirSync(dirname(join(out, address)), { recursive: true });
    writeFileSync(join(out, address), text);
  }
  console.log(`wrote ${site.size} files to ${out}; open ${join(out, "index.html")}`);
}

/** Builds again at the next request after a change. A page that cannot be built keeps its last state. */
async function serve(port: number): Promise<void> {
  let site = buildSite(root);
  let isStale = false;
  for (const folder of [".", "docs", "packages", "examples", "tools/docs-site"]) {
    watch(join(root, folder), { recursive: folder !== "." }, (_event, name) => {
      if (name !== null && /\.(md|svg|css|ts)$/.test(name)) isStale = true;
    });
  }
  const current = (): Site => {
    if (!isStale) return site;
    isStale = false;
    try {
      site = buildSite(root);
    } catch (error) {
      console.error(error instanceof Error ? error.message : String(error));
    }
    return site;
  };
  const { url } = await serveSite(current, port);
  console.log(`serving the documentation at ${url} (stop with Ctrl+C)`);
}

function parseOptions(): { readonly out: string; readonly serve: boolean; readonly port: number } {
  const { values } = parseArgs({
    options: {
      out: { type: "string", default: join(root, "dist/docs") },
      serve: { type: "boolean", default: false },
      port: { type: "string", default: "0" },
    },
  });
  const port = Number(values.port);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`--port ${values.port}: not a port number`);
  return { out: values.out, serve: values.serve, port };
}

try {
  const options = parseOptions();
  if (options.serve) await serve(options.port);
  else writeSite(buildSite(root), options.out);
} catch (error) {
  console.error(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
