// SPDX-License-Identifier: Apache-2.0
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { closestName } from "@purlin/kube-objects/schema";
import { readText } from "../files/read-text.ts";
import { parseYamlStream, type YamlDocument } from "../files/yaml-file.ts";
import type { PathSegment } from "../files/yaml-position.ts";
import type { Io } from "../io.ts";
import { parseDuration } from "../options/command-spec.ts";
import { UserError } from "../user-error.ts";
import { type TestFields, type TestKind, testApiVersion, testFields, testKinds } from "./test-schema.ts";
import type { Hook } from "./xprin-hooks.ts";

/** One reconcile of a case, or several until nothing changes. */
export interface Reconcile {
  readonly name: string;
  readonly change: JsonObject;
  readonly until: "settled" | number;
  readonly expect: JsonObject | undefined;
}

/** What a case of another case takes: its composite resource, one of its resources, or everything. */
export interface OutputReference {
  /** The id of a test above in the file. */
  readonly test: string;
  readonly what: "xr" | "all" | { readonly resource: string };
}

/** A case of a suite of xprin renders once: composite resources that are composed are plain objects. */
interface XprinCase {
  /** By which tests below name its outputs. */
  readonly id: string | undefined;
  /** Whether the composite resource must have a schema. */
  readonly isValidated: boolean;
  /** What an input stands for that is a template. */
  readonly outputOf: (input: string) => OutputReference | undefined;
  /** Files of which each is a value of the context. */
  readonly contextFiles: JsonObject;
  /** What runs before and after it; undefined where hooks are not allowed. */
  readonly hooks: readonly Hook[] | undefined;
}

/** One case of a file. */
export interface TestCase {
  readonly kind: TestKind;
  readonly file: string;
  /** Of the file's metadata, or the file itself. */
  readonly suite: string;
  readonly name: string;
  readonly tags: readonly string[];
  readonly skip: string | undefined;
  readonly isOnly: boolean;
  readonly timeoutMs: number | undefined;
  /** As written, those of the case over those of the file. */
  readonly inputs: JsonObject;
  /** Patches of the composite resource, claim or Operation, in order. */
  readonly patches: readonly JsonValue[];
  readonly reconciles: readonly Reconcile[];
  readonly expect: JsonObject | undefined;
  /** How a suite of xprin differs. */
  readonly xprin?: XprinCase | undefined;
  /** `file:line:column` of the case. */
  readonly at: string;
  /** `file:line:column` of an expectation: of the case, or of the reconcile with this index. */
  readonly locate: (expectation: readonly PathSegment[], reconcile?: number) => string;
}

/** Reads the cases of a file. Throws a UserError with file, line and column of what is wrong. */
export async function readTestFile(file: string, io: Io): Promise<TestCase[]> {
  const documents = await parseYamlStream(await readText(file, io, { what: "test file" }), file);
  if (documents.length === 0)
    throw wrong(file, `the file is empty: expected a document of kind ${testKinds.join(" or ")}`);
  const cases = documents.flatMap((document) => new FileReader(document, file).cases());
  const names = new Set<string>();
  for (const { name, at } of cases) {
    if (names.has(name)) throw wrong(at, `name: the file has another case "${name}": make it unique`);
    names.add(name);
  }
  return cases;
}

const wrong = (at: string, text: string): UserError => new UserError(`${at}: ${text}`, { exitCode: 2 });

type Path = readonly PathSegment[];

const placeOf = (reconcile: number | undefined): Path =>
  reconcile === undefined ? ["expect"] : ["reconciles", reconcile, "expect"];

function kindOf({ value, at }: YamlDocument): TestKind {
  const { apiVersion, kind } = isJsonObject(value as JsonValue) ? (value as JsonObject) : {};
  const known = testKinds.find((one) => one === kind);
  if (apiVersion === testApiVersion && known !== undefined) return known;
  throw wrong(at([]), `expected apiVersion ${testApiVersion} and kind ${testKinds.join(" or ")}`);
}

class FileReader {
  readonly #document: YamlDocument;
  readonly #file: string;
  readonly #kind: TestKind;
  readonly #fields: TestFields;

  constructor(document: YamlDocument, file: string) {
    this.#document = document;
    this.#file = file;
    this.#kind = kindOf(document);
    this.#fields = testFields[this.#kind];
  }

  cases(): TestCase[] {
    const { value } = this.#document;
    const root = this.#object(value as JsonValue, [], ["apiVersion", "kind", "metadata", "spec"]);
    const spec = this.#object(root["spec"], ["spec"], ["inputs", "cases"]);
    const inputs = this.#object(spec["inputs"] ?? {}, ["spec", "inputs"], Object.keys(this.#fields.inputs));
    const metadata = isJsonObject(root["metadata"]) ? root["metadata"] : {};
    const suite = typeof metadata["name"] === "string" ? metadata["name"] : this.#file;
    const cases = this.#list(spec["cases"], ["spec", "cases"]);
    if (cases.length === 0) throw this.#wrong(["spec", "cases"], "the file has no cases");
    return cases.flatMap((one, index) => this.#case(one, ["spec", "cases", index], { inputs, suite }));
  }

  #case(
    value: JsonValue,
    path: Path,
    { inputs, suite }: { readonly inputs: JsonObject; readonly suite: string },
  ): TestCase[] {
    const written = this.#object(value, path, Object.keys(this.#fields.case));
    const own = this.#object(written["inputs"] ?? {}, [...path, "inputs"], Object.keys(this.#fields.inputs));
    const whole: TestCase = {
      kind: this.#kind,
      file: this.#file,
      suite,
      name: this.#text(written["name"], [...path, "name"]),
      tags: this.#list(written["tags"] ?? [], [...path, "tags"]).map(String),
      skip: this.#skip(written, path),
      isOnly: written["only"] === true,
      timeoutMs: this.#duration(written["timeout"], [...path, "timeout"]),
      inputs: { ...inputs, ...own },
      patches: written["patch"] === undefined ? [] : [written["patch"]],
      reconciles: this.#reconciles(written["reconciles"], [...path, "reconciles"]),
      expect: this.#expect(written["expect"], [...path, "expect"]),
      at: this.#document.at(path),
      locate: (expectation, reconcile) => this.#document.at([...path, ...placeOf(reconcile), ...expectation]),
    };
    if (written["each"] === undefined) return [whole];
    return this.#list(written["each"], [...path, "each"]).map((row, index) =>
      this.#row(row, [...path, "each", index], whole),
    );
  }

  #row(value: JsonValue, path: Path, whole: TestCase): TestCase {
    const row = this.#object(value, path, Object.keys(this.#fields.row));
    const expect = this.#expect(row["expect"], [...path, "expect"]);
    return {
      ...whole,
      name: `${whole.name}/${this.#text(row["name"], [...path, "name"])}`,
      skip: this.#skip(row, path) ?? whole.skip,
      isOnly: row["only"] === true || whole.isOnly,
      patches: row["patch"] === undefined ? whole.patches : [...whole.patches, row["patch"]],
      expect: expect === undefined ? whole.expect : { ...whole.expect, ...expect },
      at: this.#document.at(path),
      locate: (expectation, reconcile) => {
        const isOwn = reconcile === undefined && expect?.[String(expectation[0])] !== undefined;
        return isOwn ? this.#document.at([...path, "expect", ...expectation]) : whole.locate(expectation, reconcile);
      },
    };
  }

  #reconciles(value: JsonValue | undefined, path: Path): readonly Reconcile[] {
    if (value === undefined) return [{ name: "", change: {}, until: 1, expect: undefined }];
    return this.#list(value, path).map((one, index) => {
      const at = [...path, index];
      const written = this.#object(one, at, Object.keys(this.#fields.reconcile));
      const { name = `${index + 1}`, until = 1 } = written;
      if (until !== "settled" && !(Number.isInteger(until) && Number(until) > 0)) {
        throw this.#wrong(
          [...at, "until"],
          `until: expected "settled" or a number of reconciles, not ${printJson(until)}`,
        );
      }
      return {
        name: String(name),
        change: this.#object(written["change"] ?? {}, [...at, "change"], Object.keys(this.#fields.change)),
        until: until === "settled" ? until : Number(until),
        expect: this.#expect(written["expect"], [...at, "expect"]),
      };
    });
  }

  #expect(value: JsonValue | undefined, path: Path): JsonObject | undefined {
    if (value === undefined) return undefined;
    const expect = this.#object(value, path, Object.keys(this.#fields.expect));
    if (expect["not"] !== undefined) this.#expect(expect["not"], [...path, "not"]);
    const nested = expect["nested"];
    if (isJsonObject(nested))
      for (const [name, one] of Object.entries(nested)) this.#expect(one, [...path, "nested", name]);
    return expect;
  }

  #skip(written: JsonObject, path: Path): string | undefined {
    const { skip } = written;
    if (skip === undefined) return undefined;
    if (typeof skip === "string" && skip !== "") return skip;
    throw this.#wrong([...path, "skip"], "skip: expected the reason as text");
  }

  #duration(value: JsonValue | undefined, path: Path): number | undefined {
    if (value === undefined) return undefined;
    const ms = parseDuration(String(value));
    if (ms !== undefined) return ms;
    throw this.#wrong(path, `timeout: expected a duration, such as 5s, not ${printJson(value)}`);
  }

  #object(value: JsonValue | undefined, path: Path, keys: readonly string[]): JsonObject {
    if (value === undefined || !isJsonObject(value))
      throw this.#wrong(path, `${String(path.at(-1) ?? "document")}: expected an object`);
    for (const key of Object.keys(value)) {
      if (keys.includes(key)) continue;
      const closest = closestName(key, keys);
      const advice = closest === undefined ? `expected one of ${keys.join(", ")}` : `did you mean ${closest}?`;
      throw this.#wrong([...path, key], `unknown key ${key}: ${advice}`);
    }
    return value;
  }

  #list(value: JsonValue | undefined, path: Path): readonly JsonValue[] {
    if (isJsonArray(value)) return value;
    throw this.#wrong(path, `${String(path.at(-1))}: expected a list`);
  }

  #text(value: JsonValue | undefined, path: Path): string {
    if (typeof value === "string" && value !== "") return value;
    throw this.#wrong(path, `${String(path.at(-1))}: required field is missing: add a text`);
  }

  #wrong(path: Path, text: string): UserError {
    return wrong(this.#document.at(path), text);
  }
}
