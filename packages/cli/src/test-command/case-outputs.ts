// SPDX-License-Identifier: Apache-2.0
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isJsonObject, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import { printYaml } from "../files/yaml-file.ts";
import type { OutputReference, TestCase } from "./test-file.ts";

/** What a case composed: the composite resource first. */
type Outputs = readonly KubeObject[];

/** A case could not begin because one above it is to run again. */
export class OutputsNotReadyError extends Error {}

/** What cases of suites of xprin take from those above them in the file. */
export class CaseOutputs {
  readonly #cases = new Map<string, PromiseWithResolvers<Outputs | "failed" | "doubtful">>();

  /** Called for each case that will run, or runs again. */
  expect(test: TestCase): void {
    if (test.xprin?.id !== undefined) this.#cases.set(keyOf(test, test.xprin.id), Promise.withResolvers());
  }

  ended(test: TestCase, outputs: Outputs | "failed" | "doubtful"): void {
    if (test.xprin?.id !== undefined) this.#cases.get(keyOf(test, test.xprin.id))?.resolve(outputs);
  }

  /** Waits for a case above. Rejects when it has no such output. */
  async get(test: TestCase, { test: id, what }: OutputReference): Promise<Outputs> {
    const outputs = await this.#cases.get(keyOf(test, id))?.promise;
    if (outputs === undefined) throw new Error(`inputs: test "${id}" is not selected, and this one needs its output`);
    if (outputs === "doubtful") throw new OutputsNotReadyError(`test "${id}" runs again`);
    if (outputs === "failed") throw new Error(`inputs: test "${id}" has no output`);
    if (what === "all") return outputs;
    const wanted = what === "xr" ? outputs[0] : outputs.find((object) => nameOf(object) === what.resource);
    if (wanted !== undefined) return [wanted];
    const name = what === "xr" ? "composite resource" : what.resource;
    throw new Error(`inputs: test "${id}" rendered no ${name}: it rendered ${outputs.map(nameOf).join(", ")}`);
  }
}

const keyOf = ({ file }: TestCase, id: string): string => `${file}\n${id}`;

const nameOf = ({ kind, metadata }: KubeObject): string => `${kind}/${metadata.name ?? ""}`;

/** Fields of a composite resource that a control plane sets, and that a rendering does not have. */
const setByControlPlane = ["resourceRefs", "compositionRef", "compositionRevisionRef", "compositionUpdatePolicy"];

/** A composite resource as a rendering prints it: what was given, defaults, and the status. */
export function asRendered(object: KubeObject, given: JsonObject | undefined): KubeObject {
  const { name, namespace, labels, annotations } = object.metadata;
  const metadata = {
    ...(name !== undefined && { name }),
    ...(namespace !== undefined && { namespace }),
    ...(labels !== undefined && { labels }),
    ...(annotations !== undefined && { annotations }),
  };
  const { spec } = object;
  if (!isJsonObject(spec) || given === undefined) return { ...object, metadata };
  const isKept = (key: string): boolean => !setByControlPlane.includes(key) || given[key] !== undefined;
  const kept = Object.fromEntries(Object.entries(spec).filter(([key]) => isKept(key)));
  return { ...object, metadata, spec: kept };
}

/** Files with what a case rendered, by the names that templates of hooks have for them. */
export interface OutputFiles extends JsonObject {
  readonly XR: string;
  readonly Render: string;
  readonly RenderCount: number;
  readonly Rendered: JsonObject;
}

/** Objects as documents of a YAML file. */
export const documents = (objects: readonly KubeObject[]): string =>
  objects.map((object) => `---\n${printYaml(object)}`).join("");

/** Writes what a case rendered as xprin does: everything, the composite resource, and each object. */
export async function writeOutputs(objects: readonly KubeObject[], folder: string): Promise<OutputFiles> {
  await mkdir(folder, { recursive: true });
  const write = async (name: string, written: readonly KubeObject[]): Promise<string> => {
    const path = join(folder, name.replaceAll("/", "_"));
    await writeFile(path, documents(written));
    return path;
  };
  const rendered: Record<string, JsonValue> = {};
  for (const object of objects) {
    const { kind, metadata } = object;
    const name = `rendered-${kind.toLowerCase()}-${metadata.name ?? ""}.yaml`;
    rendered[`${kind}/${metadata.name ?? ""}`] = await write(name, [object]);
  }
  return {
    XR: await write("xr.yaml", objects.slice(0, 1)),
    Render: await write("rendered.yaml", objects),
    RenderCount: objects.length,
    Rendered: rendered,
  };
}
