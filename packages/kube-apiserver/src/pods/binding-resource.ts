// SPDX-License-Identifier: Apache-2.0
import { timestamp } from "@purlin/kube-objects/apply";
import {
  badRequest,
  conflict,
  notFound,
  requiredValue,
  unclassifiedError,
  unsupportedValue,
} from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { isDeleting, metaOf, withMeta } from "../objects/object-meta.ts";
import type { CompleteResponse } from "../request/api-request.ts";
import { documentPayload } from "../request/payload.ts";
import { admitUnstored } from "../rest/admitted-write.ts";
import { inStoredOrder } from "../rest/object-codec.ts";
import { negotiateForm } from "../rest/object-response.ts";
import { readRequestBody } from "../rest/request-body.ts";
import type { SpecialResource } from "../rest/resources.ts";
import type { RestRequest } from "../rest/rest-context.ts";

const pods = { group: "", resource: "pods" };
const bindings = { group: "", resource: "pods/binding" };

/** `bindings` and `pods/<name>/binding`: assigns a Pod to a node. */
export function bindingResource(): SpecialResource {
  return (rest) => {
    const { type, target } = rest;
    if (type.group !== "" || target.verb !== "create") return undefined;
    const isBinding = type.resource === "bindings" || (type.resource === "pods" && target.subresource === "binding");
    return isBinding ? bind(rest) : undefined;
  };
}

async function bind(rest: RestRequest): Promise<CompleteResponse> {
  const { request, target } = rest;
  const { mediaType, pretty } = negotiateForm(request);
  const body = await readRequestBody(request, { takesProtobuf: true });
  const binding = isJsonObject(body?.value) ? body.value : {};
  const name = target.name === "" ? (metaOf(binding).name ?? "") : target.name;
  if (target.name !== "" && metaOf(binding).name !== name) {
    throw badRequest("name in URL does not match name in Binding object");
  }
  requireValid(binding);
  const dryRun = request.query.has("dryRun");
  await admitUnstored(rest, { ...binding, apiVersion: "v1", kind: "Binding" }, dryRun);
  await assign(rest, { name, node: stringAt(binding, ["target", "name"]), dryRun });
  const success: JsonObject = { kind: "Status", apiVersion: "v1", metadata: {}, status: "Success", code: 201 };
  return { kind: "complete", code: 201, payload: documentPayload(success, { mediaType, pretty }) };
}

/** The reference answers with an error of no class here. */
function requireValid(binding: JsonObject): void {
  const kind = stringAt(binding, ["target", "kind"]);
  const errors = [
    ...(kind === "" || kind === "Node" ? [] : [unsupportedValue("target.kind", kind, ["Node", "<empty>"])]),
    ...(stringAt(binding, ["target", "name"]) === "" ? [requiredValue("target.name", "")] : []),
  ];
  const texts = errors.map(({ field, body }) => `${field}: ${body}`);
  if (texts.length > 0) throw unclassifiedError(texts.length === 1 ? (texts[0] ?? "") : `[${texts.join(", ")}]`);
}

interface Assignment {
  readonly name: string;
  readonly node: string;
  readonly dryRun: boolean;
}

async function assign({ store, target, now }: RestRequest, { name, node, dryRun }: Assignment): Promise<void> {
  const key = `//pods/${target.namespace}/${name}`;
  await store.write(key, ({ current, revision }) => {
    if (current === undefined) throw notFound(pods, name);
    const bound = withNode(current.value, { name, node, at: timestamp(now()) });
    const versioned = withMeta(bound, { resourceVersion: String(revision) });
    return dryRun ? { action: "keep" } : { action: "put", value: inStoredOrder(versioned) };
  });
}

function withNode(
  pod: JsonObject,
  { name, node, at }: { readonly name: string; readonly node: string; readonly at: string },
): JsonObject {
  if (isDeleting(pod)) throw conflict(bindings, name, `pod ${name} is being deleted, cannot be assigned to a host`);
  const assigned = stringAt(pod, ["spec", "nodeName"]);
  if (assigned !== "") {
    throw conflict(bindings, name, `pod ${name} is already assigned to node ${goQuote(assigned)}`);
  }
  const status = objectAt(pod, ["status"]);
  const known = Array.isArray(status["conditions"]) ? status["conditions"].filter(isJsonObject) : [];
  const scheduled = { type: "PodScheduled", status: "True", lastProbeTime: null, lastTransitionTime: at };
  const conditions = [...known.filter((one) => one["type"] !== "PodScheduled"), scheduled];
  return { ...pod, spec: { ...objectAt(pod, ["spec"]), nodeName: node }, status: { ...status, conditions } };
}
