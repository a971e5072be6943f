// SPDX-License-Identifier: Apache-2.0

import { type KindRules, textFields } from "@purlin/kube-apiserver/kinds";
import {
  type FieldError,
  firstErrors,
  forbiddenValue,
  invalidValue,
  keyPath,
  tooLong,
} from "@purlin/kube-objects/errors";
import { type JsonObject, jsonEqual, utf8Length } from "@purlin/kube-objects/json";
import { objectAt, stringAt } from "@purlin/kube-objects/object";
import { configKeyProblems } from "./config-keys.ts";
import { secretTypeErrors } from "./secret-types.ts";

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
  validate: (object) => {
    const [data, binaryData] = [objectAt(object, ["data"]), objectAt(object, ["binaryData"])];
    const twice = Object.keys(binaryData).filter((key) => Object.hasOwn(data, key));
    const size = textBytes(data) + base64Bytes(binaryData);
    return [
      ...keyErrors(data, "data"),
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
  decode: withStringData,
  validate: (object) => {
    const data = objectAt(object, ["data"]);
    return [
      ...keyErrors(data, "data"),
      ...(base64Bytes(data) > maxBytes ? [tooLong("data", maxBytes)] : []),
      ...secretTypeErrors(object),
    ];
  },
  validateChange: (object, old) => [
    ...(stringAt(object, ["type"]) === stringAt(old, ["type"])
      ? []
      : [invalidValue("type", stringAt(object, ["type"]), "field is immutable")]),
    ...immutableErrors(object, old, ["data"]),
  ],
  fields: textFields("type"),
};

/** Text is data that is easier to write; it is not stored as such. */
function withStringData(object: JsonObject): JsonObject {
  const { stringData, ...rest } = object;
  if (stringData === undefined) return object;
  const added = Object.entries(objectAt(object, ["stringData"])).map(([key, text]) => [
    key,
    Buffer.from(String(text)).toString("base64"),
  ]);
  return { ...rest, data: { ...objectAt(object, ["data"]), ...Object.fromEntries(added) } };
}
