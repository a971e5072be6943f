// SPDX-License-Identifier: Apache-2.0
import { inTurns, type Work } from "@purlin/base";
import { timestamp } from "@purlin/kube-objects/apply";
import { badRequest, conflict, invalid, invalidValue, notFound } from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, isNumber, type JsonObject, type JsonValue } from "@purlin/kube-objects/json";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { TypedFormError, typing } from "@purlin/kube-objects/typed";
import { apiAudience, type BoundObject, type ServiceAccountTokens } from "../auth/user.ts";
import { metaOf } from "../objects/object-members.ts";
import { objectKey } from "../registry/registry.ts";
import { type CompleteResponse, documentPayload } from "../request/api-request.ts";
import { admitUnstored } from "../rest/admitted-write.ts";
import { negotiateForm } from "../rest/object-response.ts";
import { readRequestBody } from "../rest/request-body.ts";
import type { SpecialResource } from "../rest/resources.ts";
import type { RestRequest } from "../rest/rest-context.ts";

/** What a token can be bound to. */
const resources: ReadonlyMap<string, string> = new Map([
  ["Pod", "pods"],
  ["Secret", "secrets"],
  ["Node", "nodes"],
]);

const boundKinds: ReadonlyMap<string, BoundObject["kind"]> = new Map([
  ["pods", "pod"],
  ["secrets", "secret"],
  ["nodes", "node"],
]);

const minSeconds = 600;
const maxSeconds = 2 ** 32;
const defaultSeconds = 3600;

/** `serviceaccounts/<name>/token`: issues a token for the account. */
export function tokenResource(tokens: ServiceAccountTokens): SpecialResource {
  return (rest) =>
    rest.type.resource === "serviceaccounts" && rest.target.subresource === "token" ? answer(rest, tokens) : undefined;
}

async function answer(rest: RestRequest, tokens: ServiceAccountTokens): Promise<CompleteResponse> {
  const { request, store, target, type, now } = rest;
  const { mediaType, pretty } = negotiateForm(request);
  const body = await readRequestBody(request, { takesProtobuf: true });
  const sent = await inTurns(typedRequest((body?.value ?? {}) as JsonObject));
  const account = store.get(objectKey(type, target.namespace, target.name))?.value;
  if (account === undefined) throw notFound(type, target.name);
  const asked = await admitUnstored(rest, sent, request.query.has("dryRun"));
  const bound = boundObject(rest, memberAt(asked, ["spec", "boundObjectRef"]));
  const seconds = expirationSeconds(asked);
  const audiences = audiencesOf(asked);
  const { uid = "" } = metaOf(account);
  const issuedAt = now();
  const expiresAt = new Date(issuedAt.getTime() + seconds * 1000);
  const token = tokens.issue(
    { namespace: target.namespace, name: target.name, uid },
    { audiences, expiresAt, now: issuedAt, bound, node: nodeOf(rest, bound) },
  );
  const value: JsonObject = {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name: target.name, namespace: target.namespace, creationTimestamp: timestamp(issuedAt) },
    spec: {
      audiences,
      expirationSeconds: seconds,
      boundObjectRef: memberAt(asked, ["spec", "boundObjectRef"]) ?? null,
    },
    status: { token, expirationTimestamp: timestamp(expiresAt) },
  };
  return { kind: "complete", code: 201, payload: documentPayload(value, { mediaType, pretty }) };
}

/** The Node of the Pod that a token is bound to. */
function nodeOf(
  { store, target }: RestRequest,
  bound: BoundObject | undefined,
): { readonly name: string; readonly uid?: string } | undefined {
  const pod = bound?.kind === "pod" ? store.get(`//pods/${target.namespace}/${bound.name}`)?.value : undefined;
  const name = pod === undefined ? "" : stringAt(pod, ["spec", "nodeName"]);
  if (name === "") return undefined;
  const node = store.get(`//nodes/${name}`)?.value;
  const { uid } = node === undefined ? {} : metaOf(node);
  return { name, ...(uid !== undefined && { uid }) };
}

function* typedRequest(value: JsonObject): Work<JsonObject> {
  try {
    return (yield* typing({ ...value, apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" })).object;
  } catch (error) {
    throw error instanceof TypedFormError
      ? badRequest(`TokenRequest in version "v1" cannot be handled as a TokenRequest: ${error.message}`)
      : error;
  }
}

function expirationSeconds(asked: JsonObject): number {
  const seconds = memberAt(asked, ["spec", "expirationSeconds"]) ?? defaultSeconds;
  const value = isNumber(seconds) ? seconds : defaultSeconds;
  const problem =
    value < minSeconds
      ? "may not specify a duration less than 10 minutes"
      : value > maxSeconds
        ? "may not specify a duration larger than 2^32 seconds"
        : undefined;
  if (problem !== undefined) {
    throw invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", [
      invalidValue("spec.expirationSeconds", value, problem),
    ]);
  }
  return Number(value);
}

function audiencesOf(asked: JsonObject): string[] {
  const audiences = memberAt(asked, ["spec", "audiences"]);
  return Array.isArray(audiences) && audiences.length > 0 ? audiences.map(String) : [apiAudience];
}

/**
 * The object that the requested token is bound to; undefined without a reference. Throws when the object does not exist,
 * and for a kind that no token can be bound to.
 */
function boundObject(
  { store, target }: Pick<RestRequest, "store" | "target">,
  reference: JsonValue | undefined,
): BoundObject | undefined {
  if (!isJsonObject(reference)) return undefined;
  const [kind, name, wanted] = [
    stringAt(reference, ["kind"]),
    stringAt(reference, ["name"]),
    stringAt(reference, ["uid"]),
  ];
  const resource = resourceOf(stringAt(reference, ["apiVersion"]), kind);
  if (name === "") throw badRequest("Name parameter required.");
  const object = store.get(`//${resource}/${resource === "nodes" ? "" : `${target.namespace}/`}${name}`)?.value;
  if (object === undefined) throw notFound({ group: "", resource }, name);
  const { uid = "" } = metaOf(object);
  if (wanted !== "" && wanted !== uid) {
    const why = `the UID in the bound object reference (${wanted}) does not match the UID in record. The object might have been deleted and then recreated`;
    throw conflict({ group: "", resource: kind }, name, why);
  }
  if (resource === "pods" && stringAt(object, ["spec", "serviceAccountName"]) !== target.name) {
    const account = goQuote(target.name);
    throw badRequest(
      `cannot bind token for serviceaccount ${account} to pod running with different serviceaccount name.`,
    );
  }
  return { kind: boundKinds.get(resource) ?? "secret", name, uid };
}

function resourceOf(apiVersion: string, kind: string): string {
  const parts = apiVersion.split("/");
  // As in the reference, a version that cannot be read is as good as none.
  const isCore = parts.length !== 2 || parts[0] === "";
  const resource = isCore ? resources.get(kind) : undefined;
  if (resource !== undefined) return resource;
  const shown = apiVersion.includes("/") ? apiVersion : `/${apiVersion}`;
  throw badRequest(`cannot bind token to object of type ${shown}, Kind=${kind}`);
}
