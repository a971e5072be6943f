// SPDX-License-Identifier: Apache-2.0
// Which files each suite has, and which of them share a process.
import { globSync } from "node:fs";
import type { Group } from "./run-group.ts";

export interface Suite {
  readonly groups: readonly Group[];
  /** How many groups run at once. */
  readonly atOnce: number;
  /** Groups that run one by one, when all others have ended. */
  readonly alone?: readonly Group[];
}

const silenceMs = 300_000;
/** A file may have to wait for the processor while another one runs beside it. */
const pairedSilenceMs = 600_000;
/** Two hundred crashes take longer than any other test. */
const chaosSilenceMs = 3_600_000;
/** More files than this are split: a package of a hundred files would be the last one running on one core. */
const filesPerProcess = 24;
/** Slowest first, so that short ones fill the gaps at the end. These start programs and wait for them, or for timers. */
const slowest = [
  "packages/cli",
  "packages/package-manager",
  "packages/function-process",
  "packages/control-plane",
  "tools",
  "packages/oci",
  "packages/function-runner",
  "packages/composition",
  "packages/function-sdk",
  "packages/function-protocol",
  "test",
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

type Select = (file: string) => boolean;
type MakeSuite = (select: Select, cores: number) => Suite;

const fileGroups = (files: readonly string[], limitMs: number): Group[] =>
  files.map((file) => ({ title: file, files: [file], silenceMs: limitMs }));

/** A suite that measures memory, processes and the event loop: each file has a process of its own, and nothing runs beside it. */
function oneByOne(patterns: string | readonly string[], limitMs = silenceMs): MakeSuite {
  return (select) => ({ groups: fileGroups(find(patterns).filter(select), limitMs), atOnce: 1 });
}

/** Files of a suite that do not run beside all others. */
interface Limits {
  /** They use the same thing of the machine, such as a well-known port: never two of them at once. */
  readonly inTurn?: RegExp;
  /** They need all processors, kill processes at chosen moments or have short deadlines: nothing runs beside them. */
  readonly alone?: RegExp;
}

/** A suite that mostly waits for programs: each file has a process of its own, and two run at once. */
function inPairs(patterns: string | readonly string[], { inTurn, alone }: Limits = {}): MakeSuite {
  return (select, cores) => {
    const all = fileGroups(find(patterns).filter(select), pairedSilenceMs);
    const matches = (group: Group, pattern: RegExp | undefined): boolean => pattern?.test(group.title) ?? false;
    const together = all.filter((group) => !matches(group, alone));
    // Those that run in turn begin first: the others fill the second place.
    const [turns = [], rest = []] = [true, false].map((is) =>
      together.filter((group) => matches(group, inTurn) === is),
    );
    return {
      groups: [...turns.map((group) => ({ ...group, inTurn: true })), ...rest],
      atOnce: Math.min(2, cores),
      alone: all.filter((group) => matches(group, alone)),
    };
  };
}

/** The suites by name. `cores` is how many processors there are. */
export const suites: Record<string, MakeSuite> = {
  // More than cores: many tests wait for a program or a timer.
  unit: (select, cores) => ({ groups: unitGroups(select), atOnce: cores + 2 }),
  // Their functions in Go open port 8080, and some of these tests look for who listens there.
  interop: inPairs(["test/interop/*.test.ts", "test/interop/{certificates,packages}/*.test.ts"], {
    inTurn: /\/(certificates|packages)\//,
    alone: /runner-faults/,
  }),
  clients: inPairs("test/interop/apiserver/**/*.test.ts"),
  conformance: oneByOne("test/conformance/**/*.test.ts"),
  chaos: oneByOne("test/chaos/**/*.test.ts", chaosSilenceMs),
  hostile: oneByOne("test/hostile/**/*.test.ts"),
  e2e: inPairs("test/e2e/**/*.test.ts", { alone: /\/load\/|killed-processes|unreachable/ }),
};
