// SPDX-License-Identifier: Apache-2.0
import { harmlessLine } from "../terminal/harmless.ts";
import { formatTable } from "../terminal/table.ts";
import type { Inspected } from "./inspect-command.ts";
import { sizeText } from "./package-summary.ts";

/** What a package is, for people: what it says of itself is shown without effects on the terminal. */
export function inspectText(found: Inspected): string {
  const { package: meta, objects, layers, findings } = found;
  const rows = [
    ["Package:", `${meta.kind} ${meta.name}`],
    ["Digest:", found.digest],
    ["Platforms:", found.platforms.join(", ")],
    ["Capabilities:", meta.capabilities.join(", ") || "none"],
    ["Crossplane:", meta.crossplane ?? "any version"],
    ["Runs:", runsText(found)],
  ];
  const parts = [
    formatTable(rows.map((row) => row.map(harmlessLine))),
    list(
      "Depends on",
      meta.dependencies.map(({ kind, source, constraint }) => [kind, source, constraint]),
    ),
    list(
      "Objects",
      objects.map(({ kind, apiVersion, name }) => [kind, name, apiVersion]),
    ),
    list(
      "Does not belong here",
      findings.map((finding) => [finding]),
    ),
    list(
      "Layers",
      layers.map(({ digest, size, xpkg }) => [digest, sizeText(size), layerUse(xpkg)]),
    ),
  ];
  return `${parts.filter((part) => part !== "").join("\n")}\n`;
}

function runsText({ process, runtime }: Inspected): string {
  const words = [...process.entrypoint, ...process.cmd];
  if (words.length === 0) return "nothing";
  const user = process.user === "" ? "" : ` as user ${process.user}`;
  return `${words.join(" ")}${user}${runtime === "node" ? ", on Purlin's own Node" : ""}`;
}

function layerUse(mark: string | undefined): string {
  if (mark === "base") return "package";
  return mark === "upbound" ? "examples" : (mark ?? "");
}

function list(title: string, rows: readonly (readonly string[])[]): string {
  return rows.length === 0
    ? ""
    : `${title}:\n${formatTable(rows.map((row) => row.map(harmlessLine)).map(([first = "", ...rest]) => [`  ${first}`, ...rest]))}`;
}
