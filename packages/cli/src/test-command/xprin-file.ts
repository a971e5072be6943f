// SPDX-License-Identifier: Apache-2.0
// Test suites of xprin (xprin.yaml and *_xprin.yaml), read as cases of ours.
import { dirname, join, resolve } from "node:path";
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printJson,
} from "@purlin/kube-objects/json";
import { readText, readTextIfThere } from "../files/read-text.ts";
import { parseYaml, type YamlDocument } from "../files/yaml-file.ts";
import type { PathSegment } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";
import type { OutputReference, TestCase } from "./test-file.ts";
import { type Hook, reasonWithoutHooks, templatePattern, valueIn } from "./xprin-hooks.ts";

/** Whether a file is a suite of xprin, by its name. */
export function isXprinFile(file: string): boolean {
  return /(^|[/\\_])xprin\.ya?ml$/.test(file);
}

type Path = readonly PathSegment[];

/** How suites of a run are read. */
export interface SuiteOptions {
  /** Hooks of suites before this one. Those of this one are added. */
  readonly hooks: Hook[];
  readonly allowHooks: boolean;
}

/** Reads the cases of a suite. Throws a UserError with file, line and column of what is wrong. */
export async function readXprinFile(file: string, io: Io, options: SuiteOptions): Promise<TestCase[]> {
  const { text, templates } = withoutTemplates(await readText(file, io, { what: "test file" }));
  const [document] = parseYaml(text, file);
  if (document === undefined) throw new UserError(`${file}: the file is empty`, { exitCode: 2 });
  const repositories = templates.some((one) => one.includes(".Repositories")) ? await readRepositories(io) : {};
  return new SuiteReader(document, { file, templates, repositories, io, ...options }).cases();
}

/** Where xprin looks for its configuration. */
const configFile = "~/.config/xprin.yaml";

/** The paths of repositories by name, of the configuration of xprin; none without one. */
async function readRepositories(io: Io): Promise<JsonObject> {
  const text = await readTextIfThere(inHome(configFile, io), configFile);
  if (text === undefined) return {};
  const [document] = parseYaml(text, configFile);
  const value = (document?.value ?? {}) as JsonValue;
  const repositories = (isJsonObject(value) ? value["repositories"] : undefined) ?? {};
  if (isJsonObject(repositories) && Object.values(repositories).every((one) => typeof one === "string"))
    return repositories;
  throw new UserError(`${configFile}: repositories: expected a map of names to paths`, { exitCode: 2 });
}

/** A path; one that begins with `~/` is in the home folder. */
function inHome(path: string, { env }: Io): string {
  return path.startsWith("~/") && env["HOME"] ? join(env["HOME"], path.slice(2)) : path;
}

/** Go templates are not YAML where they are not quoted: each is replaced with a word while the file is parsed. */
function withoutTemplates(text: string): { readonly text: string; readonly templates: readonly string[] } {
  const templates: string[] = [];
  const replaced = text.replaceAll(templatePattern, (_, inner: string) => {
    // In a text with double quotes, YAML has its own quotes escaped.
    templates.push(inner.trim().replaceAll('\\"', '"'));
    return `${marker}${templates.length - 1}${marker}`;
  });
  return { text: replaced, templates };
}

const marker = "__xprin_template__";
const markers = new RegExp(`${marker}(\\d+)${marker}`);

interface Reading extends SuiteOptions {
  readonly file: string;
  readonly templates: readonly string[];
  /** Paths by the names that templates have for them. */
  readonly repositories: JsonObject;
  readonly io: Io;
}

/** A test above the one that is read. */
interface TestAbove {
  readonly isSkipped: boolean;
  readonly hooks: readonly Hook[];
}

/** What a test is made of: its own members over the common ones. */
interface Members {
  readonly inputs: JsonObject;
  readonly patches: JsonObject;
  readonly assertions: readonly JsonObject[];
  readonly hooks: readonly Hook[];
}

class SuiteReader {
  readonly #document: YamlDocument;
  readonly #reading: Reading;
  readonly #above = new Map<string, TestAbove>();

  constructor(document: YamlDocument, reading: Reading) {
    this.#document = document;
    this.#reading = reading;
  }

  cases(): TestCase[] {
    const root = this.#object(this.#document.value as JsonValue, []);
    const common = this.#object(root["common"] ?? {}, ["common"]);
    const { tests } = root;
    if (!isJsonArray(tests) || tests.length === 0) throw this.#wrong(["tests"], "tests: expected a list of tests");
    const hooked: string[] = [];
    const cases = tests.map((value, index) => {
      const path = ["tests", index];
      const test = this.#object(value, path);
      const members = this.#membersOf(test, common, path);
      const one = this.#case(test, members, path);
      if (members.hooks.length > 0) hooked.push(one.name);
      this.#reading.hooks.push(...members.hooks);
      return one;
    });
    const { file, io, allowHooks } = this.#reading;
    // Hooks are programs of a shell, which a suite from elsewhere could use for anything.
    if (hooked.length > 0 && !allowHooks) io.stderr.write(`note: ${file}: hooks are not run: ${hooked.join(", ")}\n`);
    return cases;
  }

  #membersOf(test: JsonObject, common: JsonObject, path: Path): Members {
    const both = (member: string): JsonObject => {
      const own = this.#object(test[member] ?? {}, [...path, member]);
      return this.#withPaths({ ...this.#object(common[member] ?? {}, ["common", member]), ...own }) as JsonObject;
    };
    return {
      inputs: both("inputs"),
      patches: both("patches"),
      assertions: this.#assertions(test["assertions"], common["assertions"], [...path, "assertions"]).map(
        ({ expected, ...one }) => (expected === undefined ? one : { ...one, expected: this.#withPaths(expected) }),
      ),
      hooks: (["pre-test", "post-test"] as const).flatMap((when) => {
        const own = this.#hooks(test, when, path);
        return own.length > 0 ? own : this.#hooks(common, when, ["common"]);
      }),
    };
  }

  #hooks(owner: JsonObject, when: Hook["when"], path: Path): Hook[] {
    const list = this.#object(owner["hooks"] ?? {}, [...path, "hooks"])[when];
    if (!isJsonArray(list)) return [];
    return list.map((value, index) => {
      const place = [...path, "hooks", when, index];
      const { name, run } = this.#object(value, place);
      if (typeof run !== "string") throw this.#wrong(place, "run: required field is missing: add a program");
      const { file: suite } = this.#reading;
      const at = this.#document.at(place);
      const own = {
        name: typeof name === "string" ? name : undefined,
        run: this.#withTemplates(this.#withRepositories(run)),
      };
      return { when, ...own, at, suite, folder: this.#folder };
    });
  }

  #case(test: JsonObject, members: Members, path: Path): TestCase {
    const { file, allowHooks } = this.#reading;
    const { inputs, patches, assertions, hooks } = members;
    const { name, id } = test;
    if (typeof name !== "string" || name === "")
      throw this.#wrong([...path, "name"], "name: required field is missing");
    for (const { test: other } of this.#outputsIn(inputs)) {
      if (this.#above.has(other)) continue;
      throw this.#wrong([...path, "inputs"], `inputs: no test above has the id ${JSON.stringify(other)}`);
    }
    const skip = this.#reasonToSkip(members);
    if (typeof id === "string") this.#add(id, { isSkipped: skip !== undefined, hooks }, [...path, "id"]);
    return {
      kind: "CompositionTest",
      ...{ file, suite: file, name, tags: [], isOnly: false, timeoutMs: undefined },
      skip,
      inputs: skip === undefined ? this.#inputs(inputs, patches, path) : {},
      patches: this.#connectionSecret(patches, [...path, "patches"]),
      reconciles: [{ name: "", change: {}, until: 1, expect: undefined }],
      expect: { xprin: assertions },
      xprin: {
        id: typeof id === "string" ? id : undefined,
        isValidated: isJsonArray(inputs["crds"]) && inputs["crds"].length > 0,
        outputOf: (input) => this.#outputOf(input),
        contextFiles: this.#object(inputs["context-files"] ?? {}, [...path, "inputs", "context-files"]),
        hooks: allowHooks ? hooks : undefined,
      },
      at: this.#document.at(path),
      locate: () => this.#document.at(path),
    };
  }

  #add(id: string, test: TestAbove, path: Path): void {
    if (this.#above.has(id)) throw this.#wrong(path, `id: the file has another test ${JSON.stringify(id)}`);
    this.#above.set(id, test);
  }

  #reasonToSkip(members: Members): string | undefined {
    const { inputs, patches } = members;
    const unknown = this.#markersIn([inputs, patches]).find((one) => this.#outputOf(one) === undefined);
    if (unknown !== undefined) return this.#reasonUnknown(unknown);
    const needed = [...new Set(this.#outputsIn(inputs).map(({ test }) => test))];
    const skipped = needed.find((id) => this.#above.get(id)?.isSkipped);
    if (skipped !== undefined) return `it needs the output of test ${JSON.stringify(skipped)}, which is skipped`;
    const { file: suite, allowHooks, hooks: earlier } = this.#reading;
    if (allowHooks) return undefined;
    return reasonWithoutHooks({
      ...{ suite, folder: this.#folder, earlier },
      own: members.hooks,
      ofNeeded: needed.flatMap((id) => this.#above.get(id)?.hooks ?? []),
      inputs: filesOf(inputs, patches),
      goldens: members.assertions.flatMap(({ type, expected }) => (type === "Golden" ? String(expected) : [])),
    });
  }

  #reasonUnknown(text: string): string {
    const shown = this.#withTemplates(text);
    if (!shown.includes(".Repositories")) return `${shown}: only outputs of tests above and repositories are known`;
    return `${shown}: ${configFile} has no path for it: add it to repositories there`;
  }

  /** Values with the paths of repositories and of the home folder in place of what stands for them. */
  #withPaths(value: JsonValue): JsonValue {
    if (typeof value === "string") return inHome(this.#withRepositories(value), this.#reading.io);
    if (isJsonArray(value)) return value.map((item) => this.#withPaths(item));
    if (!isJsonObject(value)) return value;
    const entries = Object.entries(value).map(([name, member]) => [name, this.#withPaths(member as JsonValue)]);
    return Object.fromEntries(entries) as JsonObject;
  }

  #withRepositories(text: string): string {
    const { repositories, io } = this.#reading;
    return text.replaceAll(new RegExp(markers, "g"), (one) => {
      const path = valueIn(this.#templateOf(one), { Repositories: repositories });
      return typeof path === "string" ? inHome(path, io) : one;
    });
  }

  get #folder(): string {
    return resolve(this.#reading.io.cwd, dirname(this.#reading.file));
  }

  #markersIn(value: JsonValue): string[] {
    // With what surrounds it: a part of a path is not an output.
    return [...printJson(value).matchAll(/"((?:[^"\\]|\\.)*)"/g)]
      .map(([, text = ""]) => text)
      .filter((text) => text.includes(marker));
  }

  #outputsIn(value: JsonValue): OutputReference[] {
    return this.#markersIn(value).flatMap((text) => this.#outputOf(text) ?? []);
  }

  #templateOf(text: string): string {
    const index = markers.exec(text)?.[1];
    return this.#reading.templates[Number(index)] ?? "";
  }

  #withTemplates(text: string): string {
    return text.replaceAll(new RegExp(markers, "g"), (one) => `{{ ${this.#templateOf(one)} }}`);
  }

  /** What a text stands for that is nothing but a template of an output. */
  #outputOf(text: string): OutputReference | undefined {
    if (!new RegExp(`^${marker}\\d+${marker}$`).test(text)) return undefined;
    const found = /^(?:index\s+)?\.Tests\.([\w-]+)\.Outputs\.(\w+)(?:\s+"([^"]*)")?$/.exec(this.#templateOf(text));
    const [, test = "", output, resource] = found ?? [];
    if (output === "XR" && resource === undefined) return { test, what: "xr" };
    if (output === "Render" && resource === undefined) return { test, what: "all" };
    return output === "Rendered" && resource !== undefined ? { test, what: { resource } } : undefined;
  }

  #inputs(inputs: JsonObject, patches: JsonObject, path: Path): JsonObject {
    const values = this.#object(inputs["context-values"] ?? {}, [...path, "inputs", "context-values"]);
    const { xr, claim, composition, functions, crds } = inputs;
    const written: Record<string, JsonValue | undefined> = {
      ...{ xr, claim, composition, functions },
      xrd: patches["xrd"],
      schemas: crds,
      observed: inputs["observed-resources"],
      required: inputs["extra-resources"],
      credentials: inputs["function-credentials"],
      context: Object.fromEntries(Object.entries(values).map(([key, value]) => [key, parsed(value as JsonValue)])),
    };
    return Object.fromEntries(Object.entries(written).filter(([, one]) => one !== undefined)) as JsonObject;
  }

  /** The patch of the composite resource that asks for a connection secret. */
  #connectionSecret(patches: JsonObject, path: Path): JsonValue[] {
    const {
      "connection-secret": isWanted,
      "connection-secret-name": name,
      "connection-secret-namespace": namespace,
    } = patches;
    if (isWanted === undefined && (name !== undefined || namespace !== undefined))
      throw this.#wrong(path, "patches: connection-secret must be true where its name or namespace is set");
    if (isWanted !== true) return [];
    const ref = { name: name ?? "00000000-0000-4000-8000-000000000000", namespace: namespace ?? "default" };
    return [{ spec: { writeConnectionSecretToRef: ref } }];
  }

  /** A list, or the lists of each engine; an engine without a list of its own has the common one. */
  #assertions(own: JsonValue | undefined, common: JsonValue | undefined, path: Path): JsonObject[] {
    const listsOf = (value: JsonValue | undefined): JsonObject =>
      isJsonArray(value) ? { xprin: value } : this.#object(value ?? {}, path);
    const lists = { ...listsOf(common), ...listsOf(own) };
    return Object.entries(lists).flatMap(([engine, list]) =>
      (isJsonArray(list as JsonValue) ? (list as JsonObject[]) : []).map((one) =>
        engine === "xprin" ? one : { ...one, type: "Golden" },
      ),
    );
  }

  #object(value: JsonValue, path: Path): JsonObject {
    if (isJsonObject(value)) return value;
    throw this.#wrong(path, `${String(path.at(-1) ?? "document")}: expected an object`);
  }

  #wrong(path: Path, text: string): UserError {
    return new UserError(`${this.#document.at(path)}: ${text}`, { exitCode: 2 });
  }
}

/** Values are JSON as text. What is not JSON is a text. */
function parsed(value: JsonValue): JsonValue {
  if (typeof value !== "string") return value;
  try {
    return parseJson(value);
  } catch {
    return value;
  }
}

/** The files that inputs and patches name, without those that are outputs. */
function filesOf(inputs: JsonObject, patches: JsonObject): string[] {
  const { crds, "context-values": _, "context-files": context, ...single } = inputs;
  const values = [
    ...Object.values(single),
    patches["xrd"],
    ...(isJsonArray(crds) ? crds : []),
    ...(isJsonObject(context) ? Object.values(context) : []),
  ];
  return values.filter((value) => typeof value === "string").filter((value) => !value.includes(marker));
}
