// SPDX-License-Identifier: Apache-2.0
// Which files each suite has, and which of them share a process.
import { globSync } from "node:fs";
import type { Group } from "./test-process.ts";

export interface Suite {
  readonly groups: readonly Group[];
  /** How many groups run at once. */
  readonly atOnce: number;
  /** Groups that run one by one, when all others have ended. */
  readonly alone?: readonly Group[];
  /** Groups that run one after the other share a process. */
  readonly sharesProcesses?: boolean;
}

const silenceMs = 300_000;
/** A file may have to wait for the processor while another one runs beside it. */
const pairedSilenceMs = 600_000;
/** Two hundred crashes take longer than any other test. */
const chaosSilenceMs = 3_600_000;
/** More files than this are split: a package of a hundred files would be the last one running on one core. */
const filesPerGroup = 24;
/** Slowest first, so that short ones fill the gaps at the end. These start programs and wait for them, or for timers. */
const slowest = [
  "packages/control-plane",
  "packages/function-process",
  "packages/provider-sdk",
  "packages/package-manager",
  "packages/cli",
  "tools",
  "packages/preview",
  "packages/oci",
  "packages/function-runner",
  "packages/composition",
  "packages/function-sdk",
  "packages/function-protocol",
  "test",
];

const unitFiles = [
  "packages/*/{src,test}/**/*.test.ts",
  "examples/*/**/*.test.ts",
  "tools/**/*.test.ts",
  "bench/src/**/*.test.ts",
  "test/fuzz/*.test.ts",
];

/**
 * Tests that start the command, whole control planes or packages: the guides as a reader follows them, `up`, new projects, previews of a
 * live control plane and so on; and ten thousand random races.
 */
const commandFiles = [
  "packages/cli/src/{*guide,launcher}.test.ts",
  "packages/cli/src/{apiserver,backup,dev,function-init,function-run,init,start,up,xpkg}/**/*.test.ts",
  "packages/cli/src/test-command/test-command.test.ts",
  "packages/control-plane/src/**/*.test.ts",
  "packages/preview/src/*.test.ts",
  "packages/composition/src/usage/usage-races.test.ts",
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
  const count = Math.ceil(files.length / filesPerGroup);
  return Array.from({ length: count }, (_, part) => ({
    title: count === 1 ? folder : `${folder} (${part + 1} of ${count})`,
    files: files.filter((_file, index) => index % count === part),
    silenceMs,
  }));
}

/** Groups of files of one folder. */
function sharedGroups(files: readonly string[]): Group[] {
  const folders = Map.groupBy(files, folderOf);
  return [...folders]
    .sort(([a, first], [b, second]) => rank(a) - rank(b) || second.length - first.length)
    .flatMap(([folder, files]) => split(folder, files));
}

/** Which files to run. Absent: all files of the suite. */
type Select = ((file: string) => boolean) | undefined;
type MakeSuite = (select: Select, cores: number) => Suite;

const all = (): boolean => true;

/** The unit tests. A selection also finds the tests of the command, so that `npm test -- packages/cli/` means all of that package. */
function unit(select: Select, cores: number): Suite {
  const apart = new Set(select ? [] : find(commandFiles));
  const files = find(unitFiles).filter((file) => !apart.has(file));
  return { groups: sharedGroups(files.filter(select ?? all)), atOnce: waiting(cores), sharesProcesses: true };
}

/** More than cores: many tests wait for a program or a timer. */
const waiting = (cores: number): number => cores + 3;

const fileGroups = (files: readonly string[], limitMs: number): Group[] =>
  files.map((file) => ({ title: file, files: [file], silenceMs: limitMs }));

/** Files of a suite that do not run beside all others. */
interface Limits {
  /** They use the same thing of the machine, such as a well-known port: never two of them at once. */
  readonly inTurn?: RegExp;
  /** They take longest: they begin first, so that the others fill the second place beside them. */
  readonly first?: RegExp;
  /** They need all processors, kill processes at chosen moments or have short deadlines: nothing runs beside them. */
  readonly alone?: RegExp;
  /** How long a file may print nothing. */
  readonly limitMs?: number;
}

/** A suite that mostly waits for programs: each file has a process of its own, and two run at once. */
function inPairs(patterns: string | readonly string[], limits: Limits = {}): MakeSuite {
  const { inTurn, first, alone, limitMs = pairedSilenceMs } = limits;
  return (select = all, cores) => {
    const found = fileGroups(find(patterns).filter(select), limitMs);
    const matches = (group: Group, pattern: RegExp | undefined): boolean => pattern?.test(group.title) ?? false;
    const together = found.filter((group) => !matches(group, alone));
    // Those that run in turn begin first: the others fill the second place.
    const [turns = [], rest = []] = [true, false].map((is) =>
      together.filter((group) => matches(group, inTurn) === is),
    );
    return {
      groups: [
        ...turns.map((group) => ({ ...group, inTurn: true })),
        ...rest.filter((group) => matches(group, first)),
        ...rest.filter((group) => !matches(group, first)),
      ],
      atOnce: Math.min(2, cores),
      alone: found.filter((group) => matches(group, alone)),
    };
  };
}

/** The suites by name. `cores` is how many processors there are. */
export const suites: Record<string, MakeSuite> = {
  unit,
  command: (select = all, cores) => ({
    groups: sharedGroups(find(commandFiles).filter(select)),
    atOnce: waiting(cores),
    sharesProcesses: true,
  }),
  // Their functions in Go open port 8080, and some of these tests look for the process that listens there.
  interop: inPairs(["test/interop/*.test.ts", "test/interop/{certificates,packages,providers}/*.test.ts"], {
    inTurn: /\/(certificates|packages|providers)\//,
    alone: /runner-faults/,
  }),
  clients: inPairs("test/interop/apiserver/**/*.test.ts", { first: /go-controller|kubectl\.test/ }),
  // One of them waits for two minutes and more; the others together take as long.
  conformance: inPairs("test/conformance/**/*.test.ts", { first: /conformance\/conformance/ }),
  // Each measures a server of its own, one after the other. Slow clients wait for two minutes, so they run beside the others.
  chaos: inPairs("test/chaos/**/*.test.ts", { inTurn: /chaos\/(?!slow-loris)/, limitMs: chaosSilenceMs }),
  // Those that run alone measure how long a turn of the event loop takes, or limits of the processor.
  hostile: inPairs("test/hostile/**/*.test.ts", { alone: /\/(answers|cluster|harness|objects)\/|limits\/limits/ }),
  e2e: inPairs("test/e2e/**/*.test.ts", { alone: /\/load\/|killed-processes|unreachable/ }),
};
