// SPDX-License-Identifier: Apache-2.0
import { type FieldError, invalidValue, keyPath, requiredValue } from "@purlin/kube-objects/errors";
import { isJsonObject, type JsonObject, jsonKind, parseJson } from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";

const accountName = "kubernetes.io/service-account.name";

type TypeRule = (data: JsonObject, secret: JsonObject) => readonly FieldError[];

/** What Secrets of some types must have. */
const rules: Readonly<Record<string, TypeRule>> = {
  "kubernetes.io/service-account-token": (_data, secret) =>
    memberAt(secret, ["metadata", "annotations", accountName])
      ? []
      : [requiredValue(keyPath("metadata.annotations", accountName))],
  "kubernetes.io/dockercfg": (data) => jsonErrors(data, ".dockercfg"),
  "kubernetes.io/dockerconfigjson": (data) => jsonErrors(data, ".dockerconfigjson"),
  "kubernetes.io/basic-auth": (data) =>
    has(data, "username") || has(data, "password") ? [] : missing(data, "username", "password"),
  "kubernetes.io/ssh-auth": (data) =>
    data["ssh-privatekey"] ? [] : [requiredValue(keyPath("data", "ssh-privatekey"))],
  "kubernetes.io/tls": (data) => missing(data, "tls.crt", "tls.key"),
};

/** What a Secret lacks to be of its type. */
export function secretTypeErrors(secret: JsonObject): readonly FieldError[] {
  const type = stringAt(secret, ["type"]);
  return (Object.hasOwn(rules, type) ? rules[type]?.(objectAt(secret, ["data"]), secret) : undefined) ?? [];
}

function has(data: JsonObject, key: string): boolean {
  return Object.hasOwn(data, key);
}

function missing(data: JsonObject, ...keys: readonly string[]): FieldError[] {
  return keys.filter((key) => !has(data, key)).map((key) => requiredValue(keyPath("data", key)));
}

/** A value that must be there and be an object in JSON. What it says stays secret. */
function jsonErrors(data: JsonObject, key: string): FieldError[] {
  if (!has(data, key)) return missing(data, key);
  const problem = jsonProblem(Buffer.from(String(data[key]), "base64").toString());
  return problem === undefined ? [] : [invalidValue(keyPath("data", key), "<secret contents redacted>", problem)];
}

function jsonProblem(text: string): string | undefined {
  try {
    const value = parseJson(text);
    return value === null || isJsonObject(value)
      ? undefined
      : `json: cannot unmarshal ${jsonKind(value)} into Go value of type map[string]interface {}`;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
