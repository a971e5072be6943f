// SPDX-License-Identifier: Apache-2.0
import { randomUUID } from "node:crypto";
import { type RunFunctionRequest, type RunFunctionResponse, response } from "@purlin/function-sdk";
import type { JsonObject } from "@purlin/kube-objects/json";
import { conditionOf, conditionsOf, type KubeObject, textAt } from "@purlin/kube-objects/object";

interface SceneSpec {
  readonly text?: string;
  readonly mode?: string;
  readonly count?: number;
  readonly nested?: number;
  readonly gate?: boolean;
  readonly password?: string;
  readonly fail?: string;
  readonly kind?: string;
  readonly withhold?: boolean;
}

/** The function of the scene: what it composes depends on the composite resource, on its input, and on its own version. */
export function sceneFunction(version: string): (req: RunFunctionRequest) => RunFunctionResponse {
  return (req) => {
    const rsp = response.to(req);
    const xr = req.observed?.composite?.resource?.value;
    const { mode } = (req.input?.value ?? {}) as { readonly mode?: string };
    if (xr === undefined) {
      operate(rsp, mode ?? "");
      return rsp;
    }
    compose(rsp, { xr, spec: (xr["spec"] ?? {}) as SceneSpec, mode: mode ?? "", version, req });
    return rsp;
  };
}

/** What the function applies in an Operation. */
function operate(rsp: RunFunctionResponse, mode: string): void {
  if (mode === "fail") response.fatal(rsp, "asked to fail");
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "operated", namespace: "default" } };
  response.setDesiredComposedResource(rsp, "map", { ...object, data: { mode } });
}

interface Composing {
  readonly xr: JsonObject;
  readonly spec: SceneSpec;
  readonly mode: string;
  readonly version: string;
  readonly req: RunFunctionRequest;
}

function compose(rsp: RunFunctionResponse, { xr, spec, mode, version, req }: Composing): void {
  const set = (name: string, object: JsonObject): void =>
    response.setDesiredComposedResource(rsp, name, object as never, { ready: true });
  const map = (data: JsonObject): JsonObject => ({ apiVersion: "v1", kind: "ConfigMap", data });
  // A cluster-scoped composite resource composes into a namespace that its function names.
  const place = (object: JsonObject): JsonObject =>
    xr["kind"] === "XThing" ? { ...object, metadata: { namespace: "default" } } : object;
  if (spec.fail === version || spec.fail === mode) {
    response.fatal(rsp, `asked to fail: ${spec.fail}`);
    return;
  }
  const isTwo = version === "two";
  const isOther = spec.kind === "Widget" || (isTwo && spec.mode === "two replaces");
  if (isOther) set("map", { apiVersion: "things.example.org/v1", kind: "Widget", spec: { color: "red" } });
  else set("map", place(map({ text: spec.text ?? "", mode, version, ...extrasOf(spec) })));
  const count = isTwo && spec.mode === "two deletes" ? 1 : (spec.count ?? 1);
  for (let at = 1; at < count; at += 1) set(`item-${at}`, map({ at: String(at), mode }));
  if (spec.kind === "Random") set("random", map({ text: spec.text ?? "", token: randomUUID() }));
  if (spec.kind === "Count") {
    const counted = req.observed?.resources.get("count")?.resource?.value ?? {};
    set("count", map({ n: String(Number(textAt(counted, ["data", "n"]) ?? 0) + 1) }));
  }
  if (spec.kind === "Rotate")
    set("secret", { apiVersion: "v1", kind: "Secret", stringData: { password: `rotated-${randomUUID()}` } });
  if (spec.kind === "Usage") {
    const of = { apiVersion: "v1", kind: "ConfigMap", resourceSelector: { matchControllerRef: true } };
    const apiVersion = "protection.crossplane.io/v1beta1";
    set("usage", { apiVersion, kind: "Usage", spec: { of, reason: "order", replayDeletion: true } });
  }
  if (spec.kind === "Loop") {
    const kind = xr["kind"] === "App" ? "Part" : "App";
    set("loop", { apiVersion: "example.org/v1", kind, spec: { kind: "Loop" } });
  }
  if (spec.nested !== undefined)
    set("part", { apiVersion: "example.org/v1", kind: "Part", spec: { count: spec.nested, text: spec.text ?? "" } });
  if (spec.password !== undefined)
    set("secret", { apiVersion: "v1", kind: "Secret", stringData: { password: spec.password } });
  if (spec.gate === true) composeGate(set, req, spec);
}

function composeGate(set: (name: string, object: JsonObject) => void, req: RunFunctionRequest, spec: SceneSpec): void {
  const color = spec.mode === "blue" ? "blue" : "red";
  const deletionPolicy = spec.mode === "orphan" ? { deletionPolicy: "Orphan" } : {};
  const wanted = { color, forProvider: { region: "here" }, ...deletionPolicy };
  set("gate", { apiVersion: "things.example.org/v1", kind: "Widget", spec: wanted });
  const gate = req.observed?.resources.get("gate")?.resource?.value as KubeObject | undefined;
  // A function that waits until its change has arrived withholds what depends on it meanwhile.
  const isCurrent = spec.withhold !== true || textAt(gate ?? {}, ["spec", "color"]) === color;
  const isReady = gate !== undefined && conditionOf(conditionsOf(gate), "Ready")?.status === "True";
  if (isCurrent && isReady) set("late", { apiVersion: "v1", kind: "ConfigMap", data: { text: spec.text ?? "" } });
}

/** Fields that definitions add later, such as `extra1`. */
function extrasOf(spec: SceneSpec): JsonObject {
  return Object.fromEntries(Object.entries(spec).filter(([name]) => name.startsWith("extra"))) as JsonObject;
}
