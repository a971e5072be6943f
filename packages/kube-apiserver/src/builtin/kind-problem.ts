// SPDX-License-Identifier: Apache-2.0
import { goQuote, hasTypedForm, type JsonObject, parseApiVersion, toTypedForm } from "@purlin/kube-objects";
import { apiVersionOf, type ResourceType } from "../registry/resource-type.ts";

/**
 * Why an object that says to be of another kind cannot be one of a built-in type: nobody knows that kind, or those that exist do
 * not become this one. Throws a TypedFormError where it is not even one of the kind it says.
 */
export function kindProblem(
  type: ResourceType,
  kind: string,
  apiVersion: string,
  value: JsonObject,
): string | undefined {
  const expected = apiVersionOf(type);
  if (!hasTypedForm(apiVersion, kind)) {
    const registered = `no kind ${goQuote(kind)} is registered for version ${goQuote(apiVersion)}`;
    return `${registered} in scheme "pkg/runtime/scheme.go:111"`;
  }
  if (kind === type.kind) {
    return undefined;
  }
  toTypedForm({ ...value, apiVersion, kind });
  const [from, to] = [apiVersion.split("/").at(-1), goPackage(expected)];
  return `converting (${from}.${kind}) to (${to}.${type.kind}): unknown conversion`;
}

/** The package of the internal types of a group. */
function goPackage(apiVersion: string): string {
  const { group } = parseApiVersion(apiVersion);
  return group === "" ? "core" : (group.split(".", 1)[0] ?? "");
}
