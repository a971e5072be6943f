// SPDX-License-Identifier: Apache-2.0
// Which files each suite has, and which of them share a process.
import { globSync } from "node:fs";
import type { Group } from "./run-group.ts";

export interface Suite {
  readonly groups: readonly Group[];
  /** How many groups run at once. */
  readonly atOnce: number;
}

const silenceMs = 300_000;
/** Two hundred crashes take longer than any other test. */
const chaosSilenceMs = 3_600_000;
/** More files than this are split: a package of a hundred files would be the last one running on one core. */
const filesPerProcess = 24;
/** These start programs and wait for them, slowest first, so the short ones fill the gaps. */
const slowest = [
  "packages/cli",
  "packages/package-manager",
  "packages/function-process",
  "packages/control-plane",
  "packages/composition",
];

const unitFiles = [
  "packages/*/src/**/*.test.ts",
  "examples/*/**/*.test.ts",
  "tools/**/*.test.ts",
  "bench/src/**/*.test.ts",
  "test/fuzz/*.test.ts",
];

const find = (patterns: string | readonly string[]): string[] =>
  globSync(patterns, { exclude: (path) => path.includes("node_modules") }).sort();

/** `packages/cel` of `packages/cel/src/parse.test.ts`. */
const folderOf = (file: string): string =>
  file
    .split("/")
    .slice(0, file.startsWith("packages/") ? 2 : 1)
    .join("/");

function rank(folder: string): number {
  const index = slowest.indexOf(folder);
  return index === -1 ? slowest.length : index;
}

/** Equal parts of a folder's files. Neighbors go to different parts: tests of one subject tend to be equally slow. */
function split(folder: string, files: readonly string[]): Group[] {
  const count = Math.ceil(files.length / filesPerProcess);
  return Array.from({ length: count }, (_, part) => ({
    title: count === 1 ? folder : `${folder} (${part + 1} of ${count})`,
    files: files.filter((_file, index) => index % count === part),
    silenceMs,
  }));
}

function unitGroups(select: (file: string) => boolean): Group[] {
  const folders = Map.groupBy(find(unitFiles).filter(select), folderOf);
  return [...folders]
    .sort(([a, first], [b, second]) => rank(a) - rank(b) || second.length - first.length)
    .flatMap(([folder, files]) => split(folder, files));
}

/** Suites against real peers measure processes and ports, so each file has a process of its own and nothing runs beside it. */
function oneByOne(patterns: string | readonly string[], limitMs = silenceMs): (select: Select) => Suite {
  return (select) => {
    const files = find(patterns).filter(select);
    return { groups: files.map((file) => ({ title: file, files: [file], silenceMs: limitMs })), atOnce: 1 };
  };
}

type Select = (file: string) => boolean;

/** The suites by name. `cores` is how many processors there are. */
export const suites: Record<string, (select: Select, cores: number) => Suite> = {
  // More than cores: many tests wait for a program or a timer.
  unit: (select, cores) => ({ groups: unitGroups(select), atOnce: cores + 2 }),
  interop: oneByOne(["test/interop/*.test.ts", "test/interop/{certificates,packages}/*.test.ts"]),
  clients: oneByOne("test/interop/apiserver/**/*.test.ts"),
  conformance: oneByOne("test/conformance/**/*.test.ts"),
  chaos: oneByOne("test/chaos/**/*.test.ts", chaosSilenceMs),
  hostile: oneByOne("test/hostile/**/*.test.ts"),
  e2e: oneByOne("test/e2e/**/*.test.ts"),
};
