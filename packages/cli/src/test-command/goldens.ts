// SPDX-License-Identifier: Apache-2.0
import { mkdir, readdir } from "node:fs/promises";
import { basename, dirname, join, relative, resolve } from "node:path";
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { objectAt, objectsAt } from "@purlin/kube-objects/object";
import { readTextIfThere } from "../files/read-text.ts";
import { replaceFile } from "../files/write-files.ts";
import type { Io } from "../io.ts";
import { goldenFolder } from "../manifests/manifest.ts";
import type { TestCase } from "./test-file.ts";

/** Which golden files a run writes: those that are missing, all that differ, or none. */
export type UpdateMode = "new" | "all" | "none";

const shownLines = 20;

/** Compares output with golden files, and writes them as the mode says. */
export class Goldens {
  readonly written: string[] = [];
  readonly #io: Io;
  readonly #mode: UpdateMode;

  constructor(mode: UpdateMode, io: Io) {
    this.#mode = mode;
    this.#io = io;
  }

  async compare(file: string, text: string, test: TestCase): Promise<string[]> {
    const path = resolve(this.#io.cwd, dirname(test.file), file);
    const shown = relative(this.#io.cwd, path);
    const golden = await readTextIfThere(path, shown);
    if (golden === text) return [];
    if (this.#mode === "all" || (this.#mode === "new" && golden === undefined)) {
      await mkdir(dirname(path), { recursive: true });
      await replaceFile(path, text);
      this.written.push(shown);
      return [];
    }
    if (golden === undefined) return [`golden: ${shown} does not exist: write it with --update new`];
    return [`golden: ${shown} differs: accept the change with --update all`, ...differences(golden, text)];
  }
}

/**
 * The files in folders named `golden` or `goldens` that no case names, by their paths. Only folders inside `roots` count, whose test files
 * were all read.
 */
export async function obsoleteGoldens(cases: readonly TestCase[], roots: readonly string[], io: Io): Promise<string[]> {
  const pathsOf = (test: TestCase): string[] =>
    goldenNames(test).map((name) => resolve(io.cwd, dirname(test.file), name));
  const named = new Set(cases.flatMap(pathsOf));
  // xprin has its own files in folders of golden files.
  const ours = cases.filter(({ expect }) => expect?.["xprin"] === undefined).flatMap(pathsOf);
  const isRead = (folder: string): boolean => roots.some((root) => !relative(root, folder).startsWith(".."));
  const folders = new Set(ours.map((file) => dirname(file)).filter((at) => goldenFolder.test(basename(at))));
  const found: string[] = [];
  for (const folder of [...folders].filter(isRead)) {
    const names = await readdir(folder).catch(() => []);
    const files = names.filter((name) => /\.ya?ml$/.test(name)).map((name) => join(folder, name));
    found.push(...files.filter((file) => !named.has(file)));
  }
  return found.map((file) => relative(io.cwd, file)).sort();
}

function goldenNames({ expect, reconciles }: TestCase): string[] {
  return [expect, ...reconciles.map((one) => one.expect)].flatMap((one) => goldensIn(one ?? {}));
}

/** The golden files of expectations, also of those about composed composite resources, and of assertions of xprin. */
function goldensIn(expect: JsonObject): string[] {
  const { golden, not } = expect;
  const inner = [not, ...Object.values(objectAt(expect, ["nested"]))].filter((one) => one !== undefined);
  const asserted = objectsAt(expect, ["xprin"]).filter(({ type }) => type === "Golden");
  return [
    ...(typeof golden === "string" ? [golden] : []),
    ...asserted.flatMap(({ expected }) => (typeof expected === "string" ? [expected] : [])),
    ...inner.filter(isJsonObject).flatMap(goldensIn),
  ];
}

/** The lines that differ, a few of many. */
function differences(golden: string, text: string): string[] {
  const [before, after] = [golden.split("\n"), text.split("\n")];
  let start = 0;
  while (start < before.length && before[start] === after[start]) start += 1;
  let end = 0;
  while (end < Math.min(before.length, after.length) - start && before.at(-1 - end) === after.at(-1 - end)) end += 1;
  const removed = before.slice(start, before.length - end).map((line) => `  - ${line}`);
  const added = after.slice(start, after.length - end).map((line) => `  + ${line}`);
  return [`  line ${start + 1}:`, ...[...removed, ...added].slice(0, shownLines)];
}
