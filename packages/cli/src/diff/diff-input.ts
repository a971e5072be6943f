// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { decodeUtf8, readRegularFileSync, requireRegularFile } from "@purlin/kube-objects/files";
import { isJsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { parseApiVersion } from "@purlin/kube-objects/object";
import { type LabelSelector, parseLabelSelector } from "@purlin/kube-objects/selector";
import type { ApplyAs, Assumptions, PreviewOptions } from "@purlin/preview";
import { explain, readText } from "../files/read-text.ts";
import { parseYaml } from "../files/yaml-file.ts";
import type { Io } from "../io.ts";
import type { Manifest } from "../manifests/manifest.ts";
import { type CommandInput, isSet, listOption, readTimeout, textOption } from "../options/command-spec.ts";
import { textOf, UserError } from "../user-error.ts";

/** The formats of a preview. */
type DiffFormat = "plan" | "diff" | "json" | "yaml" | "markdown";
type ExitStyle = "purlin" | "kubectl" | "terraform" | "none";

/** What the command line of `purlin diff` says. */
export interface DiffInput {
  readonly paths: readonly string[];
  readonly overrides: readonly FunctionOverride[];
  readonly deletes: readonly string[];
  readonly only: readonly string[];
  readonly ignores: PreviewOptions["ignores"];
  readonly shows: ReadonlySet<string>;
  readonly maxRounds: number;
  readonly parallel: number;
  readonly baseline: boolean;
  readonly applyAs: ApplyAs;
  readonly timeoutMs: number;
  readonly format: DiffFormat;
  readonly exitStyle: ExitStyle;
  readonly isCompact: boolean;
  readonly key: string;
  /** Which composite resources are previewed, and which objects are pruned. */
  readonly selector: LabelSelector | undefined;
  readonly selectorText: string;
  readonly prunes: boolean;
  readonly includesManual: boolean;
  readonly checksStable: boolean;
  readonly maxDepth: number | undefined;
  readonly functionsFrom: "auto" | "live" | "local";
  readonly credentialsFile: string | undefined;
  readonly isCompositionMinimized: boolean;
  readonly printsRights: boolean;
  readonly hasControllerRights: boolean;
}

/** Another source of a function. */
export interface FunctionOverride {
  readonly name: string;
  readonly kind: "source" | "target" | "image" | "revision";
  /** An absolute path, `host:port`, an image reference, or the name of a FunctionRevision. */
  readonly source: string;
}

const wrong = (text: string): UserError => new UserError(text, { exitCode: 2 });

/** Reads the command line. */
export function readDiffInput(input: CommandInput, io: Io): DiffInput {
  const [first, ...rest] = input.args;
  // The subcommands of crossplane-diff.
  const isWord = (first === "xr" || first === "comp") && !existsSync(resolve(io.cwd, first));
  return {
    paths: isWord ? rest : input.args,
    overrides: listOption(input, "function").map((text) => readOverride(text, io)),
    deletes: listOption(input, "delete"),
    only: [...listOption(input, "xr"), ...listOption(input, "resource")],
    ignores: readIgnores(ignorePatterns(input, io)),
    shows: readShows(textOption(input, "show") ?? ""),
    maxRounds: positive("--max-rounds", textOption(input, "maxIterations") ?? textOption(input, "maxRounds") ?? "20"),
    parallel: positive("--parallel", textOption(input, "parallel") ?? "8"),
    baseline: input.options["baseline"] !== false,
    applyAs: readApplyAs(textOption(input, "applyAs") ?? "auto"),
    timeoutMs: readTimeout(textOption(input, "timeout") ?? "10m"),
    format: oneOf("-o", textOption(input, "output") ?? "plan", ["plan", "diff", "json", "yaml", "markdown"]),
    exitStyle: oneOf("--exit-code", textOption(input, "exitCode") ?? "purlin", [
      "purlin",
      "kubectl",
      "terraform",
      "none",
    ]),
    isCompact: isSet(input, "compact"),
    key: textOption(input, "key") ?? "default",
    ...readSelection(input),
    includesManual: isSet(input, "includeManual") || isSet(input, "includePinned"),
    checksStable: isSet(input, "checkStable"),
    maxDepth: optionalPositive("--max-nested-depth", textOption(input, "maxNestedDepth")),
    functionsFrom: oneOf("--functions", textOption(input, "functions") ?? "auto", ["auto", "live", "local"]),
    credentialsFile: textOption(input, "functionCredentials"),
    isCompositionMinimized: isSet(input, "minimizeComposition"),
    printsRights: isSet(input, "printRbac"),
    hasControllerRights: textOption(input, "as") !== undefined,
  };
}

function readSelection(input: CommandInput): Pick<DiffInput, "selector" | "selectorText" | "prunes"> {
  const selectorText = textOption(input, "selector") ?? "";
  const prunes = isSet(input, "prune");
  if (prunes && selectorText === "")
    throw wrong("--prune: needs -l with the labels of the objects that belong to the files");
  try {
    return { selector: selectorText === "" ? undefined : parseLabelSelector(selectorText), selectorText, prunes };
  } catch (error) {
    throw wrong(`-l ${selectorText}: ${textOf(error)}`);
  }
}

function optionalPositive(flag: string, text: string | undefined): number | undefined {
  return text === undefined ? undefined : positive(flag, text);
}

const maxIgnoreBytes = 1024 * 1024;

/** The patterns of --ignore and of the file of --ignore-file. */
function ignorePatterns(input: CommandInput, io: Io): readonly string[] {
  const file = textOption(input, "ignoreFile");
  const given = [...listOption(input, "ignore"), ...listOption(input, "ignorePaths")];
  if (file === undefined) return given;
  try {
    const lines = decodeUtf8(readRegularFileSync(resolve(io.cwd, file), { maxBytes: maxIgnoreBytes })).split("\n");
    return [...given, ...lines.map((line) => line.replace(/(^|\s)#.*$/, "").trim()).filter((line) => line !== "")];
  } catch (error) {
    throw wrong(`--ignore-file ${file}: ${explain(error)}`);
  }
}

function oneOf<T extends string>(flag: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((one) => one === value);
  if (found === undefined) throw wrong(`${flag}: expected ${allowed.join(", ")}, not "${value}"`);
  return found;
}

function positive(flag: string, text: string): number {
  if (!/^[1-9][0-9]{0,5}$/.test(text)) throw wrong(`${flag}: expected a number from 1, not "${text}"`);
  return Number(text);
}

/** Reads `NAME=SOURCE`. */
export function readOverride(text: string, io: Io): FunctionOverride {
  const at = text.indexOf("=");
  const [name, source] = [text.slice(0, at), text.slice(at + 1)];
  if (at < 1 || source === "") throw wrong(`--function: expected NAME=SOURCE, not "${text}"`);
  if (/\.[cm]?[tj]s$/.test(source)) return { name, kind: "source", source: existingFile(name, source, io) };
  if (source.startsWith("revision:")) return { name, kind: "revision", source: source.slice("revision:".length) };
  if (/\.xpkg$/.test(source)) return { name, kind: "image", source: existingFile(name, source, io) };
  if (/^[^/\s]+:[0-9]{1,5}$/.test(source)) return { name, kind: "target", source };
  if (isReference(source)) return { name, kind: "image", source };
  throw wrong(
    `--function ${name}: cannot run "${source}": expected a source file (./fn.ts), a package file (x.xpkg), an image (registry/name:tag), revision:NAME, or host:port`,
  );
}

/** The path of a file to run, which is neither a device nor a FIFO: whatever opens one would wait. */
function existingFile(name: string, source: string, io: Io): string {
  const file = resolve(io.cwd, source);
  if (!existsSync(file)) throw wrong(`--function ${name}: no such file: ${source}`);
  try {
    requireRegularFile(file);
  } catch (error) {
    throw wrong(`--function ${name}: cannot run ${source}: ${explain(error)}`);
  }
  return file;
}

/** An image reference with a registry or a path: a bare word is more often a mistake. */
function isReference(text: string): boolean {
  return /^[a-z0-9.-]+(:[0-9]+)?\/[a-z0-9._/-]+([:@][A-Za-z0-9._:-]+)?$/.test(text);
}

function readShows(text: string): ReadonlySet<string> {
  const words = text.split(",").filter((word) => word !== "");
  for (const word of words) oneOf("--show", word, ["status", "owners", "unchanged", "pending"]);
  return new Set(words);
}

function readApplyAs(text: string): ApplyAs {
  if (text === "auto" || text === "kubectl") return { mode: text };
  const [mode, manager = "purlin-apply"] = text.split("=");
  if (mode !== "server-side" || manager === "")
    throw wrong(`--apply-as: expected auto, kubectl or server-side[=MANAGER], not "${text}"`);
  return { mode, manager };
}

/** `PATH`, `Kind:PATH` or `Kind.group:PATH`, with `*` for one level. A path stands for everything below it. */
function readIgnores(patterns: readonly string[]): PreviewOptions["ignores"] {
  const rules = patterns.map((pattern) => {
    const match = /^([A-Z][A-Za-z0-9]*)(?:\.([a-z0-9.-]+))?:(.+)$/.exec(pattern);
    const [, kind, group, path = pattern] = match ?? [];
    const source = path
      .split("*")
      .map((part) => part.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&"))
      .join("[^.\\[\\]]+");
    return { kind, group, path: new RegExp(`^${source}(?:$|[.\\[])`) };
  });
  return ({ path, kind, apiVersion }) =>
    rules.some((rule) => {
      if (rule.kind !== undefined && rule.kind !== kind) return false;
      if (rule.group !== undefined && rule.group !== parseApiVersion(apiVersion).group) return false;
      return rule.path.test(path);
    });
}

/** What `--assume` says; undefined to stop where composed resources would have to become ready. */
export async function readAssumptions(input: CommandInput, io: Io): Promise<Assumptions | undefined> {
  const text = isSet(input, "eventualState") ? "ready" : (textOption(input, "assume") ?? "ready");
  if (text === "none") return undefined;
  if (text === "ready") return [];
  const entries = parseYaml(await readText(text, io, { what: "assumptions" }), text).flatMap(({ value }) =>
    Array.isArray(value) ? value : [value],
  );
  return entries.map((entry, at) => {
    const given = entry as JsonValue;
    if (!isJsonObject(given) || !isJsonObject(given["match"]) || !isJsonObject(given["status"])) {
      throw wrong(`${text}: entry ${at + 1}: expected {match: {kind: …}, status: {…}}`);
    }
    return { match: given["match"] as Assumptions[number]["match"], status: given["status"] };
  });
}

/** An object that two files contain has no one form to preview. */
export function refuseDuplicates(manifests: readonly Manifest[]): void {
  const seen = new Map<string, Manifest>();
  for (const manifest of manifests) {
    const { apiVersion, kind, metadata } = manifest.object;
    if (!metadata.name) continue;
    const id = [parseApiVersion(apiVersion).group, kind, metadata.namespace ?? "", metadata.name].join("\n");
    const other = seen.get(id);
    if (other !== undefined)
      throw wrong(`${manifest.at()}: ${kind} "${metadata.name}" is also at ${other.at()}: remove one of them`);
    seen.set(id, manifest);
  }
}

/** What a preview came to. */
interface DiffOutcome {
  readonly hasFailed: boolean;
  readonly isInvalid: boolean;
  readonly hasChanges: boolean;
}

/** The exit code in a style. */
export function exitCodeOf({ hasFailed, isInvalid, hasChanges }: DiffOutcome, style: ExitStyle): number {
  if (style === "kubectl") return hasFailed || isInvalid ? 2 : hasChanges ? 1 : 0;
  if (style === "terraform") return hasFailed || isInvalid ? 1 : hasChanges ? 2 : 0;
  if (hasFailed) return 1;
  if (isInvalid) return 2;
  return hasChanges && style === "purlin" ? 3 : 0;
}
