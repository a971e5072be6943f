// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";
import type { OutputReference, TestCase } from "./test-file.ts";

/** What a case composed: the composite resource first. */
type Outputs = readonly KubeObject[];

/** A case could not begin because one above it is to run again. */
export class WaitsForAnother extends Error {}

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
    if (outputs === "doubtful") throw new WaitsForAnother(`test "${id}" runs again`);
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
