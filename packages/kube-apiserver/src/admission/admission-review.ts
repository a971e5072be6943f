// SPDX-License-Identifier: Apache-2.0
// AdmissionReview: the request to a webhook, and the meaning of its response.
import { Buffer } from "node:buffer";
import { type Status, StatusError } from "@purlin/kube-objects/errors";
import {
  countJsonValues,
  goQuote,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonKind,
  parseJson,
  printJson,
} from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt, textsAt } from "@purlin/kube-objects/object";
import type { User } from "../auth/user.ts";
import type { ResourceType } from "../registry/registry.ts";
import { maxValues } from "../request/negotiate.ts";
import { reviewResponse } from "../webhooks/review-response.ts";
import { WebhookCallError } from "../webhooks/webhook-client.ts";
import type { AdmissionAttributes } from "./admission.ts";
import type { AdmissionWebhook } from "./admission-webhook.ts";

const group = "admission.k8s.io";

/** The write as a webhook sees it: in the version that its rules name. */
export interface ReviewedWrite {
  readonly attributes: AdmissionAttributes;
  readonly type: ResourceType;
  readonly object: JsonObject | undefined;
  readonly old: JsonObject | undefined;
}

/** The group, version and kind of the objects of a write; a subresource may have its own. */
function kindOf(type: ResourceType, subresource: string): JsonObject {
  const { kind } = type.subresources.find(({ name }) => name === subresource) ?? {};
  const { group: ofGroup, version, kind: name } = kind ?? type;
  return { group: ofGroup, version, kind: name };
}

const resourceOf = ({ group: ofGroup, version, resource }: ResourceType): JsonObject => ({
  group: ofGroup,
  version,
  resource,
});

/** The `request` of a review without its uid, the objects and the options. */
export function reviewRequest({ attributes, type }: Pick<ReviewedWrite, "attributes" | "type">): JsonObject {
  const { subresource, name, namespace, operation, user, dryRun } = attributes;
  return {
    kind: kindOf(type, subresource),
    resource: resourceOf(type),
    ...(subresource !== "" && { subResource: subresource }),
    requestKind: kindOf(attributes.type, subresource),
    requestResource: resourceOf(attributes.type),
    ...(subresource !== "" && { requestSubResource: subresource }),
    ...(name !== "" && { name }),
    ...(namespace !== "" && { namespace }),
    operation,
    userInfo: userInfo(user),
    dryRun,
  };
}

function userInfo({ name, uid, groups, extra }: User): JsonObject {
  return {
    username: name,
    ...(uid !== undefined && uid !== "" && { uid }),
    groups: [...groups],
    ...(extra !== undefined && { extra: extra as JsonObject }),
  };
}

/** The body of a review. */
export function reviewBody(uid: string, version: string, write: ReviewedWrite): string {
  const { attributes, object = null, old = null } = write;
  const { dryRun, ...request } = reviewRequest(write);
  return printJson({
    kind: "AdmissionReview",
    apiVersion: `${group}/${version}`,
    request: { uid, ...request, object, oldObject: old, dryRun: dryRun ?? false, options: attributes.options },
  });
}

/** What a webhook decided. */
export interface ReviewResponse {
  readonly allowed: boolean;
  readonly result: JsonObject | undefined;
  readonly warnings: readonly string[];
  readonly auditAnnotations: Readonly<Record<string, string>>;
  readonly patch: string;
  readonly patchType: string;
}

/** More warnings of a webhook are not looked at: a response to a user has 4096 characters of them. */
const maxWarnings = 10_000;
/** More annotations of a webhook are not logged: each of its responses would be an audit event of megabytes. */
const maxAuditAnnotations = 1000;

interface Expected {
  readonly uid: string;
  readonly isMutating: boolean;
}

/** The response in a review. Throws a {@link WebhookCallError} for one that breaks the protocol. */
export function readReviewResponse(
  review: JsonValue,
  { reviewVersion }: Pick<AdmissionWebhook, "reviewVersion">,
  expected: Expected,
): ReviewResponse {
  const { response, untyped } = typedResponse(review, reviewVersion);
  if (response === undefined) throw invalidResponse("webhook response was absent");
  const patch = decodedPatch(response["patch"]);
  const [uid, patchType] = [stringAt(response, ["uid"]), stringAt(response, ["patchType"])];
  if (reviewVersion === "v1") requireProtocol({ uid, patch, patchType, untyped }, expected);
  const status = response["status"];
  return {
    allowed: response["allowed"] === true,
    result: isJsonObject(status) ? status : undefined,
    warnings: textsAt(response, ["warnings"]).slice(0, maxWarnings),
    auditAnnotations: textMapAt(response, "auditAnnotations"),
    patch: expected.isMutating ? patch : "",
    patchType: reviewVersion === "v1" ? patchType : "JSONPatch",
  };
}

function textMapAt(object: JsonObject, name: string): Readonly<Record<string, string>> {
  const entries: [string, string][] = [];
  // Object.entries would make a list of all of them.
  for (const key in objectAt(object, [name])) {
    const value = memberAt(object, [name, key]);
    if (typeof value === "string" && entries.push([key, value]) === maxAuditAnnotations) break;
  }
  return Object.fromEntries(entries);
}

interface Received {
  readonly uid: string;
  readonly patch: string;
  readonly patchType: string;
  readonly untyped: string | undefined;
}

function requireProtocol({ uid, patch, patchType, untyped }: Received, expected: Expected): void {
  if (uid !== expected.uid) {
    throw invalidResponse(`expected response.uid=${goQuote(expected.uid)}, got ${goQuote(uid)}`);
  }
  if (untyped !== undefined) throw invalidResponse(untyped);
  if (!expected.isMutating) {
    if (patch !== "") throw invalidResponse("validating webhook may not return response.patch");
    if (patchType !== "") throw invalidResponse("validating webhook may not return response.patchType");
    return;
  }
  if (patch !== "" && patchType === "") {
    throw invalidResponse("webhook returned response.patch but not response.patchType");
  }
  if (patch === "" && patchType !== "") {
    throw invalidResponse("webhook returned response.patchType but not response.patch");
  }
}

function invalidResponse(text: string): WebhookCallError {
  return new WebhookCallError(`received invalid webhook response: ${text}`);
}

const failed = (text: string): WebhookCallError => new WebhookCallError(`failed to call webhook: ${text}`);

/** The response as the reference's types read it. */
function typedResponse(
  review: JsonValue,
  version: string,
): { readonly response: JsonObject | undefined; readonly untyped: string | undefined } {
  const found = reviewResponse(review, { group, version, kind: "AdmissionReview" });
  if ("problem" in found) throw failed(found.problem);
  const { response, untyped } = found;
  return { response: isJsonObject(response) ? response : undefined, untyped };
}

function decodedPatch(value: JsonValue | undefined): string {
  return typeof value === "string" ? Buffer.from(value, "base64").toString() : "";
}

/** The operations of a patch. Throws a {@link WebhookCallError} when it is not a JSON patch. */
export function patchOperations({ patch, patchType }: ReviewResponse): readonly JsonObject[] {
  if (patch === "") return [];
  const operations = parsedPatch(patch);
  if (operations.length > 0 && patchType !== "JSONPatch") {
    throw new WebhookCallError(`unsupported patch type ${goQuote(patchType)}`);
  }
  return operations;
}

/** As many operations as a patch in a request may have. */
const maxOperations = 10_000;

function parsedPatch(patch: string): readonly JsonObject[] {
  const undecodable = (text: string): WebhookCallError =>
    new WebhookCallError(`received undecodable patch in webhook response: ${text}`);
  if (countJsonValues(patch) > maxValues) throw undecodable(`it has more than ${maxValues} values`);
  let value: JsonValue;
  try {
    value = parseJson(patch);
  } catch (error) {
    throw undecodable(error instanceof Error ? error.message : String(error));
  }
  if (value === null) return [];
  if (!Array.isArray(value)) {
    throw undecodable(`json: cannot unmarshal ${jsonKind(value)} into Go value of type jsonpatch.Patch`);
  }
  if (value.length > maxOperations) throw undecodable(`it has more than ${maxOperations} operations`);
  const wrong = value.find((one) => !isJsonObject(one));
  if (wrong !== undefined) {
    throw undecodable(`json: cannot unmarshal ${jsonKind(wrong)} into Go value of type jsonpatch.Operation`);
  }
  return value as JsonObject[];
}

/** The refusal of a write that a webhook denied. */
export class WebhookDenialError extends StatusError {}

/** The error for a write that a webhook denied. */
export function deniedBy(name: string, result: JsonObject | undefined): WebhookDenialError {
  const denied = `admission webhook ${goQuote(name)} denied the request`;
  const [message, reason] = [stringAt(result ?? {}, ["message"]), stringAt(result ?? {}, ["reason"])];
  const code = result?.["code"];
  const details = objectAt(result ?? {}, ["details"]);
  return new WebhookDenialError({
    kind: "Status",
    apiVersion: "v1",
    metadata: {},
    status: "Failure",
    message: message !== "" || reason !== "" ? `${denied}: ${message || reason}` : `${denied} without explanation`,
    ...(reason !== "" && { reason }),
    ...(Object.keys(details).length > 0 && { details }),
    code: typeof code === "number" && code >= 400 ? code : 400,
  } as Status);
}
