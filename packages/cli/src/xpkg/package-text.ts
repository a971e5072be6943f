// SPDX-License-Identifier: Apache-2.0

import { execFile } from "node:child_process";
import { mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { isJsonObject, parseJson, printJson } from "@purlin/kube-objects/json";
import { textAt } from "@purlin/kube-objects/object";
import { isPackageError, type PackageContents, parsePackage, type StreamPlace } from "@purlin/oci";
import { parseGlob } from "../files/glob.ts";
import { explain, readText, requireInside } from "../files/read-text.ts";
import type { Io } from "../io.ts";
import { isEditorLock } from "../manifests/ignore-file.ts";
import { isUserError, textOf, UserError } from "../user-error.ts";
import type { BundledProvider } from "./package-runtime.ts";

/** A YAML file, under the name the user would write. */
interface YamlFile {
  readonly name: string;
  readonly text: string;
}

/** What is left out of a folder. */
interface YamlFolderOptions {
  /** Seen from the folder. */
  readonly ignore?: readonly string[];
  /** Absolute paths of folders that are something else. */
  readonly except?: ReadonlySet<string>;
}

const endings = [".yaml", ".yml"];

/**
 * The YAML files in a folder and the folders below that are not empty, in an order that is the same everywhere. Links to files are followed
 * within the folder; what is outside is not the author's. Hidden folders, node_modules and lock files of editors are left out. Throws a
 * UserError for a YAML file that is not a regular file.
 */
export async function readYamlFolder(folder: string, io: Io, options: YamlFolderOptions = {}): Promise<YamlFile[]> {
  try {
    if (!(await stat(resolve(io.cwd, folder))).isDirectory()) throw new UserError(`${folder}: expected a folder`);
    const globs = (options.ignore ?? []).map(ignoredBy);
    const isLeftOut = (name: string): boolean =>
      globs.some((matches) => matches(name)) || options.except?.has(resolve(io.cwd, folder, name)) === true;
    const entries = await yamlBelow(resolve(io.cwd, folder), "", isLeftOut);
    const own = new Set(entries.filter(({ isLink }) => !isLink).map(({ name }) => name));
    const files: YamlFile[] = [];
    for (const { name: each, isLink } of entries) {
      const name = join(folder, each);
      if (isLink) {
        const target = await requireInside(folder, name, {
          io,
          advice: options.ignore && "leave it out with --ignore",
        });
        // Another name of a file that is read, or left out, is not another object.
        if (target !== undefined && (own.has(target) || isLeftOut(target))) continue;
      }
      const text = await readText(name, io, { what: "file" });
      if (text.trim() !== "") files.push({ name, text });
    }
    return files;
  } catch (error) {
    if (error instanceof UserError) throw error;
    throw new UserError(`cannot read ${folder}: ${explain(error)}`, { cause: error });
  }
}

function ignoredBy(glob: string): (name: string) => boolean {
  try {
    return parseGlob(glob);
  } catch (error) {
    if (!isUserError(error)) throw error;
    throw new UserError(`--ignore ${JSON.stringify(glob)}: ${error.message}`, { cause: error, exitCode: 2 });
  }
}

/** Something that is called as a YAML file is, seen from the folder. */
interface YamlEntry {
  readonly name: string;
  readonly isLink: boolean;
}

async function yamlBelow(root: string, prefix: string, isLeftOut: (name: string) => boolean): Promise<YamlEntry[]> {
  const entries = await readdir(join(root, prefix), { withFileTypes: true });
  const found: YamlEntry[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const name = `${prefix}${entry.name}`;
    if (isEditorLock(entry.name) || isLeftOut(name)) continue;
    if (entry.isDirectory()) {
      if (entry.name.startsWith(".") || entry.name === "node_modules") continue;
      for (const one of await yamlBelow(root, `${name}/`, isLeftOut)) found.push(one);
    } else if (endings.some((ending) => name.endsWith(ending))) {
      found.push({ name, isLink: entry.isSymbolicLink() });
    }
  }
  return found;
}

/** The `package.yaml` of a package. */
export interface PackageText {
  readonly text: string;
  readonly contents: PackageContents;
}

/** One stream of several files, and where each of its lines came from. */
interface Joined {
  readonly text: string;
  readonly place: StreamPlace;
}

/** Joins files to one stream of documents. `name` is what the whole is called. */
export function joinYaml(files: readonly YamlFile[], name: string): Joined {
  const starts: { readonly line: number; readonly name: string }[] = [];
  const parts: string[] = [];
  let line = 1;
  for (const file of files) {
    const body = file.text.replace(/^\uFEFF/, "").replace(/\n?$/, "\n");
    starts.push({ line, name: file.name });
    parts.push(`---\n${body}`);
    line += body.split("\n").length;
  }
  const place: StreamPlace = (at) => {
    const start = at === undefined ? undefined : starts.findLast((one) => one.line <= at);
    // The mark between files is on the line before the first of the file.
    return at === undefined || start === undefined ? name : `${start.name}:${Math.max(1, at - start.line)}`;
  };
  return { text: parts.join(""), place };
}

/** The package that the files of a folder make. What does not belong in it is an error. */
export async function packageText(files: readonly YamlFile[], folder: string): Promise<PackageText> {
  if (files.length === 0) {
    const file = "crossplane.yaml, with apiVersion meta.pkg.crossplane.io/v1, kind and metadata.name";
    throw new UserError(`${folder}: no files ending in .yaml or .yml found: a package needs ${file}`);
  }
  const { text, place } = joinYaml(files, folder);
  const contents = await parsePackage(text, place).catch((error: unknown) => {
    if (!isPackageError(error)) throw error;
    throw new UserError(`${error.message}: correct it, or leave a file out with --ignore`, { cause: error });
  });
  const [first, ...others] = contents.findings;
  if (first === undefined) return { text, contents };
  const more = others.length === 0 ? "" : `; and ${others.join("; ")}`;
  throw new UserError(`${first}${more}: move it elsewhere, or leave it out with --ignore`);
}

// The CRDs of a Provider on the provider kit: its program prints them.

const timeoutMs = 60_000;
const maxBytes = 64 * 1024 ** 2;
const crdKind = "CustomResourceDefinition";
const capability = "safe-start";

/** The CRDs of a Provider that its package folder does not contain, as a file of the package. Undefined without any. */
export async function generatedCrds(
  { file, bundle }: BundledProvider,
  { meta, objects }: PackageContents,
  io: Io,
): Promise<{ readonly name: string; readonly text: string } | undefined> {
  if (!isSafeStart(meta.capabilities)) {
    const reason = "without it the provider may not read CRDs, and its controllers do not start";
    io.stderr.write(`warning: crossplane.yaml: add "${capability}" to spec.capabilities: ${reason}\n`);
  }
  const known = new Set(objects.filter(({ kind }) => kind === crdKind).map((one) => textAt(one, ["metadata", "name"])));
  const crds = (await printedCrds(file, bundle.code)).filter(
    (crd) => !known.has(textAt(crd as object, ["metadata", "name"])),
  );
  if (crds.length === 0) return undefined;
  return { name: file, text: crds.map((crd) => printJson(crd as object)).join("\n---\n") };
}

function isSafeStart(capabilities: readonly string[]): boolean {
  return capabilities.some((one) => one.toLowerCase().replaceAll(/[^a-z0-9]/g, "") === "safestart");
}

async function printedCrds(file: string, code: Uint8Array): Promise<readonly unknown[]> {
  const directory = await mkdtemp(join(tmpdir(), "purlin-provider-"));
  try {
    const program = join(directory, "main.mjs");
    await writeFile(program, code);
    const options = { timeout: timeoutMs, maxBuffer: maxBytes, env: {}, cwd: directory };
    const { stdout } = await promisify(execFile)(process.execPath, [program, "--print-crds"], options);
    const crds: unknown = parseJson(stdout);
    if (Array.isArray(crds) && crds.every((one) => isJsonObject(one) && one["kind"] === crdKind)) return crds;
    throw new Error("it does not print a list of CRDs");
  } catch (error) {
    const advice = "call runProvider of @purlin/provider-sdk in the program, or package another program with --root";
    throw new UserError(`${file} --print-crds failed: ${textOf(error)}: ${advice}`, { cause: error });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
