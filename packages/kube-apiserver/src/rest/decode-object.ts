// SPDX-License-Identifier: Apache-2.0
import {
  badRequest,
  type FieldValidation,
  formatApiVersion,
  invalid,
  invalidValue,
  type JsonObject,
  parseApiVersion,
} from "@purlin/kube-objects";
import { apiVersionOf } from "../registry/resource-type.ts";
import { type DecodedBody, requireObject } from "./request-body.ts";
import type { RestRequest } from "./rest-context.ts";

/** An object from a body, and what to tell the client about it. */
export interface ReadObject {
  readonly object: JsonObject;
  readonly warnings: readonly string[];
}

/**
 * Reads the object of a create or update. Throws 400 when it is of another type, or, if the client wants it strict, when it has fields
 * its type does not have.
 */
export function readObject(rest: RestRequest, body: DecodedBody | undefined, validation: FieldValidation): ReadObject {
  const { value, strictErrors } = requireObject(body);
  const typed = requireType(rest, value);
  const { object, unknownFields } = rest.strategy.decode(typed);
  const findings = [...strictErrors, ...unknownFields.map((path) => `unknown field ${JSON.stringify(path)}`)];
  if (findings.length > 0 && validation === "Strict") {
    const { kind, version } = rest.type;
    throw badRequest(
      `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}: strict decoding error: ${findings.join(", ")}`,
    );
  }
  return { object, warnings: validation === "Warn" ? findings : [] };
}

/** The object with its type, which must be the one of the URL. */
function requireType(rest: RestRequest, value: JsonObject): JsonObject {
  const { type } = rest;
  const expected = apiVersionOf(type);
  const { apiVersion = "", kind = "" } = value;
  if (typeof apiVersion !== "string" || typeof kind !== "string") {
    throw badRequest(
      "couldn't get version/kind; json parse error: json: cannot unmarshal value into Go struct field of type string",
    );
  }
  requireKind(rest, kind, apiVersion);
  if (apiVersion !== "" && apiVersion !== expected) {
    const text = formatApiVersion(parseApiVersion(apiVersion));
    throw badRequest(`the API version in the data (${text}) does not match the expected API version (${expected})`);
  }
  return { ...value, apiVersion: expected, kind: type.kind };
}

/** A kind that is not the one of the URL. Built-in types may leave it out, custom ones may not. */
function requireKind({ strategy, type }: RestRequest, kind: string, apiVersion: string): void {
  strategy.requireKind?.(kind, apiVersion);
  if (!type.custom) {
    return;
  }
  if (kind === "") {
    throw badRequest("Object 'Kind' is missing in the body of the request");
  }
  if (kind !== type.kind && (apiVersion === "" || apiVersion === apiVersionOf(type))) {
    throw invalid({ group: type.group, kind: type.kind }, "", [invalidValue("kind", kind, `must be ${type.kind}`)]);
  }
}
