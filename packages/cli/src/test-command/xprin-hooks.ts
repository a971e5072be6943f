// SPDX-License-Identifier: Apache-2.0
// Hooks of suites of xprin: programs of a shell before and after a test. What a test lacks while they are not run.
import { existsSync } from "node:fs";
import { resolve, sep } from "node:path";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";

/** A program of a suite. */
export interface Hook {
  readonly when: "pre-test" | "post-test";
  readonly name: string | undefined;
  /** The program, with its templates. */
  readonly run: string;
  /** `file:line:column`. */
  readonly at: string;
  /** The file of its suite. */
  readonly suite: string;
  /** The folder of its suite, in which it runs. */
  readonly folder: string;
}

/** Templates of Go in a text. None has the beginning of another in it: looking for the end of each of many that do not end would take long. */
export const templatePattern: RegExp = /\{\{-?((?:[^{}]|\{(?!\{))*?)-?\}\}/g;

/** A hook by its name and place. */
const hookText = ({ when, name, at }: Hook): string =>
  `the ${when} hook${name === undefined ? "" : ` ${JSON.stringify(name)}`} at ${at}`;

const printing = /^(?:#.*|(?:echo|printf|exit|true|false|:|sleep)(?:\s[^<>|;&`()]*)?(?:>&2\s*)?)?$/;
const removing = /^rm\s[^<>|;&`()]*$/;

/** Whether a hook can change a file: one that only prints cannot. */
const changesFiles = (hook: Hook): boolean => linesOf(hook).some((line) => !printing.test(line));

/** Whether a hook can make a file: one that only prints or removes files cannot. */
const makesFiles = (hook: Hook): boolean => linesOf(hook).some((line) => !printing.test(line) && !removing.test(line));

const linesOf = ({ run }: Hook): string[] =>
  run
    .replaceAll(templatePattern, "template")
    .split("\n")
    .map((line) => line.trim());

/** The value of the first template that a hook which can change files uses and that matches; undefined if there is none. */
function templateUsed(hook: Hook, pattern: RegExp): string | undefined {
  if (!changesFiles(hook)) return undefined;
  return [...hook.run.matchAll(templatePattern)].map(([, inner = ""]) => inner.trim()).find((one) => pattern.test(one));
}

/** A test of a suite, as far as hooks matter to it. */
interface HookedTest {
  readonly suite: string;
  readonly folder: string;
  /** Hooks of tests above, and of suites before. */
  readonly earlier: readonly Hook[];
  readonly own: readonly Hook[];
  /** Hooks of tests above whose outputs it takes. */
  readonly ofNeeded: readonly Hook[];
  readonly inputs: readonly string[];
  readonly goldens: readonly string[];
}

/**
 * Why a test does not run while hooks do not: one can change what the test takes, or makes a file that the test needs. Undefined if the
 * test does not depend on a hook.
 */
export function reasonWithoutHooks(test: HookedTest): string | undefined {
  const before = test.own.filter(({ when }) => when === "pre-test");
  const after = test.ofNeeded.filter(({ when }) => when === "post-test");
  for (const hook of [...before, ...after]) {
    const used = templateUsed(hook, hook.when === "pre-test" ? /./ : /\.Outputs\b/);
    if (used !== undefined) return `${hookText(hook)} uses {{ ${used} }}, and hooks are not run`;
  }
  const missing = (names: readonly string[], hooks: readonly Hook[]): string | undefined =>
    names.map((name) => reasonWithout(name, test, hooks)).find((reason) => reason !== undefined);
  // xprin looks for the inputs of a test before it runs the hooks of the test.
  return missing(test.inputs, test.earlier) ?? missing(test.goldens, [...test.earlier, ...before]);
}

/** A hook that names a file makes it. So may any other of the same suite: a script, or a program with a folder for its output. */
function reasonWithout(name: string, { suite, folder }: HookedTest, hooks: readonly Hook[]): string | undefined {
  const path = resolve(folder, name);
  if (existsSync(path)) return undefined;
  const makers = hooks.filter(makesFiles);
  const naming = makers.findLast((hook) => namesPath(hook, path));
  const maker = naming ?? makers.findLast((hook) => hook.suite === suite);
  if (maker === undefined) return undefined;
  return `${name} does not exist: ${hookText(maker)} ${naming ? "names it" : "may create it"}, and hooks are not run`;
}

/** Whether a word of a hook is a path, or a folder above it that does not exist either. */
function namesPath({ run, folder }: Hook, path: string): boolean {
  const words = run.replaceAll(templatePattern, " ").split(/[\s"'`;|&<>()=]+/);
  return words
    .filter((word) => word !== "")
    .map((word) => resolve(folder, word))
    .some((named) => named === path || (path.startsWith(`${named}${sep}`) && !existsSync(named)));
}

/** The value of a template of Go that names a value, or one in a list or map; undefined for others. */
export function valueIn(template: string, values: JsonObject): JsonValue | undefined {
  const [, path = "", given = ""] = /^(?:index\s+)?((?:\.\w+)+)((?:\s+(?:"[^"]*"|\d+))*)$/.exec(template) ?? [];
  const keys = [
    ...path.slice(1).split("."),
    ...[...given.matchAll(/"([^"]*)"|(\d+)/g)].map(([, text, at]) => text ?? at ?? ""),
  ];
  let value: JsonValue | undefined = values;
  for (const key of keys) {
    if (isJsonArray(value)) value = value[Number(key)];
    else value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}
