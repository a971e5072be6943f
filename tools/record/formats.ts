// SPDX-License-Identifier: Apache-2.0
// The forms in which recordings are kept.
import { spawnSync } from "node:child_process";
import { type JsonObject, type JsonValue, parseJson, printJson } from "../../packages/kube-objects/src/json/index.ts";
import type { Entry, Recording } from "./recording.ts";

type Format = Pick<Recording, "parse" | "print">;

/** One entry per line. */
export const lines: Format = {
  parse: (text) =>
    text
      .split("\n")
      .filter((line) => line !== "")
      .map((line) => parseJson(line) as JsonObject),
  print: (entries) => `${entries.map((entry) => printJson(entry)).join("\n")}\n`,
};

/** A JSON list with an entry per line. */
export const listOfLines: Format = {
  parse: (text) => [...(parseJson(text) as unknown as readonly Entry[])],
  print: (entries) => `[\n${entries.map((entry) => printJson(entry)).join(",\n")}\n]\n`,
};

/** JSON as the formatter of the repository writes it. */
export function pretty(value: JsonValue): string {
  const { status, stdout, stderr } = spawnSync("biome", ["format", "--stdin-file-path=recording.json"], {
    input: printJson(value),
    encoding: "utf8",
    maxBuffer: 1 << 28,
    shell: false,
  });
  if (status !== 0) throw new Error(`biome format failed: ${stderr}`);
  return stdout;
}

/** A JSON list, formatted. */
export const prettyList: Format = {
  parse: listOfLines.parse,
  print: (entries) => pretty([...entries]),
};

/** A list among the members of a formatted JSON object. */
export function prettyMember(name: string): Format {
  return {
    parse: (text) => [...((parseJson(text) as JsonObject)[name] as unknown as readonly Entry[])],
    print: (entries, previous) => pretty({ ...(parseJson(previous) as JsonObject), [name]: [...entries] }),
  };
}
