// SPDX-License-Identifier: Apache-2.0
import { isPartDone, type Work } from "@purlin/base";
import { keyPairProblem } from "@purlin/certificates";
import { type KindRules, textFields } from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidValue,
  keyPath,
  requiredValue,
  tooLong,
} from "@purlin/kube-objects/errors";
import {
  isJsonObject,
  type JsonObject,
  type JsonValue,
  jsonEqual,
  jsonKind,
  parseJson,
  setOwnValue,
  utf8Length,
} from "@purlin/kube-objects/json";
import { memberAt, objectAt, stringAt } from "@purlin/kube-objects/object";
import { uriProblem } from "../checks/addresses.ts";

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

const keyPattern = /^[-._a-zA-Z0-9]+$/;
const keyText =
  "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')";

/** What keeps a text from being a key in a ConfigMap or a Secret. */
export function configKeyProblems(key: string): string[] {
  const problems = utf8Length(key) > 253 ? ["must be no more than 253 characters"] : [];
  if (!keyPattern.test(key)) problems.push(keyText);
  if (key === "." || key === ".." || key.startsWith("..")) {
    problems.push(key.startsWith("..") && key !== ".." ? "must not start with '..'" : `must not be '${key}'`);
  }
  return problems;
}

const maxBytes = 1024 * 1024;
function keyErrors(data: JsonObject, path: string): FieldError[] {
  return firstErrors(Object.keys(data), (key) =>
    configKeyProblems(key).map((problem) => invalidValue(keyPath(path, key), key, problem)),
  );
}

const textBytes = (data: JsonObject): number => bytesOf(data, utf8Length);
const base64Bytes = (data: JsonObject): number => bytesOf(data, (text) => Buffer.byteLength(text, "base64"));

// Not by values: of an object with very many members, that takes twice as long.
function bytesOf(data: JsonObject, lengthOf: (text: string) => number): number {
  let sum = 0;
  for (const key of Object.keys(data)) sum += lengthOf(String(data[key]));
  return sum;
}

/** An immutable object's data, and that it is immutable, stay as they are. */
function immutableErrors(object: JsonObject, old: JsonObject, members: readonly string[]): FieldError[] {
  if (old["immutable"] !== true) return [];
  const errors: FieldError[] = [];
  if (object["immutable"] !== true) {
    errors.push(forbiddenValue("immutable", "field is immutable when `immutable` is set"));
  }
  for (const member of members) {
    if (!jsonEqual(object[member] ?? {}, old[member] ?? {})) {
      errors.push(forbiddenValue(member, "field is immutable when `immutable` is set"));
    }
  }
  return errors;
}

export const configMapRules: KindRules = {
  *validatingRest(object) {
    const [data, binaryData] = [objectAt(object, ["data"]), objectAt(object, ["binaryData"])];
    const twice = Object.keys(binaryData).filter((key) => Object.hasOwn(data, key));
    yield;
    const size = textBytes(data) + base64Bytes(binaryData);
    yield;
    const ofKeys = keyErrors(data, "data");
    yield;
    return [
      ...ofKeys,
      ...firstErrors(twice, (key) => [
        invalidValue(keyPath("data", key), key, "duplicate of key present in binaryData"),
      ]),
      ...keyErrors(binaryData, "binaryData"),
      ...(size > maxBytes ? [tooLong("[]", maxBytes)] : []),
    ];
  },
  validateChange: (object, old) => immutableErrors(object, old, ["data", "binaryData"]),
};

export const secretRules: KindRules = {
  decodingFields: withStringData,
  *validatingRest(object) {
    const data = objectAt(object, ["data"]);
    const ofKeys = keyErrors(data, "data");
    yield;
    const ofSize = base64Bytes(data) > maxBytes ? [tooLong("data", maxBytes)] : [];
    yield;
    return [...ofKeys, ...ofSize, ...secretTypeErrors(object)];
  },
  validateChange: (object, old) => [
    ...(stringAt(object, ["type"]) === stringAt(old, ["type"])
      ? []
      : [invalidValue("type", stringAt(object, ["type"]), "field is immutable")]),
    ...immutableErrors(object, old, ["data"]),
  ],
  warnings: keyPairWarnings,
  fields: textFields("type"),
};

/** The certificate and the key of a Secret for TLS belong together. */
function keyPairWarnings(object: JsonObject): string[] {
  if (stringAt(object, ["type"]) !== "kubernetes.io/tls") return [];
  const [certificate, key] = ["tls.crt", "tls.key"].map((name) =>
    Buffer.from(stringAt(object, ["data", name]), "base64"),
  );
  const problem = certificate && key && keyPairProblem({ certificate, key, uriProblem });
  return problem === undefined ? [] : [problem];
}

/** Text is data that is easier to write; it is not stored as such. */
function* withStringData(object: JsonObject): Work<JsonObject> {
  const { stringData, ...rest } = object;
  if (stringData === undefined) return object;
  const data: Record<string, JsonValue> = {};
  const before = objectAt(object, ["data"]);
  for (const key of Object.keys(before)) {
    setOwnValue(data, key, before[key] ?? null);
    if (isPartDone()) yield;
  }
  const texts = objectAt(object, ["stringData"]);
  for (const key of Object.keys(texts)) {
    setOwnValue(data, key, Buffer.from(String(texts[key])).toString("base64"));
    if (isPartDone()) yield;
  }
  return { ...rest, data };
}
