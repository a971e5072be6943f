// SPDX-License-Identifier: Apache-2.0
import { statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import type { FunctionLimits } from "@purlin/function-process";
import { isJsonObject } from "@purlin/function-protocol";
import { readTextSync } from "../files/read-text.ts";
import { parseYaml, type YamlDocument } from "../files/yaml-file.ts";
import type { PathSegment } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { type CommandInput, textOption } from "../options/command-spec.ts";
import { limitFields, readLimits } from "../options/function-limits.ts";
import { UserError } from "../user-error.ts";

/**
 * The nearest path of that name, in a folder or one of its parents. What another user owns is found in the folder itself
 * only: anyone may create files in a shared parent such as /tmp, and a kubeconfig can name a program to run.
 */
export function findUp(name: string, start: string, uid: number | undefined = process.getuid?.()): string | undefined {
  for (let folder = start; ; folder = dirname(folder)) {
    const path = join(folder, name);
    const found = statSync(path, { throwIfNoEntry: false });
    if (found !== undefined && (folder === start || uid === undefined || found.uid === uid)) return path;
    if (folder === dirname(folder)) return undefined;
  }
}

/** The file with the settings of a project. */
export const projectFileName = "purlin.yaml";

/** What purlin.yaml says; everything in it is optional. */
interface ProjectFile {
  /** Absolute. */
  readonly dataDir?: string | undefined;
  /** What `purlin up` applies where its command line names nothing; absolute. */
  readonly paths?: readonly string[] | undefined;
  readonly ports: { readonly api?: number | undefined; readonly registry?: number | undefined };
  readonly features: {
    readonly functionRevisionSelectors?: boolean | undefined;
    readonly functionRollouts?: boolean | undefined;
  };
  readonly functions: { readonly requireSandbox?: boolean | undefined; readonly limits?: Partial<FunctionLimits> };
  /** The namespace of objects and commands that name none. */
  readonly namespace?: string | undefined;
}

/** The fields of the file, with those inside of them. */
export const projectFileFields: Readonly<Record<string, readonly string[]>> = {
  dataDir: [],
  paths: [],
  ports: ["api", "registry"],
  features: ["functionRevisionSelectors", "functionRollouts"],
  functions: ["requireSandbox", ...limitFields],
  namespace: [],
};

const empty: ProjectFile = { ports: {}, features: {}, functions: {} };

/** The settings of the nearest purlin.yaml. Throws a UserError with the line of a field that is unknown or wrong. */
export function readProjectFile(io: Pick<Io, "cwd">): ProjectFile {
  const file = findUp(projectFileName, io.cwd);
  if (file === undefined) return empty;
  const shown = relative(io.cwd, file);
  const document = parse(file, shown);
  if (document === undefined) return empty;
  const root = membersOf(document, [], Object.keys(projectFileFields));
  const [ports, features, functions] = (["ports", "features", "functions"] as const).map((name) =>
    membersOf(document, [name], projectFileFields[name] ?? []),
  ) as [Members, Members, Members];
  const read = { document, root, ports, features, functions };
  const dataDir = textOf(read, "dataDir");
  return {
    dataDir: dataDir === undefined ? undefined : resolve(dirname(file), dataDir),
    paths: pathsOf(read)?.map((path) => resolve(dirname(file), path)),
    ports: { api: portOf(read, "api"), registry: portOf(read, "registry") },
    features: {
      functionRevisionSelectors: switchOf(read, ["features", "functionRevisionSelectors"]),
      functionRollouts: switchOf(read, ["features", "functionRollouts"]),
    },
    functions: { requireSandbox: switchOf(read, ["functions", "requireSandbox"]), limits: limitsOf(read) },
    namespace: textOf(read, "namespace"),
  };
}

function parse(file: string, shown: string): YamlDocument | undefined {
  const [document, another] = parseYaml(readTextSync(file, shown), shown);
  if (another !== undefined) throw new UserError(`${another.at()}: expected one document`);
  return document;
}

type Members = Readonly<Record<string, unknown>>;

interface Reading {
  readonly document: YamlDocument;
  readonly root: Members;
  readonly ports: Members;
  readonly features: Members;
  readonly functions: Members;
}

function membersOf(document: YamlDocument, path: readonly string[], known: readonly string[]): Members {
  let value: unknown = document.value;
  for (const name of path) value = isJsonObject(value) ? value[name] : undefined;
  if (value === undefined || value === null) return {};
  if (!isJsonObject(value)) throw wrong(document, path, "must be an object");
  const unknown = Object.keys(value).find((name) => !known.includes(name));
  if (unknown === undefined) return value;
  throw wrong(document, [...path, unknown], `unknown field; expected ${known.join(", ")}`);
}

function textOf({ document, root }: Reading, name: "dataDir" | "namespace"): string | undefined {
  const value = root[name];
  if (value === undefined || (typeof value === "string" && value !== "")) return value;
  throw wrong(document, [name], "must be a non-empty string");
}

function pathsOf({ document, root }: Reading): readonly string[] | undefined {
  const value = root["paths"];
  const isList = Array.isArray(value) && value.every((path) => typeof path === "string" && path !== "");
  if (value === undefined || isList) return value as readonly string[] | undefined;
  throw wrong(document, ["paths"], "must be a list of files and folders");
}

function portOf({ document, ports }: Reading, name: "api" | "registry"): number | undefined {
  const value = ports[name];
  if (value === undefined) return undefined;
  if (typeof value === "number" && Number.isInteger(value) && value > 0 && value <= 65_535) return value;
  throw wrong(document, ["ports", name], "must be a port between 1 and 65535");
}

function switchOf(read: Reading, [group, name]: readonly ["features" | "functions", string]): boolean | undefined {
  const value = read[group][name];
  if (value === undefined || typeof value === "boolean") return value;
  throw wrong(read.document, [group, name], "must be true or false");
}

function limitsOf({ document, functions }: Reading): Partial<FunctionLimits> {
  return readLimits(
    (field) => functions[field],
    (field, problem) => wrong(document, ["functions", field], problem),
  );
}

function wrong(document: YamlDocument, path: readonly PathSegment[], problem: string): UserError {
  const field = path.length === 0 ? "" : `${path.join(".")}: `;
  return new UserError(`${document.at(path)}: ${field}${problem}`, { exitCode: 2 });
}

/** The folder of a control plane, unless another is named. */
const defaultDataDir = ".purlin";

/** The folder that `purlin up` keeps its control plane in: --data-dir, $PURLIN_DATA_DIR, purlin.yaml, or .purlin here. */
export function ownDataDir(input: CommandInput, io: Io): string {
  return namedDataDir(input, io) ?? resolve(io.cwd, defaultDataDir);
}

/** The folder that commands in another terminal find by themselves: that of purlin.yaml, or .purlin here. */
export function usualDataDir(io: Io): string {
  return readProjectFile(io).dataDir ?? resolve(io.cwd, defaultDataDir);
}

/** The folder of the control plane that a command talks to: as for `purlin up`, and then the nearest .purlin of a parent. */
export function currentDataDir(input: CommandInput, io: Io): string {
  const named = namedDataDir(input, io);
  if (named !== undefined) return named;
  const kubeconfig = findUp(join(defaultDataDir, "kubeconfig"), io.cwd);
  return kubeconfig === undefined ? resolve(io.cwd, defaultDataDir) : dirname(kubeconfig);
}

function namedDataDir(input: CommandInput, io: Io): string | undefined {
  const named = textOption(input, "dataDir") ?? (io.env["PURLIN_DATA_DIR"] || undefined);
  return named === undefined ? readProjectFile(io).dataDir : resolve(io.cwd, named);
}

/** The Docker config with the token of the registry of `purlin up`, in its data directory. Its folder is good for $DOCKER_CONFIG. */
export function dockerConfigPath(directory: string): string {
  return join(directory, "docker", "config.json");
}
