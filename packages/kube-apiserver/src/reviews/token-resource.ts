// SPDX-License-Identifier: Apache-2.0
import {
  badRequest,
  invalid,
  invalidValue,
  type JsonObject,
  notFound,
  TypedFormError,
  timestamp,
  toTypedForm,
} from "@purlin/kube-objects";
import { API_AUDIENCE, type ServiceAccountTokens } from "../auth/service-account-tokens.ts";
import { valueAt } from "../builtin/read-field.ts";
import type { CompleteResponse } from "../request/api-response.ts";
import { documentPayload } from "../request/payload.ts";
import { metaOf } from "../rest/object-meta.ts";
import { negotiateForm } from "../rest/object-response.ts";
import { readRequestBody } from "../rest/request-body.ts";
import type { SpecialResource } from "../rest/resources.ts";
import type { RestRequest } from "../rest/rest-context.ts";
import { objectKey } from "../rest/storage-key.ts";
import { boundObject } from "./bound-object.ts";

const MIN_SECONDS = 600;
const MAX_SECONDS = 2 ** 32;
const DEFAULT_SECONDS = 3600;

/** `serviceaccounts/<name>/token`: issues a token for the account. */
export function tokenResource(tokens: ServiceAccountTokens): SpecialResource {
  return (rest) =>
    rest.type.resource === "serviceaccounts" && rest.target.subresource === "token" ? answer(rest, tokens) : undefined;
}

async function answer(rest: RestRequest, tokens: ServiceAccountTokens): Promise<CompleteResponse> {
  const { request, store, target, type, now } = rest;
  const { mediaType, pretty } = negotiateForm(request);
  const body = await readRequestBody(request, { takesProtobuf: true });
  const asked = typedRequest((body?.value ?? {}) as JsonObject);
  const account = store.get(objectKey(type, target.namespace, target.name))?.value;
  if (account === undefined) {
    throw notFound(type, target.name);
  }
  const bound = boundObject(rest, valueAt(asked, "spec", "boundObjectRef"));
  const seconds = expirationSeconds(asked);
  const audiences = audiencesOf(asked);
  const { uid = "" } = metaOf(account);
  const issuedAt = now();
  const expiresAt = new Date(issuedAt.getTime() + seconds * 1000);
  const token = tokens.issue(
    { namespace: target.namespace, name: target.name, uid },
    { audiences, expiresAt, now: issuedAt, bound },
  );
  const value: JsonObject = {
    kind: "TokenRequest",
    apiVersion: "authentication.k8s.io/v1",
    metadata: { name: target.name, namespace: target.namespace, creationTimestamp: timestamp(issuedAt) },
    spec: { audiences, expirationSeconds: seconds, boundObjectRef: valueAt(asked, "spec", "boundObjectRef") ?? null },
    status: { token, expirationTimestamp: timestamp(expiresAt) },
  };
  return { kind: "complete", code: 201, payload: documentPayload(value, { mediaType, pretty }) };
}

function typedRequest(value: JsonObject): JsonObject {
  try {
    return toTypedForm({ ...value, apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest" }).object;
  } catch (error) {
    throw error instanceof TypedFormError
      ? badRequest(`TokenRequest in version "v1" cannot be handled as a TokenRequest: ${error.message}`)
      : error;
  }
}

function expirationSeconds(asked: JsonObject): number {
  const seconds = valueAt(asked, "spec", "expirationSeconds") ?? DEFAULT_SECONDS;
  const value = typeof seconds === "number" ? seconds : DEFAULT_SECONDS;
  const problem =
    value < MIN_SECONDS
      ? "may not specify a duration less than 10 minutes"
      : value > MAX_SECONDS
        ? "may not specify a duration larger than 2^32 seconds"
        : undefined;
  if (problem !== undefined) {
    throw invalid({ group: "authentication.k8s.io", kind: "TokenRequest" }, "", [
      invalidValue("spec.expirationSeconds", value, problem),
    ]);
  }
  return value;
}

function audiencesOf(asked: JsonObject): string[] {
  const audiences = valueAt(asked, "spec", "audiences");
  return Array.isArray(audiences) && audiences.length > 0 ? audiences.map(String) : [API_AUDIENCE];
}
