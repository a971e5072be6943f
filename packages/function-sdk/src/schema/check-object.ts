// SPDX-License-Identifier: Apache-2.0
import type { JsonObject } from "@purlin/function-protocol";
import { checkSchema, findingText, type SchemaFinding } from "@purlin/kube-objects/schema";
import { FunctionError } from "../errors/function-error.ts";
import type { InputDecoder } from "../request/read-request.ts";
import { type ObjectSource, structOf } from "../resource/resource-message.ts";

/** One way in which an object does not fit its schema. Prints as `path: message`. */
export interface ObjectProblem {
  /** Where it is: `spec.ports[0].name`; empty for the object itself. */
  readonly path: string;
  /** What is wrong, in the words of the API server. */
  readonly message: string;
  toString(): string;
}

/** How an object is checked. */
export interface CheckObjectOptions {
  /** Accept that required fields are missing, as in an object that states only a part. Default false. */
  readonly partial?: boolean | undefined;
  /** Whether fields the schema does not declare are problems; most are typing errors. Default "report". */
  readonly unknownFields?: "report" | "ignore" | undefined;
}

/**
 * Checks an object against a schema, such as request.getRequiredSchema returns, and reports what the API server would
 * complain about, before anything is applied. An empty list: it fits. Rules in CEL are not evaluated.
 */
export function checkObject(
  schema: JsonObject,
  object: ObjectSource,
  { partial = false, unknownFields = "report" }: CheckObjectOptions = {},
): ObjectProblem[] {
  const { value } = structOf(object, "the object");
  return checkSchema(value, schema, { partial, unknownFields }).map(toProblem);
}

/** As {@link checkObject}, but throws INVALID_OBJECT with all problems in its message. */
export function requireValidObject(schema: JsonObject, object: ObjectSource, options?: CheckObjectOptions): void {
  const problems = checkObject(schema, object, options);
  if (problems.length > 0) throw new FunctionError("INVALID_OBJECT", problems.join("; "));
}

/** A decoder for request.getInput that accepts what fits a schema and says what does not. */
export function decodeBySchema<T = JsonObject>(schema: JsonObject): InputDecoder<T> {
  return (input) => {
    requireValidObject(schema, input);
    return input as T;
  };
}

function toProblem(finding: SchemaFinding): ObjectProblem {
  const text = findingText(finding);
  return { path: finding.path, message: finding.body, toString: () => text };
}
