// SPDX-License-Identifier: Apache-2.0
// Test suites of xprin (xprin.yaml and *_xprin.yaml), read as cases of ours.
import { dirname, resolve } from "node:path";
import {
  isJsonArray,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  parseJson,
  printJson,
} from "@purlin/kube-objects/json";
import { readText } from "../files/read-text.ts";
import { parseYaml, type YamlDocument } from "../files/yaml-file.ts";
import type { PathSegment } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { UserError } from "../user-error.ts";
import type { OutputReference, TestCase } from "./test-file.ts";

/** Whether a file is a suite of xprin, by its name. */
export function isXprinFile(file: string): boolean {
  return /(^|[/\\_])xprin\.ya?ml$/.test(file);
}

type Path = readonly PathSegment[];

/** Where a test is, and the ids of those above it. */
interface Place {
  readonly path: Path;
  readonly above: readonly (string | undefined)[];
}

/** Reads the cases of a suite. Throws a UserError with file, line and column of what is wrong. */
export async function readXprinFile(file: string, io: Io): Promise<TestCase[]> {
  const { text, templates } = withoutTemplates(await readText(file, io, { what: "test file" }));
  const [document] = parseYaml(text, file);
  if (document === undefined) throw new UserError(`${file}: the file is empty`, { exitCode: 2 });
  return await new SuiteReader(document, { file, templates, io }).cases();
}

/** Go templates are not YAML where they are not quoted: each is replaced with a word while the file is parsed. */
function withoutTemplates(text: string): { readonly text: string; readonly templates: readonly string[] } {
  const templates: string[] = [];
  const replaced = text.replaceAll(/\{\{-?([^}]*?)-?\}\}/g, (_, inner: string) => {
    templates.push(inner.trim());
    return `${marker}${templates.length - 1}${marker}`;
  });
  return { text: replaced, templates };
}

const marker = "__xprin_template__";

interface Reading {
  readonly file: string;
  readonly templates: readonly string[];
  readonly io: Io;
}

class SuiteReader {
  readonly #document: YamlDocument;
  readonly #reading: Reading;

  constructor(document: YamlDocument, reading: Reading) {
    this.#document = document;
    this.#reading = reading;
  }

  async cases(): Promise<TestCase[]> {
    const root = this.#object(this.#document.value as JsonValue, []);
    const common = this.#object(root["common"] ?? {}, ["common"]);
    const tests = root["tests"];
    if (!isJsonArray(tests) || tests.length === 0) throw this.#wrong(["tests"], "tests: expected a list of tests");
    this.#reportHooks(
      tests.filter((test) => isJsonObject(test)),
      common,
    );
    const ids = tests.map((test) => (isJsonObject(test) && typeof test["id"] === "string" ? test["id"] : undefined));
    return await Promise.all(
      tests.map((test, index) => this.#case(test, common, { path: ["tests", index], above: ids.slice(0, index) })),
    );
  }

  /** Hooks are programs of a shell, which a suite from elsewhere could use for anything. */
  #reportHooks(tests: readonly JsonObject[], common: JsonObject): void {
    const { file, io } = this.#reading;
    const names = tests
      .filter((test) => (test["hooks"] ?? common["hooks"]) !== undefined)
      .map(({ name }) => String(name));
    if (names.length > 0) io.stderr.write(`note: ${file}: hooks are not run: ${names.join(", ")}\n`);
  }

  async #case(value: JsonValue, common: JsonObject, { path, above }: Place): Promise<TestCase> {
    const { file } = this.#reading;
    const test = this.#object(value, path);
    const { name, id } = test;
    if (typeof name !== "string" || name === "")
      throw this.#wrong([...path, "name"], "name: required field is missing");
    const both = (member: string): JsonObject => ({
      ...this.#object(common[member] ?? {}, ["common", member]),
      ...this.#object(test[member] ?? {}, [...path, member]),
    });
    const inputs = both("inputs");
    const skip = this.#reasonToSkip([inputs, both("patches")], both("hooks"));
    for (const { test: other } of this.#outputsIn(inputs)) {
      if (above.includes(other)) continue;
      throw this.#wrong([...path, "inputs"], `inputs: no test above has the id ${JSON.stringify(other)}`);
    }
    return {
      kind: "CompositionTest",
      ...{ file, suite: file, name, tags: [], isOnly: false, timeoutMs: undefined, patches: [] },
      skip,
      inputs: skip === undefined ? await this.#inputs(inputs, both("patches"), path) : {},
      reconciles: [{ name: "", change: {}, until: 1, expect: undefined }],
      expect: { xprin: this.#assertions(test["assertions"] ?? common["assertions"], [...path, "assertions"]) },
      xprin: {
        id: typeof id === "string" ? id : undefined,
        isValidated: isJsonArray(inputs["crds"]) && inputs["crds"].length > 0,
        outputOf: (input) => this.#outputOf(input),
      },
      at: this.#document.at(path),
      locate: () => this.#document.at(path),
    };
  }

  /** Hooks are not run: one that can change the inputs before the test decides what the test is about. */
  #reasonToSkip(inputs: JsonValue, hooks: JsonObject): string | undefined {
    const unknown = this.#markersIn(inputs).find((one) => this.#outputOf(one) === undefined);
    if (unknown !== undefined) return `{{ ${this.#templateOf(unknown)} }}: only outputs of tests above are known`;
    const [changing] = this.#markersIn(hooks["pre-test"] ?? []);
    if (changing === undefined) return undefined;
    return `a pre-test hook uses {{ ${this.#templateOf(changing)} }}, and hooks are not run`;
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
    const index = new RegExp(`${marker}(\\d+)${marker}`).exec(text)?.[1];
    return this.#reading.templates[Number(index)] ?? "";
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

  async #inputs(inputs: JsonObject, patches: JsonObject, path: Path): Promise<JsonObject> {
    const crds = isJsonArray(inputs["crds"]) ? inputs["crds"] : [];
    const { xr, claim, composition, functions } = inputs;
    const written: Record<string, JsonValue | undefined> = {
      ...(claim === undefined || xr !== undefined ? { xr } : { claim }),
      composition,
      functions,
      schemas: [...(patches["xrd"] === undefined ? [] : [patches["xrd"]]), ...crds],
      observed: inputs["observed-resources"],
      required: inputs["extra-resources"],
      credentials: inputs["function-credentials"],
      context: await this.#context(inputs, path),
    };
    return Object.fromEntries(Object.entries(written).filter(([, one]) => one !== undefined)) as JsonObject;
  }

  async #context(inputs: JsonObject, path: Path): Promise<JsonObject> {
    const { file, io } = this.#reading;
    const context: Record<string, JsonValue> = {};
    const values = this.#object(inputs["context-values"] ?? {}, [...path, "inputs", "context-values"]);
    for (const [key, value] of Object.entries(values)) context[key] = parsed(value as JsonValue);
    const files = this.#object(inputs["context-files"] ?? {}, [...path, "inputs", "context-files"]);
    for (const [key, name] of Object.entries(files)) {
      const from = resolve(io.cwd, dirname(file), String(name));
      const [document] = parseYaml(await readText(from, io, { what: "context file" }), from);
      context[key] = (document?.value ?? null) as JsonValue;
    }
    return context;
  }

  /** A list, or the lists of each engine. */
  #assertions(value: JsonValue | undefined, path: Path): JsonValue {
    if (value === undefined) return [];
    if (isJsonArray(value)) return value;
    const engines = this.#object(value, path);
    return Object.entries(engines).flatMap(([engine, list]) =>
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
