// SPDX-License-Identifier: Apache-2.0
import { CORE_SCHEMA, defineScalarTag, mergeTag, NOT_RESOLVED, type Schema } from "js-yaml";

const truths: ReadonlyMap<string, boolean> = new Map([
  ...["y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"].map((word) => [word, true] as const),
  ...["n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"].map((word) => [word, false] as const),
]);

const boolTag = defineScalarTag<boolean>("tag:yaml.org,2002:bool", {
  implicit: true,
  implicitFirstChars: [..."yYnNtTfFoO"],
  resolve: (text) => truths.get(text) ?? NOT_RESOLVED,
  identify: (value) => typeof value === "boolean",
});

/** No double has more digits; reading a megabyte of them as an integer would take a second. */
const maxDigits = 400;

/** Go's way with prefixes: a leading zero is octal, which is how file modes such as 0644 are written. */
function parseInteger(text: string): bigint | undefined {
  if (text.length > maxDigits) return undefined;
  const match = /^([-+]?)(0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)$/.exec(text);
  if (match === null) return undefined;
  const digits = (match[2] ?? "").replace(/^0(?=[0-7]+$)/, "0o");
  return match[1] === "-" ? -BigInt(digits) : BigInt(digits);
}

function schemaWith(integer: (value: bigint) => number | bigint): Schema {
  const intTag = defineScalarTag<number | bigint>("tag:yaml.org,2002:int", {
    implicit: true,
    implicitFirstChars: [..."+-0123456789"],
    resolve(text) {
      const value = parseInteger(text.replaceAll("_", ""));
      return value === undefined ? NOT_RESOLVED : integer(value);
    },
    identify: (value) => Number.isInteger(value),
  });
  return CORE_SCHEMA.withTags(mergeTag, boolTag, intTag);
}

/**
 * What plain words and numbers mean: what they mean to kubectl, so that a file says the same to both. That is YAML 1.2
 * but with the booleans and octal numbers of 1.1, and with merge keys. Dates stay text.
 */
export const kubectlSchema: Schema = schemaWith(Number);

/** The same, with integers that no double holds as bigints. */
export const wideIntegerSchema: Schema = schemaWith((value) =>
  Number.isSafeInteger(Number(value)) ? Number(value) : value,
);
